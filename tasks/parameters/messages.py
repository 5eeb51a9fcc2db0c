"""pydantic's errors as lines that say which parameter is wrong, and how."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from tasks.segmentation.methods import METHODS

_LONGEST = 60
"""Characters of a value in a message."""


def describe(error: ValidationError, sections: Mapping[Any, Any]) -> Iterator[str]:
    """A line for each error: `segmentation.bpe.vocabulary_size: ...`."""
    for problem in error.errors():
        where, cause = _place(problem["loc"], sections), problem.get("ctx", {}).get("error")
        if isinstance(cause, ValidationError):  # of the options of the library inside a section
            inner = cause.errors()[0]
            yield _line(_join(where, _place(inner["loc"], {})), inner)
        else:
            yield _line(where, problem)


def _line(where: str, problem: Any) -> str:
    kind, given = problem["type"], _short(problem["input"])
    cause = problem.get("ctx", {}).get("error")
    if kind in ("missing", "missing_argument"):
        return f"{where} is missing; add it"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{where} is no parameter; correct its name, or remove it"
    if problem["loc"][-1:] == ("[key]",) and kind != "string_pattern_mismatch":
        return f"{where.rpartition('.')[0]}: a name is read as {given}; write it in quotes"
    if kind == "dict_type":
        return f"{where} is {'empty' if problem['input'] is None else given}; it should be a mapping, {{}} for none"
    if kind == "string_pattern_mismatch":
        return f"{where}: the name may have letters, digits, - and _ alone, for it is a part of paths; rename it"
    if kind == "union_tag_not_found":
        return f"{where}.by is missing; it is one of {', '.join(METHODS)}"
    if kind == "union_tag_invalid":
        return f"{where}.by is {problem['ctx']['tag']!r}; it is one of {', '.join(METHODS)}"
    if cause is not None:  # a check of our own, which says what to do
        return f"{where}: {' '.join(str(cause).split())}"
    message = problem["msg"][0].lower() + problem["msg"][1:]
    return f"{where} is {given}; {message.replace('input should', 'it should')}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _place(loc: tuple[Any, ...], sections: Any) -> str:
    """The keys to a place. Among them pydantic lists marks of its own (`[key]`, the kind of a method), which no section
    has."""
    found, at = [], sections
    for number, part in enumerate(loc):
        last = number == len(loc) - 1
        if part == "[key]" or (isinstance(at, Mapping) and part not in at and not last):
            continue
        found.append(str(part))
        at = at[part] if isinstance(at, Mapping) and part in at else at[part] if _is_index(at, part) else None
    return ".".join(found)


def _is_index(at: Any, part: Any) -> bool:
    return isinstance(at, list | tuple) and isinstance(part, int) and part < len(at)


def _join(where: str, inner: str) -> str:
    return f"{where}.{inner}" if inner else where
