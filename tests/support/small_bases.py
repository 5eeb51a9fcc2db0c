"""Small tokenizers with byte fallback, one of each kind, for bit-level codes over them."""

import io
from functools import cache
from itertools import chain
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tokenlab.codes.bits.over.training import train_byte_fallback
from tokenlab.generated import generate
from tokenlab.tokenizers.bpe import train_byte_level

TEXTS = [
    document.text
    for pair in zip(generate("zh", sentences=300, seed=1), generate("en", sentences=300, seed=1), strict=True)
    for document in pair
]
AWKWARD = [
    "",
    " ",
    " a",
    "  a  b ",
    "a\nb\tc",
    "▁",
    " ▁a▁ b",
    "<0x41>",
    "<s></s><unk>",
    "<|endoftext|>",
    "鼎A鼎@鼎ß鼎",
    "鼎\u07ff鼎中龍かな한😀鼎\U00100000",
    "\0\x7f\x80\ud7ff\ue000\uffff",
]
"""Texts that a careless code loses."""


@cache
def pieces() -> Tokenizer:
    """BPE of pieces with byte pieces."""
    return train_byte_fallback(TEXTS, 900, 120)


@cache
def byte_level() -> Tokenizer:
    """Byte-level BPE with GPT-2's expression."""
    return train_byte_level(TEXTS[:200], 700, ["<|endoftext|>"])


@cache
def unigram() -> Tokenizer:
    """Unigram with byte pieces, as converters of SentencePiece models write it: Metaspace, special tokens as pieces."""
    words = sorted({word for text in TEXTS[:100] for word in text.split()} - {""})
    characters = sorted(set(chain.from_iterable(TEXTS)) - {" "})[:100]
    scored = {piece: -5.0 - len(piece) for piece in ["▁", *characters, *("▁" + word for word in words)]}
    fixed = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer = Tokenizer(models.Unigram([*((piece, 0.0) for piece in fixed), *scored.items()], 0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


@cache
def with_added_tokens() -> Tokenizer:
    """`pieces` with ordinary and special added tokens, a template with BOS, and no space before a text."""
    tokenizer = Tokenizer.from_str(pieces().to_str())
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.add_tokens([AddedToken("[REF]", normalized=False), AddedToken("鼎鼎", normalized=False)])
    tokenizer.add_special_tokens([AddedToken("[INST]", normalized=False)])
    return tokenizer


KINDS = {"pieces": pieces, "byte level": byte_level, "unigram": unigram, "added tokens": with_added_tokens}
"""Kind -> the tokenizer."""


@cache
def sentencepiece_model(algorithm: str, **options: Any) -> bytes:
    """A model trained by SentencePiece, "bpe", "unigram" or "char", with byte pieces and a user-defined piece."""
    sentencepiece = pytest.importorskip("sentencepiece")
    out = io.BytesIO()
    usual = {
        "vocab_size": 1000,
        "byte_fallback": True,
        "character_coverage": 0.98,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "user_defined_symbols": "[REF]",
        "hard_vocab_limit": False,
        "minloglevel": 2,
    }
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=out, model_type=algorithm, **{**usual, **options}
    )
    return out.getvalue()
