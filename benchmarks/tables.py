"""`python -m benchmarks [NAME ...] [--quick] [--write]`: measure, print the tables, keep them in docs/benchmarks.md."""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import Bench
from tokenlab.core.errors import EXIT_STATUS, InputError, TokenlabError, one_line
from tokenlab.core.files import write_text

_BENCHMARKS = (
    "ngram_statistics", "beyond_memory", "counted_by_others", "train_beyond_memory", "workers", "segmentation",
    "word_model", "export", "bpe_training", "bpe_english", "cuts", "cut_models", "entropy", "hmm", "atoms", "exact",
    "bits", "translation", "gpt", "patches", "patches_generation", "constrained", "answers",
)  # fmt: skip
"""Modules of this package, each with a TITLE, the names of its TEXTS, its TASKS and the function `table`; RUNS
where they are fewer than elsewhere."""
_PAGE = Path(__file__).resolve().parent.parent / "docs/benchmarks.md"
_PACKAGES = ("numpy", "numba", "polars", "soynlp", "pyarrow", "regex")
_UNDISTURBED = 0.95  # CPU time / time of a process whose core nothing else wants.
_SIZES = {False: (1_841_735, 200_000), True: (20_000, 5_000)}  # characters, and of the part for slow peers


def main() -> int:
    """Run the benchmarks that were named; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time the library beside its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(_BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="small texts, one run: shows that it works, not how fast")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--preset", default="sample", help="whose models `translation` takes (default: sample)")
    options = parser.parse_args()
    if unknown := set(options.names) - {*_BENCHMARKS}:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(_BENCHMARKS)}")
    if options.quick and options.write:
        parser.error("--quick times mean nothing; --write goes without it")
    try:
        with tempfile.TemporaryDirectory(prefix="tokenlab-benchmarks-") as folder:
            bench = _bench(Path(folder), options.quick, options.preset)
            for name in options.names or _BENCHMARKS:
                module = import_module(f"benchmarks.{name}")
                bench.cpu_shares.clear()
                section = [
                    *_conditions(bench, name, module.TEXTS, getattr(module, "RUNS", bench.runs)),
                    "",
                    *module.table(bench),
                    "",
                    _quietness(bench),
                ]
                print(f"## {module.TITLE}", "", *section, "", sep="\n", flush=True)
                if options.write:
                    write_section(name, section)
    except TokenlabError as error:
        print(f"benchmarks: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    return 0


def _bench(folder: Path, quick: bool, preset: str) -> Bench:
    size, part = map(str, _SIZES[quick])
    subprocess.run([sys.executable, "-m", "benchmarks.corpora", folder, size, part], check=True)
    texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    return Bench(folder, texts, runs=1 if quick else 3, numba_cache=None if quick else folder / "numba", preset=preset)


def _conditions(bench: Bench, name: str, texts: Sequence[str], runs: int) -> list[str]:
    """When, on what, with which versions and texts, and how to run it again."""
    versions = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    again = name if bench.preset == "sample" else f"{name} --preset {bench.preset}"
    how = "One run of each" if runs == 1 else f"Median of {runs} runs (slowest to fastest)"
    lines = [
        f"{datetime.date.today()}, {_processor()}, {os.cpu_count()} cores, Python {platform.python_version()},",
        f"{versions}. {how}. Again: `python -m benchmarks {again} --write`.",
        "",
    ]
    for text in texts:
        sources = ", ".join(f"{source} {count:,}" for source, count in bench.texts[text]["sources"].items())
        lines.append(f"- text `{text}`: {sources} characters")
    return lines


def _quietness(bench: Bench) -> str:
    if not bench.cpu_shares:
        return "Whether the cores were free was not measured."
    lowest = min(bench.cpu_shares)
    verdict = "hardly interrupted" if lowest > _UNDISTURBED else "the machine was busy, so do not rely on the ratios"
    return f"One-thread measurements had a core for at least {lowest:.0%} of their time: {verdict}."


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def write_section(name: str, section: Sequence[str]) -> None:
    """Put lines between the marks of a benchmark in docs/benchmarks.md."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = _PAGE.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise InputError(f"{_PAGE.name}: no `{begin.strip()}` and `{end}`; put them back where the table belongs")
    write_text(_PAGE, before + begin + "\n" + "\n".join(section) + "\n\n" + end + after)
