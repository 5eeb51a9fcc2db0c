"""The exported tokenizer segments as the segmenter, decodes every text to itself, and needs nothing of this library."""

import json
import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import unicode_text
from hypothesis import given, settings

from tokenlab.core.errors import InputError
from tokenlab.ngrams import ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions
from tokenlab.tokenizers.export import (
    ExportOptions,
    HuggingFace,
    export_tokenizer,
    learn_vocabulary,
    measure_agreement,
    parse_special_tokens,
    save_tokenizer_folder,
    unigram_tokenizer,
    vocabulary_of_words,
)
from tokenlab.tokenizers.export.vocabulary import BYTES, COVERED, WHITESPACE, spelled_otherwise

BEST = SegmentOptions(weight=1.25, vbe_weight=0.5)
WAYS = [
    BEST,
    SegmentOptions(single_character="self"),
    SegmentOptions(single_character=-3.0, isolate="punctuation"),
    SegmentOptions(isolate="none", tie="long"),
    SegmentOptions(entropy_only=True, split_kana=True),
]


@pytest.fixture(scope="module")
def mixed(chinese_sentences):
    scripts = [*unicode_text.SPACED.values(), *unicode_text.UNSPACED.values()]
    return [*chinese_sentences, *scripts, "今天用tokenizer和GPT-4分词，３５．６％。", "東京タワーへ行く"]


@pytest.fixture(scope="module")
def statistics(mixed):
    return ngram_statistics(mixed)


@pytest.fixture(scope="module")
def of_chinese(chinese_sentences):
    return ngram_statistics(chinese_sentences)


def words_of(segmenter, sentences):
    """Word -> how often it is a segment."""
    return dict(Counter(word for batch in segmenter.segment(sentences) for word in batch.text().split()))


@pytest.mark.parametrize("how", WAYS, ids=lambda how: f"{how.isolate} {how.single_character}")
def test_segments_of_the_training_text_are_tokens(mixed, statistics, how):
    vocabulary = learn_vocabulary(mixed, statistics, how, ExportOptions())
    tokenizer = unigram_tokenizer(vocabulary)
    found = measure_agreement(HuggingFace(tokenizer), Segmenter(statistics, how), mixed)
    assert found.restored == found.lines == len(mixed)
    # What differs are ties, which are common in a small text: the sums are equal.
    assert found.words.recall >= 0.97
    score_of = dict(zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True))
    for batch in Segmenter(statistics, how).segment(mixed):
        for text, spans in zip(batch.sentences(), batch.spans(), strict=True):
            tokens = [token for token in tokenizer.encode(text).tokens if not token.isspace()]
            best = sum(score_of[text[a:b]] for a, b in spans)
            assert sum(score_of[token] for token in tokens) == pytest.approx(best, abs=1e-6)


def test_without_ties_every_segment_is_a_token(chinese_sentences):
    """Numbers of the n-grams instead of utilities: no two sums are equal."""
    statistics = ngram_statistics(chinese_sentences)
    rng = np.random.default_rng(3)
    statistics.min_pmi[statistics.rows(2).start :] = rng.normal(size=len(statistics) - statistics.rows(2).start)
    statistics.left_entropy[:] = rng.random(len(statistics))
    statistics.right_entropy[:] = rng.random(len(statistics))
    vocabulary = learn_vocabulary(chinese_sentences, statistics, SegmentOptions(), ExportOptions())
    found = measure_agreement(
        HuggingFace(unigram_tokenizer(vocabulary)), Segmenter(statistics, SegmentOptions()), chinese_sentences
    )
    assert found.tokens.both == found.tokens.gold == found.tokens.predicted


@pytest.fixture(scope="module")
def tokenizers(mixed, statistics):
    return [
        export_tokenizer(mixed, statistics, how, ExportOptions(model=model, vocabulary_size=size))
        for how in (BEST, SegmentOptions(isolate="none"))
        for model, size in (("unigram", None), ("unigram", 4000), ("bpe", 4000))
    ]


def test_decodes_every_text_to_itself(tokenizers):
    @settings(max_examples=300)
    @given(unicode_text.like_tokens)
    def check(text):
        for tokenizer in tokenizers:
            assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text
            tokenizer.encode_special_tokens = True
            ids = tokenizer.encode(text).ids
            tokenizer.encode_special_tokens = False
            assert tokenizer.decode(ids, skip_special_tokens=True) == text  # nothing in it was special

    check()


def test_digits_letters_punctuation_and_whitespace_are_never_bytes():
    sentences = ["天地玄黄宇宙洪荒"]
    for model in ("unigram", "bpe"):
        tokenizer = export_tokenizer(
            sentences, ngram_statistics(sentences), BEST, ExportOptions(model=model, vocabulary_size=600)
        )
        text = COVERED + "天 \n\t\u3000\r\n" + "    x"
        assert "<0x" not in " ".join(tokenizer.encode(text).tokens)
        assert sorted(tokenizer.encode(" " * 21 + "\n\nx").tokens) == ["\n\n", " ", " " * 4, " " * 16, "x"]
        assert tokenizer.encode("ж").tokens == ["<0xD0>", "<0xB6>"]


def test_smaller_vocabularies_keep_frequent_segments(chinese_sentences, of_chinese):
    full = learn_vocabulary(chinese_sentences, of_chinese, BEST, ExportOptions())
    smaller = learn_vocabulary(
        chinese_sentences, of_chinese, BEST, ExportOptions(vocabulary_size=len(full.pieces) - 300)
    )
    assert len(smaller.pieces) == len(full.pieces) - 300
    assert smaller.pieces[: full.begin + len(WHITESPACE)] == [*full.special.tokens, *BYTES, *WHITESPACE]
    counts = words_of(Segmenter(of_chinese, BEST), chinese_sentences)
    lost = set(full.pieces) - set(smaller.pieces)
    kept = {piece for piece in smaller.pieces if len(piece) > 1 and piece in counts}
    assert all(len(piece) > 1 for piece in lost)
    assert max(counts[piece] for piece in lost) <= min(counts[piece] for piece in kept)
    assert unigram_tokenizer(smaller).get_vocab_size() == len(smaller.pieces)


def test_bpe_has_no_merge_across_words(chinese_sentences, of_chinese):
    size = 3000
    tokenizer = export_tokenizer(chinese_sentences, of_chinese, BEST, ExportOptions(model="bpe", vocabulary_size=size))
    words = words_of(Segmenter(of_chinese, BEST), chinese_sentences)
    inside = "\n".join(words)
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    assert len(vocabulary) <= size
    assert all(len(token) == 1 or token in inside for token in vocabulary[3 + len(BYTES) + len(WHITESPACE) :])
    known = sum(len(tokenizer.encode(word).ids) == 1 for word in words)
    assert known > 300


def test_words_of_any_segmenter(chinese_sentences, of_chinese):
    """The sum of log-probabilities and bonuses is the largest of all, by the plain recursion over the words."""
    cut = list(Segmenter(of_chinese, SegmentOptions(decoder="greedy")).segment(chinese_sentences))
    counts = Counter(word for batch in cut for word in batch.text().split())
    total = sum(counts.values())
    vocabulary = vocabulary_of_words(cut, ExportOptions(), bonus=1.5)
    score_of = dict(zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True))
    han = [word for word in counts if all("\u4e00" <= character <= "\u9fff" for character in word)]
    assert all(score_of[word] == pytest.approx(math.log(counts[word] / total) + 1.5) for word in han)
    tokenizer = unigram_tokenizer(vocabulary)
    for sentence in chinese_sentences[:50]:
        run = "".join(character for character in sentence if "\u4e00" <= character <= "\u9fff")
        tokens = tokenizer.encode(run).tokens
        assert "".join(tokens) == run
        best = max(spelled_otherwise(run, score_of), score_of.get(run, -math.inf))
        assert sum(score_of[token] for token in tokens) == pytest.approx(best)
    smaller = vocabulary_of_words(cut, ExportOptions(vocabulary_size=len(vocabulary.pieces) - 200))
    assert len(smaller.pieces) == len(vocabulary.pieces) - 200
    with pytest.raises(InputError, match="no character"):
        vocabulary_of_words([], ExportOptions())


SPECIAL = ("pad=<pad>", "unk=<?>", "eos=<|im_end|>", "<|im_start|>", "PAD")


def test_special_tokens(chinese_sentences, of_chinese):
    for model in ("unigram", "bpe"):
        options = ExportOptions(model=model, special_tokens=SPECIAL, vocabulary_size=4000)
        tokenizer = export_tokenizer(chinese_sentences, of_chinese, BEST, options)
        assert [tokenizer.id_to_token(i) for i in range(5)] == ["<?>", "<pad>", "<|im_end|>", "<|im_start|>", "PAD"]
        text = " <|im_start|> PAD\n<?>"
        assert tokenizer.encode(text).tokens == [" ", "<|im_start|>", " ", "PAD", "\n", "<?>"]
        assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text
        tokenizer.encode_special_tokens = True
        assert min(tokenizer.encode(text).ids) >= 5
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


ALONE = """
import sys, json
sys.modules["tokenlab"] = None
from transformers import AutoTokenizer, PreTrainedTokenizerFast
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
assert isinstance(tokenizer, PreTrainedTokenizerFast)
text = json.load(sys.stdin)
ids = tokenizer(text)["input_ids"]
assert tokenizer.decode(ids) == text
assert tokenizer.decode(tokenizer(text, split_special_tokens=True)["input_ids"], skip_special_tokens=True) == text
names = [tokenizer.unk_token, tokenizer.pad_token, tokenizer.eos_token, tokenizer.bos_token]
padded = tokenizer(["a", text], padding=True)["input_ids"]
assert padded[0][-1] == tokenizer.pad_token_id or tokenizer.pad_token is None
json.dump([ids, names, sorted(tokenizer.all_special_tokens), len(tokenizer)], sys.stdout)
"""


@pytest.mark.slow
def test_loads_where_this_library_cannot_be_imported(tmp_path, chinese_sentences, of_chinese):
    pytest.importorskip("transformers")
    options = ExportOptions(special_tokens=SPECIAL)
    tokenizer = export_tokenizer(chinese_sentences, of_chinese, BEST, options)
    save_tokenizer_folder(tokenizer, parse_special_tokens(SPECIAL), tmp_path / "exported")
    assert sorted(path.name for path in (tmp_path / "exported").iterdir()) == [
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    text = f"<|im_start|>user\n{chinese_sentences[0]}  GPT-4 été \U0001f600<|im_end|>"
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(tmp_path / "exported")],
        input=json.dumps(text),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"HF_HUB_OFFLINE": "1", "HOME": str(tmp_path), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    ids, names, special, entries = json.loads(done.stdout)
    assert ids == tokenizer.encode(text).ids
    assert names == ["<?>", "<pad>", "<|im_end|>", None]
    assert special == sorted(["<?>", "<pad>", "<|im_end|>", "<|im_start|>", "PAD"])
    assert entries == tokenizer.get_vocab_size()
