"""The engine of each adapter against the package from which the tokenizer comes: tiktoken and sentencepiece."""

import os
from pathlib import Path
from typing import Any

import pytest
from real_tokenizers import all_names, names, real_lines, real_tokenizer, tokenizer_folder
from small_bases import TEXTS, sentencepiece_model

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.check import check_tokenizer
from tokenlab.exact.adapters.probes import probe_texts
from tokenlab.exact.adapters.reading import read_tokenizer
from tokenlab.formats.ranks import read_rank_tokenizer, read_tekken
from tokenlab.formats.tokenizer_file import read_tokenizer as read_file
from tokenlab.tokenizers import read_text_tokenizer

RANK_FILES = {
    "llama3": "tokenizer.model",
    "llama4": "tokenizer.model",
    "qwen": "qwen.tiktoken",
    "whisper-gpt2": "gpt2.tiktoken",
    "whisper-multilingual": "multilingual.tiktoken",
    "tekken": "tekken.json",
}


def texts() -> list[str]:
    mirror = os.environ.get("TOKENLAB_MIRROR")
    return [*probe_texts(), *(real_lines(Path(mirror), 150, first=500) if mirror else ())]


@pytest.mark.parametrize("name", names(*RANK_FILES))
def test_ranks_as_tiktoken(name: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    real, path = real_tokenizer(name), tokenizer_folder(name) / RANK_FILES[name]
    read = read_tekken(path) if name == "tekken" else read_rank_tokenizer(path)
    first = read.tokens.index(next(token for token in read.tokens if token is not None))
    ranks = {token: id - first for token, id in read.regular.items()}
    other = tiktoken.Encoding("other", pat_str=read.pattern, mergeable_ranks=ranks, special_tokens={})
    for text in texts():
        assert real.automaton.encode(text.encode()) == [id + first for id in other.encode_ordinary(text)], text


@pytest.mark.parametrize("name", names("mistral-v1", "mistral-v2", "mistral-v3", "mistral-v7"))
def test_pieces_as_sentencepiece(name: str) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    real = real_tokenizer(name)
    other = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer_folder(name) / "tokenizer.model"))
    for text in texts():
        if "\u2581" in text:
            with pytest.raises(InputError, match="has no tokens for"):
                real.automaton.encode(text.encode())
        else:
            assert real.automaton.encode(text.encode()) == other.encode(text), text


def test_unigram_as_sentencepiece_on_texts_that_are_normalised() -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    real = real_tokenizer("cluecorpussmall")
    path = tokenizer_folder("cluecorpussmall") / "tokenizer.model"
    other = sentencepiece.SentencePieceProcessor(model_file=str(path))
    compared = 0
    for text in texts():
        normalised = other.normalize(text).replace("\u2581", " ").removeprefix(" ")
        if normalised and other.unk_id() not in other.encode(normalised):
            assert real.automaton.encode(normalised.encode()) == other.encode(normalised), text
            compared += 1
    assert compared > 10


@pytest.mark.parametrize(
    ("algorithm", "options"), [("bpe", {}), ("unigram", {"byte_fallback": False, "character_coverage": 1})]
)
def test_pieces_that_a_user_defined_as_sentencepiece(algorithm: str, options: dict[str, Any], tmp_path: Path) -> None:
    defined = "▁▁,▁▁▁,  ,a▁b,c d,中国"
    path = tmp_path / "a.model"
    path.write_bytes(sentencepiece_model(algorithm, user_defined_symbols=defined, **options))
    other = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_file=str(path))
    real, measured = read_tokenizer(path), read_text_tokenizer(path)
    texts = [*TEXTS[:60:2], *(text.replace("，", "中国  ") for text in TEXTS[:60:2]), "中国"]
    for text in texts:
        assert real.automaton.encode(text.encode()) == other.encode(text), text
        assert measured.encode_batch([text])[0].ids.tolist() == other.encode(text), text
    whole = read_file(path).tokenizer
    assert [whole.token_to_id(name) for name in ("<unk>", "<s>", "</s>")] == [0, 1, 2]
    assert whole.encode("去中国", add_special_tokens=False).ids == other.encode("去中国")
    report = check_tokenizer(real, texts, walks=20)
    assert report.handled and report.texts > len(texts)


@pytest.mark.parametrize("name", all_names())
def test_special_tokens_the_empty_text_and_bytes_that_are_no_text(name: str) -> None:
    real = real_tokenizer(name)
    for text in ("<|endoftext|>", "</s>", "<s>"):
        try:
            ids = real.automaton.encode(text.encode())
        except InputError:
            continue
        assert not {real.bos, real.eos} & set(ids), "special tokens are ordinary text"
        assert real.decode(ids) == text.encode()
    for id in (real.bos, real.eos):
        assert id is None or real.automaton.vocabulary.tokens[id] is None
    assert real.automaton.encode(b"") == []
    assert real.automaton.may_end(real.automaton.start()) == (not real.automaton.prefix)
    with pytest.raises(InputError, match="not UTF-8 at byte 1"):
        real.automaton.encode(b"a\xff")
