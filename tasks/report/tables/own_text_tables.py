"""Tables of texts that are segmented by what they say themselves: from the scores of the stage `own_text`."""

from typing import Any

import polars as pl
import yaml

from tasks.report.tables.segmentation_tables import PAPERS, mean_share, named, percent
from tasks.report.tables.table import Table
from tasks.report.verdict import Spread, mark

_HEADER = ["method", "λ", "P", "R", "F1", "F1, words of Han alone", "boundary F1"]
_JUDGED = {"f1": "F1", "han_f1": "F1, words of Han alone", "boundary_f1": "boundary F1"}
"""Column of scores -> the heading under which the best is marked."""

_RULES = {"none": "", "slm": "; digits, Latin letters and punctuation by the rules of SLM"}


def own_text_table(scores: pl.DataFrame, facts: dict[str, Any]) -> Table:
    """Word scores of one text, and under SLM's rules the published F1 of systems that know the text alone.

    facts: of the corpus, as `prepare` writes them.
    """
    first = scores.row(0, named=True)
    rows, spreads = [], []
    for (configuration,), of_configuration in scores.group_by("configuration", maintain_order=True):
        by_chance = scores["part"].n_unique() > 1 or of_configuration["seed"].null_count() == 0
        spreads.append([Spread.of(of_configuration[column], by_chance=by_chance) for column in _JUDGED])
        weight = of_configuration["lambda"][0]
        rows.append(
            [
                named(str(configuration), str(configuration)),
                "" if weight is None else f"{weight:g}",
                percent(of_configuration, "precision"),
                percent(of_configuration, "recall"),
                *(mean_share(of_configuration, column) for column in _JUDGED),
            ]
        )
    published = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["slm"]
    beside = published["rows"] if first["rules"] == "slm" and facts["source"] == published["source"] else {}
    printed = [Spread(row["f1"] / 100, 0.0) for row in beside.values()]
    for place, heading in enumerate(_JUDGED.values()):
        rivals = printed if heading == "F1" else []
        mark(rows, _HEADER.index(heading), [of_row[place] for of_row in spreads], printed=rivals)
    rows += [[name, "", "", "", f"{row['f1']:.1f}", "", ""] for name, row in beside.items()]
    return Table(f"own-text-{first['text']}", _title(scores), _HEADER, rows, facts["notes"])


def _title(scores: pl.DataFrame) -> str:
    first = scores.row(0, named=True)
    parts, seeds = scores["part"].n_unique(), scores["seed"].n_unique() - bool(scores["seed"].null_count())
    size = f"{first['training_characters']:,} characters"
    text = f"{parts} slices of {size} or a little more, each by itself" if parts > 1 else f"{size}, by that text alone"
    repeated = [f"{number} {what}" for number, what in ((parts, "slices"), (seeds, "seeds")) if number > 1]
    spread = f"; mean ± sd of {' and '.join(repeated)}" if repeated else ""
    return f"{first['text']}: {first['corpus']}, {text}{_RULES[first['rules']]}{spread}"
