"""The bits family: what bit-level codes save over byte fallback, the entropy of their tokens, splits of the 24 bits,
and the translation pilot; tables, then pictures.

They are made from the tables of `bits_length` (of lengths: one row for each corpus, base vocabulary, code, mode,
prefixes and emission; of the search: one row for each corpus, split, policy and set of prefixes) and of
`evaluate_translation` (one row for each pair, code, start and seed).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import LogLocator

from tasks.report.inputs import corpus_facts, examples, notes_of, pictures, read_parts, tables_of
from tasks.report.plot import THOUSANDS, curve, grid, panels, save, whole_numbers
from tasks.report.style import ACCENT, GREY, INK, OCHRE, SECOND
from tasks.report.table import Caveat, Column, Form, Results, Table, of_seeds, read_paper, shown, tabulate, there
from tasks.report.verdict import Spread, kinds
from tasks.runtime.stage import Stage

_CHARACTERS = "characters"
"""The base vocabularies that hold the most frequent characters of the corpus and nothing else."""

_EMISSIONS = {"run": "every run", "change": "changes"}
"""Emission -> the places of prefixes: every run, or changes alone."""

_CODES = {"bytes": "byte fallback", "bits": "bit-level"}
"""Code of a translation model -> how tables and pictures name it."""

_STARTS = {"scratch": "from scratch", "mean": "fine-tuned, means", "copy": "fine-tuned, copies"}
"""Where the weights of a model begin, and what its new rows hold -> how tables and pictures name it."""

_LOSSLESS: dict[str, Any] = {"code": "bits", "mode": "lossless"}
_VARIANTS = {(3, "run"): "3 prefixes", (4, "run"): "4 prefixes", (4, "change"): "4, on change"}
"""Prefixes and emission of the codes in tables -> their names."""

_OTHER_CODES = {"bytes": "byte fallback", "script": "SCRIPT", "characters": "characters"}
_CHOSEN = "measured on every second text; prefixes: all, or those that save tokens in the other texts"
_LIMITS = (16, 259, 1024)
"""Added tokens of the splits in the short table; 259 is what the paper adds, though half of them can never occur."""

_BEST_LAST = (pl.col("saved"), -pl.col("added"), pl.col("renyi"))
"""Of equally short splits that with the fewest added tokens is better, then the most efficient."""

_SPLIT = [
    Column("split", "split"),
    Column("prefixes", "prefixes"),
    Column("written", "policy", _EMISSIONS.__getitem__),
    Column("tokens added", "added", "{:,}"),
    Column("saved %", "saved", "{:.2f}", 100, result=True),
    Column("H", "entropy", "{:.3f}"),
    Column("Rényi % of |V|", "renyi", "{:.1f}", 100),
]

_ERRORS = {
    "errors_prefix": "prefix alone",
    "errors_payload": "payload alone",
    "errors_outside": "outside a run",
    "errors_utf8": "not UTF-8",
    "ended": "ended outputs",
    "broken_ended": "broken of these",
    "errors_ended": "errors in these",
    "unfinished": "unfinished outputs",
    "broken_unfinished": "broken of those",
    "errors_unfinished": "errors in those",
}
"""Column -> the kind of decode errors that it counts; outputs by their end, and the errors in them."""

_PAPER_SAVED = "paper: another text and another vocabulary"
_KEY: dict[str, Any] = {"key": ["pair", "init", "code"], "within": 2}
"""Rivals are the models of one pair and start: a fine-tuned model had the training of two."""


def bits_results(stage: Stage) -> Results:
    """Read the results of a preset."""
    of_all: list[Table] = []
    splits: list[Table] = []
    of_corpora: list[Table] = []
    lengths, search = read_lengths(stage), read_parts(stage, "bits.corpora", "bits", "search.parquet")
    if len(lengths):
        facts = {name: corpus_facts(stage, name) for name in lengths["corpus"].unique(maintain_order=True)}
        notes = notes_of(facts.values())
        makers = (savings_table, tokenizers_table, entropy_table, comparison_table)
        of_all = [*there(make(lengths, notes) for make in makers), dead_table(lengths)]
        splits = [choices_table(search, notes)]
        of_corpora = [corpus_table(lengths, name, of_corpus["notes"]) for name, of_corpus in facts.items()]
        of_corpora += front_tables(search, notes)
    translation = _translation(stage)
    page = {
        "lengths": of_all,
        "splits": splits,
        "corpora": of_corpora,
        "translation": translation,
        "examples": examples(stage, "bits.translation", "translation", translation_examples),
        "pictures": pictures(stage.reports("figures", "bits")),
    }
    return Results([*of_all[:1], *translation[:1]], [*of_all[1:], *splits, *of_corpora, *translation[1:]], page)


def read_lengths(stage: Stage) -> pl.DataFrame:
    """The lengths of all corpora under every code; empty without corpora.

    The columns `renyi_nominal` and `renyi_observed` are those of the first `alpha` of the parameters.
    """
    lengths = read_parts(stage, "bits.corpora", "bits", "lengths.parquet")
    alpha = stage.parameters("bits.alphas", list[float])[0]
    at_alpha = {f"{name}_{alpha:g}": name for name in ("renyi_nominal", "renyi_observed")}
    return lengths.rename(at_alpha).with_columns(alpha=pl.lit(alpha)) if len(lengths) else lengths


def savings_table(lengths: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Tokens saved with the most frequent characters in the vocabulary, a row for each corpus."""
    rows = lengths.filter(**_LOSSLESS, base=_CHARACTERS)
    paper = read_paper("bit_level_bpe")["shorter"]

    def saved(rows: pl.DataFrame) -> str:
        return _joined(_variants(rows, "saved"), "{:.1f}", 100)

    columns = [
        Column("corpus", "corpus"),
        Column("paper", lambda rows: paper.get(rows["corpus"][0]), "{:g}", optional=True, note=_PAPER_SAVED),
    ]
    known = rows["known"].unique().sort()
    columns += [Column(f"{count:,} known", saved, where={"known": count}, result=True) for count in known]
    columns.append(Column("resets", lambda rows: rows["resets"].max(), "{:,}"))
    title = "Tokens saved over byte fallback in per cent: three / four prefixes / four, on change alone"
    return tabulate("bits-savings", title, rows, columns, key=["corpus"], notes=notes)


def _variants(rows: pl.DataFrame, column: str) -> list[Any]:
    """A value of one corpus and base under each of the variants."""
    return [_only(rows.filter(prefixes=prefixes, emission=emission), column) for prefixes, emission in _VARIANTS]


def _only(rows: pl.DataFrame, column: str) -> Any:
    """The value of the only row; None where there is no row."""
    return rows[column].item() if len(rows) else None


def _joined(values: Sequence[Any], form: Form, scale: float = 1) -> str:
    return " / ".join(shown(value, form, scale) for value in values)


def tokenizers_table(lengths: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Tokens saved over the byte fallback of trained and published tokenizers."""
    bases = lengths.filter(pl.col("base") != _CHARACTERS, **_LOSSLESS).select("corpus", "base").unique()
    rows = _with_rates(lengths.join(bases, on=["corpus", "base"], how="semi"))

    def saved(rows: pl.DataFrame, variant: str) -> str:
        """Counted without chance, so that any lead over the other variants of the row is one."""
        shares = _variants(rows, "saved")
        leading = kinds([None if share is None else Spread(share, 0.0) for share in shares])
        cells = [kind(shown(share, "{:.2f}", 100)) for kind, share in zip(leading, shares, strict=True)]
        return dict(zip(_VARIANTS.values(), cells, strict=True))[variant]

    columns = [
        Column("corpus", "corpus"),
        Column("tokenizer", "base"),
        Column("|V|", "vocabulary", "{:,}", where={"code": "bytes"}),
        Column("tokens/character", "tokens_per_character", "{:.3f}", where={"code": "bytes"}),
        Column("fallen back %", "fallback_characters", "{:.2f}", 100, where={"code": "bytes"}),
        *(
            Column(f"{name}, %", partial(saved, variant=name), where=_LOSSLESS, result=True)
            for name in _VARIANTS.values()
        ),
        Column("resets", lambda rows: rows["resets"].max(), "{:,}", where=_LOSSLESS),
    ]
    title = "Over tokenizers: tokens saved over their byte fallback"
    return tabulate("bits-tokenizers", title, rows, columns, key=["corpus", "base"], notes=notes)


def entropy_table(lengths: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Entropy of bytes, of prefixes at every run, and of prefixes on change alone."""
    rows = _with_rates(lengths.filter(pl.col("base") == _CHARACTERS))

    def joined(rows: pl.DataFrame, column: str, form: str, scale: float = 1) -> str:
        bits = rows.filter(**_LOSSLESS, prefixes=4)
        codes = [rows.filter(code="bytes"), *(bits.filter(emission=emission) for emission in _EMISSIONS)]
        return _joined([_only(code, column) for code in codes], form, scale)

    alpha = f"alpha = {lengths['alpha'][0]:g}"
    columns = [
        Column("corpus", "corpus"),
        Column("known", "known", "{:,}"),
        Column("H, bits per token", partial(joined, column="entropy", form="{:.2f}")),
        Column(f"Rényi, {alpha}, % of |V|", partial(joined, column="renyi_nominal", form="{:.1f}", scale=100)),
        Column("% of the used", partial(joined, column="renyi_observed", form="{:.1f}", scale=100)),
        Column("bits per character", partial(joined, column="bits_per_character", form="{:.2f}"), result=True),
    ]
    title = "Entropy of single tokens: byte fallback / four prefixes at every run / on change alone"
    return tabulate("bits-entropy", title, rows, columns, key=["corpus", "known"], notes=notes)


def comparison_table(lengths: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Bytes, bit-level codes and SCRIPT where no character is a token, and characters; no rows without such a base."""
    bottom = {"base": _CHARACTERS, "known": 0}
    rows = _with_rates(lengths.clear() if lengths.filter(**bottom).is_empty() else lengths)
    codes: dict[str, Mapping[str, Any]] = {"bytes": {**bottom, "code": "bytes"}}
    for (prefixes, emission), name in _VARIANTS.items():
        codes[name] = {**bottom, **_LOSSLESS, "prefixes": prefixes, "emission": emission}
    codes |= {"SCRIPT": {"code": "script"}, "characters": {"code": "characters"}}

    def pair(rows: pl.DataFrame) -> str:
        tokens, bits = _only(rows, "tokens_per_character"), _only(rows, "bits_per_character")
        return f"{shown(tokens, '{:.3f}')} / {shown(bits, '{:.2f}')}"

    columns = [Column("corpus", "corpus")]
    columns += [Column(name, pair, where=code, result="emission" in code) for name, code in codes.items()]
    title = "Without merges: tokens per character / bits per character by the entropy of single tokens"
    return tabulate("bits-comparison", title, rows, columns, key=["corpus"], notes=notes)


def _with_rates(lengths: pl.DataFrame) -> pl.DataFrame:
    """The rows with tokens and bits per character, by the entropy of single tokens."""
    tokens, characters = pl.col("tokens"), pl.col("characters")
    bits = pl.col("entropy") * tokens / characters
    return lengths.with_columns(tokens_per_character=tokens / characters, bits_per_character=bits)


def dead_table(lengths: pl.DataFrame) -> Table:
    """Tokens that no text can have, a row for the bases that have as many."""
    rows = lengths.filter(**_LOSSLESS).unique(["base", "prefixes", "emission"], maintain_order=True)
    bases: dict[tuple[str, ...], list[str]] = {}
    for (base,), of_base in rows.group_by("base", maintain_order=True):
        bases.setdefault(tuple(shown(dead, "{:,}") for dead in _variants(of_base, "dead")), []).append(str(base))
    title = "Tokens that no text can have, of the 256 bytes and the 261 added tokens"
    cells = [[", ".join(names), *dead] for dead, names in bases.items()]
    return Table("bits-dead", title, ["base", *_VARIANTS.values()], cells, [])


def corpus_table(lengths: pl.DataFrame, corpus: str, notes: Sequence[str]) -> Table:
    """Every row of one corpus."""
    columns = [
        Column("base", lambda rows: shown(rows["known"][0], "{:,} characters") or rows["base"][0]),
        Column("code", lambda rows: _variant(rows.row(0, named=True))),
        Column("tokens", "tokens", "{:,}"),
        Column("saved %", "saved", "{:.2f}", 100, result=True),
        Column("resets", "resets", "{:,}"),
        Column("ambiguous", "ambiguous", "{:,}"),
        Column("byte tokens %", "byte_tokens", "{:.1f}", 100),
        Column("H", "entropy", "{:.3f}"),
        Column("Rényi % of |V|", "renyi_nominal", "{:.1f}", 100),
        Column("of the used", "renyi_observed", "{:.1f}", 100),
        Column("|V|", "vocabulary", "{:,}"),
        Column("dead", "dead", "{:,}"),
    ]
    title = f"{corpus}: every base and code"
    return tabulate(f"bits-{corpus}", title, lengths.filter(corpus=corpus), columns, notes=notes)


def _variant(row: Mapping[str, Any]) -> str:
    """The code of a row of lengths."""
    if row["code"] != "bits":
        return _OTHER_CODES[row["code"]]
    mode = "" if row["mode"] == "lossless" else f", {row['mode']}"
    return f"{row['prefixes']} prefixes, {_EMISSIONS[row['emission']]}{mode}"


def choices_table(search: pl.DataFrame, notes: Sequence[str]) -> Table:
    """The paper's split, and the shortest of each corpus with at most so many added tokens."""
    chosen = []
    for _, rows in search.group_by("corpus", maintain_order=True):
        chosen.append(rows.filter("paper").head(1).with_columns(limit=pl.lit("the paper's")))
        for limit in _LIMITS:
            shortest = rows.filter(pl.col("added") <= limit).sort(*_BEST_LAST, maintain_order=True)
            chosen.append(shortest.tail(1).with_columns(limit=pl.lit(f"at most {limit:,}")))
    title = "The shortest splits of the 24 bits, by the number of tokens that they may add"
    columns = [Column("corpus", "corpus"), Column("added", "limit"), *_SPLIT]
    return tabulate("bits-splits", title, pl.concat(chosen), columns, notes=[*notes, _CHOSEN])


def front_tables(search: pl.DataFrame, notes: Sequence[str]) -> list[Table]:
    """The front of the search, a table for each corpus; one of those that are equally good."""
    tables = []
    for (corpus,), rows in search.group_by("corpus", maintain_order=True):
        front = rows.filter("front").unique(["added", "tokens", "renyi"], keep="first", maintain_order=True)
        front = front.sort("added", "saved", maintain_order=True)
        title = f"{corpus}: splits on the front of tokens, added tokens and Rényi efficiency"
        tables.append(tabulate(f"bits-front-{corpus}", title, front, _SPLIT, notes=[*notes, _CHOSEN]))
    return tables


def _translation(stage: Stage) -> list[Table]:
    """The tables of all pairs."""
    scores = read_parts(stage, "bits.translation", "translation", "scores.parquet")
    if scores.is_empty():
        return []
    pairs = stage.parameters("bits.translation", dict[str, Any])
    facts = [corpus_facts(stage, pair[side]) for pair in pairs.values() for side in ("source", "target")]
    notes = [*notes_of(facts), *translation_notes(scores)]
    return [translation_table(scores, notes), error_table(scores, notes)]


_PAIR_AND_MODEL = [
    Column("pair", "pair"),
    Column("code", lambda rows: _model(rows["code"][0], rows["init"][0])),
]


def translation_notes(scores: pl.DataFrame) -> list[str]:
    """What the figures of translation rest on: the known characters, the test verses, and the text seen in training."""
    firsts = scores.unique("pair", keep="first", maintain_order=True)
    seen, other = (pl.col("epochs").filter(code=code).mean() for code in ("bits", "bytes"))
    more = scores.filter(init="scratch").group_by("pair", maintain_order=True).agg(seen / other - 1)

    known = " and ".join(f"{number:,}" for number in firsts["known_characters"].unique().sort())
    return [
        f"a base vocabulary has the {known} most frequent characters of both languages; of the target's characters "
        f"fall back to bytes: {_of_pairs(firsts, 'fallback_ratio', '{:.1f} %', 100)}",
        f"test verses left out: {_of_pairs(firsts, 'in_training', '{:,}')} whose source or target is in training, "
        f"{_of_pairs(firsts, 'too_long', '{:,}')} too long",
        "batches have equally many tokens, and a shorter code sees more text in them: from scratch, bit-level models "
        f"see {_of_pairs(more, 'epochs', '{:+.1f} %', 100)}",
    ]


def _of_pairs(values: pl.DataFrame, column: str, form: Form, scale: float = 1) -> str:
    return ", ".join(f"{shown(row[column], form, scale)} ({row['pair']})" for row in values.iter_rows(named=True))


def translation_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Scores, decode errors and lengths of every pair, code and start."""
    learned = (scores["held_out_nats_per_character"] <= scores["ngram_nats_per_character"]).any()
    columns = [
        *_PAIR_AND_MODEL,
        Column("chrF", "chrf", "{:,.1f}", spread=True, best="largest" if learned else None),
        Column("BLEU", "bleu", "{:,.1f}", spread=True, best="largest" if learned else None),
        Column("decode errors", "errors", "{:,.0f}", spread=True, best="smallest"),
        Column("broken %", lambda rows: rows["broken"] / rows["sentences"], "{:,.1f}", 100, spread=True),
        Column("empty %", lambda rows: rows["empty"] / rows["sentences"], "{:,.1f}", 100, spread=True),
        Column("relative gain", "relative_gain", "{:.4f}"),
        Column("epochs", "epochs", "{:.3f}"),
    ]
    sizes = _of_pairs(scores.unique("pair", keep="first", maintain_order=True), "sentences", "{:,}")
    if not learned:
        text = "n-grams of the target alone are better than every model, so none translates yet, and chrF and BLEU"
        notes = [*notes, Caveat(f"{text} are noise")]
    title = f"Translation of test sentences, {sizes}{of_seeds(scores)}"
    return tabulate("translation", title, scores, columns, **_KEY, notes=notes)


_NGRAMS = (
    "n-grams: nats per character of the same sentences by n-grams of bytes of the targets in training, of the best "
    "order up to 7, which do not see the source; a model with more has not learned to translate"
)


def error_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Decode errors by kind, and in ended and in unfinished outputs; lengths, and the loss on held-out sentences."""
    scores = scores.with_columns(
        ended=pl.col("sentences") - pl.col("unfinished"),
        broken_unfinished=pl.col("broken") - pl.col("broken_ended"),
        errors_unfinished=pl.col("errors") - pl.col("errors_ended"),
        tokens_per_character=pl.col("reference_tokens") / pl.col("reference_characters"),
        output_per_reference=pl.col("output_tokens") / pl.col("reference_tokens"),
    )
    columns = [
        *_PAIR_AND_MODEL,
        *(Column(name, column, "{:,.1f}", spread=True) for column, name in _ERRORS.items()),
        Column("tokens/character", "tokens_per_character", "{:.3f}"),
        Column("output/reference", "output_per_reference", "{:,.3f}", spread=True),
        Column("held-out nats/character", "held_out_nats_per_character", "{:,.3f}", spread=True, best="smallest"),
        Column("n-grams", "ngram_nats_per_character", "{:,.3f}", note=_NGRAMS),
        Column("|V|", "vocabulary", "{:,}"),
        Column("weights", "parameters", "{:,}"),
    ]
    title = "Translation: decode errors by kind and by the end of outputs, lengths and loss"
    return tabulate("translation-errors", title, scores, columns, **_KEY, notes=notes)


def translation_examples(pair: str, sentences: Sequence[Mapping[str, str]]) -> Table:
    """Test sentences and their translations by the first models of both codes that were trained from scratch."""
    codes = [code for code in _CODES if all(code in sentence for sentence in sentences)]
    rows = [[sentence[column] for column in ("source", "reference", *codes)] for sentence in sentences]
    header = ["source", "reference", *(_CODES[code] for code in codes)]
    return Table(f"translation-examples-{pair}", f"{pair}: translations", header, rows, [])


def _model(code: str, init: str) -> str:
    return _CODES[code] if init == "scratch" else f"{_CODES[code]}, {_STARTS[init]}"


_VARIANT_LINES = {
    (3, "run"): ("3 prefixes", SECOND, "-", 3),
    (4, "run"): ("4 prefixes", ACCENT, "-", 1.4),
    (4, "change"): ("4 prefixes, on change alone", OCHRE, "--", 1.4),
}
"""Prefixes and emission -> label, colour, line and its width: the first two often are one."""

_CODE_COLOURS = {"bytes": SECOND, "bits": ACCENT}
_START_LINES = {"scratch": ("-", "o"), "mean": ("--", "s"), "copy": (":", "^")}
"""Start of a model -> line, and marker of a line with one point."""

_COLUMNS = 3


def bits_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of all corpora together, and of all pairs of languages together."""
    lengths, search = read_lengths(stage), read_parts(stage, "bits.corpora", "bits", "search.parquet")
    if len(lengths):
        yield partial(draw_savings, lengths, folder / "savings")
        yield partial(draw_search, search, folder / "search")
    scores = read_parts(stage, "bits.translation", "translation", "scores.parquet")
    if len(scores):
        losses = tables_of(stage, "bits.translation", "translation_models", "loss.csv")
        yield partial(draw_translation, scores, folder / "translation")
        yield partial(draw_losses, losses, folder / "loss")


def draw_savings(lengths: pl.DataFrame, path: Path) -> None:
    """Tokens saved over byte fallback against the number of known characters, a panel for each corpus.

    Columns: corpus, base, known, code, mode, prefixes, emission, saved (share); rows of other bases are left out.
    """
    rows = lengths.filter(base=_CHARACTERS, code="bits", mode="lossless")
    corpora, labels = rows["corpus"].unique(maintain_order=True), ("characters in the vocabulary", "tokens saved, %")
    figure, found = panels(corpora, _COLUMNS, (3.1, 2.7), labels, sharey=True)
    for corpus, axes in found.items():
        for (prefixes, emission), (name, colour, line, width) in _VARIANT_LINES.items():
            points = rows.filter(corpus=corpus, prefixes=prefixes, emission=emission).sort("known")
            style: dict[str, Any] = {"marker": "o", "markersize": 2 + width, "linewidth": width}
            curve(axes, points["known"], 100 * points["saved"], line, color=colour, label=name, **style)
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set_xticks(rows["known"].unique().sort())
        axes.xaxis.set_major_formatter(THOUSANDS)
    save(figure, path, legend=3)


def draw_search(search: pl.DataFrame, path: Path) -> None:
    """Tokens saved against added tokens of the splits on the front, a panel for each corpus; the paper's is marked.

    Columns: corpus, split, added, saved (share), renyi (share), front and paper (bool).
    """
    rows = search.filter((pl.col("front") | pl.col("paper")) & (pl.col("added") > 0))
    rows = rows.with_columns(pl.col("saved", "renyi") * 100)
    corpora, labels = rows["corpus"].unique(maintain_order=True), ("added tokens, logarithmic scale", "tokens saved, %")
    figure, found = panels(corpora, _COLUMNS, (3.1, 3), labels, sharey=True)
    efficiency = rows["renyi"].to_numpy()
    colours: dict[str, Any] = {"cmap": "viridis", "norm": Normalize(efficiency.min(), efficiency.max())}
    for corpus, axes in found.items():
        points = rows.filter(corpus=corpus).sort("added", "saved", maintain_order=True)
        axes.step(points["added"], points["saved"].cum_max(), where="post", color=GREY, linewidth=1, zorder=1)
        edge: dict[str, Any] = {"edgecolors": INK, "linewidths": 0.5, "zorder": 2}
        axes.scatter(points["added"], points["saved"], 26, points["renyi"], **edge, **colours)
        for added, saved, split in points.filter("paper").select("added", "saved", "split").iter_rows():
            axes.scatter(added, saved, 120, zorder=3, facecolors="none", edgecolors=ACCENT, linewidths=1.6)
            # To the right of the ring, where the front, which rises, has nothing.
            text: dict[str, Any] = {"color": ACCENT, "fontsize": 9, "va": "top", "textcoords": "offset points"}
            axes.annotate(f"{split}, the paper's", (added, saved), (10, -2), **text)
        axes.margins(y=0.12)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(16))
        axes.xaxis.set_major_formatter(THOUSANDS)
        axes.grid()
    figure.colorbar(ScalarMappable(**colours), ax=figure.axes, label="Rényi efficiency, % of |V|")
    save(figure, path)


def draw_translation(scores: pl.DataFrame, path: Path) -> None:
    """chrF and the outputs with decode errors of every model: a row of panels for each pair, a point for each seed.

    Columns: pair, code, init, chrf (0..100), broken, sentences; one row for each seed. A bar marks the mean.
    """
    scores = scores.with_columns(broken=100 * pl.col("broken") / pl.col("sentences"))
    measures = {"chrf": "chrF", "broken": "outputs with decode errors, %"}
    pairs = scores["pair"].unique(maintain_order=True).to_list()
    models = [(init, code) for init in _STARTS for code in _CODES if len(scores.filter(init=init, code=code))]
    size = (9.5, 0.9 + (0.5 + 0.32 * len(models)) * len(pairs))
    figure, found = grid(len(pairs), len(measures), size, sharex="col", sharey=True)
    for row, pair in zip(found, pairs, strict=True):
        row[0].set_title(pair, loc="left")
        for axes, measure in zip(row, measures, strict=True):
            axes.grid(axis="x")
            for place, (init, code) in enumerate(models):
                values = scores.filter(pair=pair, init=init, code=code)[measure].to_numpy()
                if len(values):
                    colour = _CODE_COLOURS[code]
                    axes.plot(values, np.full(len(values), place), "o", color=colour, markersize=5, alpha=0.8)
                    axes.vlines(values.mean(), place - 0.3, place + 0.3, color=colour, linewidth=1.8)
    first = found[0][0]
    first.set_yticks(range(len(models)), [f"{_CODES[code]}, {_STARTS[init]}" for init, code in models], fontsize=10)
    first.set_ylim(len(models) - 0.4, -0.6)
    for axes, name in zip(found[-1], measures.values(), strict=True):
        axes.set_xlabel(name)
    largest = scores["broken"].to_numpy().max() or 1
    found[0][-1].set_xlim(-0.03 * largest, 1.06 * largest)
    save(figure, path)


def draw_losses(losses: Mapping[str, pl.DataFrame], path: Path) -> None:
    """Held-out loss of every model during training, a panel for each pair: means over the seeds, and a band from the
    lowest to the highest seed.

    losses: pair -> columns code, init, seed, step, held_out_per_character (nats per character of the target).
    """
    figure, found = panels(losses, _COLUMNS, (3.1, 3), ("step", "held-out nats per character"), sharey=True)
    for pair, axes in found.items():
        value = pl.col("held_out_per_character")
        for (code, init), curves in losses[pair].group_by("code", "init", maintain_order=True):
            points = curves.group_by("step", maintain_order=True).agg(value.mean(), low=value.min(), high=value.max())
            line, marker = _START_LINES[str(init)]
            name = f"{_CODES[str(code)]}, {_STARTS[str(init)]}"
            style: dict[str, Any] = {"color": _CODE_COLOURS[str(code)], "label": name}
            style |= {"marker": marker if len(points) == 1 else None, "spread": (points["low"], points["high"])}
            curve(axes, points["step"], points["held_out_per_character"], line, **style)
        whole_numbers(axes, 4)
    save(figure, path, legend=3)
