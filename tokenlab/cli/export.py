"""`tokenlab export`: the segmenter as a tokenizer that needs nothing of this library."""

import argparse
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tokenlab.cli.corpus import Corpus, add_corpus, add_json, longest_line_of, open_corpus, open_source
from tokenlab.cli.ngram_statistics import add_statistics_from, statistics_of
from tokenlab.cli.options import Commands, add_command, add_options, check_meaning, named_as_flags, options_from
from tokenlab.cli.output import check_folder, check_output, json_line, named_errors, note, with_progress, write, written
from tokenlab.cli.segment import add_utilities
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_file
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.segment.options import SegmentOptions
from tokenlab.tokenizers.export.options import ExportOptions, check_expressible, parse_special_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from tokenlab.tokenizers.export.agreement import Agreement, Cutter, Exported
    from tokenlab.tokenizers.export.vocabulary import Vocabulary

_FILES = {"tokenizer.json", "tokenizer_config.json"}


def add_parser(commands: Commands) -> None:
    what = "write a segmenter as a tokenizer.json or a SentencePiece model"
    parser = add_command(commands, _export, what, argument_default=argparse.SUPPRESS)
    add_corpus(parser, "sentence")
    place = "write this folder, or with --to sentencepiece this file"
    parser.add_argument("-o", "--output", required=True, metavar="PLACE", help=place)
    add_options(parser, ExportOptions)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--word-model",
        metavar="FILE",
        default=None,
        help="segment INPUT by this word model, which `tokenlab segment --method words --save-model` wrote. A "
        "tokenizer cannot look at pairs of words as it does: by a month of Chinese news its word F1 is 81.4 instead of "
        "82.0 on sentences held out; by statistics it is 78.8",
    )
    add_statistics_from(source, default=None)
    checks = parser.add_mutually_exclusive_group()
    compared = "compare the tokenizer with the segmenter on this text, one sentence per line, and print figures"
    checks.add_argument("--check", metavar="FILE", default=None, help=compared)
    gold = "the same on a text of gold words, separated by whitespace: adds word F1"
    checks.add_argument("--check-words", metavar="FILE", default=None, help=gold)
    add_json(parser, "print these figures as one object")
    segmenter = parser.add_argument_group("segmenter by statistics (not with --word-model; only the decoder viterbi)")
    add_utilities(segmenter)
    add_options(parser.add_argument_group("n-gram statistics (not with --word-model)"), StatisticsOptions)


def _export(arguments: argparse.Namespace) -> None:
    """Segment INPUT, one sentence per line, by n-gram statistics or a word model, and write a tokenizer that segments
    any text in nearly the same way. It is used without this library:
    transformers.AutoTokenizer.from_pretrained(FOLDER), tokenizers.Tokenizer.from_file(FOLDER/tokenizer.json), or
    sentencepiece. Every text is decoded to itself.
    """
    options = options_from(arguments, ExportOptions)
    if arguments.word_model is not None:
        check_meaning(arguments, "with --word-model", (), SegmentOptions, StatisticsOptions)
    checked = arguments.check_words if arguments.check is None else arguments.check
    if checked is None and arguments.json:
        raise ParameterError("--json has no meaning without --check or --check-words; leave it out")
    with named_as_flags(SegmentOptions):
        check_expressible(options_from(arguments, SegmentOptions))
    others = [arguments.word_model, arguments.statistics_from, checked]
    if "-" in others:
        raise InputError("standard input can only be INPUT; name a file for the others")
    if options.to == "sentencepiece":
        from tokenlab.tokenizers.export.agreement import require_sentencepiece
        from tokenlab.tokenizers.export.sentencepiece_format import description

        check_output("--output", arguments.output, [arguments.input, *others])
        description()
        if checked is not None:
            require_sentencepiece()
    else:
        check_folder("--output", arguments.output, [arguments.input, *others], lambda path: path.name in _FILES)
    with ExitStack() as stack:
        if checked is not None:  # Before any work: an error in this text, too, must leave nothing behind.
            compared = stack.enter_context(open_source(checked, longest_line=longest_line_of(arguments)))
            compared = replace(compared, text_key=arguments.text_key)
            compared.check(measured=True)
        text = stack.enter_context(open_corpus(arguments, checked=True))
        stack.enter_context(named_as_flags(SegmentOptions, ExportOptions))
        letters: Counter[str] = Counter()
        lines = _counting(with_progress(text.lines(), "segmenting"), letters)
        if arguments.word_model is not None:
            cutter, learned = _by_words(text, lines, arguments.word_model, options)
        else:
            cutter, learned = _by_statistics(text, lines, arguments, options)
        with written(arguments.output):
            _write(learned, options, arguments.output)
        _note(text.name, learned, options.vocabulary_size, letters)
        if checked is not None:
            exported = _read(arguments.output, options)
            figures = _agreement(exported, cutter, compared, arguments.check_words is not None).figures()
            write(json_line(figures) if arguments.json else "".join(map(_figure, figures.items())))


def _counting(lines: Iterator[str], letters: Counter[str]) -> Iterator[str]:
    """The lines, whose letters are counted as `spaced` and `unspaced`, by their scripts."""
    from tokenlab.segment.isolation import FREE, WHOLE, CharacterClasses
    from tokenlab.text.code_points import code_points

    classes_of = CharacterClasses("script")
    for line in lines:
        classes = classes_of(code_points(line))
        letters["spaced"] += int((classes == WHOLE).sum())
        letters["unspaced"] += int((classes >= FREE).sum())
        yield line


def _note(name: str, learned: "Vocabulary | Tokenizer", asked: int | None, letters: Counter[str]) -> None:
    """Say on standard error what makes `tokenlab train` the better command for a text."""
    from tokenlab.tokenizers.export.vocabulary import Vocabulary

    size = len(learned.pieces) if isinstance(learned, Vocabulary) else learned.get_vocab_size()
    if asked is not None and size < asked:
        note(
            f"{name}: the vocabulary has {size:,} entries instead of {asked:,}: the text has no more words; `tokenlab "
            "train` learns parts of words, too"
        )
    if letters["spaced"] > letters["unspaced"]:
        note(
            f"{name}: most of the text is of scripts that are written with spaces. A segmenter has a token for every "
            "space, and no parts of words; use `tokenlab train` for a language model"
        )


def _by_statistics(
    text: Corpus, lines: Iterator[str], arguments: argparse.Namespace, options: ExportOptions
) -> "tuple[Cutter, Vocabulary | Tokenizer]":
    from tokenlab.segment.by_statistics import Segmenter
    from tokenlab.tokenizers.export.hugging_face import export_tokenizer
    from tokenlab.tokenizers.export.vocabulary import learn_vocabulary

    chosen, counted = options_from(arguments, SegmentOptions), options_from(arguments, StatisticsOptions)
    statistics = statistics_of(text, arguments.statistics_from, counted)
    learn = learn_vocabulary if options.model == "unigram" else export_tokenizer
    with named_errors(text.name):
        return Segmenter(statistics, chosen), learn(lines, statistics, chosen, options)


def _by_words(
    text: Corpus, lines: Iterator[str], path: str, options: ExportOptions
) -> "tuple[Cutter, Vocabulary | Tokenizer]":
    from tokenlab.segment.words.model import WordModel
    from tokenlab.tokenizers.export.hugging_face import word_tokenizer
    from tokenlab.tokenizers.export.vocabulary import vocabulary_of_words

    model = WordModel.load(path)
    learn = vocabulary_of_words if options.model == "unigram" else word_tokenizer
    cut = model.segment(lines)
    with named_errors(text.name):
        return model, learn(cut, options, SegmentOptions(split_kana=model.options.split_kana))


def _write(learned: "Vocabulary | Tokenizer", options: ExportOptions, place: str) -> None:
    from tokenlab.tokenizers.export.hugging_face import save_tokenizer_folder, unigram_tokenizer
    from tokenlab.tokenizers.export.sentencepiece_format import sentencepiece_model
    from tokenlab.tokenizers.export.vocabulary import Vocabulary

    if options.to == "sentencepiece" and isinstance(learned, Vocabulary):
        model = sentencepiece_model(learned)
        with atomic_file(place) as temporary:
            temporary.write_bytes(model)
        return
    tokenizer = unigram_tokenizer(learned) if isinstance(learned, Vocabulary) else learned
    save_tokenizer_folder(tokenizer, parse_special_tokens(options.special_tokens), place)


def _read(place: str, options: ExportOptions) -> "Exported":
    from tokenizers import Tokenizer

    from tokenlab.tokenizers.export.agreement import HuggingFace, SentencePiece

    if options.to == "sentencepiece":
        return SentencePiece(Path(place).read_bytes())
    return HuggingFace(Tokenizer.from_file(str(Path(place) / "tokenizer.json")))


def _agreement(exported: "Exported", cutter: "Cutter", text: Corpus, has_words: bool) -> "Agreement":
    from tokenlab.tokenizers.export.agreement import measure_agreement

    lines = with_progress(text.lines(), "checking")
    if not has_words:
        return measure_agreement(exported, cutter, lines)
    gold = (list(pairwise(accumulate(map(len, line.split()), initial=0))) for line in text.lines())
    return measure_agreement(exported, cutter, ("".join(line.split()) for line in lines), gold)


def _figure(item: tuple[str, float | int | None]) -> str:
    name, value = item
    shown = f"{100 * value:.2f} %" if isinstance(value, float) else "undefined" if value is None else f"{value}"
    return f"{name.replace('_', ' '):<28}{shown:>12}\n"
