"""The summary on top of the report: the main findings as sentences, read from the tables and their marks.

A sentence names a best only where the table does (`tasks.report.verdict`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from tasks.report.table import Table
from tasks.report.verdict import EQUAL, FEW_RUNS, NOT_SEPARABLE, ONE_RUN, Best, Tied

_Row = Mapping[str, str]
"""Heading -> cell."""

_UNRELATED, _UNRELATED_IN = 18, {"zh": 4, "ko": 5, "ja": 8}
"""chrF, of 100, that sentences reach which have nothing to do with the reference: measured on 400 pairs of verses, 3.1
in Chinese, 4.3 in Korean, 7.1 in Japanese, 17 to 18 in German and English. The order of models below it is noise."""


class Finding(NamedTuple):
    """A sentence, and the section of the page that shows it."""

    anchor: str
    """the section's id"""
    text: str


def word_findings(corpora: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Word F1 of each corpus: the best method beside BPE alone, from the table of its full text.

    corpora: with their `facts` and `tables`, the last of which is of the full text.
    """
    for corpus in corpora:
        name, rows = corpus["facts"]["corpus"], corpus["tables"][-1].records
        if text := _leaders(rows, ["method", "λ"], "F1"):
            baseline = next((row for row in rows if row["method"] == "BPE alone"), None)
            beside = f"; BPE alone has {baseline['BPE F1']}" if baseline else ""
            yield Finding(f"words-{name}", f"{name}, word F1 of segments, learned from the full text: {text}{beside}.")


def code_findings(summaries: Sequence[Table]) -> Iterator[Finding]:
    """Tokens saved against characters at |C| and at the largest size: which code is how often the best."""
    shown = [table for table in summaries if table.name.startswith("codes-saved-")]
    for table in [*shown[:1], *shown[1:][-1:]]:
        size = table.title.partition("BPE at ")[2].partition(", N =")[0]
        if verdicts := {row["corpus"]: row["best"] for row in table.records if row["best"]}:
            yield Finding("codes", f"Code with the fewest BPE tokens at {size}: {_counted(verdicts)}.")


def _counted(verdicts: dict[str, str]) -> str:
    """How many corpora have which verdict, and which corpora where they are few."""
    kinds: dict[str, list[str]] = {}
    for corpus, text in verdicts.items():
        few = FEW_RUNS.search(text)
        kinds.setdefault(_kind(FEW_RUNS.sub("", text)), []).append(corpus + few[0] if few else corpus)
    parts = []
    for kind, names in sorted(kinds.items(), key=lambda found: -len(found[1])):
        few_runs = [name for name in names if FEW_RUNS.search(name)]
        many = f"{len(names)} corpora" + (f", among them {_and(few_runs)}" if few_runs else "")
        parts.append(f"{kind} on {_and(names) if len(names) <= 3 else many}")
    return "; ".join(parts)


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _kind(text: str) -> str:
    if text.startswith(NOT_SEPARABLE):
        return "not separable"
    if text == "characters":
        return "no code, plain characters lead"
    if text.startswith(EQUAL):
        return text
    return "one run, no verdict" if text == ONE_RUN else text


def exact_findings(tables: Sequence[Table]) -> Iterator[Finding]:
    """What naive prompting costs over exact probabilities, and how often it errs inside a token."""
    for table in tables:
        for row in table.records:
            if table.name == "exact-bits" and row["saved %"]:
                text = f"{row['model']}: held-out text costs {row['exact']} bits per character without tokens "
                text += f"that cannot follow, {row['naive']} with them: {row['saved %']} % saved; n-grams have"
                text += f" {row['n-grams']}."
                yield Finding("exact-models", text)
            if table.name == "exact-bias" and row["cut"] == "inside a token" and row["other best %"]:
                text = f"{row['model']}: after prompts that end inside a token, the most probable byte of naive"
                text += f" prompting is another one in {row['other best %']} % of the cases."
                yield Finding("exact-models", text)


def bits_findings(lengths: Sequence[Table], translation: Sequence[Table]) -> Iterator[Finding]:
    """The tokens that bit-level codes save over byte fallback, and the scores of translation."""
    for table in lengths:
        if table.name != "bits-savings":
            continue
        column = next(heading for heading in table.header if heading.endswith(" known"))
        saved = {row["corpus"]: row[column].split(" / ")[-1] for row in table.records}
        found = {corpus: float(share) for corpus, share in saved.items() if share}
        if found:
            low, high = min(found, key=lambda name: found[name]), max(found, key=lambda name: found[name])
            ends = f"{saved[low]} % ({low}) to {saved[high]} % ({high})" if low != high else f"{saved[low]} % ({low})"
            text = f"Where no character is a token, bit-level codes with prefixes on change alone save {ends}"
            yield Finding("bits", f"{text} of the tokens of byte fallback.")
    for table in translation[:1]:
        for pair, rows in groupby(table.records, itemgetter("pair")):
            from_scratch = [row for row in rows if "," not in row["code"]]  # Others are fine-tuned, or of the paper.
            best = max((float(row["chrF"].split()[0]) for row in from_scratch if row["chrF"]), default=0.0)
            if best < _UNRELATED_IN.get(pair.rpartition("-")[2], _UNRELATED):
                yield Finding("bits-translation", f"{pair}: no model translates yet; the best chrF is {best} of 100.")
                continue
            for column in ("chrF", "decode errors"):
                text = _leaders(from_scratch, ["code"], column, largest=column == "chrF")
                if text:
                    yield Finding("bits-translation", f"{pair}, {column} of translations: {text}.")


def patch_findings(models: Sequence[Table]) -> Iterator[Finding]:
    """Bits per byte of the patch models, and how many of them are worse than n-grams."""
    for table in models[:1]:
        compared = "against n-grams"
        for corpus, of_corpus in groupby(table.records, itemgetter("corpus")):
            rows = [row for row in of_corpus if row.get(compared) != ""]  # without the n-gram models
            text = _leaders(rows, ["model"], "BPB ↓", largest=False)
            worse = sum("worse" in row.get(compared, "") for row in rows)
            beside = f"; {worse} of {len(rows)} are worse than n-grams of all the training text" if worse else ""
            if text:
                yield Finding("patches", f"{corpus}, bits per byte of patch models: {text}{beside}.")


def parity_findings(measures: Sequence[Table]) -> Iterator[Finding]:
    """The most and the least even tokenizer over languages."""
    for table in measures:
        if not table.name.startswith("parity-"):
            continue
        gini = sorted((float(row["Gini ↓"]), row["tokenizer"]) for row in table.records if row["Gini ↓"])
        if len(gini) > 1:
            (low, even), (high, uneven) = gini[0], gini[-1]
            text = f"{table.name.removeprefix('parity-')}: tokens for the same texts are most even over languages by"
            yield Finding("measures", f"{text} {even} (Gini {low:.3f}) and least by {uneven} ({high:.3f}).")


def claim_findings(tables: Sequence[Table], measured: bool = True) -> Iterator[Finding]:
    """What a paper claims of its codes, and on which languages that held. measured: whether there are results."""
    if measured and not tables:
        yield Finding("downstream", "No verdict in this preset: claims about codes are tested on real text alone.")
    for table in tables:
        for row in table.records:
            verdicts = {name: row[name].partition(":")[0] for name in table.header[table.header.index("N") + 1 :]}
            about = f"{row['model']}, |V| = {row['|V|']}" + (f", N = {row['N']}" if row["N"] else "")
            found = _counted({name: verdict for name, verdict in verdicts.items() if verdict})
            yield Finding("downstream", f"“{row['claim']}” ({about}): {found}.")


def _leaders(rows: Sequence[_Row], label: Sequence[str], column: str, *, largest: bool = True) -> str:
    """The best of a column, or those that are not separable; without a spread the first, and that it is one run."""
    known = [row for row in rows if row.get(column)]
    ordered = sorted(known, key=lambda row: float(row[column].split()[0].replace(",", "")), reverse=largest)
    for kind, sentence in ((Best, "{} is best"), (Tied, "{} are not separable")):
        if found := [row for row in ordered if isinstance(row[column], kind)]:
            return sentence.format(_listed(found, label, column))
    if len(known) < 2 or any("±" in row[column] for row in known):
        return ""
    first = [row for row in ordered if row[column] == ordered[0][column]]
    named = _listed(first, label, column)
    return f"{named} are equal, one run" if len(first) > 1 else f"{named} comes first in one run, no verdict"


def _listed(rows: Sequence[_Row], label: Sequence[str], column: str) -> str:
    names = []
    for row in rows:
        further = (f"{part} = {row[part]}" for part in label[1:] if row[part])
        names.append(f"{', '.join([str(row[label[0]]), *further])} ({row[column]})")
    return _and(names)
