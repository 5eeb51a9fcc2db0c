"""`learn_code`: a code of any kind, by the name of the kind."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from tokenlab.codes.base.corpus import CharacterCorpus
from tokenlab.codes.base.interface import Code, Unknown
from tokenlab.codes.registry import KINDS, Kind
from tokenlab.core.errors import ParameterError


def learn_code(
    kind: str,
    corpus: CharacterCorpus,
    *,
    unknown: Unknown = "error",
    tables: str | Path | None = None,
    progress: Any = None,
    **options: Any,
) -> Code:
    """Learn a code for the characters of a corpus.

    Args:
        kind: a name in `tokenlab.codes.registry.KINDS`.
        unknown: how characters missing from the corpus are encoded; ignored by kinds that encode every text.
        tables: for kinds made from a published table, the folder of the catalogue's source with that table.
        progress: called during learning by kinds that take long, as `learn_latom` describes.
        options: fields of the kind's dataclasses of options, by name.

    Raises:
        ParameterError: no such kind, an option that the kind does not have, or as the kind's learner.
        InputError: as the kind's learner.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind: {kind!r} is none of {', '.join(KINDS)}")
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
        keywords["tables"] = _folder(found, found.table, tables)
    if found.iterative:
        keywords["progress"] = progress
    return found.load_learner()(corpus, *given, **keywords)


def _folder(kind: Kind, table: str, folder: str | Path | None) -> str | Path:
    if folder is None:
        source = table.partition("/")[0]
        raise ParameterError(
            f"tables: the code `{kind.name}` needs the folder of the catalogue's source `{source}`;"
            f" fetch it with `dvc repro data/raw/dvc.yaml:tables@{source}`"
        )
    return folder
