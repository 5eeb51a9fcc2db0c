"""Unigram encodings: the segmentation into tokens with the largest sum of scores (SentencePiece, Hugging Face).

The best path to a place does not depend on what follows it. So a token sequence is live if it is the encoding of the
text that it spells, and a token can follow if the best path to its end comes through it and through the place where it
begins. The paper treats MPE and BPE; this is the same argument for Viterbi's algorithm.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders import unigram_kernels as kernels
from tokenlab.exact.encoders.masks import Endless, Masks
from tokenlab.exact.utf8 import ByteFallback, as_text, character_at, character_status
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.tokenizers.unigram_kernels import build_trie

_PENALTY = 10.0
"""An unknown character has the smallest score minus this, in both libraries."""
_DIGITS = 9
"""Decimal places of scores by which endless paths are found to repeat; rounding keeps sums from repeating exactly."""


class PathState(NamedTuple):
    """What decides how a best path goes on."""

    begun: tuple[tuple[bytes, float], ...]
    """texts that a token may complete, the longest first, and the score of the best path to where each begins; the last
    is the empty text"""
    partial: bytes = b""
    """bytes of an unfinished character, spelled by byte tokens"""


class Unigram:
    """The encodings of a unigram model, without a pre-tokenizer.

    scores: float[ids], log-probabilities; sums are made in float64, as in Hugging Face's `tokenizers`. Of ids with
    equal bytes the first is produced. byte_fallback: ids of the tokens of the 256 bytes, which spell the characters
    that the best path passes as unknown. unknown: score of an unknown character; by default 10 below the smallest
    score. absent: characters that never occur in a text. has_end: whether texts end; without an end only sequences that
    can be continued for ever are live, as found by scores that repeat within 1e-9.

    Raises InputError for scores that do not fit the vocabulary.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        scores: Sequence[float] | NDArray[np.floating],
        *,
        byte_fallback: Sequence[int] | None = None,
        unknown: float | None = None,
        absent: Iterable[bytes] = (),
        has_end: bool = True,
    ) -> None:
        self.vocabulary, self.prefix, self.has_end = vocabulary, b"", has_end
        score_of_id = np.asarray(scores, np.float64)
        if score_of_id.shape != (len(vocabulary.tokens),) or not np.isfinite(score_of_id[vocabulary.ids]).all():
            raise InputError(f"there must be a finite score for each of the {len(vocabulary.tokens)} ids")
        self._byte_ids = tuple(byte_fallback or ())
        self._unknown = float(score_of_id[vocabulary.ids].min() - _PENALTY if unknown is None else unknown)
        self._choose_pieces(score_of_id)
        characters = {character.encode() for token in self._piece for character in token.decode(errors="ignore")}
        self._hidden = sorted(character for character in characters if character not in self._piece)
        self._fallback = ByteFallback({*characters, *absent})
        self._masks = Masks(len(vocabulary), self._allowed)
        self._endless = None if has_end else Endless(vocabulary, self._step, self._masks.get, _rounded)

    def start(self) -> Hashable:
        """The state before the first token."""
        return PathState(((b"", 0.0),))

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The state after one more token (an id), or None where no text's encoding goes on so."""
        return self._step(state, token) if self._endless is None else self._endless.step(state, token)

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """[len(vocabulary)] by position: the tokens after which the sequence is still live. Read-only."""
        return self._masks.get(state) if self._endless is None else self._endless.allowed(state)

    def may_end(self, state: Hashable) -> bool:
        """Whether a text can end here: not inside a character."""
        assert isinstance(state, PathState)
        return self.has_end and not state.partial

    def encode(self, text: bytes) -> list[int]:
        """The best path. Raises InputError for an unknown character without byte tokens, and for what is not UTF-8."""
        as_text(text)
        path, begins = kernels.best_path(np.frombuffer(text, np.uint8), self._trie, self._score, self._unknown)
        tokens: list[int] = []
        for piece, begin in zip(path.tolist(), begins.tolist(), strict=True):
            character = text[begin : begin + 1] if piece != kernels.UNKNOWN else character_at(text, begin)
            if piece != kernels.UNKNOWN:
                tokens.append(int(self._id[piece]))
            elif self._byte_ids:
                tokens += [self._byte_ids[byte] for byte in character]
            else:
                raise InputError(
                    f"the text has {character.decode()!r} at byte {begin}, which no token spells; remove it"
                )
        return tokens

    def _choose_pieces(self, score_of_id: NDArray[np.float64]) -> None:
        """Set the pieces: the tokens without the byte tokens, of equal ones the first id; and their trie."""
        byte_ids = set(self._byte_ids)
        first: dict[bytes, int] = {}
        for position, id in enumerate(self.vocabulary.ids.tolist()):
            if id not in byte_ids:
                first.setdefault(self.vocabulary.spelling(position), position)
        spelled = list(first)
        self._piece = {token: piece for piece, token in enumerate(spelled)}
        self._position = np.array(list(first.values()), np.int64)
        self._id = self.vocabulary.ids[self._position]
        self._score = score_of_id[self._id]
        self._offsets = np.concatenate(([0], np.cumsum([len(token) for token in spelled]))).astype(np.int64)
        self._symbols = np.frombuffer(b"".join(spelled), np.uint8)
        self._shared = np.array([0, *map(_common, spelled, spelled[1:])], np.int64)
        self._trie = build_trie(self._symbols.astype(np.int64), self._offsets, 256)

    def _allowed(self, state: Hashable) -> NDArray[np.bool_]:
        assert isinstance(state, PathState)
        mask = np.zeros(len(self.vocabulary), bool)
        if not state.partial:
            nodes = np.array([self._node(text) for text, _ in state.begun], np.int64)
            best = np.array([score for _, score in state.begun])
            mask[self._position] = kernels.going_on(
                self._symbols, self._offsets, self._shared, self._trie, self._score, self._unknown, nodes, best
            )
        for id in self._byte_ids:
            if (position := self.vocabulary.position[id]) >= 0:  # A special token spells no text.
                mask[position] = self._step(state, id) is not None
        return mask

    def _step(self, state: Hashable, token: int) -> Hashable | None:
        assert isinstance(state, PathState)
        text = self.vocabulary.tokens[token]
        if text is None:
            return None
        if self._byte_ids and self._byte_ids[text[0]] == token:
            return self._step_byte(state, text)
        if state.partial or self._id[self._piece[text]] != token:
            return None
        known, begun = self._advance(state.begun, text)
        return PathState(begun) if known == self._piece[text] else None

    def _step_byte(self, state: PathState, byte: bytes) -> PathState | None:
        """One more byte of an unknown character."""
        spelled = state.partial + byte
        hidden = [character for character in self._hidden if character.startswith(spelled)]
        passed = [character for character in hidden if self._advance(state.begun, character)[0] == kernels.UNKNOWN]
        if not passed and byte[0] not in self._fallback.following(state.partial):
            return None
        return (
            PathState(self._advance(state.begun, spelled)[1])
            if character_status(spelled) == "whole"
            else PathState(state.begun, spelled)
        )

    def _advance(
        self, begun: tuple[tuple[bytes, float], ...], text: bytes
    ) -> tuple[int | None, tuple[tuple[bytes, float], ...]]:
        """Best paths through a text from the last place on.

        Returns the piece that spells the whole text if the best path to its end is that one (UNKNOWN for an unknown
        character, None for another path), and what is begun at its end.
        """
        starts = [(before, score, 0) for before, score in begun]
        opened = 0
        for end in range(1, len(text) + 1):
            best: tuple[float, int, int] | None = None
            single = False
            for number, (before, score, begin) in enumerate(starts):
                piece = self._piece.get(before + text[begin:end])
                if piece is not None:
                    single = single or (begin == opened and not before)
                    if best is None or score + self._score[piece] > best[0]:
                        best = (score + self._score[piece], number, piece)
            if end == len(text) or text[end] >> 6 != 2:
                origin = next(
                    (n for n, (before, _, begin) in enumerate(starts) if begin == opened and not before), None
                )
                if origin is not None and not single:
                    score = starts[origin][1] + self._unknown
                    if best is None or score > best[0]:
                        best = (score, origin, kernels.UNKNOWN)
                opened = end
            if best is not None:
                starts.append((b"", float(best[0]), end))
        assert best is not None
        after = [(before + text[begin:], score) for before, score, begin in starts]
        open_texts = tuple((spelled, score) for spelled, score in after if not spelled or self._is_begun(spelled))
        return best[2] if best[1] == len(begun) - 1 else None, open_texts

    def _is_begun(self, text: bytes) -> bool:
        """Whether a longer piece begins with a text."""
        node = self._node(text)
        return node >= 0 and bool(self._trie.base[node])

    def _node(self, text: bytes) -> int:
        """The node of a text in the trie, -1 where no piece begins with it."""
        node = 0
        for byte in text:
            child = int(self._trie.base[node]) + byte + 1
            if int(self._trie.owner[child]) != node:
                return -1
            node = child
        return node


def _rounded(state: Hashable) -> Hashable:
    """A state by scores relative to the last, rounded."""
    assert isinstance(state, PathState)
    last = state.begun[-1][1]
    return tuple((text, round(score - last, _DIGITS)) for text, score in state.begun), state.partial


def _common(first: bytes, second: bytes) -> int:
    """Length of the common prefix."""
    shorter = min(len(first), len(second))
    return next((i for i in range(shorter) if first[i] != second[i]), shorter)
