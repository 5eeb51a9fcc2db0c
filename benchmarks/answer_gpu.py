"""`python -m benchmarks answer_gpu FOLDER`: the ways of cutting of the preset `answer` at fifteen times its operations,
on a GPU.

Candidates and text are those of the stage `train_compared`, prepared in FOLDER where they are not there yet, which
`make repro PRESET=answer ONLY=compare` must precede. Models are trained in larger batches, several at a time; scores
stay in FOLDER, and what was interrupted goes on. The table goes to docs/benchmarks.md: ways with two seeds at least.
Prepared folders need no more than torch, numpy, numba, scipy, pyarrow, safetensors, tokenizers and regex.
"""

import argparse
import datetime
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import mean

import torch

from tokenlab.comparison.trials import Body, Budget, Score, Trial, read_score, run_trial
from tokenlab.comparison.verdict import Standing, compare_scores
from tokenlab.core.devices import check_device
from tokenlab.core.files import write_text
from tokenlab.networks.options import SIZES

_LANGUAGES = ("english", "chinese")
_PARAMETERS = "presets/answer/params.yaml"
_WAYS = (
    "bpe", "unigram", "words", "uncut", "bpe-patches", "latom", "random", "words-patches", "chunks", "words-latom",
    "words-unigram", "statistics", "entropy", "space-patches", "latom-patches", "characters", "bytes", "words-bits",
    "bits", "myte",
)  # fmt: skip
"""Methods of the preset, in the order of their training; without patches by entropy, which a byte model on the CPU cuts
from all that is read."""
_ABOUT = "about.txt"
_HEADS = ["way", "bits/byte ↓", "behind", "verdict", "seeds", "gained since half", "MB read"]


def main(arguments: Sequence[str]) -> int:
    """Prepare, train, and write the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks answer_gpu", description="Models of `answer` on a GPU.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of candidates, text and scores")
    parser.add_argument("--flops", type=float, default=3e13, help="operations of a training (default: 3e13)")
    parser.add_argument("--batch", type=int, default=16, help="rows of 512 bytes in an update (default: 16)")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each way (default: 5)")
    parser.add_argument("--workers", type=int, default=12, help="trainings at a time (default: 12)")
    parser.add_argument("--device", default="cuda", help="cpu, cuda or cuda:N (default: cuda)")
    parser.add_argument("--table", action="store_true", help="write the table of the scores that are there")
    options = parser.parse_args(arguments)
    body = Body(*SIZES["mini"], batch=options.batch, evaluate_bytes=60_000, device=options.device)
    scores = options.folder / f"scores-{options.flops:g}-{options.batch}"
    if options.table:
        from benchmarks.tables import write_section

        write_section("answer_gpu", [*_tables(scores)])
        return 0
    device = torch.device(options.device)
    check_device(device, "float32")
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    about = f"{datetime.date.today()}, {card}, {options.flops:.0e} operations, {options.batch} rows in an update."
    write_text(scores / _ABOUT, about + "\n")
    for language in _LANGUAGES:
        if not (options.folder / language).exists():
            _prepare(language, body.context, options.folder / language)
    budget = Budget("flops", options.flops)
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        futures = []
        for seed, name, language in product(range(options.seeds), _WAYS, _LANGUAGES):
            place = options.folder / language
            if (candidate := place / "candidates" / name).exists():
                trial = Trial(name, candidate, seed, body, budget, place / "training", place / "test")
                futures.append(pool.submit(run_trial, trial, scores / language))
        for future in futures:
            future.result()
    return 0


def _prepare(language: str, context: int, folder: Path) -> None:
    """Candidates and passages as the stages have them."""
    from tasks.compared.parameters import read_corpus_parameters
    from tasks.compared.train import CANDIDATES
    from tasks.patches.texts import part_documents
    from tasks.runtime.params import read_params
    from tasks.runtime.stage import Stage
    from tokenlab.comparison.texts import write_documents
    from tokenlab.core.files import atomic_folder

    stage = Stage(_PARAMETERS, "answer", language, read_params(Path(_PARAMETERS), _PARAMETERS))
    compared, texts = read_corpus_parameters(stage)
    with atomic_folder(folder) as place:
        shutil.copytree(stage.models("compared", language) / CANDIDATES, place / "candidates")
        for part in ("training", "test"):
            documents = part_documents(stage.data("corpora", compared.corpus), texts, part)
            write_documents([document.text for document in documents], context, place / part)


def _tables(folder: Path) -> Iterator[str]:
    """A table of each language, the best way at the top."""
    from benchmarks.measure import table_of

    yield (folder / _ABOUT).read_text(encoding="utf-8").strip()
    for language in _LANGUAGES:
        scores: dict[str, list[Score]] = {}
        for file in sorted((folder / language).glob("*.json")):
            scores.setdefault(file.stem.rpartition("-")[0], []).append(read_score(file))
        scores = {name: of_way for name, of_way in scores.items() if len(of_way) > 1}
        found = compare_scores(scores)
        rows = [_row(one, scores[one.name]) for one in found.standings]
        detectable = f"differences from {found.detectable:.3f} bits per byte on are found in about four of five cases"
        yield from ("", f"**{language}**: {found.answer}", "", *table_of(_HEADS, rows), "", f"*{detectable}*")


def _row(one: Standing, runs: Sequence[Score]) -> list[object]:
    return [
        one.name,
        f"{one.bits_per_byte:.3f} ± {one.deviation:.3f}",
        f"{one.behind:.3f} ± {one.interval:.3f}" if one.behind else "",
        one.standing,
        len(runs),
        f"{mean(run.curve[len(run.curve) // 2 - 1][1] - run.curve[-1][1] for run in runs):.3f}",
        f"{mean(run.training_bytes for run in runs) / 1e6:.1f}",
    ]
