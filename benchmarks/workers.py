"""Commands by one process and by several: the same bytes, and how much sooner."""

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from benchmarks.measure import Bench, Measurement, agree, table_of
from benchmarks.resampled import drawn

TITLE = "One process and several"
TEXTS = ("three", "part")
RUNS = 1
_WORKERS = (1, 2, 4)
_MEMORY = "500M"
"""The least that there is: a shard is three million characters."""
_KEPT = ("--n-max", "4", "--min-frequency", "5")
_MILLIONS = {False: 128, True: 0.1}
"""Characters of the text; in full, and with --quick."""


def table(bench: Bench) -> list[str]:
    """Measure whole commands, their start included; Markdown."""
    millions = _MILLIONS[bench.quick]
    text, model, made = (bench.folder / name for name in ("text.txt", "part.words", "made.parquet"))
    with text.open("wb") as file:
        subprocess.run(drawn(bench.text("three"), int(millions * 1e6)), stdout=file, check=True)
    bench.measure_command(["segment", bench.text("part"), "--method", "words", "--save-model", str(model)], once=True)
    commands = {
        "segment --model WORDS": ["segment", "--model", str(model)],
        f"statistics --memory {_MEMORY}": ["statistics", "--memory", _MEMORY, "-o", str(made), *_KEPT],
    }
    rows = []
    for name, arguments in commands.items():
        _measured(bench, [*arguments, bench.text("part")], 1)  # It compiles, once after installing.
        found = [_measured(bench, [*arguments, str(text)], workers) for workers in _WORKERS]
        agree(*found)
        seconds = [f"{one.median:.1f}" for one in found]
        rows.append([f"`{name}`", *seconds, *(f"{found[0].median / one.median:.2f}" for one in found[1:])])
        made.unlink(missing_ok=True)
    several = _WORKERS[1:]
    heads = ["command", *(f"seconds, {n}" for n in _WORKERS), *(f"{n} processes are faster" for n in several)]
    return [f"{millions:g} million characters, made like those of `three`.", "", *table_of(heads, rows)]


def _measured(bench: Bench, arguments: Sequence[str], workers: int) -> Measurement:
    """One run, with the hash of its output."""
    found = bench.measure_command([*arguments, "--workers", str(workers)], once=True)
    made = bench.folder / ("made.parquet" if "-o" in arguments else "output.txt")
    return replace(found, facts={"output": sha256(made.read_bytes()).hexdigest()})
