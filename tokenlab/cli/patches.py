"""Patches of bytes, for language models that read and predict a patch at a time: the tokens of a tokenizer, words by
spaces, bytes up to one that is hard to predict, characters, or equal lengths."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenlab.cli.corpus import TOKENIZER, Corpus, add_corpus, add_json, open_corpus
from tokenlab.cli.options import (
    NOT_UTF8,
    Commands,
    add_command,
    add_family,
    add_options,
    check_meaning,
    check_most,
    check_way,
    flag_of,
    flags_of,
    named_as_flags,
    options_from,
)
from tokenlab.cli.output import check_output, json_line, named_errors, note, tabbed, whole_output, write, written
from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice, check_least, option
from tokenlab.metrics.flops import break_even_vocabulary
from tokenlab.networks.cost import BYTES, forward_flops, parameter_count, published_flops
from tokenlab.networks.options import SIZES, ChunkShape, HashShape, PatchShape, Shape, TokenShape
from tokenlab.patches.options import EntropyOptions, FixedOptions, SpaceOptions

if TYPE_CHECKING:
    from tokenlab.patches.entropy_patcher import EntropyPatcher
    from tokenlab.patches.interface import Patcher, Starts

_MEANT: dict[str, dict[str, str]] = {
    "bpe": {"tokenizer": "--tokenizer", "merges": "--merges"},
    "space": flags_of(SpaceOptions),
    "entropy": flags_of(EntropyOptions, model="--model", mean_length="--mean-length"),
    "character": {},
    "fixed": flags_of(FixedOptions),
    "learned": {"model": "--model"},
}
"""The flags that have a meaning with each kind of patches, by the names of the options."""
_BATCH = 1 << 20
"""Bytes of texts cut at once, unless a single text has more."""

_PAPER_BYTES = 8192
_PAPER_ROWS = 50_000
_PAPER_SYMBOLS = 497
_PAPER_LOCAL = 384
"""The feed-forward size of local layers that gives the figures of Table 2; Table 1 says 512."""


class _Model(NamedTuple):
    """A row of the table of `flops`: its defaults, and what the paper prints."""

    length: float
    """Bytes of a token or patch, by which the text is divided; the paper's p."""
    symbols: float | None = None
    """Symbols of a patch as built; None: as many as bytes."""
    bytes: float | None = None
    """Bytes of a patch as built; None: p. With BPE these are the bytes of a token."""
    longest: int | None = None
    """Symbols of a padded patch; None: patches have no limit."""
    marker: bool = False
    hash: bool = False
    gflop: float | None = None
    """Of the small size, in Table 2."""
    small: float | None = None
    """Millions of parameters of the small size, in Table 2."""
    medium: float | None = None
    """Those of the medium size, in Table 4."""


_TOKEN_BYTES = 4.125
_MODELS = {
    "tokens": _Model(_TOKEN_BYTES, gflop=562, small=123, medium=359),
    "bytes": _Model(1, gflop=4214, small=85),
    "bpe": _Model(4.13, 4.13, _TOKEN_BYTES, longest=10, marker=True, gflop=554, small=99.7, medium=323),
    "space": _Model(4.29, longest=6, hash=True, gflop=534, small=351, medium=575),
    "entropy": _Model(3.45, longest=6, hash=True, gflop=668, small=351, medium=575),
    "entropy-unbounded": _Model(4.49, hash=True, gflop=509, small=351),
    "character": _Model(1, longest=4),
    "fixed": _Model(4, longest=4),
    "learned": _Model(4),
}

# fmt: off
_COLUMNS = [
    "model", "length", "symbols", "rows", "table_2", "fitted", "formula", "packed", "padded", "even_packed",
    "even_padded", "parameters", "printed_parameters",
]
# fmt: on


@dataclass(frozen=True)
class _CostOptions:
    """Options of `flops`, with the library's names."""

    context: int = option("bytes of the text", _PAPER_BYTES, flag="--bytes", metavar="N")
    vocabulary: int = option("tokens of the model over tokens", 50_257, metavar="V")
    symbols: int = option("symbols of the second BPE, V'", _PAPER_SYMBOLS, metavar="V")
    length: float | None = option("mean bytes of a token or patch (default: the paper's figures)", None, metavar="X")
    patch_symbols: float | None = option(
        "mean symbols of a patch, the marker included (default: 4.13 for bpe, else the bytes)", None, metavar="X"
    )
    padded: int | None = option(
        "symbols of padded patches (default: the paper's 10 and 6)", None, flag="-S", aliases=["--longest"], metavar="S"
    )
    feed_forward: int | None = option(
        "inner size of local SwiGLU layers (default: of the size)", None, flag="--local-feed-forward", metavar="N"
    )

    def __post_init__(self) -> None:
        for name in ("context", "length", "patch_symbols", "padded"):
            check_least(name, getattr(self, name), 1)
        for field in fields(self):
            check_most(flag_of(field), getattr(self, field.name))


def add_parser(commands: Commands) -> None:
    actions = add_family(commands, "patches", "patches of bytes: cut texts, learn a second BPE, compare costs", __doc__)
    what = "learn a second BPE that shortens the tokens of a tokenizer"
    parser = add_command(actions, _learn, what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", metavar="FILE", required=True, help=TOKENIZER)
    most = "most symbols of a token, the marker included (default 10)"
    parser.add_argument("-S", "--longest", type=int, default=10, metavar="S", help=most)
    parser.add_argument("-o", "--output", required=True, metavar="PATCHES.json", help="write the merges there")
    _add_cut(actions)
    _add_flops(actions)


def _add_cut(actions: Commands) -> None:
    parser = add_command(actions, _cut, "cut texts into patches")
    add_corpus(parser)
    parser.add_argument("--patcher", required=True, choices=tuple(_MEANT), help="kind of patches")
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
    folder = "entropy: folder of a language model over bytes, or of a saved patcher; learned: of a model with chunks"
    entropy.add_argument("--model", metavar="FOLDER", help=folder)
    add_options(entropy, EntropyOptions, without=["cap"])
    mean = "find the threshold (with --rule monotone: the rise) that gives patches of INPUT so many bytes in the mean"
    entropy.add_argument("--mean-length", type=float, metavar="BYTES", help=mean)
    add_options(parser.add_argument_group("fixed", **hidden), FixedOptions)


def _add_flops(actions: Commands) -> None:
    parser = add_command(actions, _flops, "the cost of models over patches: the paper's formula, and as built")
    parser.add_argument("--size", default="small", metavar="NAME", help="size of the models (default small)")
    models = "a model: tokens and bytes are those without patches; can be repeated (default: all)"
    parser.add_argument("--patcher", action="append", choices=_MODELS, help=models)
    add_options(parser.add_argument_group("costs", argument_default=argparse.SUPPRESS), _CostOptions)
    add_json(parser, "print one object; without, a table, cells separated by tabs")


def check_model_folder(name: str, example: str = "models/sample/patch_models/en/bpe-seed0") -> None:
    """Check, before PyTorch is loaded, that a folder has a language model. Raises InputError where it has none."""
    folder = Path(name)
    if folder.is_file():
        raise InputError(f"{name}: a file, and no folder of a language model; name the folder of one")
    if not (folder / "language.json").is_file():
        of_transformers = "; a model of transformers goes on a text by `tokenlab exact sample`"
        raise InputError(
            f"{name}: no folder of a language model, since it has no language.json; name one that stage train_patch_lm "
            f"wrote, such as {example}" + of_transformers * (folder / "config.json").is_file()
        )


def _learn(options: argparse.Namespace) -> None:
    """
    Learn the merges with which every token of a BPE tokenizer fits into S symbols: bytes, merges, and the end-of-patch
    marker, which counts. Special tokens take no part.

    lines printed:
      tokens X           of the vocabulary, each spelling once
      merges X
      vocabulary X       symbols: 256 bytes, the marker, the merges
      mean patch X       symbols of a token, the marker included
      largest patch X
    """
    from tokenlab.formats.byte_level import PAIRS
    from tokenlab.formats.tokenizer_file import tokenizer_file
    from tokenlab.tokenizers.hierarchical import learn_hierarchical, vocabulary_of

    check_most("-S", options.longest)
    file = tokenizer_file(options.tokenizer)
    pair = [str(file.with_name(PAIRS[file.name]))] if file.name in PAIRS else []
    check_output("--output", options.output, [str(file), *pair], endings=[".json"])
    tokens = vocabulary_of(options.tokenizer)
    with named_errors(options.tokenizer), named_as_flags(longest="-S"):
        learned = learn_hierarchical(tokens, options.longest)
    lengths = learned.lengths(tokens)
    with written(options.output):
        learned.save(options.output)
    write(
        f"tokens {len(tokens)}\nmerges {len(learned.merges)}\nvocabulary {learned.size}\n"
        f"mean patch {lengths.mean():.4f}\nlargest patch {lengths.max()}\n"
    )


def _cut(options: argparse.Namespace) -> None:
    """Cut every text of INPUT into patches: the tokens of a tokenizer (bpe), up to a byte that is no letter or digit
    (space), up to a byte that a model finds hard to predict (entropy), characters, equal lengths (fixed), or the chunks
    of a model that learned them (learned). Offsets count bytes of UTF-8.
    """
    check_way(options, f"--patcher {options.patcher}", {f"--patcher {kind}": flags for kind, flags in _MEANT.items()})
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
        with whole_output() as keep:
            for text, starts in _patches(patcher, texts):
                found = starts.tolist()
                keep(json_line({"bytes": len(text), "starts": found}) if options.json else _barred(text, found) + "\n")


def _patcher(options: argparse.Namespace) -> "Patcher":
    from tokenlab.patches.by_bytes import CharacterPatcher, FixedPatcher, SpacePatcher

    needed = {"bpe": "tokenizer", "entropy": "model", "learned": "model"}.get(options.patcher)
    if needed and not hasattr(options, needed):
        raise ParameterError(f"--patcher {options.patcher} needs --{needed}")
    match options.patcher:
        case "space":
            return SpacePatcher(options_from(options, SpaceOptions))
        case "character":
            return CharacterPatcher()
        case "fixed":
            return FixedPatcher(options_from(options, FixedOptions))
        case "bpe":
            from tokenlab.patches.bpe import read_tokenizer_patcher

            return read_tokenizer_patcher(options.tokenizer)
    return _of_model(options)


def _of_model(options: argparse.Namespace) -> "Patcher":
    """The patcher of a language model, or a saved one; given options replace the saved ones."""
    from tokenlab.language.stored import read_language_model
    from tokenlab.patches.entropy_patcher import EntropyPatcher
    from tokenlab.patches.learned import LearnedPatcher
    from tokenlab.patches.registry import is_patcher, read_patcher

    kind = EntropyPatcher if options.patcher == "entropy" else LearnedPatcher
    found: Any
    saved: dict[str, Any] = {}
    if is_patcher(options.model):
        found = read_patcher(options.model)
        if not isinstance(found, kind):
            raise InputError(f"{options.model}: not a patcher of the kind {options.patcher}; name another folder")
        saved = asdict(found.options) if isinstance(found, EntropyPatcher) else {}
    else:
        examples = {
            EntropyPatcher: "bytes-seed0, or a saved patcher, such as models/sample/patchers/en/entropy/patcher",
            LearnedPatcher: "learned-seed0",
        }
        check_model_folder(options.model, f"models/sample/patch_models/en/{examples[kind]}")
        found = read_language_model(options.model)
    with named_errors(options.model):
        if kind is LearnedPatcher:
            return LearnedPatcher(found.network, found.context)
        chosen = options_from(options, EntropyOptions, defaults=saved)
        unused = {"threshold": "rise", "monotone": "threshold"}.get(chosen.rule)
        if unused and hasattr(options, unused):
            raise ParameterError(f"--{unused} has no meaning with --rule {chosen.rule}; leave it out")
        return EntropyPatcher(found.network, found.context, chosen)


def _patches(patcher: "Patcher", texts: Corpus) -> "Iterator[tuple[bytes, Starts]]":
    """Each text and its patches."""
    number = 0
    for batch in _batches(texts, "cutting"):
        try:
            found = patcher.starts(batch)
        except InputError:
            for place, text in enumerate(batch, number + 1):  # One of these is the text that cannot be cut.
                with named_errors(f"{texts.name}, text {place}"):
                    patcher.starts([text])
            raise
        yield from zip(batch, found, strict=True)
        number += len(batch)


def _batches(texts: Corpus, what: str) -> Iterator[list[bytes]]:
    return in_batches((text.encode() for _, text in texts.read(what)), _BATCH)


def _calibrated(options: argparse.Namespace, patcher: Any, texts: Corpus) -> "EntropyPatcher":
    from tokenlab.patches.entropy_patcher import calibrated, mean_length

    found = "rise" if patcher.options.rule == "monotone" else "threshold"
    if hasattr(options, found):
        raise ParameterError(f"--{found} is found with --mean-length; leave one of them out")
    entropies = [some for batch in _batches(texts, "calibrating") for some in patcher.entropies(batch)]
    with named_errors(texts.name), named_as_flags(EntropyOptions, target="--mean-length"):
        chosen = calibrated(entropies, patcher.options, options.mean_length)
    note(f"--{found} {getattr(chosen, found)!r} gives patches of {mean_length(entropies, chosen):.3f} bytes")
    return patcher.with_options(chosen)


def _summarize(options: argparse.Namespace, patcher: "Patcher", texts: Corpus) -> None:
    import numpy as np

    from tokenlab.tokenizers.hierarchical import HierarchicalBPE

    merges = HierarchicalBPE.read(options.merges) if hasattr(options, "merges") else None
    count = size = patches = symbols = largest = most = 0
    for text, starts in _patches(patcher, texts):
        count, size, patches = count + 1, size + len(text), patches + len(starts)
        largest = max(largest, np.diff(starts, append=len(text)).max(initial=0))
        if merges:
            ids, begins = merges.encode_patches(text, starts)
            symbols += len(ids)
            most = max(most, np.diff(begins, append=np.int32(len(ids))).max(initial=0))
    if not patches:
        raise InputError(f"{texts.name}: no text in it; there are no patches")
    write(f"texts {count}\nbytes {size}\npatches {patches}\n")
    write(f"bytes per patch {size / patches:.4f}\nlargest patch {largest}\n")
    if merges:
        write(f"symbols per patch {symbols / patches:.4f}\nmost symbols {most}\n")


def _barred(text: bytes, starts: Sequence[int]) -> str:
    """A text on one line, with a bar between its patches, as the help of `--json` describes it."""
    return "|".join(_escaped(text[start:end]) for start, end in pairwise([*starts, len(text)]))


def _escaped(patch: bytes) -> str:
    escaped = patch.replace(b"\\", b"\\\\").replace(b"|", b"\\|").replace(b"\n", b"\\x0A")
    text = escaped.decode(errors="surrogateescape")
    return NOT_UTF8.sub(lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02X}", text)


def _flops(options: argparse.Namespace) -> None:
    """Operations of a forward pass over a text, in GFLOP (text) or FLOP (json), and millions of parameters. length:
    bytes of a token or patch; symbols: symbols of a patch; rows: of the output matrix; table_2: the paper's figure;
    fitted: its formula (equations 10-12: two matrices in a feed-forward layer, no causal mask) with the settings that
    give that figure, 50000 rows for tokens and for characters and local feed-forward layers of 384; formula: the same
    with the sizes of the model; packed, padded: the model as built (three matrices, causal attention, projections
    between the stacks) with packed patches, or patches padded to the longest; even_packed, even_padded: the vocabulary
    from which a model over tokens costs more; printed_parameters: the paper's.
    """
    check_choice("--size", options.size, SIZES)
    chosen = options_from(options, _CostOptions)
    if options.patcher:
        meant = {"context"}.union(*map(_options_of, options.patcher))
        check_meaning(options, f"with --patcher {' and '.join(dict.fromkeys(options.patcher))}", meant, _CostOptions)
    with named_as_flags(_CostOptions):
        rows = [_cost(name, options.size, chosen) for name in options.patcher or _MODELS]
    if options.json:
        write(json_line({"size": options.size, "bytes": chosen.context, "models": rows}))
    else:
        write(tabbed([_COLUMNS, *([_cell(*item) for item in row.items()] for row in rows)]))


def _options_of(name: str) -> set[str]:
    """The options on which the row of a model depends, besides the bytes of the text."""
    if name in ("tokens", "bytes", "learned"):
        return {"tokens": {"vocabulary", "length"}, "bytes": set(), "learned": {"length", "feed_forward"}}[name]
    return {"length", "patch_symbols", "padded", "feed_forward"} | ({"symbols"} if _MODELS[name].marker else set())


def _cost(name: str, size: str, chosen: _CostOptions) -> dict[str, Any]:
    """A row of the table: the values of `_COLUMNS`."""
    model = _MODELS[name]
    given = None if name == "bytes" else chosen.length  # A byte has one byte.
    length = given or model.length
    shape = _shape(name, size, chosen)
    patches = 1 / (given or model.bytes or length)
    symbols, longest = 1.0, None
    if isinstance(shape, PatchShape):
        symbols = patches * (chosen.patch_symbols or (given is None and model.symbols) or 1 / patches)
        longest = chosen.padded or model.longest
    elif isinstance(shape, TokenShape):
        symbols = patches
    built = {"packed": forward_flops(shape, chosen.context, symbols, patches).total}
    if longest is not None:
        built["padded"] = forward_flops(shape, chosen.context, symbols, patches, longest).total
    millions = {"small": model.small, "medium": model.medium}.get(size)
    row: dict[str, Any] = dict.fromkeys(_COLUMNS)
    row |= {"model": name, "length": length, "rows": getattr(shape, "symbols", BYTES), **built}
    row |= {"parameters": parameter_count(shape), "printed_parameters": millions and round(millions * 1e6)}
    if not isinstance(shape, ChunkShape):
        row["formula"] = published_flops(shape, chosen.context, length).total
    if isinstance(shape, TokenShape):
        row["rows"] = shape.vocabulary
    if isinstance(shape, PatchShape):
        row["symbols"] = symbols / patches
        for how, flops in built.items():
            row[f"even_{how}"] = round(break_even_vocabulary(shape.latent, flops, chosen.context * patches))
    if model.gflop and size == "small" and chosen.context == _PAPER_BYTES and length == model.length:
        row |= {"table_2": model.gflop * 1e9, "fitted": published_flops(_fitted(shape), _PAPER_BYTES, length).total}
    return row


def _shape(name: str, size: str, chosen: _CostOptions) -> Shape:
    latent, local = SIZES[size]
    if chosen.feed_forward is not None:
        local = replace(local, feed_forward=chosen.feed_forward)
    if name in ("tokens", "bytes"):
        return TokenShape(chosen.vocabulary if name == "tokens" else BYTES, latent)
    if name == "learned":
        return ChunkShape(latent, local)
    model = _MODELS[name]
    symbols = chosen.symbols if model.marker else BYTES
    return PatchShape(symbols, model.marker, latent, local, HashShape() if model.hash else None)


def _fitted(shape: Shape) -> Shape:
    """The settings that give the figures of Table 2."""
    if isinstance(shape, TokenShape):
        return replace(shape, vocabulary=_PAPER_ROWS)
    assert isinstance(shape, PatchShape)
    local = replace(shape.local, feed_forward=_PAPER_LOCAL)
    return replace(shape, local=local, symbols=_PAPER_SYMBOLS if shape.marker else shape.symbols)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in ("table_2", "fitted", "formula", "packed", "padded"):
        return f"{value / 1e9:.0f}" if name == "table_2" else f"{value / 1e9:.1f}"
    if name.endswith("parameters"):
        return f"{value / 1e6:.1f}"
    return f"{value:g}" if isinstance(value, float) and value < 1e4 else str(value)
