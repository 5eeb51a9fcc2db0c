"""The kinds of codes: where each is defined, which options it has, and what it needs.

A new kind is a module with a class (see `tokenlab.codes.base.interface.Code`) and a learner, and an entry of `KINDS`.
`learn_code`, `read_code`, the command line and the pipeline take it from there. Modules of kinds are imported when they
are used.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.options import CodeShape, LatomOptions, SelectionOptions


@dataclass(frozen=True)
class Kind:
    """A kind of code."""

    name: str
    learner: str
    """`module:function` below `tokenlab.codes`, called as `learner(corpus, *options)` with the keywords `unknown`
    (unless the kind is total), `tables` (if it has a table) and `progress` (if it is iterative)."""
    module: str = "tokenlab.codes.base.codebook"
    """The module that defines the class of the code."""
    code: str = "Codebook"
    """The name of that class; its `of_document` reads what its `document` wrote."""
    options: tuple[type, ...] = ()
    """Dataclasses of options, in the order in which the learner takes them."""
    table: str | None = None
    """`SOURCE/FILE` for a code from a published table: the source in the catalogue, and the file that must be there."""
    total: bool = False
    """Whether every text has a code, so that no character is unknown."""
    iterative: bool = False
    """Whether learning takes long enough to report its progress."""

    @property
    def shaped(self) -> bool:
        """Whether N, K and a seed decide the code."""
        return CodeShape in self.options

    @property
    def option_names(self) -> frozenset[str]:
        """The names of all options."""
        return frozenset(field.name for options in self.options for field in fields(options))

    def load_learner(self) -> Callable[..., Any]:
        """Import the function that learns a code of this kind."""
        module, _, function = self.learner.partition(":")
        return getattr(import_module(f"{__package__}.{module}"), function)

    def load_code(self) -> Any:
        """Import the class of the codes of this kind."""
        return getattr(import_module(self.module), self.code)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("latom", "latom.learn:learn_latom", options=(CodeShape, LatomOptions, SelectionOptions), iterative=True),
        Kind("random", "baselines.codebooks:random_codebook", options=(CodeShape,)),
        Kind("character", "baselines.codebooks:character_codebook"),
        Kind("byte", "baselines.byte:byte_code", "tokenlab.codes.baselines.byte", "ByteCode", total=True),
        Kind(
            "radical",
            "baselines.components:learn_radicals",
            "tokenlab.codes.baselines.components",
            "ComponentCode",
            table="ids/ids.txt",
        ),
        Kind(
            "stroke",
            "baselines.components:learn_strokes",
            "tokenlab.codes.baselines.components",
            "ComponentCode",
            table="ids/strokes.tsv",
        ),
        Kind(
            "myte",
            "baselines.myte:learn_myte",
            "tokenlab.codes.baselines.myte",
            "MyteCode",
            table="myte/decompose_map.json",
            total=True,
        ),
        Kind("script", "script.script_code:script_code", "tokenlab.codes.script.script_code", "ScriptCode", total=True),
        Kind(
            "bits",
            "bits.bit_code:bit_code",
            "tokenlab.codes.bits.bit_code",
            "BitCode",
            options=(BitOptions,),
            total=True,
        ),
    )
}
"""Kinds by name, in the order of the command line."""
