"""The word automaton of a model of tokenizer.json: BPE, Unigram, WordPiece without a mark of continuation, or WordLevel
of single characters."""

from collections.abc import Iterable
from typing import Any

from tokenlab.exact.adapters.real import UnsupportedTokenizer
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.vocabulary import Vocabulary

_LONG_WORD = 100_000


def word_automaton(model: dict[str, Any], vocabulary: Vocabulary, absent: Iterable[bytes]) -> TokenAutomaton:
    """The automaton of the encodings of single words.

    Args:
        model: the `model` of tokenizer.json.
        vocabulary: all tokens, added ones too.
        absent: characters that no text has.

    Raises UnsupportedTokenizer, with the reason.
    """
    kind = model.get("type")
    if kind == "BPE":
        return _byte_pair(model, vocabulary, absent)
    if kind == "Unigram":
        return _unigram(model, vocabulary)
    if kind == "WordPiece":
        return _word_piece(model, vocabulary)
    if kind == "WordLevel":
        return _characters(vocabulary)
    raise UnsupportedTokenizer(f"the model {kind} is not modelled; BPE, Unigram and some of WordPiece are")


def _byte_pair(model: dict[str, Any], vocabulary: Vocabulary, absent: Iterable[bytes]) -> TokenAutomaton:
    if model.get("dropout"):
        raise UnsupportedTokenizer("BPE with dropout: a text has several encodings; switch dropout off")
    for mark in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(mark):
            raise UnsupportedTokenizer(f"BPE with {mark} {model[mark]!r}: tokens depend on their place in a word")
    ids = model["vocab"]
    merges = []
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if left not in ids or right not in ids or left + right not in ids:
            raise UnsupportedTokenizer(f"a merge of {left!r} and {right!r}, which make no token")
        merges.append((ids[left], ids[right], ids[left + right]))
    fallback = [ids.get(f"<0x{byte:02X}>") for byte in range(256)] if model.get("byte_fallback") else None
    if fallback and None in fallback:
        raise UnsupportedTokenizer(f"byte fallback without a token for byte 0x{fallback.index(None):02X}")
    return BytePair(
        vocabulary,
        merges,
        whole_words=bool(model.get("ignore_merges")),
        byte_fallback=[id for id in fallback if id is not None] if fallback else None,
        absent=absent,
    )


def _unigram(model: dict[str, Any], vocabulary: Vocabulary) -> TokenAutomaton:
    if model.get("byte_fallback"):
        raise UnsupportedTokenizer("Unigram with byte fallback: the text '<0x41>' and the byte 0x41 have one token")
    from tokenlab.exact.encoders.unigram import Unigram

    scores = [score for _, score in model["vocab"]]
    if len(scores) == len(vocabulary.tokens):
        return Unigram(vocabulary, scores)
    # Added tokens have no score: the splits find them before words are made.
    added = len(vocabulary.tokens) - len(scores)
    return Unigram(Vocabulary([*vocabulary.tokens[: len(scores)], *[None] * added]), [*scores, *[0.0] * added])


def _word_piece(model: dict[str, Any], vocabulary: Vocabulary) -> TokenAutomaton:
    mark, longest = model.get("continuing_subword_prefix"), model.get("max_input_chars_per_word", 100)
    if mark:
        raise UnsupportedTokenizer(f"WordPiece with {mark!r} before tokens inside a word: they depend on their place")
    if longest < _LONG_WORD:
        raise UnsupportedTokenizer(
            f"WordPiece replaces words of more than {longest} characters by the unknown token; allow {_LONG_WORD}"
        )
    return MaximumPrefix(vocabulary)


def _characters(vocabulary: Vocabulary) -> TokenAutomaton:
    """WordLevel makes words that are no token unknown, so it is exact only where all words are single characters."""
    single = [token if token is None or len(token.decode()) == 1 else None for token in vocabulary.tokens]
    return MaximumPrefix(Vocabulary(single))
