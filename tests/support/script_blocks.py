"""The table of the SCRIPT code from the Unicode data of two libraries: scripts from fontTools, categories from `regex`.

`python tests/support/script_blocks.py > tokenlab/codes/script_blocks.tsv` writes it anew. That makes another code
wherever Unicode has changed, so the table's version is raised on purpose only.
"""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import regex
from fontTools.unicodedata import Scripts, script, script_name

_SUPERCATEGORIES = {"LM": r"\p{L}\p{M}", "N": r"\p{N}", "PS": r"\p{P}\p{S}", "Z": r"\p{Z}", "C": r"\p{C}"}
_MOVED = {"\t": ("Common", "Z"), "\n": ("Common", "Z"), "ـ": ("Arabic", "LM")}
_MOVED |= {"ー": ("Inherited", "LM"), "ｰ": ("Inherited", "LM")}
"""Characters that the authors' implementation moves to another block."""


def unicode_version() -> str:
    """The version of Unicode that fontTools has scripts of, such as 17.0.0."""
    comment = next(
        line for line in Path(Scripts.__file__).read_text(encoding="utf-8").splitlines() if "Scripts-" in line
    )
    return comment.removeprefix("# Scripts-").removesuffix(".txt")


def blocks() -> list[tuple[str, str]]:
    """The script and the supercategory of every code point."""
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    found = [("", "")] * len(text)
    names = {code: script_name(code).replace(" ", "_") for code in map(script, text)}
    for name, members in _SUPERCATEGORIES.items():
        for match in regex.finditer(f"[{members}]", text):
            character = match[0]
            found[ord(character)] = _MOVED.get(character) or (names[script(character)], name)
    return found


def lines() -> Iterator[str]:
    """The lines of the table: ranges of one block each, without those of the script Unknown."""
    yield f"# Unicode {unicode_version()}: first and last code point, script, supercategory; all others are Unknown, C."
    found = blocks()
    for block, points in groupby(range(len(found)), found.__getitem__):
        if block[0] != "Unknown":
            members = list(points)
            yield f"{members[0]:04X}\t{members[-1]:04X}\t{block[0]}\t{block[1]}"


if __name__ == "__main__":
    print("\n".join(lines()))
