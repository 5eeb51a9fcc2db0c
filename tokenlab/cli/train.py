"""`tokenlab train` and `tokenlab count`: a tokenizer for language models, and the counts of pieces that it is trained
from."""

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenlab.cli.corpus import Corpus, add_corpus, add_json, open_corpora
from tokenlab.cli.options import (
    Commands,
    add_command,
    add_options,
    add_shards,
    check_meaning,
    check_utf8,
    flags_of,
    named_as_flags,
    options_from,
    shards_from,
)
from tokenlab.cli.output import (
    check_folder,
    check_output,
    check_stdin,
    json_line,
    named_errors,
    note,
    steps_shown,
    with_progress,
    write,
    written,
)
from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_folder
from tokenlab.core.options import MemoryOptions
from tokenlab.core.shards import ClusterOptions, open_cluster
from tokenlab.sources.record import RECORD, read_record
from tokenlab.text.options import LineOptions
from tokenlab.tokenizers.options import CUTS, LEARNED_CUTS, WORDS_FILE, TrainOptions, role_special_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from tokenlab.metrics.words import TextWithWords
    from tokenlab.tokenizers.cuts import Cut
    from tokenlab.tokenizers.piece_counts import PieceCounts

Row = dict[str, Any]

_FILES = ("tokenizer.json", "tokenizer_config.json", "README.md")
_ENDINGS = (".parquet", ".tsv")
_MADE = "Made by `tokenlab train`"
"""In the card of every tokenizer."""
_HEADINGS = ("this tokenizer", "byte-level BPE")
_MEASURED = 1_000_000
"""Characters of the text on which tokenizers are measured."""
_BATCH = 1 << 17
"""Characters of a batch of lines, unless a single line has more."""
_PLAIN = "byte_level_"
"""Begins the names of the measures of plain byte-level BPE."""


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, _train, "train a tokenizer for language models", argument_default=argparse.SUPPRESS)
    add_corpus(parser, several="*")
    place = "write the tokenizer there; several sizes: FOLDER/SIZE"
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help=place)
    counts = (
        "learn from counts of pieces, which `tokenlab count` wrote, instead of INPUT; TSV (a piece, a tab, its count) "
        "may come from anywhere, and --cut then says how the text was cut"
    )
    parser.add_argument("--from-counts", nargs="+", default=[], metavar="FILE", help=counts)
    _add_cut(parser)
    add_options(parser, TrainOptions)
    text = (
        "measure on this text, in INPUT's format, not on the beginning of INPUT; with words learned from INPUT, count "
        "lines cut differently, too"
    )
    parser.add_argument("--check", metavar="FILE", default=None, help=text)
    add_json(parser, "print an object for each size, one a line")
    add_shards(parser)
    counting = add_command(
        commands, _count, "count the pieces that a tokenizer is trained from", argument_default=argparse.SUPPRESS
    )
    add_corpus(counting, several="+")
    table = "write this table: Parquet, or TSV where it ends in .tsv"
    counting.add_argument("-o", "--output", required=True, metavar="FILE", help=table)
    _add_cut(counting)
    add_shards(counting)


def _add_cut(parser: argparse.ArgumentParser) -> None:
    cut = (
        f"where no token may reach across: {', '.join(CUTS)}, FILE{WORDS_FILE} (a word model of `tokenlab segment "
        "--method words --save-model FILE.words`), or a regular expression. auto (default): words with the space "
        "before them, runs of scripts without spaces, up to three digits, punctuation; words, statistics: these runs, "
        "too, are cut into words, which are learned from the text, shape the merges and are not in the file"
    )
    parser.add_argument("--cut", default=None, metavar="CUT", help=cut)


def _train(arguments: argparse.Namespace) -> None:
    """Train a tokenizer on INPUT, a text per line or document, or on counts of its pieces, and write a folder
    that works without this library: transformers.AutoTokenizer.from_pretrained(FOLDER). Every text is decoded to
    itself. Prints bytes per token and tokens per word beside plain byte-level BPE of the same size and text; README.md
    in the folder holds the same.
    """
    check_utf8(arguments)
    if arguments.from_counts:
        _check_tables_alone(arguments, "with --from-counts", checked=arguments.check is not None)
    options, shards = options_from(arguments, TrainOptions), shards_from(arguments)
    if files := [token for token in options.special_tokens if Path(token).is_file()]:
        raise ParameterError(f"--special-tokens holds {files[0]}, which is a file; name INPUT before the options")
    if options.byte_tokens != "fallback":
        check_meaning(arguments, "without --bytes fallback", (), coverage="--coverage")
    inputs, tables = getattr(arguments, "input", []), arguments.from_counts
    if bool(inputs) == bool(tables):
        raise ParameterError("name INPUT or --from-counts FILE, one of the two")
    checked = [arguments.check] if arguments.check is not None else []
    given = [*inputs, *tables, *checked]
    _check_inputs(given, arguments.cut)
    check_folder("--output", arguments.output, given, _is_ours)
    from tokenlab.tokenizers.piece_counts import is_counts
    from tokenlab.tokenizers.trained import train_tokenizers, with_alphabet

    if counted := [name for name in inputs if name.endswith(".parquet") and is_counts(name)]:
        raise ParameterError(f"{counted[0]} is a table of counts; name it by --from-counts")
    with ExitStack() as stack, named_as_flags(TrainOptions, cut="--cut"):
        compared, texts = (open_corpora(stack, names, arguments) for names in (checked, inputs))
        for text in compared:
            text.check(measured=True)  # Before any work: an error in a text must leave nothing behind.
        counts, plain = _counts(texts, tables, arguments.cut, *shards)
        with named_errors(", ".join([*inputs, *tables])):
            options = with_alphabet(options, counts[0])
            with steps_shown("merging", " merges") as progress:
                trained = train_tokenizers(counts[0], options, progress)
            beside = [] if plain is None else train_tokenizers(plain, _plain_options(options))
        measured = _beginning(compared or texts)
        rows = [_measured(tokenizer, *counts, measured) for tokenizer in trained]
        for row, tokenizer in zip(rows, beside, strict=False):
            measures = {"vocabulary": tokenizer.get_vocab_size(), **_measures(tokenizer, measured)}
            row |= {_PLAIN + name: value for name, value in measures.items()}
        cut = counts[1]
        of_words = cut.name in LEARNED_CUTS or cut.name.endswith(WORDS_FILE)
        learned = "in training only" if cut.cutter else "as in the counts" if tables and of_words else "none"
        replaced = Path(arguments.output).is_dir() and any(Path(arguments.output).iterdir())
        former = sorted(path.parent.name for path in Path(arguments.output).glob("*/tokenizer.json"))
        with written(arguments.output), atomic_folder(arguments.output, checked=True) as folder:
            for tokenizer, row, size in zip(trained, rows, options.vocabulary, strict=True):
                place = folder if len(trained) == 1 else folder / str(size)
                _write(tokenizer, row, place, options, cut, [*inputs, *tables], checked, learned)
    write("".join(map(json_line, rows)) if arguments.json else "\n".join(map(_shown, rows)))
    if replaced:
        note(f"replaced the tokenizer in {arguments.output}" + (f": {', '.join(former)}" if former else ""))
    for row, asked in zip(rows, options.vocabulary, strict=True):
        if row["vocabulary"] < asked:
            note(f"{row['vocabulary']:,} entries came out of the {asked:,} asked for; the text is too short for more")


def _count(arguments: argparse.Namespace) -> None:
    """Count the pieces into which a cut divides texts. Any INPUT may also be a table of such counts, which is added;
    of TSV beside other inputs `--cut` says how it was cut, and with `--format text` it is a text. `tokenlab train
    --from-counts` learns from the table as from the text. Memory grows with the distinct pieces.
    """
    from tokenlab.tokenizers.piece_counts import is_counts, merge_counts, write_counts

    check_utf8(arguments)
    cut = arguments.cut
    _check_inputs(arguments.input, cut)
    check_output("--output", arguments.output, arguments.input, _ENDINGS)
    as_text = [name for name in arguments.input if arguments.format == "text" and name.lower().endswith(".tsv")]
    tables = [name for name in arguments.input if name not in as_text and is_counts(name)]
    alone = len(tables) == len(arguments.input)
    if alone:
        _check_tables_alone(arguments, "where all inputs are counts")
    shards = shards_from(arguments)
    parts, named = _read_tables(tables, cut, unknown=alone)
    if cut is not None and alone and named is None:
        raise ParameterError("--cut has no meaning where all inputs are counts; leave it out")
    with ExitStack() as stack:
        if texts := open_corpora(stack, [name for name in arguments.input if name not in tables], arguments):
            parts += _count_texts(texts, cut, *shards)[0]
    with named_errors(", ".join(arguments.input)):
        counts = merge_counts(parts)
        if not counts.pieces:
            raise InputError("there is no text to count")
    with written(arguments.output):
        write_counts(counts, arguments.output)


def _check_tables_alone(arguments: argparse.Namespace, how: str, *, checked: bool = False) -> None:
    """Refuse options about reading and counting texts where there are only tables. checked: but one text is read."""
    reading = {} if checked else flags_of(LineOptions, format="--format", text_key="--text-key")
    given = argparse.Namespace(
        **{name: value for name, value in vars(arguments).items() if value not in (None, "auto")}
    )
    check_meaning(given, how, (), MemoryOptions, ClusterOptions, **reading)


def _is_ours(path: Path) -> bool:
    """Whether an earlier run wrote this in the output folder: a file of a tokenizer, or the folder of a size."""
    if path.name.isdecimal() and path.is_dir():
        return (path / _FILES[0]).is_file() and all(one.is_file() and _is_ours(one) for one in path.iterdir())
    card = path.with_name("README.md")
    return path.name in _FILES and card.is_file() and _MADE in card.read_text(encoding="utf-8", errors="replace")


def _check_inputs(names: Sequence[str], cut: str | None) -> None:
    check_stdin(*names)
    if cut is not None:
        from tokenlab.tokenizers.cuts import check_cut

        # An expression may be longer than the name of a file, for which a Path raises.
        if cut not in CUTS and not cut.endswith(WORDS_FILE) and os.path.isfile(cut):  # noqa: PTH113
            raise ParameterError(f"--cut is {cut}, a file; rename it to *{WORDS_FILE} if it is a word model")
        with named_as_flags(cut="--cut"):
            check_cut(cut)


def _texts(corpora: Sequence[Corpus]) -> Iterator[str]:
    return chain.from_iterable(corpus.texts() for corpus in corpora)


def _count_texts(
    texts: Sequence[Corpus],
    name: str | None,
    memory: MemoryOptions,
    place: ClusterOptions,
    others: "Sequence[Cut]" = (),
) -> "tuple[list[PieceCounts], Cut]":
    """The counts of the texts by a cut and by others, and the cut with its learned words."""
    from tokenlab.tokenizers.cuts import make_cut
    from tokenlab.tokenizers.piece_counts import count_in_shards, count_pieces

    total = sum(map(len, _texts(texts)))  # Errors of reading come before any work.
    with steps_shown("fitting", " sweeps") as progress:
        cut = make_cut(name or "auto", _texts(texts), progress)
    lines = with_progress(_texts(texts), "counting", total=total)
    if memory.memory is None:
        return count_pieces(lines, [cut, *others]), cut
    with open_cluster(place) as cluster:
        return count_in_shards(lines, [cut, *others], memory.bytes, cluster=cluster), cut


def _read_tables(names: Sequence[str], cut: str | None, *, unknown: bool) -> "tuple[list[PieceCounts], Cut | None]":
    """The counts in tables, and the cut named for those that do not say how the text was cut; None where all say it.

    unknown: whether the cut may stay unknown, where no table says it.
    """
    from tokenlab.tokenizers.cuts import make_cut
    from tokenlab.tokenizers.piece_counts import read_counts

    parts = [read_counts(name) for name in names]
    silent = [name for name, part in zip(names, parts, strict=True) if part.cut is None]
    if not silent:
        return parts, None
    if cut is None:
        if unknown and len(silent) == len(names):
            return parts, None
        raise ParameterError(f"{silent[0]} does not say how the text was cut; name it by --cut")
    named = make_cut(cut, [])
    return [part if part.cut else part._replace(cut=named) for part in parts], named


def _counts(
    texts: Sequence[Corpus], tables: Sequence[str], name: str | None, memory: MemoryOptions, place: ClusterOptions
) -> "tuple[tuple[PieceCounts, Cut], PieceCounts | None]":
    """The counts and their cut, and the counts of the same texts for plain byte-level BPE; None without texts."""
    from tokenlab.tokenizers.cuts import gpt2_cut
    from tokenlab.tokenizers.piece_counts import merge_counts

    if texts:
        (counts, plain), cut = _count_texts(texts, name, memory, place, [gpt2_cut()])
        return (counts, cut), plain
    parts, named = _read_tables(tables, name, unknown=False)
    with named_errors(", ".join(tables)):
        counts = merge_counts(parts)
    known = named or counts.cut
    assert known is not None
    if named is None and name not in (None, known.name):
        raise ParameterError(f"--cut is {name}, but {tables[0]} was counted with {known.name}; leave it out")
    return (counts._replace(cut=known), known), None


def _plain_options(options: TrainOptions) -> TrainOptions:
    """Byte-level BPE of the same sizes, at least the smallest that there is, with as many special tokens."""
    special = tuple(f"<|{number}|>" for number, _ in enumerate(role_special_tokens(options.special_tokens).tokens))
    sizes = tuple(max(size, 256 + len(special)) for size in options.vocabulary)
    return TrainOptions(sizes, byte_tokens="level", special_tokens=special)


def _beginning(texts: Sequence[Corpus]) -> "list[TextWithWords]":
    """The texts on which tokenizers are measured."""
    from tokenlab.metrics.words import texts_with_words

    documents = (document for text in texts for _, document in text.placed_documents())
    first = next(in_batches(documents, _MEASURED, size=lambda document: len(document.text)), [])
    return [*texts_with_words(first)]


def _measured(tokenizer: "Tokenizer", counts: "PieceCounts", cut: "Cut", texts: "Sequence[TextWithWords]") -> Row:
    """Size and measures of a tokenizer."""
    from tokenlab.tokenizers.trained import cut_differently, unreached_tokens

    row = {"vocabulary": tokenizer.get_vocab_size(), **_measures(tokenizer, texts)}
    row["unreached_tokens"] = len(unreached_tokens(tokenizer, counts.pieces))
    if texts and cut.cutter is not None:
        batches = in_batches((one.text for one in texts), _BATCH)
        row["lines_cut_differently"] = sum(cut_differently(tokenizer, cut, batch) for batch in batches)
    return row


def _measures(tokenizer: "Tokenizer", texts: "Sequence[TextWithWords]") -> Row:
    """Measures on texts; none where there are no texts."""
    from tokenizers import Tokenizer

    from tokenlab.metrics.counting import count_tokens
    from tokenlab.metrics.tokenizer_measures import bytes_per_token, fertility
    from tokenlab.tokenizers.measured import HuggingFaceTokenizer

    if not texts:
        return {}
    copied = HuggingFaceTokenizer(Tokenizer.from_str(tokenizer.to_str()))  # It is changed there.
    counts = count_tokens(copied, texts)
    return {
        "lines": counts.texts,
        "tokens": counts.tokens,
        "bytes_per_token": bytes_per_token(counts),
        "tokens_per_word": fertility(counts),
    }


def _write(
    tokenizer: "Tokenizer",
    row: Row,
    folder: Path,
    options: TrainOptions,
    cut: "Cut",
    names: Sequence[str],
    checked: Sequence[str],
    learned_words: str,
) -> None:
    from tokenlab.tokenizers.trained import save_trained

    save_trained(tokenizer, options.special_tokens, folder)
    settings = {
        "model": options.model,
        "cut": f"`{cut.name}`",
        "learned words": learned_words,
        "bytes": options.byte_tokens,
        "special tokens": " ".join(f"`{token}`" for token in options.special_tokens) or "none",
    }
    measured = ", ".join(Path(name).name for name in checked) or f"the text, up to its first {_MEASURED:,} characters"
    about = f"On {measured}." if "tokens" in row else "Counts hold no text to measure tokens on."
    if _PLAIN + "tokens" in row:
        about += " Byte-level BPE has the cut of GPT-2, is trained on the same text, and was asked for the same size."
    parts = [
        f"# A tokenizer of {row['vocabulary']:,} entries",
        f"{_MADE}; `transformers.AutoTokenizer.from_pretrained` reads this folder without tokenlab.",
        "## Text",
        "\n".join(f"- {_with_licence(name)}" for name in names),
        "## Options",
        _table(settings.items(), ""),
        "## Measures",
        about,
        _table(_beside(row), *_HEADINGS),
    ]
    (folder / "README.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _shown(row: Row) -> str:
    """The measures of a tokenizer for people."""
    lines = [("", *_HEADINGS), *_beside(row)] if _PLAIN + "tokens" in row else _beside(row)
    return "".join(f"{name:<22}{own:>16}{plain:>16}".rstrip() + "\n" for name, own, plain in lines)


def _beside(row: Row) -> list[tuple[str, str, str]]:
    """Each measure that is defined for the text, its value, and that of plain byte-level BPE."""
    own = {name: value for name, value in row.items() if value is not None and not name.startswith(_PLAIN)}
    plain = {name: _cell(row[_PLAIN + name]) if _PLAIN + name in row else "" for name in own}
    return [(name.replace("_", " "), _cell(value), plain[name]) for name, value in own.items()]


def _table(rows: Iterable[tuple[str, ...]], *headings: str) -> str:
    lines = [("", *headings), ("---",) * (len(headings) + 1), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _with_licence(name: str) -> str:
    """The name of an input, with the title and the licence of its source where a record lies beside it."""
    path = Path(name)
    folder = path if path.is_dir() else path.parent
    if name == "-" or not (folder / RECORD).is_file():
        return f"{'standard input' if name == '-' else path.name}: licence not recorded"
    record = read_record(folder)
    return f"{path.name}: {record['title']}, licence {record['licence']}"


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
