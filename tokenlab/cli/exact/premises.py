"""`tokenlab exact check`: whether a tokenizer is handled exactly, and where the paper's premises fail."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tokenlab.cli.exact.model_options import add_normalizer_flag
from tokenlab.cli.exact.text_argument import readable, shown_text
from tokenlab.cli.inputs.corpus import add_former_json, add_json, open_source
from tokenlab.cli.output import with_progress

if TYPE_CHECKING:
    from tokenlab.exact.adapters.check import CheckReport, Failure

FAILURES_FOUND = 1
"""Exit status where automaton and tokenizer disagree."""

_FETCHED = Path("data/raw")
_CATALOGUE = "tokenizers/"


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "check",
        help="does a tokenizer meet the premises? counterexamples",
        description="Compare what is known of a tokenizer's encodings with its own engine, on built-in texts and "
        "random tokens, and on the lines of a file. Prints what was compared, and examples; exits with 1 if they "
        "disagree. A tokenizer that cannot be handled exactly is refused with an example and status 2.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "tokenizer",
        metavar="TOKENIZER",
        help="a tokenizer.json, a folder with a tokenizer, a SentencePiece .model, a rank file of tiktoken, a "
        f"tekken.json; or a name of the catalogue, such as {_CATALOGUE}llama3, that was fetched into {_FETCHED}",
    )
    add_normalizer_flag(parser)
    parser.add_argument("--text", metavar="FILE", help="further texts to check, one per line; `-` is standard input")
    add_json(parser, "print one object; without, a line for each fact")
    add_former_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.exact.adapters.check import check_tokenizer
    from tokenlab.exact.adapters.reading import read_tokenizer

    with ExitStack() as stack:
        lines: Iterator[str] = iter(())
        if options.text:
            text = stack.enter_context(open_source(options.text))
            text.check()
            lines = text.lines()
        real = read_tokenizer(_place(options.tokenizer), ignore_normalizer=options.ignore_normalizer)
        report = check_tokenizer(real, with_progress(lines, "checking"))
    if options.json:
        print(json.dumps(_record(report), ensure_ascii=False))
    else:
        sys.stdout.buffer.write(_text(report).encode())
    if not report.handled:
        sys.stdout.flush()
        raise SystemExit(FAILURES_FOUND)


def _place(name: str) -> Path:
    """The file or folder of a tokenizer; a name of the catalogue is a folder among the fetched files."""
    fetched = _FETCHED / name
    return fetched if name.startswith(_CATALOGUE) and not Path(name).exists() and fetched.is_dir() else Path(name)


def _record(report: "CheckReport") -> dict[str, object]:
    failures = [{**failure._asdict(), "text": readable(failure.text)} for failure in report.failures]
    return {**dataclasses.asdict(report), "handled": report.handled, "failures": failures}


def _text(report: "CheckReport") -> str:
    verdict = "handled exactly" if report.handled else f"NOT handled: {report.failed:,} disagreements"
    facts = [
        (report.name, verdict),
        ("compared", f"{report.texts:,} texts, {report.prefixes:,} prefixes, {report.contexts:,} contexts, "
                     f"{report.walks:,} random sequences"),
        ("skipped", f"{report.skipped:,} texts without tokens" if report.skipped else ""),
        ("corollary H.3", "no counterexample" if report.premise else f"fails: {report.premise_example}"),
        ("contexts of a text", f"at most {report.most_contexts:,} of equal length"),
        ("tokens", f"{report.tokens:,}, the longest of {report.longest:,} bytes"),
        ("unreached tokens", _unreached(report)),
        ("V*", f"{report.anchors:,} tokens are a part of no other"),
        *(("note", note) for note in report.notes),
        *(("disagreement", _failure(failure)) for failure in report.failures),
    ]  # fmt: skip
    return "".join(f"{name}: {fact}\n" for name, fact in facts if fact)


def _unreached(report: "CheckReport") -> str:
    examples = ", ".join(report.unreachable_examples)
    return f"{report.unreachable:,}" + (f", such as {examples}" if examples else "")


def _failure(failure: "Failure") -> str:
    return f"{failure.kind} in {shown_text(readable(failure.text))!r}: {failure.detail}"
