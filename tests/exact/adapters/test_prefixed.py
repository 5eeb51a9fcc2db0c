"""The space that SentencePiece puts before a text, against brute force over all texts of a small alphabet."""

from itertools import product

from brute_encodings import live_sequences
from tokenizers import Tokenizer, models, normalizers

from tokenlab.exact.adapters.hugging_face import from_tokenizer

TOKENS = ["\u2581", "a", "b", "\u2581a", "ab", "\u2581\u2581", "\u2581ab"]
MERGES = [("\u2581", "a"), ("a", "b"), ("\u2581", "\u2581"), ("\u2581", "ab")]


def tokenizer() -> Tokenizer:
    made = Tokenizer(models.BPE({token: id for id, token in enumerate(TOKENS)}, MERGES))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    return made


def test_all_texts_and_no_other_sequence() -> None:
    automaton = from_tokenizer(tokenizer()).automaton
    states = live_sequences(automaton, 3, in_tokens=True)
    engine = tokenizer()
    texts = ["".join(text) for length in range(1, 9) for text in product(" ab", repeat=length)]
    encodings = [tuple(engine.encode(text).ids) for text in texts]
    ended = {ids for ids, state in states.items() if automaton.may_end(state)}
    assert ended == {ids for ids in encodings if len(ids) <= 3}
    assert set(states) == {ids[:length] for ids in encodings for length in range(4)}
    assert automaton.prefix == b" " and automaton.encode(b"ab") == list(engine.encode("ab").ids)
