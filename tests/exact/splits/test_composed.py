"""Token sequences of tokenizers with a pre-tokenizer, against the tokenizers of the library.

A sequence is live if some text's encoding begins with it. Of all short sequences, those that the automaton calls live
are shown to be by a witness; and every prefix of every encoding of every short text is called live.
"""

import random
import re
from itertools import product

import numpy as np
import pytest
from brute_encodings import live_sequences
from tiny_tokenizers import DEEPSEEK, EXPRESSIONS, byte_level, train, witness
from tokenizers import AddedToken
from unicode_text import is_utf8

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.hugging_face import from_tokenizer
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.splits.composed import SplitEncoding
from tokenlab.exact.splits.reading import read_added_tokens, read_splits
from tokenlab.exact.splits.regex_syntax import parse
from tokenlab.exact.vocabulary import Vocabulary

TEXTS = ["ab's \n\n a1 12 中é", "  ab  'S B\n\nba 中中 é1", "\n\n\na b!'s  \n 11 1 日A日Ab"]
CHARACTERS = "abAsS' \n1中é!"
WHOLE = byte_level()


def check(tokenizer, characters, length, tokens, texts=400, seed=0):
    """All texts up to `length` characters, `texts` longer ones, and all live sequences of so many tokens."""
    here = from_tokenizer(tokenizer).automaton
    draw = random.Random(seed)
    short = ["".join(word) for n in range(length + 1) for word in product(characters, repeat=n)]
    longer = ["".join(draw.choices(characters, k=draw.randint(length + 1, 25))) for _ in range(texts // 5)]
    for text in (short if len(short) < texts else draw.sample(short, texts)) + longer:
        follow(here, text)
    for sequence, state in live_sequences(here, tokens, in_tokens=True).items():
        spelled = b"".join(here.vocabulary.tokens[id] for id in sequence)
        assert tuple(here.encode(spelled + witness(here, state))[: len(sequence)]) == sequence
        whole = is_utf8(spelled) and tuple(here.encode(spelled)) == sequence
        assert here.may_end(state) == whole, sequence
    return here


def follow(here, text):
    """The automaton accepts every token of a text's encoding."""
    state = here.start()
    for id in here.encode(text.encode()):
        position = int(np.flatnonzero(here.vocabulary.ids == id)[0])
        assert here.allowed(state)[position], (text, id)
        state = here.step(state, id)
        assert state is not None, (text, id)
    assert here.may_end(state), text


def unsplit(expressions, **options):
    """A tokenizer whose merges were learned without the splits, so that tokens cross pieces."""
    tokenizer = train(WHOLE, TEXTS, 25, **options)
    tokenizer.pre_tokenizer = byte_level(*expressions)
    return tokenizer


@pytest.mark.slow
@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_byte_pairs_with_real_expressions(name, whole_words):
    words = ["aba", "1 ", "111", "\n\n\n", " ab", "中é", "!!"] if whole_words else []
    split = train(byte_level(EXPRESSIONS[name]), TEXTS, 25, ignore_merges=whole_words, words=words)
    for tokenizer in (split, unsplit([EXPRESSIONS[name]], ignore_merges=whole_words, words=words)):
        check(tokenizer, CHARACTERS, 4, 2, texts=1000)


def test_splits_in_sequence():
    check(train(byte_level(*DEEPSEEK), TEXTS, 25), CHARACTERS, 4, 2)
    check(unsplit(DEEPSEEK), CHARACTERS, 4, 2)


@pytest.mark.parametrize("seed", range(12))
def test_random_tokenizers(seed):
    """Merges, whole words, added tokens and expressions at random."""
    draw = random.Random(seed)
    characters = "".join(draw.sample("abBsSlLrE' \n\r1２中é!/ſA🙂\u0301", 4))
    texts = ["".join(draw.choices(characters, k=30)) for _ in range(6)]
    words = ["".join(draw.choices(characters, k=draw.randint(2, 4))) for _ in range(4)]
    added = {"".join(draw.choices(characters, k=draw.randint(1, 4))) for _ in range(seed % 4)}
    tokenizer = train(WHOLE, texts, 12, ignore_merges=bool(seed % 2), words=words, added=sorted(added))
    tokenizer.pre_tokenizer = byte_level(*draw.sample(list(EXPRESSIONS.values()), 1 + seed % 2))
    check(tokenizer, characters, 5, 3, seed=seed)


@pytest.mark.parametrize(
    ("expression", "characters", "text"),
    [(r"\d{4}-\d{2}-\d{2}|\d|[^\d]+", "0123-a", "2024-01-31"), (r"a{14}|.|\n", "ab\n", "a" * 14)],
)
def test_pieces_that_end_only_after_many_tokens(expression, characters, text):
    """No encoding of a text counts as impossible because its piece takes more tokens than a short search reads."""
    tokenizer = train(WHOLE, [text[::-1], *characters], 1)
    tokenizer.pre_tokenizer = byte_level(expression)
    here = check(tokenizer, characters, 4, 2, texts=200)
    for beginning in range(len(text) + 1):
        follow(here, text[:beginning])
        follow(here, text + text[:beginning])


@pytest.mark.parametrize("seed", range(50))
def test_random_expressions(seed):
    """Expressions with counts, classes and alternatives at random, against the encodings of all short texts."""
    draw = random.Random(seed)
    characters = "".join(draw.sample("abc1-\n", 3))
    single = [*map(re.escape, characters), f"[{re.escape(characters[:2])}]", f"[^{re.escape(characters[0])}]", "."]

    def alternative():
        counts = ["", "", "+", "{2}", "{3}", "{7}", "{1,3}"]
        others = (draw.choice(single) + draw.choice([*counts, "?", "{2}?"]) for _ in range(draw.randint(0, 2)))
        return draw.choice(single) + draw.choice(counts) + "".join(others)

    texts = ["".join(draw.choices(characters, k=20)) for _ in range(3)]
    tokenizer = train(WHOLE, texts, draw.randint(0, 8))
    expression = "|".join([*(alternative() for _ in range(draw.randint(1, 3))), single[-1], r"\n"])
    tokenizer.pre_tokenizer = byte_level(expression)
    check(tokenizer, characters, 5, 2, texts=150, seed=seed)


def test_added_tokens_found_in_two_rounds():
    """Tokens that are searched in the raw text come before those that are searched in normalized text."""
    for seed in range(6):
        draw = random.Random(seed)
        tokenizer = train(byte_level(EXPRESSIONS["gpt2"], "a+"), ["aab! ab  b!!a", " a b! "], 8)
        for _ in range(4):
            text = "".join(draw.choices("a b!", k=draw.randint(1, 4)))
            tokenizer.add_tokens([AddedToken(text, normalized=draw.random() < 0.5)])
        check(tokenizer, "a b!", 5, 3)


def live(here, *texts):
    """Whether the sequence of the tokens that spell some texts is live, and whether a text ends there."""
    state = here.start()
    for text in texts:
        state = here.step(state, here.vocabulary.tokens.index(text.encode()))
        if state is None:
            return False, False
    return True, here.may_end(state)


def test_a_vocabulary_of_characters():
    """Without tokens for bytes, texts consist of the characters that are tokens."""
    word = BytePair(Vocabulary(["中".encode(), "é".encode(), b"a", "a中".encode(), b" "]), [(2, 0, 3)])
    splits = (parse(EXPRESSIONS["gpt2"]),)
    here = SplitEncoding(word, splits, None, lambda text: [])
    assert live(here, "a中", " ", "é") == (True, True)
    assert live(here, "a", "中") == (False, False)


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
SPLIT = {"type": "Split", "pattern": {"Regex": "ab+"}, "invert": False}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}]}, "drops white space"),
        (
            {"type": "Sequence", "pretokenizers": [{"type": "Sequence", "pretokenizers": [BYTE_LEVEL]}, SPLIT]},
            "which then see bytes",
        ),
        ({"type": "UnicodeScripts"}, "'UnicodeScripts'"),
        ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}, "adds a space"),
        (SPLIT | {"behavior": "Removed"}, "removes text"),
        (SPLIT | {"behavior": "MergedWithNext"}, "single characters only"),
        (SPLIT | {"behavior": "Removed", "invert": True}, "does not match all text"),
    ],
)
def test_refused(settings, message):
    with pytest.raises(InputError, match=message):
        read_splits(settings)


def test_matches_kept_and_the_rest_removed():
    """GPT-4's way: nothing is removed where the expression matches all text."""
    split = {"type": "Split", "pattern": {"Regex": EXPRESSIONS["llama3"]}, "invert": True, "behavior": "Removed"}
    assert read_splits(split) == (parse(EXPRESSIONS["llama3"]),)


def test_added_tokens_refused():
    entry = {"id": 9, "content": "<x>", "special": False, "normalized": False}
    assert read_added_tokens([entry | {"special": True}]) is None
    for option in ("single_word", "lstrip", "rstrip"):
        with pytest.raises(InputError, match=option):
            read_added_tokens([entry | {option: True}])
    with pytest.raises(InputError, match="hides"):
        read_added_tokens([entry, {"id": 10, "content": "a<x", "special": True, "normalized": False}])
    with pytest.raises(InputError, match="same text"):
        read_added_tokens([entry, entry | {"id": 10}])


def test_endless_texts_are_refused():
    word = BytePair(Vocabulary([b"a"]), [], has_end=False)
    with pytest.raises(InputError, match="without an end"):
        SplitEncoding(word, (), None, lambda text: [])
