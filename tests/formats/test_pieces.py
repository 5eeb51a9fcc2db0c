"""SentencePiece models: the reader against the package, and on damaged files."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from real_tokenizers import tokenizer_folder
from small_bases import sentencepiece_model

from tokenlab.core.errors import InputError
from tokenlab.formats.pieces import Algorithm, PieceKind, PieceModel, read_pieces


def compare(path: Path, model: PieceModel) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    other = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert len(model.pieces) == other.get_piece_size()
    for id, piece in enumerate(model.pieces):
        assert piece.text == other.id_to_piece(id)
        if piece.kind == PieceKind.NORMAL:
            assert piece.score == other.get_score(id)
        assert (piece.kind == PieceKind.UNKNOWN) == other.is_unknown(id)
        assert (piece.kind == PieceKind.CONTROL) == other.is_control(id)
        assert (piece.kind == PieceKind.BYTE) == other.is_byte(id)
        assert (piece.kind == PieceKind.UNUSED) == other.is_unused(id)
    assert (model.bos, model.eos) == tuple(id if id >= 0 else None for id in (other.bos_id(), other.eos_id()))


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("bpe", {}),
        ("unigram", {"byte_fallback": False, "normalization_rule_name": "nmt_nfkc"}),
        ("bpe", {"byte_fallback": False, "normalization_rule_name": "nfkc", "add_dummy_prefix": False, "bos_id": -1}),
    ],
)
def test_models_trained_by_the_package(tmp_path: Path, algorithm: str, options: dict[str, object]) -> None:
    path = tmp_path / "a.model"
    path.write_bytes(sentencepiece_model(algorithm, **options))
    model = read_pieces(path)
    compare(path, model)
    assert model.algorithm == (Algorithm.BPE if algorithm == "bpe" else Algorithm.UNIGRAM)
    assert model.byte_fallback == options.get("byte_fallback", True)
    assert model.dummy_prefix == options.get("add_dummy_prefix", True)
    assert bool(model.character_map) == ("normalization_rule_name" in options)


@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3", "mistral-v7", "cluecorpussmall"])
def test_published_models(name: str) -> None:
    path = tokenizer_folder(name) / "tokenizer.model"
    model = read_pieces(path)
    compare(path, model)
    if name.startswith("mistral"):
        assert (model.bos, model.eos, model.byte_fallback, model.normalizer) == (1, 2, True, "identity")
        assert model.tokens[next(id for id, piece in enumerate(model.pieces) if piece.text == "<0x41>")] == b"A"
    else:
        assert (model.algorithm, model.normalizer, model.squeezes_spaces) == (Algorithm.UNIGRAM, "nmt_nfkc", True)


SMALL = b"".join(
    b"\n" + bytes([len(body)]) + body
    for body in (b"\n\x05<unk>\x15\0\0\0\0\x18\x02", b"\n\x01a\x15\0\0\x80\xbf", b"\n\x02ab\x15\0\0\0\xc0")
)


def read(tmp_path: Path, content: bytes) -> PieceModel:
    path = tmp_path / "a.model"
    path.write_bytes(content)
    return read_pieces(path)


def test_defaults_where_fields_are_left_out(tmp_path: Path) -> None:
    model = read(tmp_path, SMALL)
    assert [(piece.text, piece.score) for piece in model.pieces] == [("<unk>", 0.0), ("a", -1.0), ("ab", -2.0)]
    assert model.algorithm == Algorithm.UNIGRAM and model.dummy_prefix and not model.byte_fallback
    assert (model.bos, model.eos) == (None, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes"),
        (b"PK\x03\x04 an archive", "no tokenizer of a known format"),
        (SMALL[:-1], "breaks off at byte"),
        (SMALL + SMALL[:16], "there twice"),
        (b"\x12\x02\x18\x02", "it has no pieces"),
        (SMALL + b"\x12\x02\x18\x09", "unknown algorithm 9"),
        (SMALL + b"\x12\x03\x98\x02\x01", "byte fallback with 0 of the 256 bytes"),
        (b"\n\x03\n\x01\xff", "not UTF-8"),
        (b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "breaks off at byte"),
    ],
)
def test_damaged_models_are_one_line_errors(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_bytes_do_more_than_raise_an_input_error(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(SMALL)
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    content += data.draw(st.binary(max_size=8))
    try:
        read(tmp_path, bytes(content))
    except InputError as error:
        assert "\n" not in str(error)
