"""Unigram encodings: the segmentation into tokens with the largest sum of scores (SentencePiece, Hugging Face).

The best path to a place does not depend on what follows it. So a token sequence is live if it is the encoding of the
text that it spells, and a token can follow if the best path to its end comes through it and through the place where it
begins. The paper treats MPE and BPE; this is the same argument for Viterbi's algorithm.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders import unigram_kernels as kernels
from tokenlab.exact.encoders.masks import Masks
from tokenlab.exact.utf8 import as_text, character_at
from tokenlab.exact.vocabulary import Vocabulary, common_prefix
from tokenlab.tokenizers.unigram_kernels import build_trie

_PENALTY = 10.0
"""An unknown character has the smallest score of all ids, that of `<unk>` among them, minus this."""


class Unigram:
    """The encodings of a unigram model, without a pre-tokenizer.

    A state has the texts that a token may complete, the longest first, and the score of the best path to where each
    begins; the last is the empty text. scores: float[ids], log-probabilities; sums are made in float64, as in Hugging
    Face's `tokenizers`. Of ids with equal bytes the first is produced.

    Raises InputError for scores that do not fit the vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary, scores: Sequence[float] | NDArray[np.floating]) -> None:
        self.vocabulary, self.prefix, self.has_end = vocabulary, b"", True
        score_of_id = np.asarray(scores, np.float64)
        if score_of_id.shape != (len(vocabulary.tokens),) or not np.isfinite(score_of_id).all():
            raise InputError(f"there must be a finite score for each of the {len(vocabulary.tokens)} ids")
        self._unknown = float(score_of_id.min() - _PENALTY)
        self._choose_pieces(score_of_id)
        self._masks = Masks(len(vocabulary), self._allowed)

    def start(self) -> Hashable:
        """The state before the first token."""
        return ((b"", 0.0),)

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The state after one more token (an id), or None where no text's encoding goes on so."""
        assert isinstance(state, tuple)
        text = self.vocabulary.tokens[token]
        if text is None or self._id[self._piece[text]] != token:
            return None
        return self._advance(state, text)

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """[len(vocabulary)] by position: the tokens after which the sequence is still live. Read-only."""
        return self._masks.get(state)

    def may_end(self, state: Hashable) -> bool:
        """True."""
        return True

    def encode(self, text: bytes) -> list[int]:
        """The best path. Raises InputError for an unknown character, and for what is not UTF-8."""
        as_text(text)
        path, begins = kernels.best_path(np.frombuffer(text, np.uint8), self._trie, self._score, self._unknown)
        unknown = begins[path == kernels.UNKNOWN].tolist()
        if unknown:
            character, begin = character_at(text, unknown[0]).decode(), unknown[0]
            raise InputError(f"the text has {character!r} at byte {begin}, which no token spells; remove it")
        tokens: list[int] = self._id[path].tolist()
        return tokens

    def _choose_pieces(self, score_of_id: NDArray[np.float64]) -> None:
        """Set the pieces: of equal tokens the first id; and their trie."""
        first: dict[bytes, int] = {}
        for position in range(len(self.vocabulary)):
            first.setdefault(self.vocabulary.spelling(position), position)
        spelled = list(first)
        self._piece = {token: piece for piece, token in enumerate(spelled)}
        self._position = np.array(list(first.values()), np.int64)
        self._id = self.vocabulary.ids[self._position]
        self._score = score_of_id[self._id]
        self._offsets = np.concatenate(([0], np.cumsum([len(token) for token in spelled]))).astype(np.int64)
        self._symbols = np.frombuffer(b"".join(spelled), np.uint8)
        self._shared = np.array([0, *map(common_prefix, spelled, spelled[1:])], np.int64)
        self._trie = build_trie(self._symbols.astype(np.int64), self._offsets, 256)

    def _allowed(self, state: Hashable) -> NDArray[np.bool_]:
        assert isinstance(state, tuple)
        nodes = np.array([self._node(text) for text, _ in state], np.int64)
        best = np.array([score for _, score in state])
        mask = np.zeros(len(self.vocabulary), bool)
        mask[self._position] = kernels.going_on(
            self._symbols, self._offsets, self._shared, self._trie, self._score, self._unknown, nodes, best
        )
        return mask

    def _advance(self, begun: tuple[tuple[bytes, float], ...], text: bytes) -> tuple[tuple[bytes, float], ...] | None:
        """What is begun at the end of a piece, None where the best path to there does not come through this piece."""
        starts = [(before, score, 0) for before, score in begun]
        opened = 0
        for end in range(1, len(text) + 1):
            best: tuple[float, int] | None = None
            single = False
            for number, (before, score, begin) in enumerate(starts):
                piece = self._piece.get(before + text[begin:end])
                if piece is not None:
                    single = single or (begin == opened and not before)
                    if best is None or score + self._score[piece] > best[0]:
                        best = (score + self._score[piece], number)
            if end == len(text) or text[end] >> 6 != 2:
                origin = next(
                    (n for n, (before, _, begin) in enumerate(starts) if begin == opened and not before), None
                )
                if origin is not None and not single:
                    score = starts[origin][1] + self._unknown
                    if best is None or score > best[0]:
                        best = (score, origin)
                opened = end
            if best is not None:
                starts.append((b"", float(best[0]), end))
        assert best is not None
        if best[1] != len(begun) - 1:
            return None
        after = [(before + text[begin:], score) for before, score, begin in starts]
        return tuple((spelled, score) for spelled, score in after if not spelled or self._is_begun(spelled))

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
