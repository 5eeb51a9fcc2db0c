"""The vocabulary of a BPE tokenizer as bytes, for a second BPE inside its tokens."""

from pathlib import Path

from tokenlab.core.errors import InputError
from tokenlab.formats.hugging_face import PLACES
from tokenlab.formats.tokenizer_file import read_tokenizer


def vocabulary_of(path: str | Path) -> list[bytes]:
    """The spellings of the tokens of a BPE tokenizer, each once, in the order of ids.

    Special tokens and those of the unknown spell no text and are left out. A U+2581 that stands for a space is a space.

    Args:
        path: a file or folder of any format of `tokenlab.formats.read_tokenizer`; a rank file needs no expression.

    Raises InputError for a missing, damaged or unknown file, and for a tokenizer that is not BPE.
    """
    file = read_tokenizer(path)
    if file.algorithm != "BPE":
        raise InputError(
            f"{file.path}: its model is {file.algorithm}; hierarchical BPE needs a tokenizer of BPE, whose tokens it "
            "divides"
        )
    if file.format == "tokenizer.json":
        file.library.check_spelling(str(file.path), PLACES)
    return list(dict.fromkeys(token for token in file.tokens if token))
