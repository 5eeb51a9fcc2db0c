"""Tables of texts that are segmented by what they say themselves: from the scores of the stage `own_text`."""

from typing import Any

import polars as pl
import yaml

from tasks.report.tables.segmentation_tables import PAPERS, mean_share, percent
from tasks.report.tables.table import Table

_HEADER = ["method", "λ", "P", "R", "F1", "F1, words of Han alone", "boundary F1"]
_RULES = {"none": "", "slm": "; digits, Latin letters and punctuation by the rules of SLM"}


def own_text_table(scores: pl.DataFrame, facts: dict[str, Any]) -> Table:
    """Word scores of one text, and under SLM's rules the published F1 of systems that know the text alone.

    facts: of the corpus, as `prepare` writes them.
    """
    first = scores.row(0, named=True)
    rows = []
    for (configuration,), of_configuration in scores.group_by("configuration", maintain_order=True):
        weight = of_configuration["lambda"][0]
        rows.append(
            [
                str(configuration),
                "" if weight is None else f"{weight:g}",
                percent(of_configuration, "precision"),
                percent(of_configuration, "recall"),
                *(mean_share(of_configuration, column) for column in ("f1", "han_f1", "boundary_f1")),
            ]
        )
    published = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["slm"]
    if first["rules"] == "slm" and facts["source"] == published["source"]:
        rows += [[name, "", "", "", f"{row['f1']:.1f}", "", ""] for name, row in published["rows"].items()]
    return Table(f"own-text-{first['text']}", _title(scores), _HEADER, rows, facts["notes"])


def _title(scores: pl.DataFrame) -> str:
    first = scores.row(0, named=True)
    parts, seeds = scores["part"].n_unique(), scores["seed"].n_unique() - bool(scores["seed"].null_count())
    size = f"{first['training_characters']:,} characters"
    text = f"{parts} slices of {size} or a little more, each by itself" if parts > 1 else f"{size}, by that text alone"
    repeated = [f"{number} {what}" for number, what in ((parts, "slices"), (seeds, "seeds")) if number > 1]
    spread = f"; mean ± sd of {' and '.join(repeated)}" if repeated else ""
    return f"{first['text']}: {first['corpus']}, {text}{_RULES[first['rules']]}{spread}"
