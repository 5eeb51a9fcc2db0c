"""Tokenizers read from files of any format, to be measured."""

from pathlib import Path

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.hugging_face import loaded
from tokenlab.exact.adapters.reading import read_tokenizer
from tokenlab.formats.pieces import PieceKind, read_pieces
from tokenlab.formats.reading import as_utf8, read_bounded
from tokenlab.measure.hugging_face import HuggingFaceTokenizer
from tokenlab.measure.interface import TextTokenizer
from tokenlab.measure.spelling import SpellingTokenizer

_HUGGING_FACE = "tokenizer.json"


def read_text_tokenizer(path: str | Path) -> TextTokenizer:
    """A tokenizer to measure.

    Args:
        path: a `tokenizer.json` of any model and normalisation; a SentencePiece `.model` without normalisation; a rank
            file of tiktoken; a `tekken.json`; GPT-2's pair of files; or a folder with one of them.

    Raises:
        InputError: there is no such file, it is damaged, of another format, or not supported, with the reason.
    """
    path = Path(path)
    file = path / _HUGGING_FACE if path.is_dir() else path
    if file.is_file() and _is_tokenizer_json(read_bounded(file)):
        return HuggingFaceTokenizer(loaded(as_utf8(file, read_bounded(file)), str(file)))
    real = read_tokenizer(path)
    if real.tokenizer is not None and not real.automaton.prefix:
        return HuggingFaceTokenizer(real.tokenizer)
    return SpellingTokenizer(real.automaton, _byte_pieces(path))


def _is_tokenizer_json(content: bytes) -> bool:
    """Whether JSON has the keys of the library's files; the whole is checked when it is loaded."""
    return content.lstrip()[:1] == b"{" and b'"added_tokens"' in content and b'"model"' in content


def _byte_pieces(path: Path) -> list[int]:
    """The ids of the byte pieces of a SentencePiece model; none in other formats."""
    files = sorted(path.glob("*.model")) if path.is_dir() else [path]
    try:
        pieces = read_pieces(files[0]).pieces if files else ()
    except InputError:
        return []
    return [id for id, piece in enumerate(pieces) if piece.kind == PieceKind.BYTE]
