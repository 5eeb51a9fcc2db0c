"""Tables of the translation pilot: scores, lengths and decode errors of both codes, beside the paper's.

They are made from the scores of `evaluate_translation`: one row for each pair, code (`bytes` or `bits`), start
(`scratch`, `mean` or `copy`) and seed.
"""

from collections.abc import Collection, Mapping, Sequence

import polars as pl
import yaml

from tasks.report.tables.segmentation_tables import PAPERS
from tasks.report.tables.table import Table
from tasks.report.verdict import Spread, mark, mark_each

CODES = {"bytes": "byte fallback", "bits": "bit-level"}
"""Code -> how tables and pictures name it."""

STARTS = {"scratch": "from scratch", "mean": "fine-tuned, means", "copy": "fine-tuned, copies"}
"""Where the weights of a model begin, and what its new rows hold -> how tables and pictures name it."""

ERRORS = {
    "errors_prefix": "prefix alone",
    "errors_payload": "payload alone",
    "errors_outside": "outside a run",
    "errors_utf8": "not UTF-8",
}
"""Column -> the kind of decode errors that it counts."""


_JUDGED = {"chrf": True, "bleu": True, "errors": False}
"""Columns of scores in which the best of a pair is marked, in the order of the table -> whether more is better."""


def translation_table(scores: pl.DataFrame, generated: Collection[str], notes: Sequence[str]) -> Table:
    """Scores, decode errors and lengths of every pair, code and start, beside the paper's.

    generated: the pairs of generated text, beside which the paper's numbers mean nothing.
    """
    printed = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["bit_level_bpe"]["translation"]
    rows = []
    for (pair,), of_pair in scores.group_by("pair", maintain_order=True):
        for (code, init), of_code in of_pair.group_by("code", "init", maintain_order=True):
            rows.append(
                [
                    str(pair),
                    _model(str(code), str(init)),
                    mean(of_code["chrf"], 1),
                    mean(of_code["bleu"], 1),
                    mean(of_code["errors"], 0),
                    *(mean(100 * of_code[column] / of_code["sentences"], 1) for column in ("broken", "empty")),
                    f"{of_code['relative_gain'][0]:.4f}",
                ]
            )
        trained = [of_code for _, of_code in of_pair.group_by("code", "init", maintain_order=True)]
        for place, (column, largest) in enumerate(_JUDGED.items(), 2):
            spreads = [Spread.of(of_code[column]) for of_code in trained]
            mark(rows[-len(trained) :], place, spreads, largest=largest)
        paper = {} if pair in generated else printed.get(pair, {})
        for code, figures in paper.items():
            bleu, errors, gain = (_text(figures.get(name)) for name in ("bleu", "errors", "relative_gain"))
            rows.append([str(pair), f"{CODES[code]}, paper", "", bleu, errors, "", "", gain])
    header = ["pair", "code", "chrF", "BLEU", "decode errors", "broken %", "empty %", "relative gain"]
    return Table("translation", _title(scores), header, rows, list(notes))


def _title(scores: pl.DataFrame) -> str:
    sizes = " and ".join(f"{size:,}" for size in scores["sentences"].unique().sort())
    seeds = scores["seed"].n_unique()
    return f"Translation of {sizes} test sentences" + (f"; mean ± sd of {seeds} seeds" if seeds > 1 else "")


def error_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Decode errors by kind, lengths, and the loss on held-out sentences."""
    rows = [
        [
            str(pair),
            _model(str(code), str(init)),
            *(mean(of_code[column], 1) for column in (*ERRORS, "errors_ended", "unfinished")),
            f"{of_code['reference_tokens'][0] / of_code['reference_characters'][0]:.3f}",
            mean(of_code["output_tokens"] / of_code["reference_tokens"], 3),
            mean(of_code["held_out_nats_per_character"], 3),
            f"{of_code['vocabulary'][0]:,}",
            f"{of_code['parameters'][0]:,}",
        ]
        for (pair, code, init), of_code in scores.group_by("pair", "code", "init", maintain_order=True)
    ]
    mark_each(rows, scores, ["pair", "code", "init"], "held_out_nats_per_character", 2 + len(ERRORS) + 4, largest=False)
    header = [
        "pair",
        "code",
        *ERRORS.values(),
        "in ended outputs",
        "unfinished",
        "tokens/character",
        "output/reference",
    ]
    header += ["held-out nats/character", "|V|", "weights"]
    title = "Translation: decode errors by kind, lengths and loss"
    return Table("translation-errors", title, header, rows, list(notes))


def translation_examples(pair: str, examples: Sequence[Mapping[str, str]]) -> Table:
    """Test sentences and their translations by the first models of both codes that were trained from scratch."""
    codes = [code for code in CODES if all(code in example for example in examples)]
    rows = [[example[column] for column in ("source", "reference", *codes)] for example in examples]
    header = ["source", "reference", *(CODES[code] for code in codes)]
    return Table(f"translation-examples-{pair}", f"{pair}: translations", header, rows, [])


def _model(code: str, init: str) -> str:
    return CODES[code] if init == "scratch" else f"{CODES[code]}, {STARTS[init]}"


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:,}"


def mean(values: pl.Series, digits: int) -> str:
    """The mean, and the deviation where there are several values; empty where there are none."""
    known = values.drop_nulls().cast(pl.Float64).to_numpy()
    if not len(known):
        return ""
    spread = f" ± {known.std(ddof=1):,.{digits}f}" if len(known) > 1 else ""
    return f"{known.mean():,.{digits}f}{spread}"
