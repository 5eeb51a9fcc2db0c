"""Stage `entropy`: the predictive entropy of every character of a corpus, by a model trained here or elsewhere.

All sentences are scored, once for all draws. A scoring that was killed goes on behind its last whole shard
(`tasks.work`). A model that was trained here scores the corpus alone of which it never saw a test sentence.
"""

import shutil
import sys
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field
from tqdm import tqdm

from tasks.model_facts import read_facts
from tasks.stage import Parameters, Stage, run
from tasks.work import work_folder
from tokenlab.entropy.corpus import score_corpus
from tokenlab.entropy.scorer import ScoringOptions, load_scorer
from tokenlab.errors import ParameterError
from tokenlab.files import atomic_folder


class Scored(Parameters):
    """The folder of a model for one corpus, and where and in what it computes."""

    model: str
    device: str = Field(pattern="^(cpu|cuda(:[0-9]+)?)$")
    dtype: Literal["float32", "bfloat16"]
    threads: int = Field(ge=1)


def score(stage: Stage) -> None:
    """Write the entropies of the stage's corpus."""
    scored = stage.parameters(f"entropy.scored.{stage.variant}", Scored)
    model, corpus = Path(scored.model), stage.data("corpora", stage.variant)
    _check_held_out(stage, model)
    torch.set_num_threads(scored.threads)
    scorer = load_scorer(model, scored.device, scored.dtype)
    work = work_folder(stage, "entropy", scored.model_dump(), [model, corpus])
    with tqdm(unit="character", unit_scale=True, file=sys.stderr, disable=None) as bar:
        score_corpus(scorer, corpus, work, ScoringOptions(), bar.update)
    with atomic_folder(stage.data("entropy", stage.variant)) as folder:
        for path in sorted(work.glob("[!.]*")):  # not what a killed run was writing
            shutil.copyfile(path, folder / path.name)
    shutil.rmtree(work)


def _check_held_out(stage: Stage, model: Path) -> None:
    facts = read_facts(model)
    if facts is not None and facts.held_out != stage.variant:
        raise ParameterError(
            f"{stage.params_file}: entropy.scored.{stage.variant}.model: {model} may have learned test sentences of "
            f"{stage.variant}: it was trained without those of {facts.held_out} alone; train one that holds out "
            f"{stage.variant}"
        )


if __name__ == "__main__":
    run(score)
