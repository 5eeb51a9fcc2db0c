import hashlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.tokenizers import BpeOptions, save_tokenizer, token_spans, train_bpe

SEGMENTED = ["我们 在 北京 。", "我们 爱 北京 ， 我们 爱 天 。"] * 4


def test_merges_stay_inside_segments():
    vocabulary = train_bpe(SEGMENTED, BpeOptions(100)).get_vocab()
    assert {"我们", "北京"} <= vocabulary.keys()
    assert not any("们爱" in token or "京。" in token for token in vocabulary)
    assert any(
        "们在" in token for token in train_bpe(["".join(s.split()) for s in SEGMENTED], BpeOptions(100)).get_vocab()
    )


def test_baseline_with_punctuation_split_off():
    raw = ["".join(sentence.split()) for sentence in SEGMENTED]
    assert not any(
        "。" in token and len(token) > 1 for token in train_bpe(raw, BpeOptions(100, "punctuation")).get_vocab()
    )
    assert any("。" in token and len(token) > 1 for token in train_bpe(raw, BpeOptions(100)).get_vocab())


def test_spans_cover_unknown_characters_and_skip_whitespace():
    text = "我们鑫 北京🀄"
    spans = token_spans(train_bpe(SEGMENTED, BpeOptions(100)), [text])[0]
    assert [text[a:b] for a, b in spans] == ["我们", "鑫", "北京", "🀄"]


@settings(max_examples=200)
@given(st.text(st.sampled_from("我们在北京爱天。， \n\t\u3000\u2028\x85\x0b\u00a0\u2003")))
def test_transformers_loads_it_and_round_trips(loaded, text):
    for tokenizer in loaded:
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "bpe"
    save_tokenizer(train_bpe(SEGMENTED, BpeOptions(100)), folder)
    direct = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), unk_token="[UNK]")
    return direct, AutoTokenizer.from_pretrained(folder)


def test_same_text_same_bytes(tmp_path):
    """In other processes, whose hash tables are seeded differently."""
    training = f"save_tokenizer(train_bpe({SEGMENTED * 3!r}, BpeOptions(60)), sys.argv[1])"
    program = f"import sys; from tokenlab.tokenizers.bpe import BpeOptions, save_tokenizer, train_bpe; {training}"
    digests = set()
    for name in ("x", "y"):
        subprocess.run([sys.executable, "-c", program, tmp_path / name], check=True)
        digests.add(hashlib.sha256((tmp_path / name / "tokenizer.json").read_bytes()).hexdigest())
    assert len(digests) == 1


def test_errors():
    with pytest.raises(ParameterError, match=r"vocabulary_size is 5, .* 10;"):
        train_bpe(SEGMENTED, BpeOptions(5))
    with pytest.raises(InputError, match="no text"):
        train_bpe(["  "], BpeOptions(100))
    with pytest.raises(ParameterError, match="pre_tokenizer"):
        train_bpe(SEGMENTED, BpeOptions(100, "bytes"))
