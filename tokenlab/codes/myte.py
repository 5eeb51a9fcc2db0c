"""MYTE, the morphology-driven byte code (Limisiewicz et al. 2024, section 3), and its exact inverse.

Two maps of byte sequences rewrite UTF-8. The decompose map decomposes characters: a capital into its small letter and
the marker `A`, an accented letter into letter and accent, a Hangul syllable into Jamo. That frees the bytes of `B` to
`Z`, with which the codes of the merge map begin; these codes stand for morphemes. Both maps replace the longest match,
from left to right. Without a merge map only the first step is done.

The original has no inverse for some texts: it maps `é` and `e` with a combining accent to the same bytes, and of
characters with equal decompositions it restores the last one in the map (`Å` becomes the angstrom sign). It changes
most verses of the Chinese, Japanese and Greek Bibles. Here every text is restored, by two deviations:

- Of characters with equal decompositions only one is decomposed: the first of the map that Unicode's normal form C
  keeps as it is (no compatibility ideograph, not the angstrom sign, ...). The others keep their bytes.
- Two adjacent characters that would read like the beginning of another's decomposition (`e` and a combining accent) are
  separated by the byte FF, which never occurs in UTF-8.

Text in normal form C has the same bytes as in the original, except for the five characters ǅ ǈ ǋ ǲ ϴ.
"""

import hashlib
import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from tokenlab.codes.baselines import BYTE_ATOMS, BYTES, ByteCode
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.interface import Violation, foreign, shown, utf8_violation
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.vocabulary import common_prefix
from tokenlab.text.code_points import utf8

_SEPARATOR_BYTE = 0xFF
_SEPARATOR = bytes([_SEPARATOR_BYTE]).decode(errors="surrogateescape")
_NOT_UTF8 = re.compile("[\udc80-\udcfe]")  # Bytes that are not UTF-8, decoded; the separator is not among them.
_CACHED = 1 << 14
_HEX = re.compile("[0-9a-f]{2}( [0-9a-f]{2})*")
_REMEDY = "fetch it with `dvc repro data/raw/dvc.yaml:tables@myte`, TOKENLAB_MIRROR naming the mirror if there is one"


@dataclass(frozen=True)
class MyteCode:
    """UTF-8 with its sequences rewritten by maps; every text has a code, so no character is unknown."""

    decompose: Mapping[bytes, bytes]
    """From characters to their decompositions, all in UTF-8."""
    merge: Mapping[bytes, bytes]
    """From decomposed morphemes to their codes; empty where there is no such map."""
    facts: dict[str, Any] = field(default_factory=dict, compare=False)
    """The SHA-256 of the maps, and how many of their rules are used; plain JSON values."""

    kind = "myte"
    reversible = True
    contextual = True
    alphabet = ByteCode.alphabet

    def __post_init__(self) -> None:
        _check_codes(self.merge, self._decomposition.occurring)

    def encode(self, text: str) -> str:
        """The bytes of a text, rewritten, each an atom. Raises InputError for a lone surrogate."""
        utf8(text)
        return self._encoded(text).decode("latin-1").translate(BYTE_ATOMS)

    def decode(self, atoms: str) -> str:
        """The text of a string of atoms. Raises InputError at the first violation."""
        text, violation = self._read(atoms)
        if violation:
            raise InputError(violation.message)
        return text

    def check(self, atoms: str) -> Violation | None:
        """The first atom that is foreign, or from which the bytes are no encoding of a text."""
        return self._read(atoms)[1]

    def document(self) -> dict[str, Any]:
        """The code as JSON values, without its kind and facts: both maps."""
        return {"decompose": _hexadecimal(self.decompose), "merge": _hexadecimal(self.merge)}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "MyteCode":
        """The code of a JSON document. Raises KeyError, TypeError or ParameterError for a damaged one."""
        return cls(_rules(document["decompose"]), _rules(document["merge"]), document["facts"])

    @cached_property
    def _decomposition(self) -> "_Decomposition":
        return _Decomposition(self.decompose)

    @cached_property
    def _merging(self) -> "_Rewriting":
        return _Rewriting(self.merge)

    @cached_property
    def _unmerging(self) -> "_Rewriting":
        return _Rewriting({code: morpheme for morpheme, code in self.merge.items()})

    def _encoded(self, text: str) -> bytes:
        return self._merging(self._decomposition(text).encode(errors="surrogateescape"))

    def _read(self, atoms: str) -> tuple[str, Violation | None]:
        """The text up to the first violation."""
        data = bytes(map(BYTES.__getitem__, takewhile(BYTES.__contains__, atoms)))
        text = self._decomposition.inverse(self._unmerging(data).decode(errors="surrogateescape"))
        damage = _NOT_UTF8.search(text)
        if damage:
            text = text[: damage.start()]
        encoded = self._encoded(text)
        whole = len(data) == len(atoms)
        if encoded != data and (violation := self._violation(data, common_prefix(encoded, data), whole)):
            return text, violation
        return text, foreign(atoms, len(data))

    def _violation(self, data: bytes, place: int, ends: bool) -> Violation | None:
        """The violation of the bytes from `place` on; None where a character is incomplete, but the stream goes on."""
        rest = data[place:]
        not_utf8 = utf8_violation(rest)
        if self._unmerging.begins(rest) or (not_utf8 and not_utf8.kind == "truncated"):
            what = f"the last character or morpheme lacks bytes after atom {len(data)}"
            return Violation("truncated", len(data), what) if ends else None
        if not_utf8 and not_utf8.position == 0 and rest[0] != _SEPARATOR_BYTE:
            return Violation("bytes", place, f"atom {place + 1}: bytes that are not UTF-8")
        return Violation("unassigned", place, f"atom {place + 1}: bytes that no text is encoded as")


class _Decomposition:
    """Characters to strings and back; see the deviations at the head of the module."""

    def __init__(self, rules: Mapping[bytes, bytes]) -> None:
        """Raises ParameterError for a rule whose key is not one character."""
        self.composed: dict[str, str] = {}
        """From decompositions to characters: the inverse of the rules in use."""
        for key, value in rules.items():
            character, string = _utf8(key), _utf8(value)
            if len(character) != 1:
                raise ParameterError(f"decompose map, {key.hex(' ')}: {shown(character)!r} is not one character")
            if len(string) > 1 and unicodedata.is_normalized("NFC", character):
                self.composed.setdefault(string, character)
        self._strings = {ord(character): string for string, character in self.composed.items()}
        self._beginnings = {string[:end] for string in self.composed for end in range(2, len(string) + 1)}
        later = {character for string in self.composed for character in string[1:]}
        # A separator can be needed only before these characters; only runs of a character and these can be composed.
        joining = (later - set(self.composed.values())) | {c for s, c in self.composed.items() if s[0] in later}
        self._joining = re.compile(_class(joining))
        self._runs = re.compile("." + _class(later) + "+", re.DOTALL)
        self._compose = lru_cache(_CACHED)(self._composed_run)

    def __call__(self, text: str) -> str:
        """The text with its characters decomposed, and separators."""
        return self._joining.sub(self._separated, text).translate(self._strings)

    def inverse(self, text: str) -> str:
        """The text with the longest decompositions composed again, from left to right, without separators."""
        return self._runs.sub(lambda run: self._compose(run[0]), text).replace(_SEPARATOR, "")

    @property
    def occurring(self) -> frozenset[int]:
        """The bytes that may occur in a decomposed text."""
        ascii_bytes = {byte for byte in range(0x80) if byte not in self._strings}
        inside = {byte for string in self.composed for byte in string.encode()}
        return frozenset(ascii_bytes | inside | set(range(0x80, 0xC0)) | set(range(0xC2, 0xF5)) | {_SEPARATOR_BYTE})

    def _separated(self, found: re.Match[str]) -> str:
        """A character that occurs inside a decomposition, after a separator where it would continue the one before."""
        place = found.start()
        if place:
            before = found.string[place - 1].translate(self._strings)
            if before + found[0].translate(self._strings)[0] in self._beginnings:
                return _SEPARATOR + found[0]
        return found[0]

    def _composed_run(self, run: str) -> str:
        pieces, start = [], 0
        while start < len(run):
            end = next((end for end in range(len(run), start + 1, -1) if run[start:end] in self.composed), start + 1)
            pieces.append(self.composed.get(run[start:end], run[start:end]))
            start = end
        return "".join(pieces)


class _Rewriting:
    """Byte sequences replaced by others, the longest match from left to right; other bytes stay."""

    def __init__(self, rules: Mapping[bytes, bytes]) -> None:
        self._rules = rules
        self._keys = sorted(rules)
        self._longest = max(map(len, rules), default=0)
        # No match crosses a byte that is in no key, such as the space: runs of other bytes are words, which recur.
        self._runs = re.compile(_class(map(chr, set(b"".join(self._keys)))).encode() + b"+")
        self._rewrite = lru_cache(_CACHED)(self._rewritten_run)

    def __call__(self, data: bytes) -> bytes:
        """The bytes with every match replaced."""
        return self._runs.sub(lambda run: self._rewrite(run[0]), data)

    def begins(self, piece: bytes) -> bool:
        """Whether some key begins with these bytes."""
        place = bisect_left(self._keys, piece)
        return place < len(self._keys) and self._keys[place].startswith(piece)

    def _rewritten_run(self, run: bytes) -> bytes:
        pieces, start = [], 0
        while start < len(run):
            match = self._longest_match(run[start : start + self._longest])
            pieces.append(self._rules[match] if match else run[start : start + 1])
            start += len(match) or 1
        return b"".join(pieces)

    def _longest_match(self, piece: bytes) -> bytes:
        """The longest key that `piece` begins with, b"" where there is none.

        The key before `piece` in order shares with it whatever any matching key shares, so a mismatch shortens `piece`.
        """
        while place := bisect_right(self._keys, piece):
            key = self._keys[place - 1]
            if piece.startswith(key):
                return key
            piece = piece[: common_prefix(piece, key)]
        return b""


def learn_myte(corpus: CharacterCorpus, *, tables: str | Path) -> MyteCode:
    """`read_myte`, whose code is the same for every corpus."""
    return read_myte(tables)


def read_myte(folder: str | Path) -> MyteCode:
    """The code of the maps in the folder of the catalogue's source `myte`.

    `decompose_map.json` is required; without `merge_map.json` only the first step is done, and the facts say so.

    Raises InputError where there is no decompose map, or a map is not JSON from bytes to bytes or contradicts itself.
    """
    folder = Path(folder)
    decompose, decompose_sha256 = _read_map(folder / "decompose_map.json")
    merge_path = folder / "merge_map.json"
    merge, merge_sha256 = _read_map(merge_path) if merge_path.exists() else ({}, None)
    try:
        code = MyteCode(decompose, merge)
    except ParameterError as error:
        raise InputError(f"{folder}: {error}; {_REMEDY}") from None
    used = len(code._decomposition.composed)
    facts = {
        "decompose_map": decompose_sha256,
        "merge_map": merge_sha256,
        "decompose_rules": used,
        "decompose_rules_left_out": len(decompose) - used,
        "merge_rules": len(merge),
    }
    return MyteCode(decompose, merge, facts)


def _read_map(path: Path) -> tuple[dict[bytes, bytes], str]:
    """A map and its SHA-256."""
    try:
        data = path.read_bytes()
        return _rules(json.loads(data, object_pairs_hook=_without_doubles)), hashlib.sha256(data).hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path}: not there; {_REMEDY}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); {_REMEDY}") from None
    except ParameterError as error:
        raise InputError(f"{path}: {error}; {_REMEDY}") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ParameterError(f"{key!r} is there twice")
        found[key] = value
    return found


def _rules(document: Any) -> dict[bytes, bytes]:
    """A map of bytes from its JSON, `{"c3 89": "65 41 cc 81", ...}`. Raises ParameterError for anything else."""
    if not isinstance(document, dict):
        raise ParameterError("not a map from bytes to bytes")
    for key, value in document.items():
        if not (_HEX.fullmatch(key) and isinstance(value, str) and _HEX.fullmatch(value)):
            raise ParameterError(f"{key!r}: {value!r} is not from bytes to bytes, two lowercase hex digits each")
    return {bytes.fromhex(key): bytes.fromhex(value) for key, value in document.items()}


def _hexadecimal(rules: Mapping[bytes, bytes]) -> dict[str, str]:
    return {key.hex(" "): value.hex(" ") for key, value in rules.items()}


def _check_codes(merge: Mapping[bytes, bytes], occurring: frozenset[int]) -> None:
    """Raises ParameterError where the code of a morpheme cannot be distinguished from text or from another code."""
    keys = {code: key for key, code in merge.items()}
    if len(keys) < len(merge):
        key, other = next((key, keys[code]) for key, code in merge.items() if keys[code] != key)
        raise ParameterError(f"merge map, {key.hex(' ')}: has the code of {other.hex(' ')}, {merge[key].hex(' ')}")
    before = None
    for code in sorted(keys):
        where = f"merge map, {keys[code].hex(' ')}: the code {code.hex(' ')}"
        if code[0] in occurring:
            raise ParameterError(f"{where} begins with a byte that decomposed text has")
        if before is not None and code.startswith(before):
            raise ParameterError(f"{where} begins with that of {keys[before].hex(' ')}, {before.hex(' ')}")
        before = code


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ParameterError(f"decompose map: {data.hex(' ')} is not UTF-8") from None


def _class(characters: Iterable[str]) -> str:
    """A regular expression for any of these characters; for bytes, characters below U+0100."""
    points = sorted(map(ord, characters))
    return (
        r"[^\s\S]"
        if not points
        else "[" + "".join(f"\\x{point:02x}" if point < 0x100 else f"\\U{point:08x}" for point in points) + "]"
    )
