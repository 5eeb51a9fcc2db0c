"""The normalisation of SentencePiece models against its package."""

import unicodedata
from dataclasses import replace

import pytest
import small_bases
import unicode_text
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.core.errors import InputError
from tokenlab.formats.piece_normalizer import PieceNormalizer
from tokenlab.formats.pieces import read_pieces

sentencepiece = pytest.importorskip("sentencepiece")

CHANGED = [chr(code) for code in range(0x30000) if not unicodedata.is_normalized("NFKC", chr(code))]
DECOMPOSED = [unicodedata.normalize("NFD", chr(code)) for code in range(0xC0, 0x2000)]
CHARACTERS = st.one_of(
    st.sampled_from(CHANGED),
    st.sampled_from(DECOMPOSED),
    st.sampled_from([" ", "a", "▁", "[REF]"]),
    unicode_text.character,
)


@pytest.fixture(scope="module", params=["nmt_nfkc", "nmt_nfkc_cf", "identity"])
def normalizers(request, tmp_path_factory):
    """The package's and ours, with and without the removal of spaces."""
    found = []
    for squeezes in (True, False):
        path = tmp_path_factory.mktemp("model") / "a.model"
        options = {"normalization_rule_name": request.param, "remove_extra_whitespaces": squeezes}
        path.write_bytes(small_bases.sentencepiece_model("char", add_dummy_prefix=False, **options))
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        found.append((processor, PieceNormalizer(read_pieces(path), "a.model")))
    return found


@settings(max_examples=300)
@given(parts=st.lists(CHARACTERS, max_size=12))
def test_texts_are_normalised_as_the_package_does(normalizers, parts):
    text = "".join(parts)
    for processor, normalizer in normalizers:
        normalised, places = normalizer(text)
        assert normalised == processor.normalize(text).replace("▁", " ")
        assert len(places) == len(normalised) and sorted(places) == places.tolist()


def test_each_character_comes_from_one_of_the_text(normalizers):
    processor, normalizer = normalizers[0]
    for text in ("  ab  c ", "x\ufb01 \uff76\uff9e e\u0301", "\u200b"):
        normalised, places = normalizer(text)
        offsets = processor.normalize(text, with_offsets=True)[1]
        assert places.tolist() == offsets[: len(normalised)]


def test_a_damaged_table(tmp_path):
    path = tmp_path / "a.model"
    path.write_bytes(small_bases.sentencepiece_model("char", normalization_rule_name="nmt_nfkc"))
    model = read_pieces(path)
    cut = PieceNormalizer(replace(model, character_map=model.character_map[:-20_000]), "a.model")
    with pytest.raises(InputError, match=r"a\.model: .* damaged"):
        cut("".join(CHANGED))
    for length in (1, 4, 5, 1000):
        PieceNormalizer(replace(model, character_map=model.character_map[:length]), "a.model")("no error")
