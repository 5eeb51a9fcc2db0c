"""`tokenlab patches flops`: cost of models over patches, by the paper's formula and as built."""

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenlab.cli.inputs.corpus import add_former_json, add_json
from tokenlab.cli.options import named_as_flags
from tokenlab.cli.patches.checks import check_most

if TYPE_CHECKING:
    from tokenlab.networks.options import Shape

Row = dict[str, Any]

_PAPER_BYTES = 8192
_PAPER_ROWS = 50_000
_PAPER_SYMBOLS = 497
_PAPER_LOCAL = 384
"""The feed-forward size of local layers that gives the figures of Table 2; Table 1 says 512."""


class _Model(NamedTuple):
    """A row of the table: its defaults, and what the paper prints."""

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


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "flops",
        help="the cost of models over patches: the paper's formula, and as built",
        description="Operations of a forward pass over a text, in GFLOP (text) or FLOP (json), and millions of "
        "parameters. length: bytes of a token or patch; symbols: symbols of a patch; rows: of the output matrix; "
        "table_2: the paper's figure; fitted: its formula (equations 10-12: two matrices in a feed-forward layer, no "
        f"causal mask) with the settings that give that figure, {_PAPER_ROWS} rows for tokens and for characters and "
        f"local feed-forward layers of {_PAPER_LOCAL}; formula: the same with the sizes of the model; packed, padded: "
        "the model as built (three matrices, causal attention, projections between the stacks) with packed patches, or "
        "patches padded to the longest; even_packed, even_padded: the vocabulary from which a model over tokens costs "
        "more; printed_parameters: the paper's.",
        allow_abbrev=False,
    )
    parser.add_argument("--size", default="small", metavar="NAME", help="size of the models (default small)")
    parser.add_argument(
        "--patcher",
        action="append",
        choices=_MODELS,
        help="a model: tokens and bytes are those without patches; can be repeated (default: all)",
    )
    parser.add_argument(
        "--bytes", type=int, default=_PAPER_BYTES, metavar="N", help=f"bytes of the text (default {_PAPER_BYTES})"
    )
    parser.add_argument(
        "--vocabulary", type=int, default=50_257, metavar="V", help="tokens of the model over tokens (default 50257)"
    )
    parser.add_argument(
        "--symbols", type=int, default=_PAPER_SYMBOLS, metavar="V", help="symbols of the second BPE, V' (default 497)"
    )
    parser.add_argument(
        "--length", type=float, metavar="X", help="mean bytes of a token or patch (default: the paper's figures)"
    )
    parser.add_argument(
        "--patch-symbols",
        type=float,
        metavar="X",
        help="mean symbols of a patch, the marker included (default: 4.13 for bpe, else the bytes)",
    )
    parser.add_argument(
        "-S", "--longest", type=int, metavar="S", help="symbols of padded patches (default: the paper's 10 and 6)"
    )
    parser.add_argument(
        "--local-feed-forward", type=int, metavar="N", help="inner size of local SwiGLU layers (default: of the size)"
    )
    add_json(parser, "print one object; without, a table, cells separated by tabs")
    add_former_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.core.errors import ParameterError
    from tokenlab.networks.options import SIZES

    if options.size not in SIZES:
        raise ParameterError(f"--size is {options.size!r}; use one of {', '.join(SIZES)}")
    flags = {"context": "--bytes", "length": "--length", "padded": "-S", "patch_symbols": "--patch-symbols"}
    with named_as_flags(**flags, vocabulary="--vocabulary", symbols="--symbols", feed_forward="--local-feed-forward"):
        _check(options)
        rows = [_row(name, options) for name in options.patcher or _MODELS]
    if options.json:
        print(json.dumps({"size": options.size, "bytes": options.bytes, "models": rows}))
    else:
        table = [_COLUMNS, *([_cell(name, row[name]) for name in _COLUMNS] for row in rows)]
        sys.stdout.write("".join("\t".join(row) + "\n" for row in table))


def _check(options: argparse.Namespace) -> None:
    from tokenlab.core.errors import ParameterError
    from tokenlab.core.options import check_least

    check_least("context", options.bytes, 1)
    for name in ("length", "patch_symbols"):
        check_least(name, getattr(options, name), 1)
    if options.longest is not None and options.longest < 1:
        raise ParameterError(f"-S is {options.longest}; it must be at least 1")
    for name in ("bytes", "vocabulary", "symbols", "length", "patch_symbols", "longest", "local_feed_forward"):
        check_most("-S" if name == "longest" else "--" + name.replace("_", "-"), getattr(options, name))


def _row(name: str, options: argparse.Namespace) -> Row:
    from tokenlab.metrics.flops import break_even_vocabulary
    from tokenlab.networks.cost import BYTES, forward_flops, parameter_count, published_flops
    from tokenlab.networks.options import ChunkShape, PatchShape, TokenShape

    model = _MODELS[name]
    given = None if name == "bytes" else options.length  # A byte has one byte.
    length = given or model.length
    shape = _shape(name, options)
    patches = 1 / (given or model.bytes or length)
    symbols, longest = 1.0, None
    if isinstance(shape, PatchShape):
        symbols = patches * (options.patch_symbols or (given is None and model.symbols) or 1 / patches)
        longest = options.longest or model.longest
    elif isinstance(shape, TokenShape):
        symbols = patches
    built = {"packed": forward_flops(shape, options.bytes, symbols, patches).total}
    if longest is not None:
        built["padded"] = forward_flops(shape, options.bytes, symbols, patches, longest).total
    row: Row = dict.fromkeys(_COLUMNS)
    row |= {"model": name, "length": length, "rows": getattr(shape, "symbols", BYTES), **built}
    row |= {"parameters": parameter_count(shape), "printed_parameters": _printed(model, options.size)}
    if not isinstance(shape, ChunkShape):
        row["formula"] = published_flops(shape, options.bytes, length).total
    if isinstance(shape, TokenShape):
        row["rows"] = shape.vocabulary
    if isinstance(shape, PatchShape):
        row["symbols"] = symbols / patches
        for how, flops in built.items():
            row[f"even_{how}"] = round(break_even_vocabulary(shape.latent, flops, options.bytes * patches))
    if model.gflop and options.size == "small" and options.bytes == _PAPER_BYTES and length == model.length:
        row |= {"table_2": model.gflop * 1e9, "fitted": published_flops(_fitted(shape), _PAPER_BYTES, length).total}
    return row


def _printed(model: _Model, size: str) -> int | None:
    """The paper's number of parameters."""
    millions = {"small": model.small, "medium": model.medium}.get(size)
    return None if millions is None else round(millions * 1e6)


def _shape(name: str, options: argparse.Namespace) -> "Shape":
    from tokenlab.networks.cost import BYTES
    from tokenlab.networks.options import SIZES, ChunkShape, HashShape, PatchShape, TokenShape

    latent, local = SIZES[options.size]
    if options.local_feed_forward is not None:
        local = replace(local, feed_forward=options.local_feed_forward)
    if name in ("tokens", "bytes"):
        return TokenShape(options.vocabulary if name == "tokens" else BYTES, latent)
    if name == "learned":
        return ChunkShape(latent, local)
    model = _MODELS[name]
    symbols = options.symbols if model.marker else BYTES
    return PatchShape(symbols, model.marker, latent, local, HashShape() if model.hash else None)


def _fitted(shape: "Shape") -> "Shape":
    """The settings that give the figures of Table 2."""
    from tokenlab.networks.options import PatchShape, TokenShape

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
