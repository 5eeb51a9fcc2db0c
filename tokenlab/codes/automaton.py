"""The strings of atoms that a code can read, as states and steps: those in which `check` finds no violation.

A step reads one atom, by its number, and leads to None where no such string goes on so. A few states are dead ends all
the same: from there no string can be completed. `tokenlab.codes.constrained` finds them, with those that only a
vocabulary makes dead, and combines the states with tokens.

byte, radical, stroke    what is missing of the character begun
codebooks                the atoms of the block, or the bytes of the escaped character, begun
script                   the block atom, if it was the last
bits                     the prefix in force, whether payloads must follow, what is missing of the character in bytes
myte                     the code and the character begun; what a longer morpheme or decomposition must not continue
"""

from collections.abc import Callable, Hashable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from tokenlab.codes.baselines import ByteCode, ComponentCode
from tokenlab.codes.bits.bit_code import BitCode
from tokenlab.codes.bits.symbols import LONG, LOWEST_PREFIX, OTHER, PREFIX, RESET, is_first, is_second
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.interface import Code, utf8_violation
from tokenlab.codes.myte import MyteCode
from tokenlab.codes.script import ScriptCode, script_blocks
from tokenlab.core.errors import ParameterError

_MISSING = {
    0xC2: (0x80, 0xBF, 0),
    0xE0: (0xA0, 0xBF, 0xC2),
    0xE1: (0x80, 0xBF, 0xC2),
    0xED: (0x80, 0x9F, 0xC2),
    0xF0: (0x90, 0xBF, 0xE1),
    0xF1: (0x80, 0xBF, 0xE1),
    0xF4: (0x80, 0x8F, 0xE1),
}
"""By a lead byte, for all of its kind: the range of the next byte, and the state after it (Unicode, table 3-7)."""
_FIRST, _SECOND = 1, 2
_SEPARATOR = 0xFF


class AtomAutomaton(NamedTuple):
    """States and steps. States are hashable; equal states have equal futures."""

    start: Hashable
    step: Callable[[Any, int], Hashable | None]
    """The state after one more atom, None where no string goes on so."""
    may_end: Callable[[Any], bool]
    """Whether a string can end here."""


def atom_automaton(code: Code) -> AtomAutomaton:
    """The automaton of a code. Raises ParameterError for a kind of code that has none."""
    for kind, automaton in _AUTOMATA.items():
        if isinstance(code, kind):
            return automaton(code)
    raise ParameterError(f"the code `{code.kind}` has no automaton; write one in {__name__}")


def utf8_automaton() -> AtomAutomaton:
    """Bytes that are UTF-8. State: 0 after whole characters, or a lead byte after which as much is missing."""
    return AtomAutomaton(0, _utf8_step, lambda state: not state)


def _utf8_step(state: int, byte: int) -> int | None:
    if state:
        low, high, after = _MISSING[state]
        return after if low <= byte <= high else None
    if 0 <= byte < 0x80:
        return 0
    if byte in _MISSING:
        return byte
    if 0xC2 < byte < 0xE0:
        return 0xC2
    if 0xE1 < byte < 0xF0:
        return 0xE1
    return 0xF1 if 0xF1 < byte < 0xF4 else None


def _of_components(code: ComponentCode) -> AtomAutomaton:
    """Components in any order; escaped bytes are UTF-8."""
    size = len(code.alphabet)

    def step(state: int, atom: int) -> int | None:
        if atom >= size:
            return _utf8_step(state, atom - size)
        return 0 if atom >= 0 and not state else None

    return AtomAutomaton(0, step, lambda state: not state)


def _of_codebook(code: Codebook) -> AtomAutomaton:
    """Blocks of characters, and escaped bytes of characters that have none. State: what is begun, () for nothing."""
    size, known = len(code.alphabet), frozenset(code.characters)
    blocks = set(map(tuple, (code.digits + code.K * np.arange(code.N)).tolist()))
    begun = {block[:length] for block in blocks for length in range(1, code.N)}

    def step(state: tuple[int, ...] | bytes, atom: int) -> Hashable | None:
        if atom < size:
            if isinstance(state, bytes):
                return None
            block = (*state, atom)
            return () if block in blocks else block if block in begun else None
        if (state and not isinstance(state, bytes)) or atom >= size + 256:
            return None
        spelled = bytes([*state, atom - size])
        violation = utf8_violation(spelled)
        if violation:
            return spelled if violation.kind == "truncated" else None
        return None if spelled.decode() in known else ()

    return AtomAutomaton((), step, lambda state: not state)


def _of_script(code: ScriptCode) -> AtomAutomaton:
    """A block atom and an index that the block has. State: the block from 1, 0 between characters."""
    largest, sizes = script_blocks().largest, np.diff(script_blocks().starts).tolist()

    def step(state: int, atom: int) -> int | None:
        if state:
            return 0 if 0 <= atom < sizes[state - 1] else None
        return atom - largest + 1 if largest <= atom < largest + len(sizes) else None

    return AtomAutomaton(0, step, lambda state: not state)


def _of_bits(code: BitCode) -> AtomAutomaton:
    """What `tokenlab.codes.bits.stream.restore` reads without damage, and is UTF-8 after it.

    State: the prefix in force (0: none); _FIRST or _SECOND where this payload must follow; as of `utf8_automaton`.
    """
    stays = code.options.emission == "change"

    def step(state: tuple[int, int, int], atom: int) -> Hashable | None:
        prefix, wanted, begun = state
        if wanted == _SECOND:
            return (prefix, 0, 0) if 0 <= atom < PREFIX and is_second(atom) else None
        if prefix and 0 <= atom < PREFIX and is_first(atom):
            lead, second = prefix << 2 | atom >> 7, (atom & 0x7F) << 1
            low, high, _ = _MISSING.get(lead, _MISSING[0xE1])
            return (prefix, _SECOND, 0) if not begun and low <= second <= high else None
        if wanted or not 0 <= atom < OTHER or LONG <= atom < PREFIX:
            return None
        if atom == RESET:
            return (0, 0, begun)
        if atom >= PREFIX:
            return None if begun else (atom - PREFIX + LOWEST_PREFIX, _FIRST, 0)
        after = _utf8_step(begun, atom)
        return None if after is None else (prefix if stays else 0, 0, after)

    return AtomAutomaton((0, 0, 0), step, lambda state: not any(state[1:]))


class _Decomposed(NamedTuple):
    """A place in a decomposed text."""

    string: str = ""
    """The characters read since a character of the text began, where they begin a decomposition of more; "" where they
    are one, and nothing can continue it."""
    separated: bool = False
    """Whether the separator was the last."""
    begun: bytes | int = b""
    """Bytes of a character; as of `utf8_automaton` where no character of the map begins with them."""


def _of_myte(code: MyteCode) -> AtomAutomaton:
    """Encodings of texts and nothing else: no bytes that the maps would have rewritten.

    State: the beginning of a morpheme's code; the bytes from every earlier place that a longer morpheme could continue
    (as in maximum prefix encoding, the longest match would have been that one); the place in the decomposed text.
    """
    composed = code._decomposition.composed
    beginnings = {string[:end] for string in composed for end in range(2, len(string) + 1)}
    decomposed, first = frozenset(composed.values()), {string[0] for string in composed}
    open_strings = {beginning[:-1] for beginning in beginnings}
    mapped = {character.encode() for character in {*decomposed, *"".join(composed)}}
    open_characters = {character[:end] for character in mapped for end in range(1, len(character))}
    morpheme_of = {rewritten: morpheme for morpheme, rewritten in code.merge.items()}
    open_codes = {rewritten[:end] for rewritten in morpheme_of for end in range(1, len(rewritten))}
    open_morphemes = {morpheme[:end] for morpheme in code.merge for end in range(1, len(morpheme))}

    def is_whole(string: str) -> bool:
        return string in composed if len(string) > 1 else string not in decomposed

    def read_character(place: _Decomposed, character: str) -> _Decomposed | None:
        joined = place.string + character
        if joined in beginnings and not place.separated:
            string = joined
        elif place.separated is (joined in beginnings) and is_whole(place.string):
            if character not in first and not is_whole(character):
                return None
            string = character
        else:
            return None
        if string in open_strings:
            return _Decomposed(string)
        return _Decomposed() if is_whole(string) else None

    def read_byte(place: _Decomposed, byte: int) -> _Decomposed | None:
        if byte == _SEPARATOR:
            return None if not place.string or place.separated or place.begun else place._replace(separated=True)
        if isinstance(place.begun, int):
            after = _utf8_step(place.begun, byte)
            return None if after is None else _Decomposed(begun=after or b"")
        spelled = place.begun + bytes([byte])
        violation = utf8_violation(spelled)
        if not violation:
            return read_character(place, spelled.decode())
        if violation.kind != "truncated":
            return None
        if spelled in open_characters:
            return place._replace(begun=spelled)
        missing = reduce(lambda state, byte: _utf8_step(state, byte) or 0, spelled, 0)
        return _Decomposed(begun=missing) if is_whole(place.string) and not place.separated else None

    def step(state: tuple[bytes, tuple[bytes, ...], _Decomposed], atom: int) -> Hashable | None:
        if not 0 <= atom < 256:
            return None
        begun, pending, place = state[0] + bytes([atom]), state[1], state[2]
        if begun in open_codes:
            return (begun, pending, place)
        morpheme = morpheme_of.get(begun)
        if morpheme is None and (len(begun) > 1 or begun in code.merge):
            return None
        read = morpheme or begun
        if any(earlier + read[:end] in code.merge for earlier in pending for end in range(1, len(read) + 1)):
            return None
        after: _Decomposed | None = place
        for byte in read:
            after = after and read_byte(after, byte)
        kept = tuple(text for text in (*(earlier + read for earlier in pending), read) if text in open_morphemes)
        return None if after is None else (b"", kept, after)

    def may_end(state: tuple[bytes, tuple[bytes, ...], _Decomposed]) -> bool:
        return not state[0] and not state[2].separated and not state[2].begun and is_whole(state[2].string)

    return AtomAutomaton((b"", (), _Decomposed()), step, may_end)


_AUTOMATA: dict[type, Callable[[Any], AtomAutomaton]] = {
    ByteCode: lambda code: utf8_automaton(),
    ComponentCode: _of_components,
    Codebook: _of_codebook,
    ScriptCode: _of_script,
    BitCode: _of_bits,
    MyteCode: _of_myte,
}
