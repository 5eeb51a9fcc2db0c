"""The kinds of codes: where each is defined, which options it has, and what it needs; codes learned and read by name.

A new kind is a module with a class (see `tokenlab.codes.interface.Code`) and a learner, and an entry of `KINDS`.
`learn_code`, `read_code`, the command line and the pipeline take it from there. Modules of kinds are imported when they
are used.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.options import CodeShape, LatomOptions, SelectionOptions
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice
from tokenlab.core.shards import ClusterOptions

if TYPE_CHECKING:
    from tokenlab.codes.corpus import CharacterCorpus
    from tokenlab.codes.interface import Code, Unknown


@dataclass(frozen=True)
class Kind:
    """A kind of code."""

    name: str
    learner: str
    """`module:function` below `tokenlab.codes`, called as `learner(corpus, *options)` with the keywords `unknown`
    (unless the kind is total), `tables` (if it has a table), and `place` and `progress` (if it is iterative)."""
    module: str = "tokenlab.codes.codebook"
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
    """Whether learning takes long enough to report its progress, and to be shared out."""

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
        return resolve_name(f"{__package__}.{self.learner}")

    def load_code(self) -> Any:
        """Import the class of the codes of this kind."""
        return resolve_name(f"{self.module}:{self.code}")


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("latom", "latom.learn:learn_latom", options=(CodeShape, LatomOptions, SelectionOptions), iterative=True),
        Kind("random", "baselines:random_codebook", options=(CodeShape,)),
        Kind("character", "baselines:character_codebook"),
        Kind("byte", "baselines:byte_code", "tokenlab.codes.baselines", "ByteCode", total=True),
        Kind("radical", "baselines:learn_radicals", "tokenlab.codes.baselines", "ComponentCode", table="ids/ids.txt"),
        Kind("stroke", "baselines:learn_strokes", "tokenlab.codes.baselines", "ComponentCode", table="ids/strokes.tsv"),
        Kind("myte", "myte:learn_myte", "tokenlab.codes.myte", "MyteCode", table="myte/decompose_map.json", total=True),
        Kind("script", "script:script_code", "tokenlab.codes.script", "ScriptCode", total=True),
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


def learn_code(
    kind: str,
    corpus: "CharacterCorpus",
    *,
    unknown: "Unknown" = "error",
    tables: str | Path | None = None,
    place: ClusterOptions | None = None,
    progress: Any = None,
    **options: Any,
) -> "Code":
    """Learn a code for the characters of a corpus.

    Args:
        kind: a name in `tokenlab.codes.registry.KINDS`.
        unknown: how characters missing from the corpus are encoded; ignored by kinds that encode every text.
        tables: for kinds made from a published table, the folder of the catalogue's source with that table.
        place: where kinds that take long are learned, as `learn_latom` describes; it does not matter to the others.
        progress: called during learning by kinds that take long, as `learn_latom` describes.
        options: fields of the kind's dataclasses of options, by name.

    Raises:
        ParameterError: no such kind, an option that the kind does not have, or as the kind's learner.
        InputError: as the kind's learner.
    """
    check_choice("kind", kind, KINDS)
    found = KINDS[kind]
    for name in sorted(options.keys() - found.option_names):
        raise ParameterError(f"{name}: the code `{kind}` has no such option")
    given = [
        dataclass(**{field.name: options[field.name] for field in fields(dataclass) if field.name in options})
        for dataclass in found.options
    ]
    keywords: dict[str, Any] = {}
    if not found.total:
        keywords["unknown"] = unknown
    if found.table:
        if tables is None:
            source = found.table.partition("/")[0]
            raise ParameterError(
                f"tables: the code `{kind}` needs the folder of the catalogue's source `{source}`;"
                f" fetch it with `dvc repro data/raw/dvc.yaml:tables@{source}`"
            )
        keywords["tables"] = tables
    if found.iterative:
        keywords |= {"place": place, "progress": progress}
    return found.load_learner()(corpus, *given, **keywords)


def read_code(path: str | Path) -> "Code":
    """Read a code that `write_code` wrote.

    Raises InputError where there is no such file, or it is not the document of a code, or the document contradicts
    itself.
    """
    from tokenlab.codes.interface import check_type, read_document

    document = read_document(path)
    try:
        check_type(document, "facts", dict)
        check_type(document, "kind", str)
        if document["kind"] not in KINDS:
            raise ValueError(f"kind is {document['kind']!r}")
        return KINDS[document["kind"]].load_code().of_document(document)
    except (KeyError, TypeError, ValueError, AttributeError, ParameterError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(f"{path}: a damaged code ({what}); make it again with `tokenlab codes learn`") from None
