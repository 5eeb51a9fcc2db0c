"""Rows of the search for other splits of the 24 bits: length, added tokens and Rényi efficiency of each, and which are
on the front of the three.

All characters fall back to bytes. Every second text is measured; the others only choose the prefixes that pay. |V| is
256 bytes and the added tokens that can occur.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from tasks.runtime.pool import pooled
from tasks.runtime.stage import Parameters
from tokenlab.codes.bits.search import Candidate, Characters, Split, all_splits, candidates, measure, pareto_front
from tokenlab.codes.bits.symbols import LONG
from tokenlab.core.errors import InputError
from tokenlab.metrics.renyi import renyi_efficiency, renyi_entropy

Row = dict[str, Any]

KEY = ("split", "policy", "prefixes")
"""The columns that identify a row."""

_LISTED = 3
"""Prefixes are named where they are at most so many ranges, and counted otherwise."""

PLAIN = Split(0, (8, 8, 8))
"""Plain byte fallback."""
PAPER = Split(6, (9, 9))
PAPER_PREFIXES = (0x39, 0x3A, 0x3B)


class Search(Parameters):
    """The splits to try: all with prefixes of at most so many bits, and each number of payloads."""

    largest_prefix: int = Field(ge=0, le=16)
    payloads: tuple[Annotated[int, Field(ge=1, le=3)], ...] = Field(min_length=1)


def search_rows(texts: Iterable[str], search: Search, alpha: float) -> list[Row]:
    """A row for each split and policy, and for plain byte fallback and the paper's code whatever is searched.

    texts: read twice. Memory is linear in the number of characters. Raises InputError for a single text.
    """
    chosen_on, measured = Characters(islice(texts, 0, None, 2)), Characters(islice(texts, 1, None, 2))
    if not measured.counts.size:
        raise InputError("a single text; the search chooses prefixes on one and measures on another, so add texts")
    plain = measure(measured, PLAIN, "run", ())
    paper = measure(measured, PAPER, "run", PAPER_PREFIXES)

    def of_split(split: Split) -> list[Row]:
        return [_row(found, plain.tokens, alpha) for found in candidates(measured, [split], chosen_on=chosen_on)]

    splits = all_splits(range(search.largest_prefix + 1), search.payloads)
    found = [row for rows in pooled(of_split, splits, "splits") for row in rows]
    found += [_row(fixed, plain.tokens, alpha) for fixed in (plain, paper)]
    rows = list({tuple(row[name] for name in KEY): row for row in found}.values())
    costs = np.array([[row["tokens"], row["added"], -row["renyi"]] for row in rows])
    for row, front in zip(rows, pareto_front(costs), strict=True):
        row["front"] = bool(front)
    return rows


def _row(found: Candidate, plain_tokens: int, alpha: float) -> Row:
    return {
        "split": str(found.split),
        "policy": found.emission,
        "prefixes": named(found.prefixes),
        "tokens": found.tokens,
        "saved": 1 - found.tokens / plain_tokens,
        "added": found.added,
        "prefix_tokens": found.prefix_tokens,
        "resets": found.resets,
        "renyi": renyi_efficiency(found.counts, alpha, LONG + found.added),
        "entropy": renyi_entropy(found.counts, 1),
        "paper": found.split == PAPER and found.emission == "run" and found.prefixes == PAPER_PREFIXES,
    }


def named(prefixes: Sequence[int]) -> str:
    """Ascending prefixes as people read them: `38h-3Bh`, `39h, 3Bh`, `117 prefixes`, `none`."""
    groups = groupby(enumerate(prefixes), lambda place_and_prefix: place_and_prefix[1] - place_and_prefix[0])
    ranges = [[prefix for _, prefix in group] for _, group in groups]
    if len(ranges) > _LISTED:
        return f"{len(prefixes)} prefixes"
    names = [f"{found[0]:02X}h" + (f"-{found[-1]:02X}h" if len(found) > 1 else "") for found in ranges]
    return ", ".join(names) or "none"
