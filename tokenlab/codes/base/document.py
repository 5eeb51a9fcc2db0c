"""Codes as JSON documents: written here, checked here before they are read.

A document has the kind of the code, its facts (the SHA-256 of the corpus it was learned from, and how), and what the
code's class adds; a codebook lists the code of every character by the names of its atoms. Reading it back needs the
classes of all kinds: `tokenlab.codes.saved`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenlab.codes.base.interface import Code
from tokenlab.core.errors import InputError
from tokenlab.core.files import write_text

_FORMAT = "tokenlab code 1"


def write_code(code: Code, path: str | Path) -> None:
    """Write a code as JSON, atomically; equal codes give equal bytes."""
    head = {"format": _FORMAT, "kind": code.kind, "reversible": code.reversible, "facts": code.facts}
    text = json.dumps(head | code.document(), ensure_ascii=False, indent=1)
    write_text(path, text + "\n")


def read_document(path: str | Path) -> dict[str, Any]:
    """Read the document of a code. Only its format is checked here.

    Raises InputError where there is no such file, or it is not the document of a code.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; make one with `tokenlab codes learn`") from None
    except (ValueError, RecursionError) as error:  # Not UTF-8, malformed, a number of thousands of digits, too deep.
        raise InputError(f"{path}: not JSON ({error}); make it again with `tokenlab codes learn`") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{path}: not a code of this program ({_FORMAT!r}); make it with `tokenlab codes learn`")
    return document


def check_type(document: Mapping[str, Any], name: str, kind: type) -> None:
    """Raises ValueError where an entry of a document has another type, and KeyError where it is missing."""
    value = document[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} cannot be {json.dumps(value, ensure_ascii=False)[:40]}")
