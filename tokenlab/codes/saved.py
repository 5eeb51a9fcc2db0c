"""Codes as JSON: `write_code` and `read_code`.

A codebook lists the code of every character by the names of its atoms, so that people and other programs can read it.
The facts say from which corpus it was learned (its SHA-256), and how. What is read is checked; nothing is executed.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tokenlab.codes.byte import ByteCode
from tokenlab.codes.code import Code, shown
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.components import ComponentCode
from tokenlab.codes.myte import MyteCode
from tokenlab.errors import InputError, ParameterError
from tokenlab.files import write_text

_FORMAT = "tokenlab code 1"


def write_code(code: Code, path: str | Path) -> None:
    """Write a code as JSON, atomically; the same code gives the same bytes."""
    text = json.dumps(code_document(code), ensure_ascii=False, indent=1)
    write_text(Path(path), text + "\n")


def code_document(code: Code) -> dict[str, Any]:
    """A code as JSON values."""
    head = {"format": _FORMAT, "kind": code.kind, "reversible": code.reversible}
    match code:
        case Codebook():
            names = [code.alphabet[n * code.K : (n + 1) * code.K] for n in range(code.N)]
            codes = {
                character: [names[n][k] for n, k in enumerate(code_of)]
                for character, code_of in zip(code.characters, code.digits.tolist(), strict=True)
            }
            body = {"N": code.N, "K": code.K, "unknown": code.unknown, "codes": codes}
        case ByteCode():
            body = {}
        case ComponentCode() | MyteCode():
            body = code.document()
        case _:
            raise TypeError(type(code))
    return head | {"facts": code.facts} | body


def read_code(path: str | Path) -> Code:
    """Read a code that `write_code` wrote.

    Raises:
        InputError: no such file, no code, or one that contradicts itself.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; make one with `tokenlab codes learn`") from None
    except (ValueError, RecursionError) as error:  # Not UTF-8, malformed, a number of thousands of digits, too deep.
        raise InputError(f"{path}: not JSON ({error}); make it again with `tokenlab codes learn`") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{path}: not a code of this program ({_FORMAT!r}); make it with `tokenlab codes learn`")
    try:
        return _code(document)
    except (KeyError, TypeError, ValueError, AttributeError, ParameterError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(f"{path}: a damaged code ({what}); make it again with `tokenlab codes learn`") from None


def _code(document: dict[str, Any]) -> Code:
    _check_type(document, "facts", dict)
    match document["kind"]:
        case "latom" | "random" | "character":
            return _codebook(document)
        case "byte":
            return ByteCode(document["facts"])
        case "radical" | "stroke":
            return ComponentCode.of_document(document)
        case "myte":
            return MyteCode.of_document(document)
    raise ValueError(f"kind is {document['kind']!r}")


def _check_type(document: dict[str, Any], name: str, kind: type) -> None:
    value = document[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} cannot be {json.dumps(value, ensure_ascii=False)[:40]}")


def _codebook(document: dict[str, Any]) -> Codebook:
    for name, kind in {"N": int, "K": int, "codes": dict, "unknown": str}.items():
        _check_type(document, name, kind)
    N, K, codes = document["N"], document["K"], document["codes"]
    if not codes:
        raise ValueError("no character has a code")
    characters = "".join(sorted(codes))
    if document["kind"] == "character":
        atoms = {shown(character): number for number, character in enumerate(characters)}
    else:
        letters = Codebook(document["kind"], N, K, "", np.zeros(0, np.int64)).alphabet
        atoms = {name: number for number, name in enumerate(letters)}
    assigned = []
    for character in characters:
        _check_type(codes, character, list)
        digits = [atoms.get(name, -1) - n * K for n, name in enumerate(codes[character])]
        if len(character) != 1 or len(digits) != N or not all(0 <= digit < K for digit in digits):
            raise ValueError(f"the code of {character!r} is {codes[character]}")
        assigned.append(sum(digit * K ** (N - 1 - n) for n, digit in enumerate(digits)))
    return Codebook(
        document["kind"], N, K, characters, np.array(assigned, np.int64), document["unknown"], document["facts"]
    )
