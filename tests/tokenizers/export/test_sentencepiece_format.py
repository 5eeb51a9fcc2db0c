"""The SentencePiece model: by the description of the format, and by the library where it is installed."""

import pytest
import unicode_text
from command import tokenlab_here
from hypothesis import given

from tokenlab.formats.tokenizer_file import read_tokenizer
from tokenlab.ngrams import ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions
from tokenlab.tokenizers.export import (
    ExportOptions,
    SentencePiece,
    learn_vocabulary,
    measure_agreement,
    sentencepiece_model,
    unigram_tokenizer,
)

BEST = SegmentOptions(weight=1.25, vbe_weight=0.5)
SPECIAL = ("pad=<pad>", "eos=<|im_end|>", "<|im_start|>")


@pytest.fixture(scope="module")
def sentences(chinese_sentences):
    return [*chinese_sentences, *unicode_text.SPACED.values(), *unicode_text.UNSPACED.values(), "▁中国▁"]


@pytest.fixture(scope="module")
def vocabulary(sentences):
    return learn_vocabulary(sentences, ngram_statistics(sentences), BEST, ExportOptions(special_tokens=SPECIAL))


def test_pieces_scores_and_settings(vocabulary):
    pytest.importorskip("transformers")
    from tokenlab.tokenizers.export.sentencepiece_format import description

    model = description().ModelProto.FromString(sentencepiece_model(vocabulary))
    types = description().ModelProto.SentencePiece
    expected = vocabulary.pieces
    assert [piece.piece for piece in model.pieces] == expected
    scores = dict(zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True))
    assert all(piece.score == pytest.approx(scores[piece.piece], rel=1e-6) for piece in model.pieces)
    kinds = [types.UNKNOWN, types.CONTROL, types.CONTROL, types.CONTROL, *[types.BYTE] * 256]
    assert [piece.type for piece in model.pieces[:260]] == kinds
    # The character U+2581 stands for a space there: it must become bytes.
    others = [types.UNUSED if "\u2581" in piece else types.NORMAL for piece in expected[260:]]
    assert [piece.type for piece in model.pieces[260:]] == others
    assert types.UNUSED in others
    trained, normalizer = model.trainer_spec, model.normalizer_spec
    assert (trained.unk_id, trained.pad_id, trained.eos_id, trained.bos_id) == (0, 1, 2, -1)
    assert (trained.vocab_size, trained.byte_fallback) == (len(expected), True)
    assert not (normalizer.add_dummy_prefix or normalizer.remove_extra_whitespaces or normalizer.escape_whitespaces)


@pytest.fixture(scope="module")
def library(vocabulary):
    pytest.importorskip("sentencepiece")
    return SentencePiece(sentencepiece_model(vocabulary))


def test_segments_as_the_segmenter(library, sentences, vocabulary):
    segmenter = Segmenter(ngram_statistics(sentences), BEST)
    found = measure_agreement(library, segmenter, sentences[:-1])
    assert found.words.recall >= 0.95  # scores are float32, so ties fall either way
    assert found.restored == found.lines
    tokenizer = unigram_tokenizer(vocabulary)
    text = "<|im_start|> GPT-4 <0x41>"
    tokenizer.encode_special_tokens = True
    assert library.encode([text])[0].ids == tokenizer.encode(text).ids


def test_it_decodes_every_text_to_itself_also_read_as_a_tokenizer(library, vocabulary, tmp_path):
    (tmp_path / "exported.model").write_bytes(sentencepiece_model(vocabulary))
    tokenizer = read_tokenizer(tmp_path / "exported.model").tokenizer
    tokenizer.encode_special_tokens = True

    @given(unicode_text.like_tokens)
    def check(text):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text
        (encoded,) = library.encode([text])
        assert library.decode([encoded.ids]) == [text]
        assert all(number not in (0, 1, 2, 3) for number in encoded.ids)  # no special token comes from text
        if "\u2581" not in text:  # which is unused there; the library `tokenizers` knows no unused pieces
            assert ids == encoded.ids

    check()


def test_the_delimiter_of_segment_is_read_by_the_trainer(tmp_path, chinese_sentences):
    """`tokenlab segment --delimiter` writes what --pretokenization_delimiter reads: no piece crosses a boundary."""
    library = pytest.importorskip("sentencepiece")
    raw, cut = tmp_path / "raw.txt", tmp_path / "cut.txt"
    raw.write_text("\n".join(chinese_sentences) + "\n", encoding="utf-8")
    cut.write_text(tokenlab_here("segment", raw, "--delimiter", "\u241f"), encoding="utf-8")
    assert cut.read_text(encoding="utf-8").replace("\u241f", "") == raw.read_text(encoding="utf-8")
    library.SentencePieceTrainer.train(
        input=str(cut),
        model_prefix=str(tmp_path / "trained"),
        vocab_size=2000,
        hard_vocab_limit=False,
        pretokenization_delimiter="\u241f",
        normalization_rule_name="identity",
        minloglevel=2,
    )
    trained = library.SentencePieceProcessor(model_file=str(tmp_path / "trained.model"))
    inside = cut.read_text(encoding="utf-8")
    pieces = [trained.id_to_piece(number) for number in range(3, len(trained))]
    words = [piece.replace("\u2581", "") for piece in pieces if "\u2581" not in piece[1:]]
    assert len([word for word in words if len(word) > 1]) > 20
    assert all(word in inside for word in words)
