"""Commands by one process and by several: the same bytes, and how much sooner."""

import subprocess
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from benchmarks.measure import Bench, Measurement, agree, table_of
from benchmarks.resampled import drawn

TITLE = "One process and several"
TEXTS = ("three", "part")
RUNS = 1
_TURNS = 2
_WORKERS = (1, 2, 4)
_MEMORY = "500M"
"""The least that there is: a shard is three million characters."""
_KEPT = ("--n-max", "4", "--min-frequency", "5")
_MILLIONS = {False: 68, True: 0.1}
"""Characters of the text; in full, eight shards of an E-step, and with --quick."""


def table(bench: Bench) -> list[str]:
    """Measure whole commands, their start included; Markdown."""
    millions = _MILLIONS[bench.quick]
    text, model = (bench.folder / name for name in ("text.txt", "part.words"))
    statistics, code = (str(bench.folder / name) for name in ("made.parquet", "made.json"))
    with text.open("wb") as file:
        subprocess.run(drawn(bench.text("three"), int(millions * 1e6)), stdout=file, check=True)
    bench.measure_command(["segment", bench.text("part"), "--method", "words", "--save-model", str(model)], once=True)
    learning = "codes learn --code latom -N 3 --iterations 0"
    commands = {
        "segment --model WORDS": ["segment", "--model", str(model)],
        f"statistics --memory {_MEMORY}": ["statistics", "--memory", _MEMORY, "-o", statistics, *_KEPT],
        learning: [*learning.split(), "-o", code],
    }
    rows = []
    for name, arguments in commands.items():
        _measured(bench, [*arguments, bench.text("part")], 1)  # It compiles, once after installing.
        runs = [
            [_measured(bench, [*arguments, str(text)], workers) for workers in _WORKERS]
            for _ in range(1 if bench.quick else _TURNS)
        ]
        agree(*(one for row in runs for one in row))
        least = [min(one.median for one in of_workers) for of_workers in zip(*runs, strict=True)]
        faster = [f"{least[0] / seconds:.2f}" for seconds in least[1:]]
        rows.append([f"`{name}`", *(f"{seconds:.1f}" for seconds in least), *faster])
    several = _WORKERS[1:]
    heads = ["command", *(f"seconds, {n}" for n in _WORKERS), *(f"{n} processes are faster" for n in several)]
    about = f"{millions:g} million characters, made like those of `three`; the fastest of two alternating runs."
    return [about, "", *table_of(heads, rows)]


def _measured(bench: Bench, arguments: Sequence[str], workers: int) -> Measurement:
    """One run, with the hash of its output."""
    found = bench.measure_command([*arguments, "--workers", str(workers)], once=True)
    made = arguments[arguments.index("-o") + 1] if "-o" in arguments else bench.folder / "output.txt"
    found.facts["output"] = sha256(Path(made).read_bytes()).hexdigest()
    return found
