"""How well an exported tokenizer agrees with its segmenter, on text that it may never have seen."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tokenlab.core.errors import InputError
from tokenlab.metrics.segmentation import Counts
from tokenlab.segment.isolation import WHOLE, CharacterClasses
from tokenlab.segment.segmentation import Segmentation
from tokenlab.text.code_points import code_points

Span = tuple[int, int]
_LINES_PER_BATCH = 1 << 10
_NONE = Counts(0, 0, 0)


class Encoded(NamedTuple):
    """A line as tokens."""

    ids: list[int]
    spans: list[Span]
    """The characters [start, end) of each token; bytes of one character all have its span."""


class Exported(Protocol):
    """A tokenizer in one of the formats."""

    def encode(self, lines: list[str]) -> list[Encoded]:
        """The tokens of each line."""
        ...

    def decode(self, ids: list[list[int]]) -> list[str]:
        """The text of each list of ids."""
        ...


class Cutter(Protocol):
    """A `Segmenter` or a `WordModel`."""

    options: Any

    def segment(self, sentences: Iterable[str], /) -> Iterable[Segmentation]:
        """The segments of sentences, batch by batch."""
        ...


class HuggingFace:
    """A tokenizer of the library tokenizers, as exported or loaded from its file."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode(self, lines: list[str]) -> list[Encoded]:
        """The tokens of each line."""
        encodings = self._tokenizer.encode_batch(lines, add_special_tokens=False)
        return [Encoded(encoding.ids, encoding.offsets) for encoding in encodings]

    def decode(self, ids: list[list[int]]) -> list[str]:
        """The text of each list of ids."""
        texts: list[str] = self._tokenizer.decode_batch(ids, skip_special_tokens=False)
        return texts


class SentencePiece:
    """A model of the library sentencepiece, as its bytes."""

    def __init__(self, model: bytes) -> None:
        """Raises InputError where the library is not installed."""
        require_sentencepiece()
        from sentencepiece import SentencePieceProcessor

        self._processor: Any = SentencePieceProcessor(model_proto=model)
        everything = range(len(self._processor))
        self._pieces: list[str] = self._processor.id_to_piece(list(everything))
        self._byte = {
            number: int(self._pieces[number][1:-1], 16) for number in filter(self._processor.is_byte, everything)
        }

    def encode(self, lines: list[str]) -> list[Encoded]:
        """The tokens of each line."""
        return [Encoded(ids, self._spans(ids)) for ids in self._processor.encode(lines)]

    def _spans(self, ids: list[int]) -> list[Span]:
        """Nothing is normalised, so pieces are as long as what they stand for, and the first byte counts for all."""
        spans, end = [], 0
        for number in ids:
            byte = self._byte.get(number)
            length = len(self._pieces[number]) if byte is None else 1
            if byte is None or not 0x80 <= byte < 0xC0:  # no later byte of a character
                end += length
            spans.append((end - length, end))
        return spans

    def decode(self, ids: list[list[int]]) -> list[str]:
        """The text of each list of ids."""
        texts: list[str] = self._processor.decode(ids)
        return texts


def require_sentencepiece() -> None:
    """Raises InputError where the library sentencepiece, which runs its models, is not installed."""
    if find_spec("sentencepiece") is None:
        raise InputError("the library sentencepiece is not installed, so its models cannot be checked; install it")


@dataclass
class Agreement:
    """Counts over all lines. A word is a token, or the tokens of one run that the segmenter keeps whole together.

    Words, not tokens, are what a reader of the tokens can compare with gold words: a number that was never seen is
    several tokens, and where their run begins and ends is known from the characters alone.
    """

    lines: int = 0
    restored: int = 0
    """Lines that are decoded to themselves."""
    characters: int = 0
    seconds: float = 0.0
    """Time of encoding, on as many threads as the tokenizer uses."""
    tokens: Counts = _NONE
    """Segments, tokens (whitespace not counted), and segments that are one token."""
    words: Counts = _NONE
    """Segments, words, and segments that are a word."""
    gold: dict[str, Counts] = field(default_factory=dict)
    """Gold words, and `segments`, `words` or `tokens`, and both; empty where no gold words were given."""

    @property
    def characters_per_second(self) -> float:
        """Speed of encoding."""
        return self.characters / self.seconds if self.seconds else 0.0

    def figures(self) -> dict[str, float | int | None]:
        """All figures by name, shares from 0 to 1."""
        found: dict[str, float | int | None] = {
            "lines": self.lines,
            "lines_restored": self.restored,
            "segments": self.tokens.gold,
            "tokens": self.tokens.predicted,
            "segments_equal_to_a_word": self.words.recall,
            "segments_equal_to_a_token": self.tokens.recall,
            "characters_per_second": round(self.characters_per_second),
        }
        return found | {f"f1_of_{name}": counts.f1 for name, counts in self.gold.items()}


def measure_agreement(
    exported: Exported, segmenter: Cutter, lines: Iterable[str], gold: Iterable[Sequence[Span]] | None = None
) -> Agreement:
    """Encode and decode lines, and compare the tokens with the segments.

    Args:
        gold: for each line the spans [start, end) of its gold words.

    Raises:
        InputError: a lone surrogate; gold words for more or fewer lines.
    """
    found = Agreement()
    options = segmenter.options
    classes = CharacterClasses(getattr(options, "isolate", "script"), options.split_kana)
    remaining = None if gold is None else iter(gold)
    numbered = iter(lines)
    while batch := list(islice(numbered, _LINES_PER_BATCH)):
        start = time.perf_counter()
        encoded = exported.encode(batch)
        found.seconds += time.perf_counter() - start
        decoded = exported.decode([line.ids for line in encoded])
        found.restored += sum(text == line for text, line in zip(decoded, batch, strict=True))
        right = None if remaining is None else list(islice(remaining, len(batch)))
        if right is not None and len(right) < len(batch):
            raise InputError("there are gold words for fewer lines than there are; both must be of one text")
        segments = chain.from_iterable(cut.spans() for cut in segmenter.segment(batch))
        _count(found, batch, encoded, segments, classes, right)
    if remaining is not None and next(remaining, None) is not None:
        raise InputError("there are gold words for more lines than there are; both must be of one text")
    return found


def _count(
    found: Agreement,
    batch: list[str],
    encoded: list[Encoded],
    segments: Iterable[list[Span]],
    classes: CharacterClasses,
    gold: list[Sequence[Span]] | None,
) -> None:
    """Add the counts of a batch."""
    for number, (line, tokens_of, of_line) in enumerate(zip(batch, encoded, segments, strict=True)):
        cut, tokens = set(of_line), {span for span in tokens_of.spans if not line[span[0] : span[1]].isspace()}
        words = _joined(tokens, classes(code_points(line)) == WHOLE) if line else tokens
        found.lines += 1
        found.characters += len(line)
        found.tokens = _plus(found.tokens, cut, tokens)
        found.words = _plus(found.words, cut, words)
        if gold is not None:
            for name, ours in (("segments", cut), ("words", words), ("tokens", tokens)):
                found.gold[name] = _plus(found.gold.get(name, _NONE), set(gold[number]), ours)


def _joined(tokens: set[Span], whole: NDArray[np.bool_]) -> set[Span]:
    """The tokens, with those of each run of `whole` (bool[characters]) as one."""
    edges = np.flatnonzero(np.diff(whole.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    runs = {(start, end) for start, end in edges.tolist()}
    return runs | {span for span in tokens if not whole[span[0]]}


def _plus(counts: Counts, right: set[Span], ours: set[Span]) -> Counts:
    return Counts(counts.gold + len(right), counts.predicted + len(ours), counts.both + len(right & ours))
