"""Stage `entropy`: the predictive entropy of every character of a corpus, by a model trained here or elsewhere.

All sentences are scored, once for all seeds. An interrupted scoring resumes after its last complete shard
(`tasks.runtime.checkpoints`). A model trained here may only score the corpus whose test sentences it never saw.
"""

import shutil
import sys
from functools import cached_property
from pathlib import Path
from typing import Self

import torch
from pydantic import model_validator
from tqdm import tqdm

from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.stage import MixedParameters, Stage, run
from tasks.segmentation.entropy_model import Provenance, read_provenance
from tokenlab.core.errors import ParameterError
from tokenlab.core.files import atomic_folder
from tokenlab.entropy.options import DeviceOptions, ScoringOptions
from tokenlab.entropy.scored_corpus import score_corpus
from tokenlab.entropy.scorer import load_scorer


class Scored(MixedParameters):
    """The folder of a model, and the `DeviceOptions` of scoring, all of which must be explicit for equal results on
    every machine."""

    model: str

    @cached_property
    def computing(self) -> DeviceOptions:
        """Device, number format and threads."""
        return self.library_options(DeviceOptions)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, value in vars(self.computing).items():
            if value in ("auto", None):
                raise ParameterError(f"{name} is {value!r}; name it, so that results are the same on every machine")
        return self


def score(stage: Stage) -> None:
    """Write the entropies of the stage's corpus."""
    scored = stage.parameters(f"entropy.scored.{stage.variant}", Scored)
    model, corpus = Path(scored.model), stage.data("corpora", stage.variant)
    if problem := _leak(read_provenance(model), stage.variant):
        raise ParameterError(f"{stage.params_file}: entropy.scored.{stage.variant}.model: {model} {problem}")

    computing = scored.computing
    torch.set_num_threads(computing.threads or 1)
    scorer = load_scorer(model, computing.device, computing.dtype)
    checkpoints = checkpoint_folder(f"entropy.{stage.variant}", scored.model_dump(), [model, corpus])
    with tqdm(unit="character", unit_scale=True, file=sys.stderr, disable=None) as bar:
        score_corpus(scorer, corpus, checkpoints, ScoringOptions(), bar.update)

    with atomic_folder(stage.data("signals", stage.variant, "entropy")) as folder:
        for path in sorted(checkpoints.glob("[!.]*")):  # without the temporary files of a killed run
            shutil.copyfile(path, folder / path.name)
    shutil.rmtree(checkpoints)


def _leak(provenance: Provenance | None, corpus: str) -> str | None:
    """The error where a model may have been trained on test sentences of the corpus."""
    if provenance is None or provenance.held_out == corpus:
        return None
    return (
        f"may have been trained on test sentences of {corpus}: only those of {provenance.held_out} were held out; "
        f"train a model that holds out {corpus}"
    )


if __name__ == "__main__":
    run(score)
