"""A tokenizer whose tokens spell the text byte by byte, as it is measured: spans follow from the lengths of tokens."""

from collections.abc import Collection, Sequence

import numpy as np

from tokenlab.exact.interface import TokenAutomaton
from tokenlab.measure.hugging_face import whole_characters
from tokenlab.measure.interface import Tokens


class SpellingTokenizer:
    """The tokenizer of an automaton of `tokenlab.exact`, such as a SentencePiece model."""

    def __init__(self, automaton: TokenAutomaton, byte_pieces: Collection[int] = ()) -> None:
        """byte_pieces: ids of byte fallback, which are byte tokens even where they spell a whole character."""
        tokens = automaton.vocabulary.tokens
        self.vocabulary = self.ids = len(tokens)
        self._automaton = automaton
        self._lengths = np.array([len(token or b"") for token in tokens], np.int64)
        partial = [not whole_characters(token or b"") or id in byte_pieces for id, token in enumerate(tokens)]
        self._is_byte = np.array(partial, np.bool_)

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text. Raises InputError for text that the vocabulary cannot spell."""
        return [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> Tokens:
        data = text.encode()
        ids = np.array(self._automaton.encode(data), np.int32)
        # The prefix of the automaton, such as a space, is spelled before the text.
        ends = np.cumsum(self._lengths[ids]) - (len(self._automaton.prefix) if data else 0)
        starts = np.maximum(ends - self._lengths[ids], 0)
        character = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80) - 1
        of_byte = np.append(character, character[-1] + 1 if len(character) else 0)
        last = np.where(ends > starts, of_byte[np.maximum(ends - 1, 0)] + 1, of_byte[starts])
        spans = np.stack([of_byte[starts], last], axis=1).astype(np.int32)
        return Tokens(ids, spans, int(self._is_byte[ids].sum()), 0)
