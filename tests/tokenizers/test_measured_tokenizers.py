"""Spans, byte tokens and unknown tokens of every kind of tokenizer, against the text that the tokens spell."""

import numpy as np
import pytest
import small_bases
from tiny_tokenizers import EXPRESSIONS, byte_level, train
from tokenizers import Tokenizer, models

from tokenlab.codes.baselines import ByteCode
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.interface import atom
from tokenlab.codes.measured import CodeAsTokenizer, TokenizerOfAtoms
from tokenlab.metrics import of_tokenizer
from tokenlab.metrics.counting import count_tokens
from tokenlab.metrics.words import texts_with_words
from tokenlab.text.documents import Document
from tokenlab.tokenizers.measured import HuggingFaceTokenizer, read_text_tokenizer

TEXTS = [
    "In the beginning God created the heaven.",
    "起初，　神创造天地。",
    "né naïve 𝒳 \U0001f600!",
    "",
    " ",
    "천지를",
]


def pieces(text, tokens):
    return [text[start:end] for start, end in tokens.spans]


def test_byte_level_tokens_hold_parts_of_characters():
    tokenizer = HuggingFaceTokenizer(train(byte_level(EXPRESSIONS["gpt2"]), TEXTS, 0))
    assert tokenizer.unknown is None
    for text, tokens in zip(TEXTS, tokenizer.encode_batch(TEXTS), strict=True):
        assert pieces(text, tokens) == [character for character in text for _ in character.encode()]
        assert tokens.byte_tokens == sum(len(c.encode()) for c in text if len(c.encode()) > 1)


def test_byte_fallback_of_a_tokenizer_json(tmp_path):
    vocabulary = {"<unk>": 0} | {f"<0x{byte:02X}>": byte + 1 for byte in range(256)} | {"a": 257, "中": 258, "a中": 259}
    made = Tokenizer(models.BPE(vocabulary, [("a", "中")], unk_token="<unk>", byte_fallback=True))
    made.save(str(tmp_path / "t.json"))
    tokenizer = read_text_tokenizer(tmp_path / "t.json")
    (tokens,) = tokenizer.encode_batch(["a中é\n"])
    assert pieces("a中é\n", tokens) == ["a中", "é", "é", "\n"]
    assert (tokens.byte_tokens, tokenizer.unknown, tokenizer.vocabulary) == (3, 0, 260)


def test_special_tokens_in_a_text_are_text():
    trained = train(byte_level(EXPRESSIONS["gpt2"]), ["<s> a"], 0)
    trained.add_special_tokens(["<s>"])
    trained.enable_truncation(2)
    (tokens,) = HuggingFaceTokenizer(trained).encode_batch(["<s> a"])
    assert len(tokens.ids) == 5


def test_a_tokenizer_over_atoms():
    """Atoms a0 a1 a2 b0 b1 b2; a = a0 b0, b = a1 b2, c = a2 b1. Merges: b0 a1 (across characters), a2 b1 (= c)."""
    code = Codebook("random", 2, 3, "abc", np.array([0, 5, 7]))
    alphabet = [atom(number) for number in range(6)]
    merges = [(alphabet[3], alphabet[1]), (alphabet[2], alphabet[4])]
    vocabulary = {token: id for id, token in enumerate([*alphabet, *(a + b for a, b in merges), "[UNK]"])}
    tokenizer = TokenizerOfAtoms(code, Tokenizer(models.BPE(vocabulary, merges, unk_token="[UNK]")))
    (tokens,) = tokenizer.encode_batch(["abc"])
    assert tokens.ids.tolist() == [0, 6, 5, 7]
    assert tokens.spans.tolist() == [[0, 1], [0, 2], [1, 2], [2, 3]]
    assert (tokens.byte_tokens, tokenizer.unknown) == (3, 8)


def test_contextual_codes_have_no_spans():
    (tokens,) = CodeAsTokenizer(_Contextual()).encode_batch(["ab"])
    assert len(tokens.ids) == 2 and tokens.spans is None and tokens.byte_tokens is None
    counts = count_tokens(CodeAsTokenizer(_Contextual()), texts_with_words([Document("1", "ab")]))
    assert of_tokenizer(counts)["words_kept_whole"] is None and of_tokenizer(counts)["fertility"] == 2


class _Contextual(ByteCode):
    contextual = True


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"add_dummy_prefix": False},
        {"byte_fallback": False, "character_coverage": 1},
        {"byte_fallback": False, "normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True},
        {"normalization_rule_name": "nfkc_cf", "add_dummy_prefix": False},
        {"user_defined_symbols": "▁▁,▁▁▁▁,a▁b,中国"},
    ],
)
@pytest.mark.parametrize("algorithm", ["bpe", "unigram", "char"])
def test_a_sentencepiece_model_as_its_package_encodes(algorithm, options, tmp_path):
    """The package gives no place to bytes that are not the last of their character, nor to spaces at the end."""
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "a.model"
    path.write_bytes(small_bases.sentencepiece_model(algorithm, vocab_size=1500, **options))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    tokenizer = read_text_tokenizer(path)
    assert tokenizer.vocabulary == tokenizer.ids == processor.get_piece_size()
    assert tokenizer.unknown == processor.unk_id()
    texts = [*small_bases.TEXTS[:60], "", "a  b", "▁a▁ \U0001f600\U0001f601é[REF] ①", "  \u200b "]
    texts += ["a b", "ba   b     c", "中国", "の日の日本", "<s> a </s><unk>"]
    for text, tokens in zip(texts, tokenizer.encode_batch(texts), strict=True):
        expected = processor.encode(text, return_type="offset_mapping")
        assert tokens.ids.tolist() == expected["ids"]
        assert tokens.byte_tokens == sum(map(processor.is_byte, expected["ids"]))
        assert tokens.spans[:, 0].tolist() == [start for start, _ in expected["offsets"]]
        placed = [place for place, (start, end) in enumerate(expected["offsets"][:-1]) if start < end]
        assert tokens.spans[placed].tolist() == [list(expected["offsets"][place]) for place in placed]
