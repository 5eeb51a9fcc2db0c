"""Read a parameter file as the stages do, and refuse what YAML would let pass: a key that is there twice."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from tokenlab.core.errors import ParameterError


class _StrictLoader(yaml.CSafeLoader):
    """Of two equal keys YAML silently takes the second."""


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> Any:
    seen: set[Hashable] = set()
    for key, _ in node.value:
        if key.tag == "tag:yaml.org,2002:merge":  # `<<: *other`, whose keys may be replaced
            continue
        name = loader.construct_object(key, deep=True)
        if isinstance(name, Hashable) and name in seen:
            raise yaml.MarkedYAMLError(problem=f"{name!r} is there twice", problem_mark=key.start_mark)
        if isinstance(name, Hashable):
            seen.add(name)
    return loader.construct_yaml_map(node)


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_sections(path: Path, name: str) -> dict[str, Any]:
    """The sections of the file `path`, which messages call `name`.

    Raises ParameterError with the line of a mistake for what is not YAML, for a key that is there twice, and where the
    file is empty or no mapping; OSError where it cannot be read.
    """
    try:
        sections = yaml.load(path.read_bytes().decode("utf-8"), Loader=_StrictLoader)
    except UnicodeDecodeError as error:
        raise ParameterError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ParameterError(f"{name}{line}: {error.problem or error.context}; correct it") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # a character that YAML forbids, a date without days
        raise ParameterError(f"{name}: not YAML ({' '.join(str(error).split())}); correct it") from None
    if sections is None:
        raise ParameterError(f"{name}: empty; restore it from git")
    if not isinstance(sections, dict):
        kind = "a list" if isinstance(sections, list) else "a single value"
        raise ParameterError(f"{name}: {kind}, not a mapping of sections such as `corpora:`; correct it")
    return sections
