"""The tokens of a tokenizer as patches (Dolga et al. 2025, section 2.1).

Special tokens are ordinary text, and the space that some tokenizers put before a text is put before every text. Of
pieces, U+2581 stands for a space, so a U+2581 of the text is spelled by bytes. With byte fallback, every text has
patches then; other tokenizers encode the texts for which they have tokens. A tokenizer that changes texts is refused at
the first text that it changes.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError
from tokenlab.formats.hugging_face import LibraryTokenizer, loaded
from tokenlab.formats.ranks import RankSettings
from tokenlab.formats.reading import as_utf8, read_bounded
from tokenlab.formats.tokenizer_file import read_tokenizer
from tokenlab.patches.interface import Starts

_BATCH = 1 << 22
"""Bytes of texts encoded at once."""
_FILE = "tokenizer.json"


class BpePatcher:
    """Patches that are the tokens of a tokenizer.

    The space before a text is in no patch. So the first patch of a text may be no token, and may have more symbols of a
    second BPE than its S.

    Attributes:
        name: where the tokenizer comes from, for messages.
        tokenizer: all of it, as its file has it.
        tokens: the bytes that each id spells, None for special tokens and that of the unknown.
        prefix: what is put before a text that is not empty: b" " or nothing.
    """

    causal = False

    def __init__(self, tokenizer: Tokenizer, name: str = "the tokenizer") -> None:
        """Raises InputError, with the reason, for a tokenizer whose tokens do not say which bytes they are."""
        self.name, self.tokenizer = name, tokenizer
        self._library = LibraryTokenizer(tokenizer)
        self._library.check_spelling(name)
        self.tokens, self.prefix = self._library.tokens, self._library.prefix
        changes = self._library.changes
        self._reason = f"its normaliser ({', '.join(changes)}) changes it" if changes else ""
        """Why texts may change, "" where they do not."""
        if self._library.adds_space:
            self._reason = "it puts a space before a text that has none"
        self._widths = np.array([len(token or b"") for token in self.tokens], np.int64)

    def encode(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        """The ids of each text; those of a prefix, too.

        Raises InputError for a text that is not UTF-8, that the tokenizer changes or that it has no tokens for.
        """
        found: list[NDArray[np.int32]] = []
        for batch in in_batches(texts, _BATCH):
            found += self._library.encode_batch(list(map(_decoded, batch)))
        for text, ids in zip(texts, found, strict=True):
            self._check(text, ids)
        return found

    def starts(self, texts: Sequence[bytes]) -> list[Starts]:
        """The patches of each text. Raises InputError as `encode`."""
        return [self._starts(ids) for ids in self.encode(texts)]

    def _check(self, text: bytes, ids: NDArray[np.int32]) -> None:
        spelled = self.prefix + text if text else b""
        same = int(self._widths[ids].sum()) == len(spelled)
        if same and self._reason:
            same = b"".join([self.tokens[id] or b"" for id in ids.tolist()]) == spelled
        if not same:
            reason = self._reason or "it has no tokens for some of the characters"
            raise InputError(f"{self.name} does not spell the text {_shown(text)} with its tokens: {reason}")

    def _starts(self, ids: NDArray[np.int32]) -> Starts:
        ends = np.cumsum(self._widths[ids]) - len(self.prefix)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)[: len(ends)]
        return starts[1:] if len(ends) and not ends[0] else starts  # The space alone is in no patch.


def read_bpe_patcher(path: str | Path, name: str | None = None) -> BpePatcher:
    """The patcher of a tokenizer.json, or of a folder that has one; of other files: `read_tokenizer_patcher`.

    Raises InputError for a missing or damaged file, and as `BpePatcher`.
    """
    file = Path(path) / _FILE if Path(path).is_dir() else Path(path)
    return BpePatcher(loaded(as_utf8(file, read_bounded(file)), str(file)), name or str(file))


def read_tokenizer_patcher(path: str | Path, rank_settings: RankSettings | None = None) -> BpePatcher:
    """The patcher of a tokenizer.

    Args:
        path: a file or folder of any format of `tokenlab.formats.read_tokenizer`.
        rank_settings: expression and special tokens of a rank file, which has neither; known for published files.

    Raises InputError for a missing, damaged or unknown file, and as `BpePatcher`.
    """
    file = read_tokenizer(path, rank_settings)
    return BpePatcher(file.tokenizer, str(file.path))


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not UTF-8 at byte {error.start}; a tokenizer reads characters") from None


def _shown(text: bytes) -> str:
    shown = text.decode()
    return repr(shown) if len(shown) <= 40 else repr(shown[:40]) + "..."
