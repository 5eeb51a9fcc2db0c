"""The two codes of the pilot, over one base vocabulary, and verses in them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tasks.bits.translation.alignment import Verse
from tasks.bits.translation.parameters import BITS, BYTES, BaseVocabulary
from tokenlab.codes.bits.decoding import Decoded
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.over.bases import Base, base_of
from tokenlab.codes.bits.over.tokenizer import BitTokenizer
from tokenlab.codes.bits.over.training import END, PADDING, SPECIAL, train_byte_fallback
from tokenlab.codes.bits.symbols import LONG, OTHER, PREFIX, RESET
from tokenlab.translation.model import MEAN
from tokenlab.translation.pairs import Pairs, sentences

TOKENIZER = "tokenizer.json"
"""The base vocabulary in the folder of a pair."""

END_ID, PADDING_ID = SPECIAL.index(END), SPECIAL.index(PADDING)
NEVER = tuple(id for id in range(len(SPECIAL)) if id != END_ID)
"""Ids of tokens that no text has."""

_CONTINUATION = range(0x80, 0xC0)


class TextCode(NamedTuple):
    """Texts to ids and back. Errors of decoding are replaced by U+FFFD and listed."""

    size: int
    encode_batch: Callable[[Sequence[str]], Sequence[NDArray[np.int32]]]
    decode: Callable[[NDArray[np.int32]], Decoded]


class Encoded(NamedTuple):
    """Verses that are short enough, and their ids in each code."""

    verses: list[Verse]
    pairs: dict[str, Pairs]


def train_base(verses: Sequence[Verse], vocabulary: BaseVocabulary, folder: Path) -> None:
    """Train the base vocabulary on both languages together, and write it into a folder."""
    texts = [text for verse in verses for text in (verse.source, verse.target)]
    folder.mkdir(parents=True, exist_ok=True)
    train_byte_fallback(texts, vocabulary.size, vocabulary.characters).save(str(folder / TOKENIZER))


def read_codes(folder: Path, options: BitOptions) -> tuple[Base, dict[str, TextCode]]:
    """The base vocabulary of a folder, and both codes over it by their names."""
    base = base_of(Tokenizer.from_file(str(folder / TOKENIZER)), str(folder / TOKENIZER))
    bits = BitTokenizer(base, options)

    def decode(ids: NDArray[np.int32]) -> Decoded:
        return bits.decode(ids, "replace")

    # Ids of the base vocabulary alone are a stream of the bit-level code, too, in which every byte is a raw one.
    return base, {
        BYTES: TextCode(base.size, base.encode_batch, decode),
        BITS: TextCode(bits.size, bits.encode_batch, decode),
    }


def encode_verses(verses: Sequence[Verse], codes: Mapping[str, TextCode], longest: int) -> Encoded:
    """The ids of verses, the end token behind each sentence; verses with more than `longest` tokens in a sentence, in
    either code, are left out."""
    encoded = {
        name: [code.encode_batch([verse[side] for verse in verses]) for side in (1, 2)] for name, code in codes.items()
    }
    kept = [
        number
        for number in range(len(verses))
        if all(len(side[number]) < longest for sides in encoded.values() for side in sides)
    ]
    pairs = {}
    for name, sides in encoded.items():
        source, target = (sentences([side[number] for number in kept], END_ID) for side in sides)
        pairs[name] = Pairs(source, target, PADDING_ID)
    return Encoded([verses[number] for number in kept], pairs)


def fallback_ratio(base: Base, texts: Sequence[str]) -> float:
    """Share of the characters of texts that the base vocabulary spells by bytes."""
    begins = [base.byte_ids[byte] for byte in range(256) if byte not in _CONTINUATION]
    fallen_back = sum(int(np.isin(ids, begins).sum()) for ids in base.encode_batch(texts))
    return fallen_back / max(1, sum(map(len, texts)))


def copied_rows(base: Base) -> list[int]:
    """For each id that the bit-level code adds, in order: the id of the byte whose embedding it copies.

    The paper's appendix does not say which rows it copied. Here a payload copies the byte of its low eight bits, which
    is the id that it would have without the ninth; a prefix copies the smallest lead byte that it stands for (E0, E4,
    E8, EC), and the reset the mean.
    """
    payloads = [int(base.byte_ids[payload]) for payload in range(PREFIX - LONG)]
    prefixes = [int(base.byte_ids[0xE0 + 4 * prefix]) for prefix in range(RESET - PREFIX)]
    return [MEAN if row < 0 else row for row in [*payloads, *prefixes, *[MEAN] * (OTHER - RESET)]]
