"""The file of parameters, `params.yaml`, which may come from anywhere: read without surprises, or one line of error."""

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tokenlab.core.errors import ParameterError, one_line

_DEEPEST = 50
_MOST = 1_000_000
"""Values in a file, those that an alias repeats counted each time; the largest preset has a few thousand."""


def _check_size(content: str) -> None:
    """Raises MarkedYAMLError where a few lines stand for more values than memory holds, or for nested ones that end the
    process when they are read."""
    sizes: dict[str, int] = {}
    parents: list[tuple[str | None, int]] = []  # The anchor of each open collection, and the values before it.
    count = 0
    for event in yaml.parse(content, yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            count += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            parents.append((event.anchor, count))
            count += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = parents.pop()
            if anchor:
                sizes[anchor] = count - before
        elif isinstance(event, yaml.ScalarEvent):
            count += 1
        if len(parents) > _DEEPEST or count > _MOST:
            problem = f"nested more than {_DEEPEST} deep" if count <= _MOST else f"more than {_MOST:,} values"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


class _StrictLoader(yaml.CSafeLoader):
    """Of two equal keys YAML silently takes the second."""


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> Any:
    lines: dict[Hashable, int] = {}
    for key, _ in node.value:
        if key.tag == "tag:yaml.org,2002:merge":  # `<<: *other`, whose keys may be replaced
            continue
        name = loader.construct_object(key, deep=True)
        if isinstance(name, Hashable) and name in lines:
            problem = f"{name!r} is there twice, first in line {lines[name]}"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        if isinstance(name, Hashable):
            lines[name] = key.start_mark.line + 1
    return loader.construct_yaml_map(node)


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_params(path: Path, name: str) -> dict[str, Any]:
    """The sections of the file `path`, which messages call `name`.

    Raises ParameterError with the line of a mistake for what is not YAML, a key that is there twice, too many values or
    too deeply nested ones, and where the file is empty or no mapping; OSError where it cannot be read.
    """
    try:
        content = path.read_bytes().decode("utf-8")
        _check_size(content)
        sections = yaml.load(content, Loader=_StrictLoader)
    except UnicodeDecodeError as error:
        raise ParameterError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ParameterError(f"{name}{line}: {error.problem or error.context}; correct it") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # a character that YAML forbids, a date without days
        raise ParameterError(f"{name}: not YAML ({one_line(error)}); correct it") from None
    if sections is None:
        raise ParameterError(f"{name}: empty; restore it from git")
    if not isinstance(sections, dict):
        kind = "a list" if isinstance(sections, list) else "a single value"
        raise ParameterError(f"{name}: {kind}, not a mapping of sections such as `corpora:`; correct it")
    return sections


def numbers_from_booleans(given: Any, found: Any, place: str = "") -> Iterator[tuple[str, bool]]:
    """The places of parameters at which `true` or `false` was validated as a number, as pydantic does, with its value.

    Args:
        given: parameters as read.
        found: the same, validated: dataclasses, models, mappings and sequences.
    """
    if isinstance(given, bool) and type(found) in (int, float):
        yield place, given
    elif isinstance(given, Mapping):
        for key, value in given.items():
            inner = found.get(key) if isinstance(found, Mapping) else getattr(found, str(key), None)
            yield from numbers_from_booleans(value, inner, f"{place}.{key}" if place else str(key))
    elif isinstance(given, list) and isinstance(found, list | tuple):
        for number, (value, inner) in enumerate(zip(given, found, strict=False)):
            yield from numbers_from_booleans(value, inner, f"{place}.{number}")
