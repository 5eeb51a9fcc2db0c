"""Text as the tokens over a character code, for language models; see `tokenlab.language.coding`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from tokenlab.codes.interface import Code, atom, atom_numbers, write_code
from tokenlab.codes.registry import KINDS, read_code
from tokenlab.core.errors import InputError
from tokenlab.formats.hugging_face import loaded
from tokenlab.formats.pieces import BYTE_PIECES
from tokenlab.formats.reading import as_utf8, read_bounded
from tokenlab.language.coding import Offsets
from tokenlab.networks.interface import NO_STARTS, CodedPassage

if TYPE_CHECKING:
    from tokenlab.patches.interface import Patcher
    from tokenlab.tokenizers.hierarchical import HierarchicalBPE

CODE, TOKENIZER = "code.json", "tokenizer.json"


def atom_count(code: Code) -> int:
    """Atoms that encoded texts may have; byte escapes, too, where characters may be unknown."""
    return len(code.alphabet) + (0 if KINDS[code.kind].total else len(BYTE_PIECES))


class CodeCoder:
    """The atoms of a character code, or the tokens of a tokenizer over them.

    Args:
        code: a reversible one.
        tokenizer: of strings of atoms, such as `bpe_tokenizer` makes; None: each atom is a token.
        name: for messages.

    Raises InputError for a code that cannot be decoded.
    """

    patcher: "Patcher | None" = None
    hierarchical: "HierarchicalBPE | None" = None

    def __init__(self, code: Code, tokenizer: Tokenizer | None = None, name: str = "the code") -> None:
        if not code.reversible:
            raise InputError(f"{name}: the code {code.kind} cannot be decoded, so bits per byte are undefined")
        self.character_code, self.tokenizer, self.name = code, tokenizer, name
        size = atom_count(code) if tokenizer is None else tokenizer.get_vocab_size()
        self.spellings: Sequence[bytes] = (b"",) * size
        """Empty: a token may hold parts of characters that are no bytes."""

    def code(self, texts: Sequence[bytes], starts: Sequence[Offsets] | None = None) -> list[CodedPassage]:
        """As `Coder.code`; starts are ignored."""
        atoms = [self.character_code.encode(text.decode()) for text in texts]
        if self.tokenizer is None:
            ids = [atom_numbers(of_text) for of_text in atoms]
        else:
            unknown = self.tokenizer.token_to_id("[UNK]")
            found = self.tokenizer.encode_batch(atoms, add_special_tokens=False)
            ids = [np.array(encoding.ids, np.int32) for encoding in found]
            if any((of_text == unknown).any() for of_text in ids):
                raise InputError(f"{self.name}: its tokenizer lacks an atom of the code; train it with all atoms")
        return [CodedPassage(of_text, NO_STARTS, len(text)) for of_text, text in zip(ids, texts, strict=True)]

    def decode(self, ids: Iterable[int]) -> bytes:
        """As `Coder.decode`."""
        if self.tokenizer is None:
            atoms = "".join(map(atom, ids))
        else:
            atoms = "".join(self.tokenizer.id_to_token(id) or "" for id in ids)
        return self.character_code.decode(atoms).encode()

    def save(self, folder: Path) -> None:
        """Write code.json, and tokenizer.json, into an existing folder; `read` reads them."""
        write_code(self.character_code, folder / CODE)
        if self.tokenizer is not None:
            self.tokenizer.save(str(folder / TOKENIZER))

    @classmethod
    def read(cls, path: Path) -> "CodeCoder":
        """A code alone, from its file, or with its tokenizer, from a folder. Raises InputError for damage."""
        if not path.is_dir():
            return cls(read_code(path), None, str(path))
        file = path / TOKENIZER
        tokenizer = loaded(as_utf8(file, read_bounded(file)), str(file)) if file.is_file() else None
        return cls(read_code(path / CODE), tokenizer, str(path))
