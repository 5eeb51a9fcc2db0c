"""`tokenlab patches cut`: the patches of a text."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokenlab.cli.inputs.corpus import Corpus, add_corpus, add_json, open_corpus
from tokenlab.cli.options import (
    add_options,
    check_meaning,
    field_names,
    imports_for_models,
    named_as_flags,
    options_from,
)
from tokenlab.cli.output import in_batches, named_errors, whole_output
from tokenlab.cli.patches.checks import check_model_folder, check_most
from tokenlab.cli.patches.learn import TOKENIZER
from tokenlab.cli.patches.printed import as_json, as_text
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.patches.options import EntropyOptions, FixedOptions, SpaceOptions

if TYPE_CHECKING:
    from tokenlab.patches.entropy_patcher import EntropyPatcher
    from tokenlab.patches.interface import Patcher, Starts

_KINDS = ("bpe", "space", "entropy", "character", "fixed", "learned")
_MEANT = {
    "bpe": ("tokenizer", "merges"),
    "space": field_names(SpaceOptions),
    "entropy": ("model", "mean_length", *field_names(EntropyOptions)),
    "character": (),
    "fixed": field_names(FixedOptions),
    "learned": ("model",),
}
_OTHERS = {"tokenizer": "--tokenizer", "merges": "--merges", "model": "--model", "mean_length": "--mean-length"}
_BATCH = 1 << 20
"""Bytes of texts cut at once, unless a single text has more."""


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "cut",
        help="cut texts into patches",
        description="Cut every text of INPUT into patches: the tokens of a tokenizer (bpe), up to a byte that is no "
        "letter or digit (space), up to a byte that a model finds hard to predict (entropy), characters, equal lengths "
        "(fixed), or the chunks of a model that learned them (learned). Offsets count bytes of UTF-8.",
        allow_abbrev=False,
    )
    add_corpus(parser, flags=("json", "summary"))
    parser.add_argument("--patcher", required=True, choices=_KINDS, help="kind of patches")
    shown = parser.add_mutually_exclusive_group()
    add_json(
        shown,
        "print an object a text: its bytes and where each patch starts; without, a bar between patches, a bar and a "
        "backslash of the text as \\| and \\\\, line feeds and the bytes of a divided character as \\xNN",
    )
    shown.add_argument("--summary", action="store_true", default=False, help="print counts and mean lengths")
    hidden: dict[str, Any] = {"argument_default": argparse.SUPPRESS}
    bpe = parser.add_argument_group("bpe", **hidden)
    bpe.add_argument("--tokenizer", metavar="FILE", help=TOKENIZER)
    bpe.add_argument("--merges", metavar="PATCHES.json", help="of `patches learn`: adds symbols to --summary")
    add_options(parser.add_argument_group("space and entropy", **hidden), EntropyOptions, only=["cap"])
    entropy = parser.add_argument_group("entropy", **hidden)
    entropy.add_argument(
        "--model",
        metavar="FOLDER",
        help="entropy: folder of a language model over bytes, or of a saved patcher; learned: of a model with chunks",
    )
    add_options(entropy, EntropyOptions, without=["cap"])
    entropy.add_argument(
        "--mean-length",
        type=float,
        metavar="BYTES",
        help="find the threshold (with --rule monotone: the rise) with which patches of INPUT have so many bytes in "
        "the mean",
    )
    add_options(parser.add_argument_group("fixed", **hidden), FixedOptions)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    kinds = (SpaceOptions, EntropyOptions, FixedOptions)
    check_meaning(options, f"with --patcher {options.patcher}", _MEANT[options.patcher], *kinds, **_OTHERS)
    if hasattr(options, "merges") and not options.summary:
        raise ParameterError("--merges has no meaning without --summary; add it")
    check_most("--cap", getattr(options, "cap", None))
    patcher = _patcher(options)
    with open_corpus(options) as texts:
        if hasattr(options, "mean_length"):
            patcher = _calibrated(options, patcher, texts)
        if options.summary:
            _summarize(options, patcher, texts)
            return
        with whole_output() as output:
            for text, starts in _cut(patcher, texts, "cutting"):
                line = as_json(text, starts) if options.json else as_text(text, starts)
                output.write(line.encode() + b"\n")


def _patcher(options: argparse.Namespace) -> "Patcher":
    from tokenlab.patches.by_bytes import CharacterPatcher, FixedPatcher, SpacePatcher

    needed = {"bpe": "tokenizer", "entropy": "model", "learned": "model"}.get(options.patcher)
    if needed and not hasattr(options, needed):
        raise ParameterError(f"--patcher {options.patcher} needs {_OTHERS[needed]}")
    if options.patcher == "space":
        return SpacePatcher(options_from(options, SpaceOptions))
    if options.patcher == "character":
        return CharacterPatcher()
    if options.patcher == "fixed":
        return FixedPatcher(options_from(options, FixedOptions))
    if options.patcher == "bpe":
        from tokenlab.patches.bpe import read_tokenizer_patcher

        return read_tokenizer_patcher(options.tokenizer)
    return _of_model(options)


def _of_model(options: argparse.Namespace) -> "Patcher":
    """The patcher of a language model, or a saved one; given options replace the saved ones."""
    with imports_for_models():
        from tokenlab.language.stored import read_language_model
        from tokenlab.patches.entropy_patcher import EntropyPatcher
        from tokenlab.patches.learned import LearnedPatcher
        from tokenlab.patches.registry import is_patcher, read_patcher

    kind = EntropyPatcher if options.patcher == "entropy" else LearnedPatcher
    network: Any
    saved: dict[str, Any] = {}
    if is_patcher(options.model):
        patcher = read_patcher(options.model)
        if not isinstance(patcher, kind):
            raise InputError(f"{options.model}: not a patcher of the kind {options.patcher}; name another folder")
        network, context = patcher.network, patcher.context
        saved = asdict(patcher.options) if isinstance(patcher, EntropyPatcher) else {}
    else:
        check_model_folder(options.model)
        model = read_language_model(options.model)
        network, context = model.network, model.context
    with named_errors(options.model):
        if kind is LearnedPatcher:
            return LearnedPatcher(network, context)
        chosen = options_from(options, EntropyOptions, defaults=saved)
        unused = {"threshold": "rise", "monotone": "threshold"}.get(chosen.rule)
        if unused and hasattr(options, unused):
            raise ParameterError(f"--{unused} has no meaning with --rule {chosen.rule}; leave it out")
        return EntropyPatcher(network, context, chosen)


def _cut(patcher: "Patcher", texts: Corpus, what: str) -> Iterator[tuple[bytes, "Starts"]]:
    """Each text and its patches."""
    number = 0
    for batch in _batches(texts, what):
        try:
            found = patcher.starts(batch)
        except InputError as error:
            raise _placed(patcher, batch, f"{texts.name}, text ", number, error) from None
        yield from zip(batch, found, strict=True)
        number += len(batch)


def _placed(patcher: "Patcher", batch: list[bytes], name: str, number: int, error: InputError) -> InputError:
    """The error of the first text of a batch that cannot be cut, with its number."""
    for place, text in enumerate(batch, number + 1):
        try:
            patcher.starts([text])
        except InputError as own:
            return InputError(f"{name}{place}: {own}")
    return error


def _batches(texts: Corpus, what: str) -> Iterator[list[bytes]]:
    return in_batches((text.encode() for text in texts.texts(what)), _BATCH)


def _calibrated(options: argparse.Namespace, patcher: Any, texts: Corpus) -> "EntropyPatcher":
    from tokenlab.patches.entropy_patcher import calibrated, mean_length

    found = "rise" if patcher.options.rule == "monotone" else "threshold"
    if hasattr(options, found):
        raise ParameterError(f"--{found} is found with --mean-length; leave one of them out")
    entropies = [some for batch in _batches(texts, "calibrating") for some in patcher.entropies(batch)]
    with named_errors(texts.name), named_as_flags(EntropyOptions, target="--mean-length"):
        chosen = calibrated(entropies, patcher.options, options.mean_length)
    print(
        f"tokenlab: --{found} {getattr(chosen, found)!r} gives patches of {mean_length(entropies, chosen):.3f} bytes",
        file=sys.stderr,
    )
    return patcher.with_options(chosen)


def _summarize(options: argparse.Namespace, patcher: "Patcher", texts: Corpus) -> None:
    """Print counts and mean lengths."""
    import numpy as np

    from tokenlab.tokenizers.hierarchical import HierarchicalBPE

    merges = HierarchicalBPE.read(options.merges) if hasattr(options, "merges") else None
    count = size = patches = symbols = largest = most = 0
    for text, starts in _cut(patcher, texts, "cutting"):
        count, size, patches = count + 1, size + len(text), patches + len(starts)
        largest = max(largest, np.diff(starts, append=len(text)).max(initial=0))
        if merges:
            ids, begins = merges.encode_patches(text, starts)
            symbols += len(ids)
            most = max(most, np.diff(begins, append=np.int32(len(ids))).max(initial=0))
    if not patches:
        raise InputError(f"{texts.name}: no text in it; there are no patches")
    lines = [f"texts {count}", f"bytes {size}", f"patches {patches}"]
    lines += [f"bytes per patch {size / patches:.4f}", f"largest patch {largest}"]
    if merges:
        lines += [f"symbols per patch {symbols / patches:.4f}", f"most symbols {most}"]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
