"""What a constraint costs in generation: CPU time per token of texts that must decode, beside free ones.

The models are those that the pipeline trained for a preset (`--preset`), a first one for each code of each language.
Both ways draw as the stage `generate` does, with a state of the automaton for each text of a batch.
"""

from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.measure import Bench, Task, table_of
from tokenlab.codes.constrained import constrain
from tokenlab.codes.generation import generate_tokens
from tokenlab.codes.registry import read_code
from tokenlab.core.errors import InputError
from tokenlab.language.options import GenerationOptions
from tokenlab.networks.stored import read_network

TITLE = "Constrained generation"
TEXTS = ()
_MODELS = Path(__file__).resolve().parent.parent / "models"
_WAYS = ("free", "constrained")
_BATCHES = ((500, 500), (1, 4))  # texts at once, and in all


def table(bench: Bench) -> list[str]:
    heads = ["texts", "code", "at once", "CPU ms/token, free", "CPU ms/token, constrained", "times the time"]
    rows = []
    for folder in _folders(bench.preset):
        for batch, count in _BATCHES:
            size = str(2 if bench.quick else count)
            found = [bench.measure("constrained:generate", str(folder), way, size, str(batch)) for way in _WAYS]
            times = [1e3 * one.cpu / one.facts["tokens"] for one in found]
            shown = (f"{time:.3g}" for time in times)
            code = folder.name.partition("-bpe-")[0]
            rows.append([folder.parent.name, code, batch, *shown, f"{times[1] / times[0]:.2f}"])
    about = "64 tokens a text, top 50, first token drawn evenly, one thread"
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


def _generate(folder: str, way: str, count: str, batch: str) -> Task:
    """Generate so many texts with the model of a folder."""
    torch.set_num_threads(1)
    automaton = constrain(read_code(Path(folder, "code.json")), Path(folder, "tokenizer.json"))
    network = read_network(Path(folder))
    options = GenerationOptions(length=64, top_k=50, batch=int(batch))

    def run(texts: int) -> int:
        given = automaton if way == "constrained" else None
        drawn = generate_tokens(network, texts, automaton.vocabulary, options, given, uniform_start=True)
        return sum(map(len, drawn))

    return Task(run, 1, int(count), lambda tokens: {"tokens": tokens})


TASKS = {"generate": _generate}
