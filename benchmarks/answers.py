"""How far an answer of `tokenlab compare` can be trusted: it finds no winner between a tokenizer and itself, and it
chooses what a comparison of four times the operations chooses.

The texts are the beginnings of Bibles of the mirror, or built-in sentences without it.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.corpora import bible_languages, verses
from benchmarks.measure import Bench
from tokenlab.comparison.verdict import enough_seeds

TITLE = "Answers of `tokenlab compare`"
TEXTS = ()
_SIZES = {False: (1_000_000, 1e11, 20, None), True: (20_000, 3e10, 2, 1)}
"""Characters of a text, operations of a training, comparisons of a tokenizer with itself, and languages."""
_LONGER = 4


def table(bench: Bench) -> list[str]:
    size, flops, comparisons, languages = _SIZES[bench.quick]
    texts = {}
    for language in bible_languages()[:languages]:
        texts[language] = bench.folder / f"answers-{language}.txt"
        texts[language].write_text("\n".join(verses(language, size)) + "\n", encoding="utf-8")
    winners = _winners(bench.folder, texts["en"], flops, comparisons)
    lines = [
        f"Byte-level BPE beside itself (other weights at first, the same text in the same order): {winners} of "
        f"{comparisons} comparisons of English named a winner. {flops:.0e} operations a training, "
        f"{enough_seeds(2)} seeds.",
        "",
        f"The choice among the command's own candidates, and that of a comparison of {_LONGER} times the operations. "
        "behind: what the first choice has more than the best in the longer comparison, bits per byte with its "
        "interval; `the best` has the fewest bits there, whether or not a faster one that cannot be separated from it "
        "is named.",
        "",
        f"| text | characters | {flops:.0e} operations | {_LONGER * flops:.1e} | behind |",
        "| --- | --: | --- | --- | --: |",
    ]
    return lines + [_agreement(bench.folder, language, text, flops) for language, text in texts.items()]


def _winners(folder: Path, text: Path, flops: float, comparisons: int) -> int:
    """In how many comparisons one of two names of the same tokenizer is called better."""
    tokenizer = folder / "tokenizer"
    tokenlab("train", text, "-o", tokenizer, "--cut", "gpt2", "--vocabulary", 2000)
    found = [compared(folder, text, flops, tokenizer, tokenizer, seed=3 * number) for number in range(comparisons)]
    return sum(result["separable"] for result in found)


def _agreement(folder: Path, language: str, text: Path, flops: float) -> str:
    """A row: the choices of a short and of a long comparison."""
    short, long = (compared(folder, text, times * flops) for times in (1, _LONGER))
    chosen = next(row for row in long["candidates"] if row["name"] == short["use"])
    characters = len(text.read_text(encoding="utf-8"))
    return f"| {language} | {characters:,} | {short['use']} | {long['use']} | {behind_best(chosen)} |"


def behind_best(row: dict[str, Any]) -> str:
    """The distance of a candidate from the best, with its interval."""
    return f"{row['behind']:.3f} ± {row['interval']:.3f}" if row["behind"] else "the best"


def compared(folder: Path, text: Path, flops: float, *candidates: Path, **options: int) -> dict[str, Any]:
    """The result of a comparison."""
    output = folder / "-".join(map(str, (text.stem, f"{flops:g}", len(candidates), *options.values())))
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    tokenlab("compare", text, *candidates, "-o", output, "--flops", flops, *given)
    return json.loads((output / "result.json").read_text(encoding="utf-8"))


def tokenlab(*arguments: object) -> None:
    """Run the command."""
    command = [sys.executable, "-m", "tokenlab.cli", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
