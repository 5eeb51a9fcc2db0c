"""Exact probabilities of characters and texts by a language model over tokens: sums over all token sequences that spell
the text, as the tokenizer would produce them."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain
from math import exp, isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING

from tokenlab.cli.corpus import TOKENIZER, add_corpus, add_json, open_corpus, open_source, source_name
from tokenlab.cli.options import (
    Commands,
    add_command,
    add_family,
    add_model_name,
    add_options,
    check_meaning,
    named_as_flags,
    options_from,
)
from tokenlab.cli.output import bar, json_line, named_errors, tabbed, with_progress, write
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_least
from tokenlab.exact.options import CompletionOptions, ExactOptions, PlaceOptions, SamplingOptions

if TYPE_CHECKING:
    from tokenlab.exact.adapters.check import CheckReport
    from tokenlab.exact.character_model import CharacterModel
    from tokenlab.exact.completion import Completion
    from tokenlab.exact.interface import NextCharacters
    from tokenlab.exact.scoring import TextScore

Record = dict[str, object]

_FAILURES_FOUND = 1
"""Exit status of `check` where automaton and tokenizer disagree."""

_SCORES = ("line", "characters", "bytes", "bits", "per character", "per byte", "naive bits", "naive per byte", "calls")
_COMPLETIONS = ("way", "log2 by itself", "log2 exact", "text", "tokens")
_COUNTS = ("texts", "characters", "bytes", "tokens", "windows")
_FETCHED = Path("data/raw")
_CATALOGUE = "tokenizers/"
_SENTENCES = 20
"""Sentences of each built-in corpus that `check` tries."""


def add_parser(commands: Commands) -> None:
    actions = add_family(commands, "exact", "character-level probabilities of a tokenized language model", __doc__)
    parser = add_command(actions, _next, "the characters that may follow a text")
    add_text(parser, "TEXT")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="how many characters (default 20)")
    shown = "print one object; without, character, probability and its binary logarithm, separated by tabs"
    add_json(parser, shown)
    _add_model(parser)

    parser = add_command(actions, _score, "bits per character of texts")
    add_corpus(parser, optional=True)
    parser.add_argument("--with-end", action="store_true", help="add the information of where the text ends")
    add_json(parser, "print an object for each text, and the total as `total`; without, a table with a row for each")
    _add_model(parser)

    parser = add_command(actions, _sample, "sample text after a prompt, character by character")
    add_text(parser, "PROMPT")
    parser.add_argument("-n", type=int, default=200, metavar="N", help="characters at most (default 200)")
    drawn = parser.add_argument_group("sampling", argument_default=argparse.SUPPRESS)
    drawn.add_argument("--seed", type=int, metavar="N", help="seed of the sample (default 0)")
    by = "draw characters (default), or a cover of the prompt and then tokens: the same distribution, faster"
    parser.add_argument("--by", choices=["characters", "tokens"], default="characters", help=by)
    add_options(drawn, SamplingOptions)
    add_json(parser, "print one object at the end; without, the text as it comes")
    _add_model(parser)

    how = "complete a prompt that may end inside a word: exactly, by plain prompting, by token healing"
    parser = add_command(actions, _complete, how)
    add_text(parser, "PROMPT")
    add_options(parser.add_argument_group("completion", argument_default=argparse.SUPPRESS), CompletionOptions)
    add_json(parser, "print one object; without, a row for each way, cells separated by tabs")
    _add_model(parser)

    parser = add_command(actions, _check, "does a tokenizer meet the premises? counterexamples")
    names = f"{TOKENIZER}; or a name of the catalogue, such as {_CATALOGUE}llama3, that was fetched into {_FETCHED}"
    parser.add_argument("tokenizer", metavar="TOKENIZER", help=names)
    _add_normalizer_flag(parser)
    parser.add_argument("--text", metavar="FILE", help="further texts to check, one per line; `-` is standard input")
    add_json(parser, "print one object; without, a line for each fact")


def _next(options: argparse.Namespace) -> None:
    """The most probable characters after a text, and the probability that it ends there. A text may end inside a word,
    a token or a character.
    """
    check_least("--top", options.top, 1)
    text = given_text(options, "TEXT")
    found = _model(options).next_character(text, options.top)
    write(json_line(_next_record(found, text, options)) if options.json else _next_text(found))


def _next_record(found: "NextCharacters", text: bytes, options: argparse.Namespace) -> Record:
    def probability(log_p: float) -> dict[str, float | None]:
        return {"probability": _number(exp(log_p)), "log2": _number(_bits(log_p))}

    pairs = zip(found.characters, found.log_probability.tolist(), strict=True)
    return {
        "text": readable(text),
        "estimator": options.estimator,
        "encodings": options.encodings,
        "characters": [{"character": character, **probability(log_p)} for character, log_p in pairs],
        "end": probability(found.end),
        "rest": probability(found.rest),
        "pruned": float(found.pruned) + 0.0,
        "cost": found.cost._asdict(),
    }


def _next_text(found: "NextCharacters") -> str:
    from tokenlab.codes.table import visible

    rows = list(zip(map(visible, found.characters), found.log_probability.tolist(), strict=True))
    rows += [("(end)", found.end), ("(others)", found.rest)]
    table = tabbed((name, _shown_number(exp(log_p), 6), _shown_number(_bits(log_p))) for name, log_p in rows)
    pruned = f"pruned: {found.pruned:.2e} of the probability\n" if found.pruned else ""
    cost = found.cost
    undefined = f", {cost.undefined:,} contexts undefined" if cost.undefined else ""
    took = f"{cost.contexts:,} contexts, {cost.passes:,} passes, {cost.tokens:,} tokens evaluated"
    return f"{table}{pruned}{took}{undefined}\n"


def _score(options: argparse.Namespace) -> None:
    """The information of each text, one per line, in bits: exact, as the sum over all encodings, and naive, of the one
    encoding that the tokenizer gives. A text longer than the model's context is scored in overlapping windows.
    """
    from tokenlab.exact.scoring import TextScore, score_texts, total

    with open_corpus(options) as text:
        text.check(measured=True)
        model = _model(options)
        if options.with_end and model.model.end is None:
            raise InputError(f"{options.model}: the model has no EOS, so no text ends; leave --with-end out")
        if not options.json:
            write(tabbed([_SCORES]))
        # On a terminal, the rows themselves are the progress, and a bar would be written into them.
        lines = text.lines() if sys.stdout.isatty() else with_progress(text.lines(), "scoring")
        summed = TextScore()
        for number, score in enumerate(score_texts(model, lines, where=f"{text.name}:"), 1):
            summed = total([summed, score])
            write(_score_line(number, score, options))
            sys.stdout.flush()
        write(_score_line("total", summed, options))


def _score_line(place: int | str, score: "TextScore", options: argparse.Namespace) -> str:
    if options.json:
        record = _score_record(score)
        return json_line({"line": place, **record} if isinstance(place, int) else {place: record})
    exact = score.exact_bits_with_end if options.with_end else score.exact_bits
    naive = score.naive_bits_with_end if options.with_end else score.naive_bits
    values = (exact, score.per_character(exact), score.per_byte(exact), naive, score.per_byte(naive))
    return tabbed([(place, score.characters, score.bytes, *map(_shown_number, values), score.cost.contexts)])


def _score_record(score: "TextScore") -> Record:
    exact, naive = score.exact_bits, score.naive_bits
    return {
        **{name: getattr(score, name) for name in _COUNTS},
        "bits": _number(exact),
        "bits_with_end": _number(score.exact_bits_with_end),
        "bits_per_character": _number(score.per_character(exact)),
        "bits_per_byte": _number(score.per_byte(exact)),
        "naive_bits": _number(naive),
        "naive_bits_with_end": _number(score.naive_bits_with_end),
        "naive_bits_per_character": _number(score.per_character(naive)),
        "naive_bits_per_byte": _number(score.per_byte(naive)),
        "pruned": float(score.pruned) + 0.0,
        "cost": score.cost._asdict(),
    }


def _sample(options: argparse.Namespace) -> None:
    """Sample the text after a prompt from the exact distribution of each next character, and print it as it comes. If
    the prompt ends inside a character, this character is printed as a whole.
    """
    from tokenlab.exact.sampling import sample, sample_stream
    from tokenlab.exact.token_walk import sample_by_tokens

    check_least("-n", options.n, 0)
    seed = getattr(options, "seed", 0)
    check_least("--seed", seed, 0)
    chosen = options_from(options, SamplingOptions)
    by_tokens = options.by == "tokens"
    if by_tokens:
        check_meaning(options, "with --by tokens", (), SamplingOptions)
    if chosen.temperature == 0:
        check_meaning(options, "with --temperature 0", {"temperature", "unit"}, SamplingOptions, seed="--seed")
    if by_tokens and options.prune:
        raise ParameterError("--prune has no meaning with --by tokens, which keeps all contexts; leave it out")
    prompt = given_text(options, "PROMPT")
    model = _model(options)
    drawn = sample_stream(model, prompt, options.n, chosen, seed=seed)
    pieces: Iterator[str] = (one.character for one in drawn)
    if by_tokens:
        with named_as_flags(ExactOptions, truncate="--no-truncate"):
            pieces = sample_by_tokens(model, prompt, options.n, seed=seed)
    if not options.json:
        for piece in pieces:
            write(piece)
            sys.stdout.flush()
        write("\n")
        return
    record: Record = {"prompt": readable(prompt)}
    if by_tokens:
        text = "".join(pieces)
        record |= {"text": text, "ended": len(text) < options.n}
    else:
        found = sample(model, prompt, options.n, chosen, seed=seed)
        log2 = _number(_bits(found.log_probability))
        record |= {"text": found.text, "ended": found.ended, "log2": log2, "cost": found.cost._asdict()}
    write(json_line(record))


def _complete(options: argparse.Namespace) -> None:
    """Complete a prompt in three ways. exact: from the distribution of texts that start with the prompt. plain: tokens
    after the encoding of the prompt as it is. healing: the last tokens of this encoding are dropped, and the next token
    begins with their text. Of each: the logarithm of its probability by the way itself and in the exact distribution,
    the text, and the tokens chosen.
    """
    from tokenlab.exact.completion import complete

    chosen = options_from(options, CompletionOptions)
    meant = {"length", "method", "healed", *{"beam": ["beams"], "sample": ["seed"]}.get(chosen.method, [])}
    check_meaning(options, f"with --method {chosen.method}", meant, CompletionOptions)
    prompt = given_text(options, "PROMPT")
    model = _model(options)
    with named_as_flags(ExactOptions, truncate="--no-truncate"):
        found = complete(model, prompt, chosen)
    if options.json:
        write(json_line({"prompt": readable(prompt), **{way.way: _completion_record(way) for way in found}}))
    else:
        write(tabbed([_COMPLETIONS, *map(_completion_row, found)]))


def _completion_row(found: "Completion") -> tuple[str, ...]:
    text = _shown_text(found.text) + ("(end)" if found.ended else "")
    tokens = "|".join(_shown_text(readable(token)) for token in found.tokens)
    own, exact = (_shown_number(_bits(value)) for value in (found.log_probability, found.exact))
    return found.way, own, exact, text, tokens


def _completion_record(found: "Completion") -> Record:
    return {
        "text": found.text,
        "ended": found.ended,
        "log2": _number(_bits(found.log_probability)),
        "exact_log2": _number(_bits(found.exact)),
        "tokens": [readable(token) for token in found.tokens],
        "cost": found.cost._asdict(),
    }


def _check(options: argparse.Namespace) -> None:
    """Compare what is known of a tokenizer's encodings with its own engine, on built-in texts and random tokens, and on
    the lines of a file. Prints what was compared, and examples; exits with 1 if they disagree. A tokenizer that cannot
    be handled exactly is refused with an example and status 2.
    """
    from tokenlab.exact.adapters.check import check_tokenizer
    from tokenlab.exact.adapters.reading import read_tokenizer
    from tokenlab.generated.corpora import LANGUAGES, generate

    with ExitStack() as stack:
        lines: Iterator[str] = iter(())
        if options.text:
            text = stack.enter_context(open_source(options.text, "text"))
            text.check()
            lines = text.lines()
        place, fetched = Path(options.tokenizer), _FETCHED / options.tokenizer
        if options.tokenizer.startswith(_CATALOGUE) and not place.exists() and fetched.is_dir():
            place = fetched
        real = read_tokenizer(place, ignore_normalizer=options.ignore_normalizer)
        sentences = (
            document.text for language in LANGUAGES for document in generate(language, sentences=_SENTENCES, seed=0)
        )
        with bar(f"checking {real.name}: minutes for a large vocabulary", bar_format="{desc}"):
            report = check_tokenizer(real, chain(sentences, lines))
    if options.json:
        failures = [{**failure._asdict(), "text": readable(failure.text)} for failure in report.failures]
        write(json_line({**asdict(report), "handled": report.handled, "failures": failures}))
    else:
        write(_check_text(report))
    if not report.handled:
        raise SystemExit(_FAILURES_FOUND)


def _check_text(report: "CheckReport") -> str:
    verdict = "handled exactly" if report.handled else f"NOT handled: {report.failed:,} disagreements"
    examples = ", ".join(report.unreachable_examples)
    facts = [
        (report.name, verdict),
        ("compared", f"{report.texts:,} texts, {report.prefixes:,} prefixes, {report.contexts:,} contexts, "
                     f"{report.walks:,} random sequences"),
        ("skipped", f"{report.skipped:,} texts without tokens" if report.skipped else ""),
        ("corollary H.3", "no counterexample" if report.premise else f"fails: {report.premise_example}"),
        ("contexts of a text", f"at most {report.most_contexts:,} of equal length"),
        ("tokens", f"{report.tokens:,}, the longest of {report.longest:,} bytes"),
        ("unreached tokens", f"{report.unreachable:,}" + (f", such as {examples}" if examples else "")),
        ("V*", f"{report.anchors:,} tokens are a part of no other"),
        *(("note", note) for note in report.notes),
    ]  # fmt: skip
    for one in report.failures:
        facts += [("disagreement", f"{one.kind} in {_shown_text(readable(one.text))!r}: {one.detail}")]
    return "".join(f"{name}: {fact}\n" for name, fact in facts if fact)


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options of a model and of how its probabilities are summed."""
    group = parser.add_argument_group("language model")
    add_model_name(group)
    _add_normalizer_flag(group)
    add_options(group, PlaceOptions)
    group = parser.add_argument_group("probabilities")
    add_options(group, ExactOptions, without=("truncate",))  # It is on by default; the flag is `--no-truncate`.
    whole = "leave probability on tokens that no text's encoding has there; sums are then below 1"
    group.add_argument("--no-truncate", dest="truncate", action="store_false", help=whole)


def _add_normalizer_flag(target: argparse._ActionsContainer) -> None:
    ignored = (
        "use a tokenizer that changes texts, such as by lower case or NFC, without this step: all texts must be "
        "normalised already, and the probabilities are those of normalised texts; refused without"
    )
    target.add_argument("--ignore-normalizer", action="store_true", help=ignored)


def _model(options: argparse.Namespace) -> "CharacterModel":
    """The model of the command line."""
    place, chosen = options_from(options, PlaceOptions), options_from(options, ExactOptions)
    from tokenlab.exact.character_model import CharacterModel
    from tokenlab.exact.loading import load

    with named_as_flags(PlaceOptions, ExactOptions, model="--model"):
        model, real = load(options.model, **asdict(place), ignore_normalizer=options.ignore_normalizer)
        return CharacterModel(model, real.automaton, chosen)


def add_text(parser: argparse.ArgumentParser, name: str) -> None:
    """Add a text as an argument, in a file, or as hexadecimal bytes."""
    parser.add_argument("text", metavar=name, nargs="?", help=f"the {name.lower()}; '' is the empty one")
    file = f"read the {name.lower()} from a file, as it is, line ends included; `-` is standard input"
    parser.add_argument("--file", metavar="FILE", help=file)
    digits = f"{name} is hexadecimal digits of UTF-8, which may end inside a character: E4BD is the beginning of 你"
    parser.add_argument("--bytes", action="store_true", help=digits)


def given_text(options: argparse.Namespace, name: str) -> bytes:
    """The text in UTF-8; its last character may be incomplete. Raises InputError and ParameterError."""
    if (options.text is None) == (options.file is None):
        raise ParameterError(f"give one text: {name}, or --file FILE")
    if options.file is not None:
        if options.bytes:
            raise ParameterError("--bytes has no meaning with --file; leave it out")
        from tokenlab.text.lines import read_whole

        name, text = source_name(options.file), read_whole(options.file)
    elif options.bytes:
        try:
            text = bytes.fromhex(options.text)
        except ValueError:
            raise ParameterError(f"--bytes: {options.text!r} is no hexadecimal number of bytes, such as E4BD") from None
    else:
        try:
            text = os.fsencode(options.text)  # Bytes that are not UTF-8 come as surrogates.
        except UnicodeEncodeError as error:
            raise InputError(f"{name}: a lone surrogate at character {error.start + 1}; remove or replace it") from None
    from tokenlab.exact.utf8 import open_character

    with named_errors(name):
        open_character(text)
    return text


def readable(text: bytes) -> str:
    """A text for JSON; bytes of an incomplete character as the escapes that Python prints."""
    return text.decode(errors="backslashreplace")


def _shown_text(text: str) -> str:
    """A text on one line: whitespace but the space, and controls, escaped."""
    from tokenlab.codes.interface import shown

    return "".join(character if character == " " else shown(character) for character in text)


def _bits(nats: float) -> float:
    return nats / log(2)


def _number(value: float) -> float | None:
    """A number for JSON, which has neither NaN nor infinity."""
    return value if isfinite(value) else None


def _shown_number(value: float, places: int = 4) -> str:
    """A number with so many decimal places, inf, -inf or undefined."""
    return "undefined" if value != value else f"{value:.{places}f}"
