"""Coders: text as the symbols and patches that a network reads, and back.

bytes    the bytes of UTF-8: the character baseline, learned chunks, the entropy model
tokens   the tokens of any real tokenizer: the BPE baseline
patches  a patcher's patches, as bytes; or as symbols of a second BPE with the marker behind each patch

A coder is saved as a folder: coder.json, and the files of its tokenizer or patcher.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import write_text
from tokenlab.networks.interface import NO_STARTS, CodedPassage
from tokenlab.patches.interface import Patcher

if TYPE_CHECKING:
    from tokenlab.patches.bpe import BpePatcher
    from tokenlab.tokenizers.hierarchical import HierarchicalBPE

Offsets = NDArray[np.int32] | NDArray[np.int64]

_BYTES = tuple(bytes([byte]) for byte in range(256))
_FILE = "coder.json"
_TOKENIZER = "tokenizer"
_PATCHER = "patcher"
_MERGES = "patches.json"


class Coder(Protocol):
    """Text to symbols and back."""

    spellings: Sequence[bytes]
    """The bytes of each id; b"" for the marker and for tokens that spell no text."""
    patcher: Patcher | None
    """What cuts text into patches; None for bytes and tokens, and where all starts are given."""
    hierarchical: "HierarchicalBPE | None"
    """The second BPE, whose marker ends each patch; None without."""

    def code(self, texts: Sequence[bytes], starts: Sequence[Offsets] | None = None) -> list[CodedPassage]:
        """Each text as a passage.

        Args:
            texts: in UTF-8. Many at once are faster than one by one.
            starts: the patches of each text, as the coder's own patcher or tokenizer would find them; this saves the
                time to find them again.

        Raises InputError for a text that has no code.
        """
        ...

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes that ids spell."""
        ...

    def save(self, folder: Path) -> None:
        """Write the coder into an existing folder, for `read_coder`."""
        ...


class ByteCoder:
    """Bytes without patches."""

    spellings: Sequence[bytes] = _BYTES
    patcher: Patcher | None = None
    hierarchical: "HierarchicalBPE | None" = None

    def code(self, texts: Sequence[bytes], starts: Sequence[Offsets] | None = None) -> list[CodedPassage]:
        """As `Coder.code`; starts are ignored."""
        sizes = [*map(len, texts)]
        return [
            CodedPassage(ids, NO_STARTS, size)
            for ids, size in zip(_divided(_byte_ids(texts), sizes), sizes, strict=True)
        ]

    def decode(self, ids: Iterable[int]) -> bytes:
        """As `Coder.decode`."""
        return bytes(ids)

    def save(self, folder: Path) -> None:
        """As `Coder.save`."""
        _write(folder, {"kind": "bytes"})


class TokenCoder:
    """Tokens of a real tokenizer, without BOS and EOS. Text that looks like a special token is ordinary text.

    Args:
        tokenizer: a tokenizer.json, or a folder with one; other formats by
            `tokenlab.patches.bpe.read_tokenizer_patcher`.

    Raises InputError for a tokenizer whose tokens do not say which bytes they are.
    """

    patcher: Patcher | None = None
    hierarchical: "HierarchicalBPE | None" = None

    def __init__(self, tokenizer: "BpePatcher | str | Path") -> None:
        from tokenlab.patches.bpe import BpePatcher, read_bpe_patcher

        self._tokenizer = tokenizer if isinstance(tokenizer, BpePatcher) else read_bpe_patcher(tokenizer)
        tokens = self._tokenizer.tokens
        self.spellings: Sequence[bytes] = tuple(token or b"" for token in tokens)
        ids = {token: id for id, token in enumerate(tokens) if token}
        # None where several tokens have the same bytes, or a space before the text: offsets do not tell them apart.
        unique = len(ids) == sum(map(bool, tokens)) and not self._tokenizer.prefix
        self._ids = ids if unique else None

    def code(self, texts: Sequence[bytes], starts: Sequence[Offsets] | None = None) -> list[CodedPassage]:
        """As `Coder.code`; starts are offsets of tokens."""
        coded: Iterable[Sequence[int] | NDArray[np.integer]]
        if starts is None or self._ids is None:
            coded = self._tokenizer.encode(texts)
        else:  # Looking tokens up takes a tenth of the time of finding them.
            coded = [self._looked_up(text, begins, self._ids) for text, begins in zip(texts, starts, strict=True)]
        return [
            CodedPassage(np.array(ids, np.int32), NO_STARTS, len(text)) for ids, text in zip(coded, texts, strict=True)
        ]

    def _looked_up(self, text: bytes, starts: Offsets, ids: dict[bytes, int]) -> list[int]:
        try:
            return [ids[text[start:end]] for start, end in pairwise([*starts.tolist(), len(text)])]
        except KeyError as error:
            raise InputError(
                f"{error.args[0]!r} is no token of {self._tokenizer.name}; these patches are of another one"
            ) from None

    def decode(self, ids: Iterable[int]) -> bytes:
        """As `Coder.decode`; without the space that some tokenizers put before a text."""
        return b"".join(self.spellings[id] for id in ids).removeprefix(self._tokenizer.prefix)

    def save(self, folder: Path) -> None:
        """As `Coder.save`."""
        from tokenlab.patches.registry import save_patcher

        (folder / _TOKENIZER).mkdir()
        save_patcher(self._tokenizer, folder / _TOKENIZER)
        _write(folder, {"kind": "tokens"})


class PatchCoder:
    """Patches of a patcher.

    Args:
        patcher: None where the starts of all texts are given.
        hierarchical: the second BPE; None for patchers whose boundaries follow from the bytes before them.

    Raises ParameterError for a patcher without a second BPE that needs its marker.
    """

    def __init__(self, patcher: Patcher | None, hierarchical: "HierarchicalBPE | None" = None) -> None:
        if patcher is not None and not patcher.causal and hierarchical is None:
            raise ParameterError("hierarchical is None; the ends of these patches need its marker")
        self.patcher = patcher
        self.hierarchical = hierarchical
        self.spellings: Sequence[bytes] = _BYTES if hierarchical is None else hierarchical.spellings

    def code(self, texts: Sequence[bytes], starts: Sequence[Offsets] | None = None) -> list[CodedPassage]:
        """As `Coder.code`. Raises ParameterError where there are neither starts nor a patcher."""
        if starts is None:
            if self.patcher is None:
                raise ParameterError("patcher is None; give the starts of the patches")
            starts = self.patcher.starts(texts)
        if self.hierarchical is None:
            ids = _divided(_byte_ids(texts), [*map(len, texts)])
            return [
                CodedPassage(some, begins.astype(np.int32, copy=False), len(text))
                for some, begins, text in zip(ids, starts, texts, strict=True)
            ]
        # No patch depends on another, so the texts are coded end to end.
        offsets = np.cumsum([0, *map(len, texts)])
        together = np.concatenate([begins + offset for begins, offset in zip(starts, offsets, strict=False)] or [[]])
        symbols, begins_symbols = self.hierarchical.encode_patches(b"".join(texts), together.astype(np.int64))
        patches = np.cumsum([0, *map(len, starts)])
        first = np.append(begins_symbols, len(symbols))[patches]  # of each text
        return [
            CodedPassage(symbols[low:high], (begins_symbols[one:end] - low).astype(np.int32, copy=False), len(text))
            for (low, high), (one, end), text in zip(
                pairwise(first.tolist()), pairwise(patches.tolist()), texts, strict=True
            )
        ]

    def decode(self, ids: Iterable[int]) -> bytes:
        """As `Coder.decode`."""
        return b"".join(self.spellings[id] for id in ids)

    def save(self, folder: Path) -> None:
        """As `Coder.save`."""
        if self.patcher is not None:
            from tokenlab.patches.registry import save_patcher

            (folder / _PATCHER).mkdir()
            save_patcher(self.patcher, folder / _PATCHER)
        if self.hierarchical is not None:
            self.hierarchical.save(folder / _MERGES)
        marked = self.hierarchical is not None
        _write(folder, {"kind": "patches", "patcher": self.patcher is not None, "hierarchical": marked})


def read_coder(folder: str | Path) -> Coder:
    """A coder that was saved. Raises InputError where there is none, or it is damaged."""
    folder = Path(folder)
    path = folder / _FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kind = document["kind"]
        if kind == "bytes":
            return ByteCoder()
        if kind == "tokens":
            return _read_tokens(folder)
        if kind == "patches":
            return _read_patches(folder, document)
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: no such file; {folder} is no folder of a coder") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: damaged ({' '.join(str(error).split())}); save the model again") from None
    raise InputError(f"{path}: the kind {kind!r} is none of bytes, tokens, patches; was it written by a newer version?")


def _read_tokens(folder: Path) -> TokenCoder:
    from tokenlab.patches.bpe import BpePatcher
    from tokenlab.patches.registry import read_patcher

    tokenizer = read_patcher(folder / _TOKENIZER)
    if not isinstance(tokenizer, BpePatcher):
        raise InputError(f"{folder / _TOKENIZER}: no tokenizer, but another patcher; save the model again")
    return TokenCoder(tokenizer)


def _read_patches(folder: Path, document: dict[str, Any]) -> PatchCoder:
    patcher, hierarchical = None, None
    if document["patcher"]:
        from tokenlab.patches.registry import read_patcher

        patcher = read_patcher(folder / _PATCHER)
    if document["hierarchical"]:
        from tokenlab.tokenizers.hierarchical import HierarchicalBPE

        hierarchical = HierarchicalBPE.read(folder / _MERGES)
    return PatchCoder(patcher, hierarchical)


def identity(coder: Coder) -> str:
    """A hash of all that is saved of a coder."""
    found = hashlib.sha256()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        coder.save(folder)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            found.update(f"{path.relative_to(folder)} {path.stat().st_size}\n".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def _write(folder: Path, document: dict[str, Any]) -> None:
    write_text(folder / _FILE, json.dumps(document, indent=2, sort_keys=True) + "\n")


def _byte_ids(texts: Sequence[bytes]) -> NDArray[np.int32]:
    return np.frombuffer(b"".join(texts), np.uint8).astype(np.int32)


def _divided(ids: NDArray[np.int32], sizes: Sequence[int]) -> Iterator[NDArray[np.int32]]:
    """An array in consecutive parts."""
    start = 0
    for size in sizes:
        yield ids[start : start + size]
        start += size
