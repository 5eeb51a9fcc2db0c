"""The downstream family: classifiers over every cut of a corpus, decoding errors of texts that models over codes
generate, and whether the claims of Latom hold.

They are made from the tables of `classify` (of scores, one row for each cut, model and seed; of comparisons, one for
each cut, model and rival over the same test texts and seeds; and of scores of perturbed texts) and of `generate` (one
row for each code, seed and way, free and constrained).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

import polars as pl

from tasks.report.codes import size_text, smallest_K
from tasks.report.inputs import all_generated, corpus_facts, notes_of, read_parts
from tasks.report.style import code_name
from tasks.report.table import Caveat, Column, Results, Table, of_seeds, read_paper, tabulate, together
from tasks.report.verdict import ONE_RUN, Spread, against, separable
from tasks.runtime.stage import Stage, read_json
from tokenlab.codes.interface import ViolationKind

_RIVALS = {"character": "characters", "byte": "bytes", "random": "random"}
"""Of the classifiers."""

_GENERATING_RIVALS = {"byte": "bytes", "random": "random"}

_CODE = ["code", "N"]
_OF_CODE = [Column("code", "code", code_name), Column("N", "N")]
_CUT = ["size", "tokenizer", *_CODE]
_OF_CUT = [
    Column("|V|", "size", lambda label: size_text(label) if label else ""),
    Column("tokenizer", "tokenizer"),
    *_OF_CODE,
]
_COMPARED = ["model", "size", *_CODE, "language", "rival"]

_PERTURBED = "some of the test texts, by models that learned from texts as they were; what changes no text is left out"
_OTHER_MODELS = "paper: Amazon reviews and larger models, not these; mean ± sd of five seeds"
_PAIRED = (
    "higher, lower: the difference exceeds its deviation, by the seeds and by the draw of the test texts together; "
    "otherwise not separable; random: of the same N"
)
_WORDS = (
    "lower, higher: the means differ by more than the root of the sum of both squared deviations; random: of the same N"
)
_COST = (
    "constrained: probabilities of the tokens that the code allows, on the same validation texts, those without [UNK]; "
    "saved: bits per character that the free model spends on tokens that cannot be decoded"
)
_NGRAMS = (
    "n-grams: bits per character of the same validation texts by n-grams of bytes of the texts in training, of the "
    "best order up to 7"
)
_HELD = (
    "held, refuted: the difference is as claimed, or the opposite, and exceeds its deviation (`no worse`: it is not "
    "worse by more); classifiers are compared on the same test texts; ranges and generated texts by seeds"
)
_RANGE = "codes differ less: the mean range of their weighted F1, in points, at the smaller and the larger size"


def downstream_results(stage: Stage) -> Results:
    """Read the results of a preset."""
    scores = read_parts(stage, "downstream.classified", "classify", "scores.parquet")
    pairs = read_parts(stage, "downstream.classified", "classify", "compared.parquet")
    perturbed = read_parts(stage, "downstream.classified", "classify", "perturbed.parquet")
    generated = read_parts(stage, "downstream.language_models", "generate", "scores.parquet")
    page = {
        "classification": _classification_tables(stage, scores, pairs, perturbed) if len(scores) else [],
        "generation": _generation_tables(stage, generated) if len(generated) else [],
        "claims": _claims_tables(stage, scores, pairs, generated),
    }
    tables = [table for of_question in page.values() for table in of_question]
    main = [table for table in tables if table.name.startswith(("classification-f1-", "generation-errors", "latom"))]
    return Results(main, [table for table in tables if table not in main], page)


def _classification_tables(
    stage: Stage, scores: pl.DataFrame, pairs: pl.DataFrame, perturbed: pl.DataFrame
) -> list[Table]:
    names = scores["name"].unique(maintain_order=True)
    facts = [corpus_facts(stage, name) for name in names]
    metrics = {name: read_json(stage.reports("classify", name, "metrics.json")) for name in names}
    notes = notes_of(facts)
    guesses = ", ".join(f"{100 * metrics[name]['most_frequent_f1']:.2f} ({name})" for name in names)
    guessing = f"always the most frequent class: {guesses}"
    tables = []
    for (model,), of_model in scores.group_by("model", maintain_order=True):
        tables.append(f1_table(of_model, str(model), [*notes, guessing]))
        if len(of_pairs := pairs.filter(model=model)):
            tables.append(verdict_table(of_pairs, str(model), notes))
        tables.append(perturbed_table(perturbed.filter(model=model), str(model), notes))
    return [*tables, texts_table(scores, metrics, notes), training_table(scores, notes)]


def f1_table(scores: pl.DataFrame, model: str, notes: list[str]) -> Table:
    """Tables 5, 11, 12 and 14 to 17: a row for each cut, a column for each language. The paper's figures are not beside
    them: they are of other classes."""
    columns = [*_OF_CUT, *(_share_of(language, "f1") for language in scores["language"].unique(maintain_order=True))]
    title = f"Classification, {model}: weighted F1 in per cent{of_seeds(scores)}"
    return tabulate(f"classification-f1-{model}", title, together(scores, "size"), columns, key=_CUT, notes=notes)


def _share_of(language: str, share: str) -> Column:
    """A share in per cent of the runs of a language."""
    return Column(language, share, "{:.2f}", 100, where={"language": language}, spread=True, result=True)


def _against(scores: pl.DataFrame, rivals: Mapping[str, str], cell: Callable[..., str]) -> Iterator[Column]:
    """A column for each language and rival. cell: of the rows of a code, a `language` and a `rival`."""
    for language in scores["language"].unique(maintain_order=True):
        for rival, name in rivals.items():
            value = partial(cell, language=language, rival=rival)
            yield Column(f"{language}, against {name}", value, optional=True, result=True)


def verdict_table(pairs: pl.DataFrame, model: str, notes: list[str]) -> Table:
    """Each code against `_RIVALS` at the same |V|, for each language."""

    def cell(rows: pl.DataFrame, language: str, rival: str) -> str:
        for row in rows.filter(language=language, rival=rival).head(1).iter_rows(named=True):
            word = against(row["difference"], row["separable"], row["runs"])
            return f"{word}: {100 * row['difference']:+z.2f} ± {100 * row['deviation']:.2f}"
        return ""

    title = f"Classification, {model}: difference of weighted F1 to characters, bytes and random codes, in points"
    columns, name = [*_OF_CUT, *_against(pairs, _RIVALS, cell)], f"classification-verdicts-{model}"
    return tabulate(name, title, together(pairs, "size"), columns, key=_CUT, notes=[*notes, _PAIRED])


def perturbed_table(perturbed: pl.DataFrame, model: str, notes: list[str]) -> Table:
    """A row for each language and cut, a column for each perturbation."""
    changes = perturbed.with_columns(more=pl.col("f1") - pl.col("original"))
    kinds = changes["perturbation"].unique(maintain_order=True)
    before = Column("as they were", "original", "{:.1f}", 100, note=_PERTURBED)
    after = [
        Column(kind, "more", "{:+z.1f}", 100, where={"perturbation": kind}, spread=True, result=True) for kind in kinds
    ]
    columns = [Column("language", "language"), *_OF_CUT, before, *after]
    title = f"Classification, {model}: points of weighted F1 more on perturbed texts{of_seeds(perturbed)}"
    name, key = f"classification-perturbed-{model}", ["language", *_CUT]
    return tabulate(name, title, together(changes, "size"), columns, key=key, notes=notes)


def texts_table(scores: pl.DataFrame, metrics: dict[str, Any], notes: list[str]) -> Table:
    """As Table 10: |C| of the text that codes were learned from, and K; with the numbers of labelled texts."""

    def ours(rows: pl.DataFrame, name: str) -> int:
        found = metrics[rows["name"][0]]
        return found["texts"][name] if name in found["texts"] else found[name]

    numbers = {"train": "train", "validation": "validation", "test": "test", "classes": "classes", "|C|": "characters"}
    columns = [
        Column("language", "language"),
        *(Column(heading, partial(ours, name=name), "{:,}") for heading, name in numbers.items()),
        *(smallest_K(N) for N in sorted(scores["N"].drop_nulls().unique())),
    ]
    title = "Labelled texts, and the smallest K with K^N of at least |C|"
    return tabulate("classification-texts", title, scores, columns, key=["name"], notes=notes)


def training_table(scores: pl.DataFrame, notes: list[str]) -> Table:
    """Lengths, padding and text seen by each model; the linear control has lengths alone."""
    columns = [
        Column("language", "language"),
        Column("model", "model"),
        *_OF_CUT,
        Column("entries", "vocabulary", "{:,.0f}"),
        Column("tokens/text", "tokens_per_text", "{:.1f}", result=True),
        Column("padding %", "padding", "{:.1f}", 100),
        Column("epochs", "epochs", "{:.2f}"),
        Column("weights", "parameters", "{:,.0f}"),
    ]
    title = "Classification: what the models read"
    return tabulate("classification-training", title, scores, columns, key=["language", "model", *_CUT], notes=notes)


def _generation_tables(stage: Stage, scores: pl.DataFrame) -> list[Table]:
    facts = [corpus_facts(stage, name) for name in scores["name"].unique(maintain_order=True)]
    notes, generated = notes_of(facts), all_generated(facts)
    free = scores.filter(way="free")
    return [errors_table(free, notes, generated), verdicts_table(free, notes), kinds_table(free), costs_table(scores)]


def errors_table(free: pl.DataFrame, notes: Sequence[str], generated: bool) -> Table:
    """Tables 6 and 13: a row for each code, a column for each language, with the paper's beside it.

    generated: built-in text, beside which the paper's numbers mean nothing.
    """
    paper = {} if generated else read_paper("latom")["generation"]

    def printed(rows: pl.DataFrame, language: str) -> str | None:
        code, N = rows.select(_CODE).row(0)
        found = paper.get(code if N is None else f"{code}-{N}", {}).get(language)
        return None if found is None else "{:.2f} ± {:.2f}".format(*found)

    columns = [*_OF_CODE]
    for language in free["language"].unique(maintain_order=True):
        columns.append(_share_of(language, "error_share"))
        of_paper = partial(printed, language=language)
        columns.append(Column(f"paper {language}", of_paper, optional=True, note=_OTHER_MODELS))
    title = f"Generation: texts with a decoding error in per cent, {_drawn(free)}"
    return tabulate("generation-errors", title, free, columns, key=_CODE, notes=notes)


def _drawn(scores: pl.DataFrame) -> str:
    return f"{scores['count'][0]:,} texts of each model{of_seeds(scores)}"


def verdicts_table(free: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Each code against bytes and against random codes of the same N, for each language."""

    def cell(rows: pl.DataFrame, language: str, rival: str) -> str:
        code, N = rows.select(_CODE).row(0)
        shares = free.filter(language=language).with_columns(value="error_share")
        return "" if code == rival else _word(shares, code, N, rival)

    columns = [*_OF_CODE, *_against(free, _GENERATING_RIVALS, cell)]
    title = "Generation: share of texts with a decoding error, against bytes and random codes"
    return tabulate("generation-verdicts", title, free, columns, key=_CODE, notes=[*notes, _WORDS])


def _word(runs: pl.DataFrame, code: str, N: int | None, rival: str) -> str:
    """Whether the mean `value` of a code is lower or higher than that of a rival; empty where one is missing.

    rival: random codes are of the same N; bytes and characters have none.
    """
    of_codes = {code: N, rival: N if rival == "random" else None}
    values = (runs.filter(pl.col("N").eq_missing(length), code=name)["value"] for name, length in of_codes.items())
    one, other = map(Spread.of, values)
    return "" if one is None or other is None else verdict_word(one, other)


def verdict_word(one: Spread, other: Spread) -> str:
    """Whether a mean is lower or higher than another, in a word; one run has no spread."""
    runs = min(spread.runs for spread in (one, other) if spread.runs is not None)
    return against(one.mean - other.mean, separable(one, other), runs)


def kinds_table(free: pl.DataFrame) -> Table:
    """The kind of the first error of a text."""
    kinds = get_args(ViolationKind)
    shares = free.with_columns(pl.col(*kinds) / pl.col("count"))
    columns = [Column("language", "language"), *_OF_CODE]
    columns += [Column(kind, kind, "{:.2f}", 100, spread=True, result=True) for kind in kinds]
    title = f"Generation: texts in per cent by the kind of their first decoding error, {_drawn(free)}"
    return tabulate("generation-kinds", title, shares, columns, key=["language", *_CODE])


def costs_table(scores: pl.DataFrame) -> Table:
    """Bits per character, and what the constraint takes of errors and bits."""
    free, bound = {"way": "free"}, {"way": "constrained"}

    def wrong(rows: pl.DataFrame) -> str:
        return f"{round((rows['error_share'] * rows['count']).sum()):,} of {rows['count'].sum():,}"

    def saved(rows: pl.DataFrame) -> pl.Series:
        by_seed = [rows.filter(**way).sort("seed")["bits_of_scored"] for way in (free, bound)]
        return by_seed[0] - by_seed[1]

    columns = [
        Column("language", "language"),
        *_OF_CODE,
        Column("bits/character", "bits_per_character", "{:.3f}", where=free, spread=True),
        Column("n-grams", "ngram_bits_per_character", "{:.3f}", note=_NGRAMS),
        Column("free", "bits_of_scored", "{:.3f}", where=free, spread=True, note=_COST),
        Column("constrained", "bits_of_scored", "{:.3f}", where=bound, spread=True),
        Column("saved", saved, "{:.4f}", spread=True, result=True),
        Column("errors, free", wrong, where=free),
        Column("errors, constrained", wrong, where=bound),
    ]
    title = "Generation: bits per character of validation text, and the constraint"
    means = (
        scores.filter(**free)
        .group_by("language", *_CODE, maintain_order=True)
        .agg(pl.col("bits_per_character", "ngram_bits_per_character").mean())
    )
    worse = (means["bits_per_character"] > means["ngram_bits_per_character"]).sum()
    behind = [Caveat(f"worse than n-grams, so little was learned: {worse} of {len(means)} rows")] if worse else []
    return tabulate("generation-costs", title, scores, columns, key=["language", *_CODE], notes=behind)


def _claims_tables(stage: Stage, scores: pl.DataFrame, pairs: pl.DataFrame, generated: pl.DataFrame) -> list[Table]:
    """What sections 5.1.2 and 5.2.2 of Latom say of codes; none without results but those of built-in text."""
    runs = []
    if len(scores):  # The linear control is not the paper's.
        of_paper = scores.filter(pl.col("tokenizer") == "bpe", pl.col("model") != "linear")
        runs.append(of_paper.with_columns(value="f1", family=pl.lit("classification")))
    if len(generated):
        about = {"family": "generation", "model": "language model", "size": "characters"}
        constants = [pl.lit(text).alias(name) for name, text in about.items()]
        runs.append(generated.filter(way="free").with_columns(*constants, value="error_share"))
    if all_generated(corpus_facts(stage, name) for part in runs for name in part["name"].unique()) or not runs:
        return []
    words = {
        tuple(row[name] for name in _COMPARED): against(row["difference"], row["separable"], row["runs"])
        for row in pairs.rows(named=True)
        if row["tokenizer"] == "bpe"
    }
    return [claims_table(pl.concat(runs, how="diagonal_relaxed"), words)]


def claims_table(runs: pl.DataFrame, words: Mapping[tuple[Any, ...], str]) -> Table:
    """A row for each claim (papers.yaml, `findings`), model and N, and a column for each language: held, refuted or not
    separable.

    Args:
        runs: a row for each family, model, size, code, N, language and seed, with a `value`.
        words: model, size, code, N, language, rival -> what the comparison on the same texts says.
    """
    languages = runs["language"].unique(maintain_order=True).to_list()
    rows = []
    for finding in read_paper("latom")["findings"]:
        sizes = finding.get("sizes") or [finding["size"]]
        size = ", ".join(size_text(label).removeprefix("|V| = ") for label in sizes)
        of_family = runs.filter(family=finding["family"])
        for (model,), of_model in of_family.group_by("model", maintain_order=True):
            lengths: Iterable[int | None] = [None]
            if "code" in finding:
                lengths = of_model.filter(code=finding["code"])["N"].unique(maintain_order=True)
            for N in lengths:
                cells = [_claim(finding, N, of_model.filter(language=language), words) for language in languages]
                rows.append([finding["claim"], finding["place"], str(model), size, str(N or ""), *cells])
    header = ["claim", "in the paper", "model", "|V|", "N", *languages]
    title = "Hiraoka, sections 5.1.2 and 5.2.2: do the claims hold?"
    return Table("latom-claims", title, header, rows, [_HELD, _RANGE], languages[0])


def _claim(finding: Mapping[str, Any], N: int | None, runs: pl.DataFrame, words: Mapping[tuple[Any, ...], str]) -> str:
    """What the runs of a model and language say of a claim; empty where a code is missing."""
    if not len(runs):
        return ""
    if "sizes" in finding:
        return _narrowing(runs, finding["sizes"])
    size, code, rival = finding["size"], finding["code"], finding["rival"]
    word = words.get((runs["model"][0], size, code, N, runs["language"][0], rival))
    if word is None:
        word = _word(runs.filter(size=size), code, N, rival)
    return judged(word, finding["holds"]) if word else ""


def judged(word: str, holds: Sequence[str]) -> str:
    """A verdict such as `higher (2 runs)` as held, refuted or not separable."""
    said, gap, runs = word.partition(" (")
    if said == ONE_RUN:
        return word
    return ("held" if said in holds else "refuted" if said in ("higher", "lower") else said) + gap + runs


def _narrowing(runs: pl.DataFrame, sizes: Sequence[str]) -> str:
    """Whether the range of the codes' values is smaller at the larger size, by the ranges of the seeds."""
    by_seed = runs.group_by("size", "seed").agg(range=100 * (pl.max("value") - pl.min("value"))).sort("seed")
    smaller, larger = (Spread.of(by_seed.filter(size=size)["range"]) for size in sizes)
    if smaller is None or larger is None:
        return ""
    return f"{judged(verdict_word(larger, smaller), ['lower'])}: {smaller.mean:.2f}, {larger.mean:.2f}"
