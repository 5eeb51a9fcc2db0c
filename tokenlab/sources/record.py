"""SOURCE.json: the record, beside the files of a source, of where each of them came from.

It contains no time, host or absolute path: equal sources give equal bytes. `tokenlab.sources.fetch` describes its
fields.
"""

import json
from pathlib import Path
from typing import Any

from tokenlab.core.errors import InputError
from tokenlab.core.files import write_text

RECORD = "SOURCE.json"


def read_record(folder: str | Path) -> dict[str, Any]:
    """The record of the source in `folder`.

    Raises:
        InputError: `folder` has no record, or a damaged one.
    """
    path = Path(folder) / RECORD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        for name in ("source", "title", "licence", "research_only", "files"):
            record[name]
    except FileNotFoundError as error:
        raise InputError(f"{path}: not there; fetch the source first") from error
    except (ValueError, LookupError, TypeError) as error:
        raise _damaged(path) from error
    return record


def substitutes(folder: str | Path) -> list[str]:
    """One readable line for each file in `folder` that is a substitute for the source's own.

    Raises:
        InputError: as `read_record`.
    """
    record = read_record(folder)
    try:
        return [
            f"{record['source']}, {name}: substitute. {taken['note']} ({_place(taken)})"
            for name, taken in sorted(record["files"].items())
            if taken["kind"] == "substitute"
        ]
    except (LookupError, TypeError, AttributeError, StopIteration) as error:
        raise _damaged(Path(folder) / RECORD) from error


def _place(taken: dict[str, Any]) -> str:
    return next(str(taken[key]) for key in ("mirror", "archive", "url") if key in taken)


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write the record, unless the same one is there."""
    text = json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    path = folder / RECORD
    if not path.is_file() or path.read_bytes() != text.encode():
        write_text(path, text)


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: damaged; remove it and fetch the source again")
