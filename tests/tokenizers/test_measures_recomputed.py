"""`tokenlab measure` against the tokenizers' own libraries: every kind of tokenizer, five languages, every measure by
its formula from the ids and offsets that `tokenizers`, SentencePiece or tiktoken give."""

import base64
import hashlib
import json
import math
import re
from collections import Counter
from typing import NamedTuple

import pytest
import small_bases
import unicode_text
from command import tokenlab_here
from tiny_tokenizers import EXPRESSIONS, byte_level, train
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from tokenlab.formats import ranks
from tokenlab.formats.byte_level import spelled_bytes
from tokenlab.generated import generate

sentencepiece = pytest.importorskip("sentencepiece")
tiktoken = pytest.importorskip("tiktoken")

AWKWARD = [
    "ﬁne  cafe\u0301 №１ ½  ",
    " \uff76\uff9e▁x\u200b 😀 鼎ß\tend ",
    "Straße STRASSE ﬃ",
    "The doctor is reading a book.",
]
"""What normalisation changes, with characters that no vocabulary here has."""
TEXTS = {
    language: [one.text for one in generate(language, sentences=30, seed=5)] + AWKWARD
    for language in ("en", "de", "zh")
}
TEXTS["ko"] = [text for name, text in unicode_text.SPACED.items() if name.startswith("Korean")] + AWKWARD
TEXTS["hi"] = [unicode_text.SPACED["Hindi"], unicode_text.SPACED["Gujarati"], *AWKWARD]
TRAINED_ON = small_bases.TEXTS[:200]


class Token(NamedTuple):
    """A token as its library gives it, with the characters of the text that it covers."""

    id: int
    start: int
    end: int
    of_bytes: bool


class Own:
    """A tokenizer in its own library."""

    def __init__(self, size, unknown, encode):
        self.size, self.unknown, self.encode = size, unknown, encode


def of_hugging_face(tokenizer):
    def encode(text):
        found = tokenizer.encode(text, add_special_tokens=False)
        return [
            Token(
                id, *span, "\ufffd" in tokenizer.decode([id]) or bool(re.fullmatch("<0x..>", tokenizer.id_to_token(id)))
            )
            for id, span in zip(found.ids, found.offsets, strict=True)
        ]

    unknown = getattr(tokenizer.model, "unk_token", None)
    return Own(tokenizer.get_vocab_size(), tokenizer.token_to_id(unknown or "<unk>"), encode)


def of_sentencepiece(model):
    """SentencePiece gives the last piece of a character its place, the others none."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    def encode(text):
        found = processor.encode(text, return_type="offset_mapping")
        return [
            Token(id, start, max(end, start + (piece != "▁")), processor.is_byte(id))
            for id, piece, (start, end) in zip(found["ids"], found["pieces"], found["offsets"], strict=True)
        ]

    return Own(processor.get_piece_size(), processor.unk_id(), encode)


def of_tiktoken(pattern, tokens, first=0):
    encoding = tiktoken.Encoding(
        "toy", pat_str=pattern, mergeable_ranks={token: rank for rank, token in enumerate(tokens)}, special_tokens={}
    )

    def encode(text):
        found, at = [], 0
        for id in encoding.encode_ordinary(text):
            token = encoding.decode_single_token_bytes(id)
            before, after = text.encode()[:at], text.encode()[: at + len(token)]
            start, end = len(before.decode(errors="ignore")), len(after.decode(errors="replace"))
            found.append(Token(id + first, start, end, "\ufffd" in token.decode(errors="replace")))
            at += len(token)
        return found

    return Own(encoding.n_vocab + first, None, encode)


def hugging_face(model, trainer, normalizer=None, pre_tokenizer=None):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.train_from_iterator(TRAINED_ON, trainer)
    return tokenizer


UNKNOWN = {"special_tokens": ["[UNK]"], "show_progress": False}
METASPACE = pre_tokenizers.Metaspace()
HUGGING_FACE = {
    "byte-level BPE": lambda: train(
        byte_level(EXPRESSIONS["llama3"]), [*TRAINED_ON, "".join(map(chr, range(0x900)))], 300
    ),
    "BPE of pieces with byte fallback": small_bases.pieces,
    "BPE after Metaspace": lambda: hugging_face(
        models.BPE(unk_token="[UNK]"), trainers.BpeTrainer(vocab_size=500, **UNKNOWN), normalizers.NFC(), METASPACE
    ),
    "WordPiece": lambda: hugging_face(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=600, **UNKNOWN),
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    ),
    "Unigram": lambda: hugging_face(
        models.Unigram(),
        trainers.UnigramTrainer(vocab_size=1500, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False),
        normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]),
        METASPACE,
    ),
    "WordLevel": lambda: hugging_face(
        models.WordLevel(unk_token="[UNK]"),
        trainers.WordLevelTrainer(vocab_size=300, **UNKNOWN),
        normalizers.Lowercase(),
        pre_tokenizers.Whitespace(),
    ),
}
DEFAULTS = {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True}
SENTENCEPIECE = {
    "SentencePiece unigram": ("unigram", DEFAULTS | {"byte_fallback": False}),
    "SentencePiece unigram, identity, byte fallback": ("unigram", {}),
    "SentencePiece BPE, byte fallback": ("bpe", DEFAULTS),
    "SentencePiece BPE, identity": ("bpe", {"byte_fallback": False, "add_dummy_prefix": False}),
    "SentencePiece characters, case folding": ("char", DEFAULTS | {"normalization_rule_name": "nmt_nfkc_cf"}),
}


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    """Path -> the tokenizer in its own library."""
    folder = tmp_path_factory.mktemp("tokenizers")
    found = {}
    for name, make in HUGGING_FACE.items():
        make().save(str(folder / f"{name}.json"))
        found[folder / f"{name}.json"] = of_hugging_face(Tokenizer.from_file(str(folder / f"{name}.json")))
    for name, (algorithm, options) in SENTENCEPIECE.items():
        model = small_bases.sentencepiece_model(algorithm, **options)
        (folder / f"{name}.model").write_bytes(model)
        found[folder / f"{name}.model"] = of_sentencepiece(model)
    _add_ranks(folder, found)
    (folder / "text.txt").write_text("\n".join(TRAINED_ON), encoding="utf-8")
    tokenlab_here("export", folder / "text.txt", "-o", folder / "ours")
    found[folder / "ours"] = of_hugging_face(Tokenizer.from_file(str(folder / "ours" / "tokenizer.json")))
    return found


def _add_ranks(folder, found):
    """GPT-2's pair, a rank file and Tekken, of the same tokens."""
    trained = small_bases.byte_level()
    (folder / "gpt2").mkdir()
    trained.model.save(str(folder / "gpt2"))
    pair = Tokenizer(models.BPE.from_file(str(folder / "gpt2/vocab.json"), str(folder / "gpt2/merges.txt")))
    pair.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pair.decoder = trained.decoder
    found[folder / "gpt2"] = of_hugging_face(pair)
    tokens = [spelled_bytes(trained.id_to_token(id)) for id in range(1, trained.get_vocab_size())]  # 0 is special.
    encoded = [base64.b64encode(token).decode() for token in tokens]
    (folder / "a.tiktoken").write_text("".join(f"{token} {rank}\n" for rank, token in enumerate(encoded)))
    found[folder / "a.tiktoken"] = of_tiktoken(ranks.QWEN, tokens)
    config = {"pattern": ranks.LLAMA4, "default_vocab_size": len(tokens) + 5, "default_num_special_tokens": 5}
    entries = [{"rank": rank, "token_bytes": token, "token_str": None} for rank, token in enumerate(encoded)]
    (folder / "tekken.json").write_text(json.dumps({"config": config | {"version": "v3"}, "vocab": entries}))
    found[folder / "tekken.json"] = of_tiktoken(ranks.LLAMA4, tokens, first=5)


def whole(start, end, tokens, text, unknown):
    """Whether a word is one token that spells it and nothing else but spaces."""
    touching = [token for token in tokens if token.start < end and token.end > start]
    spelled = "".join(text[token.start : token.end] for token in touching)
    return len(touching) == 1 and touching[0].id != unknown and spelled.strip() == text[start:end]


def expected(own, texts, spaced):
    encoded = [own.encode(text) for text in texts]
    ids = Counter(token.id for tokens in encoded for token in tokens)
    tokens, words = ids.total(), sum(len(text.split()) for text in texts)
    shares = [count / tokens for count in ids.values()]
    renyi = math.log2(sum(share**2.5 for share in shares)) / (1 - 2.5)
    kept = sum(
        whole(*word.span(), found, text, own.unknown)
        for text, found in zip(texts, encoded, strict=True)
        for word in re.finditer(r"\S+", text)
    )
    return {
        "tokens": tokens,
        "fertility": tokens / words if spaced else None,
        "words_kept_whole": kept / words if spaced else None,
        "characters_per_token": sum(map(len, texts)) / tokens,
        "bytes_per_token": sum(len(text.encode()) for text in texts) / tokens,
        "tokens_per_text": tokens / len(texts),
        "vocabulary_used": len(ids) / own.size,
        "byte_token_rate": sum(token.of_bytes for found in encoded for token in found) / tokens,
        "unknown_rate": ids[own.unknown] / tokens,
        "token_entropy": -sum(share * math.log2(share) for share in shares),
        "renyi_entropy": renyi,
        "renyi_efficiency": renyi / math.log2(own.size),
        "renyi_efficiency_observed": renyi / math.log2(len(ids)),
    }


def test_every_measure_of_every_tokenizer_in_every_language(tokenizers, monkeypatch, tmp_path):
    assert len(tokenizers) >= 10 and len(TEXTS) == 5
    (rank_file,) = (path for path in tokenizers if path.suffix == ".tiktoken")
    known = hashlib.sha256(rank_file.read_bytes()).hexdigest()
    monkeypatch.setitem(ranks.KNOWN, known, ranks.RankSettings("toy", ranks.QWEN))
    chosen = [argument for path in tokenizers for argument in ("--tokenizer", path)]
    for language, texts in TEXTS.items():
        (tmp_path / language).write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        rows = json.loads(tokenlab_here("measure", tmp_path / language, *chosen, "--json"))
        for row, own in zip(rows, tokenizers.values(), strict=True):
            values = expected(own, texts, spaced=language != "zh")
            assert {name: row[name] for name in values} == pytest.approx(values), (language, row["tokenizer"])
