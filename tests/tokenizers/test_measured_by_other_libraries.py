"""The same figures from toklens and tokscope, where these are installed, and from their formulas as they are defined.

toklens 0.1.2 encodes each word by itself; that is `count_tokens` on the words as texts. Its characters and bytes per
token are of a whole text. tokscope 0.2.0 divides the tokens of a text by its whitespace words.
"""

import pytest
from tiny_tokenizers import EXPRESSIONS, byte_level, train

from tokenlab.metrics import of_tokenizer
from tokenlab.metrics.counting import count_tokens
from tokenlab.metrics.words import texts_with_words
from tokenlab.text.documents import Document
from tokenlab.tokenizers.measured import HuggingFaceTokenizer

TEXT = "In the beginning God created the heaven and the earth — né, naïve, 神 said: let there be light."
PARALLEL = "Am Anfang schuf Gott Himmel und Erde."


@pytest.fixture(scope="module")
def tokenizer():
    return train(byte_level(EXPRESSIONS["gpt2"]), [TEXT, PARALLEL], 40)


def measured(tokenizer, texts):
    counts = count_tokens(HuggingFaceTokenizer(tokenizer), texts_with_words(Document(text, text) for text in texts))
    return of_tokenizer(counts)


def test_toklens(tokenizer):
    metrics = pytest.importorskip("toklens.metrics", reason="toklens is not installed")
    by_words = measured(tokenizer, TEXT.split())
    assert by_words["fertility"] == pytest.approx(metrics.compute_fertility(tokenizer, TEXT))
    assert by_words["words_kept_whole"] == pytest.approx(metrics.compute_strr(tokenizer, TEXT))
    whole = measured(tokenizer, [TEXT])
    assert whole["characters_per_token"] == pytest.approx(metrics.compute_cpt(tokenizer, TEXT))
    assert whole["bytes_per_token"] == pytest.approx(metrics.compute_compression_ratio(tokenizer, TEXT))
    reference = measured(tokenizer, [PARALLEL])["tokens"]
    parity = metrics.compute_parity(tokenizer, TEXT, PARALLEL)
    assert whole["tokens"] / reference == pytest.approx(parity)
    assert whole["tokens"] / reference == pytest.approx(metrics.compute_nsl(tokenizer, TEXT, reference))


def test_tokscope(tokenizer):
    tokscope = pytest.importorskip("tokscope", reason="tokscope is not installed")
    report = tokscope.analyze(TEXT, _ForTokscope(tokenizer), PARALLEL)
    values = measured(tokenizer, [TEXT])
    assert values["fertility"] == pytest.approx(report.fertility)
    assert values["characters_per_token"] == pytest.approx(report.chars_per_token)
    assert values["bytes_per_token"] == pytest.approx(report.bytes_per_token)
    assert values["unknown_rate"] == report.unk_rate == 0
    assert values["byte_token_rate"] == pytest.approx(report.byte_token_rate) and report.byte_token_rate > 0
    assert values["tokens"] / measured(tokenizer, [PARALLEL])["tokens"] == pytest.approx(report.premium)


class _ForTokscope:
    """A tokenizer as tokscope takes one of one's own: byte tokens decode to U+FFFD."""

    name, vocab_size = "tiny", None

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def tokenize_with_bytes(self, text):
        encoding = self.tokenizer.encode(text)
        partial = sum("\ufffd" in self.tokenizer.decode([id]) for id in encoding.ids)
        return encoding.tokens, 0, partial


def test_by_their_definitions(tokenizer):
    """For where neither is installed."""
    tokens = len(tokenizer.encode(TEXT).ids)
    words = [len(tokenizer.encode(word).ids) for word in TEXT.split()]
    by_words, whole = measured(tokenizer, TEXT.split()), measured(tokenizer, [TEXT])
    assert by_words["fertility"] == pytest.approx(sum(words) / len(words))
    assert by_words["words_kept_whole"] == pytest.approx(sum(count == 1 for count in words) / len(words))
    assert whole["fertility"] == pytest.approx(tokens / len(words))
    assert whole["characters_per_token"] == pytest.approx(len(TEXT) / tokens)
