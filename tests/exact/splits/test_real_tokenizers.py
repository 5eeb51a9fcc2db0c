"""The automata of GPT-2 and GPT-NeoX, from the mirror's files, against the tokenizers of the library."""

import gzip
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_tokenizers import automaton, paths, real_tokenizer, witness
from unicode_text import text as unicode_text

NAMED_CASES = [
    "\n\na \n\n b\n \n\n",
    "it's I'LL we've 'sa ''s",
    "  a   b    c" + " " * 30 + "d" + " " * 25,
    "1234567 3.14 x1y2",
    "日本語のAb 中文\n\n",
    "🙂👩‍👩‍👧 é e\u0301 \u00a0\u3000x",
    "<|endoftext|> |||EMAIL_ADDRESS||| ||| |||IP_ADD",
    "def f(x):\n    return  x\n\t\t# ok\r\n",
    "\u200b\ufeff\ud7ff\U0010ffff\x00\x7f",
]


@pytest.fixture(scope="module", params=["gpt2", "neox"])
def real(request, mirror):
    """An automaton, kept for all tests."""
    return automaton(real_tokenizer(mirror, request.param))


@pytest.fixture(scope="module")
def lines(mirror):
    """Passages of English and Chinese web text."""
    found = []
    for name in ("slimpajama_STANDIN_en", "skypile_STANDIN_zh"):
        with gzip.open(mirror / "web" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as documents:
            found += [json.loads(document)["text"] for document in documents]
    draw = random.Random(0)
    texts = draw.sample([text for text in found if len(text) > 150], 30)
    starts = [draw.randrange(len(text) - 100) for text in texts]
    return [text[start : start + 100] for text, start in zip(texts, starts, strict=True)]


def follow(real, text):
    place = {int(id): position for position, id in enumerate(real.vocabulary.ids)}
    state = real.start()
    for id in real.encode(text.encode()):
        assert real.allowed(state)[place[id]], (text, id)
        state = real.step(state, id)
        assert state is not None, (text, id)
    assert real.may_end(state)


@pytest.mark.slow
def test_encodings_of_web_text_are_accepted(real, lines):
    for line in lines:
        follow(real, line)


@pytest.mark.parametrize("text", NAMED_CASES)
def test_each_beginning_of_a_text_has_one_encoding(real, text):
    """Of all live sequences that spell a beginning of the text, one may end there: its encoding. The others have a
    continuation."""
    spelled = text.encode()
    for place, found in enumerate(paths(real, spelled)):
        try:
            beginning = spelled[:place].decode()
        except UnicodeDecodeError:
            beginning = None
        ending = [tokens for tokens, state in found if real.may_end(state)]
        assert ending == ([] if beginning is None else [tuple(real.encode(beginning.encode()))])
        for tokens, state in found:
            assert tuple(real.encode(spelled[:place] + witness(real, state))[: len(tokens)]) == tokens


def test_few_sequences_are_left_open(real):
    """Pre-tokenizers decide soon: seldom do two sequences spell the same beginning."""
    found = paths(real, NAMED_CASES[0].encode())
    assert max(map(len, found)) <= 3


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_encodings_of_any_text_are_accepted(real, data):
    follow(real, data.draw(st.one_of(unicode_text, st.text("ab's \n\t 1中é|EMAIL_", max_size=30))))


def test_random_live_sequences_have_witnesses(real):
    """A token drawn from those allowed, again and again: after each, some text's encoding begins so."""
    draw = random.Random(0)
    for _ in range(25):
        state, tokens = real.start(), ()
        for _ in range(6):
            position = draw.choice(real.allowed(state).nonzero()[0].tolist())
            tokens = (*tokens, int(real.vocabulary.ids[position]))
            state = real.step(state, tokens[-1])
            spelled = b"".join(real.vocabulary.tokens[id] for id in tokens)
            assert tuple(real.encode(spelled + witness(real, state))[: len(tokens)]) == tokens
