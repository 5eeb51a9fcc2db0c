"""What a constraint costs in generation: CPU time per token of texts that must decode, beside free ones.

The models are those that the pipeline trained for a preset (`--preset`), a first one for each code of each language.
Both ways draw as the stage `generate` does, with a state of the automaton for each text of a batch. They take turns in
one process, and the ratio is the median of neighbours, so that what else the machine does meets both.
"""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time

import torch

from benchmarks.measure import Bench, Facts, Task, table_of
from tokenlab.codes.constrained import Constrained, constrain
from tokenlab.codes.generation import generate_tokens
from tokenlab.codes.registry import read_code
from tokenlab.core.errors import InputError
from tokenlab.language.options import GenerationOptions
from tokenlab.networks.stored import read_network

TITLE = "Constrained generation"
TEXTS = ()
_MODELS = Path(__file__).resolve().parent.parent / "models"
_TURNS = 5
_BATCHES = ((500, 500), (1, 4))  # texts at once, and in all


def table(bench: Bench) -> list[str]:
    heads = ["texts", "code", "at once", "CPU ms/token, free", "CPU ms/token, constrained", "times the time"]
    rows = []
    for folder in _folders(bench.preset):
        for batch, count in _BATCHES:
            size = str(2 if bench.quick else count)
            found = bench.measure("constrained:generate", str(folder), size, str(batch), runs=1).facts
            times = (f"{found[way]:.3g}" for way in ("free", "constrained"))
            code = folder.name.partition("-bpe-")[0]
            rows.append([folder.parent.name, code, batch, *times, f"{found['ratio']:.2f}"])
    about = f"64 tokens a text, top 50, first token drawn evenly, one thread; medians of {_TURNS} turns"
    return [
        f"Models of the preset `{bench.preset}`; {about}; torch {torch.__version__}.",
        "",
        *table_of(heads, rows, left=2),
    ]


def _folders(preset: str) -> Iterator[Path]:
    folders = sorted((_MODELS / preset / "code_language_models").glob("*/*-model0"))
    if not folders:
        command = f"make repro PRESET={preset} ONLY=downstream"
        raise InputError(f"{preset}: no language model over codes is trained; `{command}` trains them")
    yield from folders


def _generate(folder: str, count: str, batch: str) -> Task:
    """Generate so many texts with the model of a folder, free and constrained in turn."""
    torch.set_num_threads(1)
    automaton = constrain(read_code(Path(folder, "code.json")), Path(folder, "tokenizer.json"))
    network = read_network(Path(folder))
    options = GenerationOptions(length=64, top_k=50, batch=int(batch))

    def milliseconds(texts: int, given: Constrained | None) -> float:
        began = process_time()
        drawn = generate_tokens(network, texts, automaton.vocabulary, options, given, uniform_start=True)
        return 1e3 * (process_time() - began) / sum(map(len, drawn))

    def run(texts: int) -> list[tuple[float, float]]:
        return [(milliseconds(texts, None), milliseconds(texts, automaton)) for _ in range(_TURNS)]

    def facts(turns: list[tuple[float, float]]) -> Facts:
        free, constrained = map(median, zip(*turns, strict=True))
        return {"free": free, "constrained": constrained, "ratio": median(bound / one for one, bound in turns)}

    return Task(run, 1, int(count), facts)


TASKS = {"generate": _generate}
