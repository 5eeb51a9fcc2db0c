"""The stages of the pipeline, a folder a family. Numerics are pinned before a stage imports anything else."""

from tasks.runtime.numerics import pin

pin()
