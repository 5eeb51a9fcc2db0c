"""`tokenlab measure`: the measures of any tokenizer files on a text, side by side, or on the same text in languages."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokenlab.cli.corpus import TOKENIZER, Corpus, add_corpus, add_json, open_corpora
from tokenlab.cli.options import Commands, add_cluster, add_command, options_from
from tokenlab.cli.output import check_stdin, json_line, named_errors, note, with_progress, write
from tokenlab.core.errors import InputError
from tokenlab.core.shards import Cluster, ClusterOptions, open_cluster

if TYPE_CHECKING:
    from tokenlab.metrics.counting import TextTokenizer
    from tokenlab.metrics.tokenizer_measures import TokenizerCounts
    from tokenlab.text.documents import Document

Places = frozenset[int | str]
"""Of the texts that are measured: their numbers, or the ids of verses."""
Row = dict[str, Any]

_WIDTH = 14
_SIZES = ("texts", "words", "characters", "bytes", "vocabulary")
_MUCH_UNKNOWN = 0.01
"""Share of unknown tokens above which the other measures mislead: an unknown token is short, whatever it stands for."""


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, _measure, "measure tokenizers on a text")
    add_corpus(parser, name="TEXT")
    several = f"{TOKENIZER}; give it several times to compare"
    parser.add_argument("--tokenizer", metavar="FILE", action="append", required=True, help=several)
    reference = "a tokenizer: adds the length relative to its length (normalised length)"
    parser.add_argument("--reference", metavar="FILE", help=reference)
    parallel = (
        "TEXT in another language, line by line, or verse by verse in the format ces; can be repeated: adds parity, "
        "tokens per token of TEXT, and Gini, the inequality of the languages. Lines that are blank in one are left out"
    )
    parser.add_argument("--parallel", metavar="FILE", action="append", default=[], help=parallel)
    add_json(parser, "print a list with an object for each tokenizer and text")
    add_cluster(parser, "The measures do not depend on it.")


def _measure(options: argparse.Namespace) -> None:
    """Measure tokenizers on the lines of a text that are not blank: fertility, words kept whole (STRR), characters and
    bytes per token, Rényi efficiency and others. Words are separated by whitespace; with --format sighan they are the
    gold words. Otherwise measures of words are undefined in scripts without spaces. Characters, bytes and words are
    those of TEXT as it is, also where a tokenizer normalises.
    """
    from tokenlab.metrics.registry import of_parallel
    from tokenlab.tokenizers.measured import read_text_tokenizer

    place = options_from(options, ClusterOptions)
    check_stdin(options.input, *options.parallel)
    with ExitStack() as stack:
        texts = open_corpora(stack, [options.input, *options.parallel], options)
        names = dict.fromkeys([*options.tokenizer, *filter(None, [options.reference])])
        tokenizers = {name: read_text_tokenizer(name) for name in names}
        places = _places(texts)
        counts = {}
        for name, tokenizer in tokenizers.items():
            with open_cluster(place, tokenizer) as cluster:
                counts[name] = [_count(tokenizer, name, text, places, cluster) for text in texts]
    rows: list[Row] = []
    for name in dict.fromkeys(options.tokenizer):
        found = counts[name]
        if options.reference is not None:
            lengths = [one.tokens for one in counts[options.reference]]
            found = [replace(one, reference_tokens=tokens) for one, tokens in zip(found, lengths, strict=True)]
        measures = of_parallel(found, 0 if options.parallel else None)
        for text, one, measured in zip(texts, found, measures, strict=True):
            sizes = {size: getattr(one, size) for size in _SIZES} | {"types": len(one.types)}
            normalises = list(tokenizers[name].changes)
            rows.append({"tokenizer": name, "text": text.name, "normalises": normalises, **sizes, **measured})
    for row in rows:
        if (row["unknown_rate"] or 0) > _MUCH_UNKNOWN:
            note(
                f"{row['tokenizer']}: {100 * row['unknown_rate']:.1f} % of its tokens in {row['text']} are the unknown "
                "token, which counts as one whatever it stands for; do not compare its lengths with others"
            )
    write(json_line(rows) if options.json else _tables(rows, len(texts)))


def _places(texts: Sequence[Corpus]) -> Places | None:
    """The places at which no text is blank; None for a single text. All are read to their ends, so that their errors
    come before any work."""
    if len(texts) == 1:
        texts[0].check()
        return None
    first, *others = ({place: bool(one.text.strip()) for place, one in _placed(text)} for text in texts)
    places = {place for place, filled in first.items() if filled}
    for text, found in zip(texts[1:], others, strict=True):
        if (text.format == "ces") != (texts[0].format == "ces"):
            raise InputError(
                f"{text.name} is read as {text.format}, but {texts[0].name} as {texts[0].format}; verses are matched "
                "by their ids, so either all or none must be of the format ces"
            )
        if found.keys() != first.keys() and text.format != "ces":
            raise InputError(
                f"{text.name}: {len(found):,} texts, but {texts[0].name} has {len(first):,}; parallel texts have the "
                "same content line by line"
            )
        places = {place for place in places if found.get(place)}
    if not places:
        raise InputError(f"{', '.join(text.name for text in texts)}: no text is in all of them; name parallel ones")
    return frozenset(places)


def _placed(text: Corpus) -> "Iterator[tuple[int | str, Document]]":
    """The texts with what tells those of the same content: the id of a verse, the number of another text."""
    for number, (place, document) in enumerate(text.placed_documents()):
        yield place if isinstance(place, str) else number, document


def _count(
    tokenizer: "TextTokenizer", name: str, text: Corpus, places: Places | None, cluster: Cluster
) -> "TokenizerCounts":
    """The counts of a tokenizer on the texts at some places, or on all that are not blank."""
    from tokenlab.metrics.counting import count_tokens
    from tokenlab.metrics.words import texts_with_words

    documents = (one for place, one in _placed(text) if (one.text.strip() if places is None else place in places))
    measured = with_progress(documents, "measuring", size=lambda one: len(one.text))
    with named_errors(name):
        counts = count_tokens(tokenizer, texts_with_words(measured), cluster)
    if not counts.texts:
        raise InputError(f"{text.name}: no text in it; nothing can be measured")
    return counts


def _tables(rows: Sequence[Row], texts: int) -> str:
    """The tokenizers, numbered, and a table for each text: a row for each measure, a column for each tokenizer."""
    from tokenlab.metrics.registry import COUNT, TOKENIZERS

    lines = []
    for number, row in enumerate(rows[::texts], 1):
        steps = ", ".join(row["normalises"])
        note = f" (normalises texts: {steps}; decoding gives the normalised text)" if steps else ""
        lines.append(f"[{number}] {row['tokenizer']}{note}\n")
    units = dict.fromkeys((*_SIZES, "types"), COUNT) | {metric.name: metric.unit for metric in TOKENIZERS}
    for place in range(texts):
        of_text = rows[place::texts]
        lines += [f"\n{of_text[0]['text']}\n"] if texts > 1 else []
        lines.append(_line("", [f"[{number}]" for number in range(1, len(of_text) + 1)]))
        for name, unit in (units | {"gini": ""}).items():
            if unit == COUNT or any(row[name] is not None for row in of_text):
                lines.append(_line(name, [_shown(row[name], unit) for row in of_text]))
    return "".join(lines)


def _shown(value: float | int | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "share":
        return f"{100 * value:.2f} %"
    return f"{value:,}" if unit == "count" else f"{value:.4f}"


def _line(name: str, cells: list[str]) -> str:
    return f"{name.replace('_', ' '):<28}" + "".join(cell.rjust(_WIDTH) for cell in cells) + "\n"
