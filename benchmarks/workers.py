"""Commands by one process and by two: the same bytes, and how much sooner."""

import subprocess
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from statistics import median

from benchmarks.measure import Bench, Measurement, agree, table_of
from benchmarks.resampled import drawn

TITLE = "One process and two"
TEXTS = ("three", "part")
RUNS = 2
"""In turn, since the speed of a machine may change by a third between two runs."""
_WORKERS = (1, 2)
_MEMORY = "500M"
"""The least that there is: a shard is three million characters."""
_KEPT = ("--n-max", "4", "--min-frequency", "5")
_MILLIONS = {False: (150, 18), True: (0.1, 0.1)}
"""Characters of the texts, in full and with --quick: so many that the start of the workers is a small part of the time,
and 17 shards of an E-step."""


def table(bench: Bench) -> list[str]:
    """Measure whole commands, their start included; Markdown."""
    sizes, model = _MILLIONS[bench.quick], bench.folder / "part.words"
    long, short = (bench.folder / name for name in ("long.txt", "short.txt"))
    for text, millions in zip((long, short), sizes, strict=True):
        with text.open("wb") as file:
            subprocess.run(drawn(bench.text("three"), int(millions * 1e6)), stdout=file, check=True)
    statistics, code = (str(bench.folder / name) for name in ("made.parquet", "made.json"))
    bench.measure_command(["segment", bench.text("part"), "--method", "words", "--save-model", str(model)], once=True)
    learning = "codes learn --code latom -N 2 --iterations 1"
    commands = {
        "segment --model WORDS": (long, ["segment", "--model", str(model)]),
        f"statistics --memory {_MEMORY}": (long, ["statistics", "--memory", _MEMORY, "-o", statistics, *_KEPT]),
        learning: (short, [*learning.split(), "-o", code]),
    }
    rows = []
    for name, (text, arguments) in commands.items():
        _measured(bench, [*arguments, bench.text("part")], 1)  # It compiles, once after installing.
        found = [_measured(bench, [*arguments, str(text)], workers) for workers in _WORKERS * RUNS]
        agree(*found)
        alone, shared = (median(one.median for one in found[first::2]) for first in range(2))
        rows.append([f"`{name}`", f"{alone:.1f}", f"{shared:.1f}", f"{alone / shared:.2f}"])
    heads = ["command", "seconds, one process", "seconds, two", "two are faster"]
    about = "{:g} million characters, made like those of `three`; {:g} million for `codes learn`.".format(*sizes)
    return [about, "", *table_of(heads, rows)]


def _measured(bench: Bench, arguments: Sequence[str], workers: int) -> Measurement:
    """One run, with the hash of its output."""
    found = bench.measure_command([*arguments, "--workers", str(workers)], once=True)
    made = arguments[arguments.index("-o") + 1] if "-o" in arguments else bench.folder / "output.txt"
    found.facts["output"] = sha256(Path(made).read_bytes()).hexdigest()
    return found
