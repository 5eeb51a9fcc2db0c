"""Continuations of hierarchical models: symbols in the local decoder, whole patches in the latent Transformer.

A patch is whole when its marker is drawn or, without a marker, when the patcher's stream says that the next byte begins
another one. Only then it is encoded, at once, and its vector joins the latent Transformer's cache. The spellings that
patches of tokens may have are a trie: which symbols may follow those of an open patch.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.language.coding import Coder
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.patch_network import PatchNetwork
from tokenlab.patches.interface import CausalPatcher, CausalStream
from tokenlab.tokenizers.hierarchical import MARKER

ROOT = 0
"""The node at which every patch begins."""


class Spellings:
    """A trie of sequences of symbols, each with the marker as its last symbol.

    Nodes are numbers; the symbols that may follow a node are one slice of an array, so the trie of 50,000 spellings is
    three arrays.
    """

    def __init__(self, spellings: Iterable[Sequence[int]]) -> None:
        """Raises InputError where there are no spellings, or empty ones."""
        ordered = sorted({tuple(spelling) for spelling in spellings})
        if not ordered or not ordered[0]:
            raise InputError("a trie needs spellings of at least one symbol each; check the vocabulary of the patcher")
        parents, symbols = [], []
        path: list[int] = []  # Nodes of the spelling before, by depth.
        before: tuple[int, ...] = ()
        for spelling in ordered:
            common = 0
            while common < len(before) and common < len(spelling) and before[common] == spelling[common]:
                common += 1
            del path[common:]
            for symbol in spelling[common:]:
                parents.append(path[-1] if path else ROOT)
                symbols.append(symbol)
                path.append(len(parents))
            before = spelling
        order = np.lexsort((symbols, parents))
        self._symbols = np.asarray(symbols, np.int64)[order]
        self._children = order + 1
        self._first = np.searchsorted(np.asarray(parents)[order], np.arange(len(parents) + 2))

    def following(self, node: int) -> NDArray[np.int64]:
        """int64[n]: the symbols that may come next, ascending; none after a marker."""
        return self._symbols[self._first[node] : self._first[node + 1]]

    def child(self, node: int, symbol: int) -> int:
        """The node after one more symbol, which must be in `following(node)`."""
        first = self._first[node]
        found = first + int(np.searchsorted(self.following(node), symbol))
        if found == self._first[node + 1] or self._symbols[found] != symbol:
            raise KeyError(symbol)
        return int(self._children[found])


class PatchRows:
    """Texts, a row each, that grow by one symbol at a time; see `generation.Rows`.

    A patch is never empty, and where the second BPE has a bound S, never longer than S symbols, its marker included:
    the model was trained on no others. `spellings`, where given, allows only its patches.

    Raises ParameterError for a model whose patcher is not stored with it.
    """

    def __init__(
        self, model: LanguageModel, prompts: Sequence[bytes], length: int, spellings: Spellings | None = None
    ) -> None:
        if not isinstance(model.network, PatchNetwork):
            raise TypeError(f"a PatchNetwork is needed, not {type(model.network).__name__}")
        if model.coder.patcher is None:
            raise ParameterError("this model has no patcher, so it cannot cut a prompt; save it with its patcher")
        network, coder = model.network, model.coder
        self._network, self._marker, self._spellings = network, network.shape.marker, spellings
        self._longest = coder.hierarchical.longest if coder.hierarchical is not None else 0
        self._streams = [] if self._marker else [_fed(coder, prompt) for prompt in prompts]
        passages = iter(coder.code([prompt for prompt in prompts if prompt]))
        texts = [list(_patches(next(passages))) if prompt else [] for prompt in prompts]
        self._open: list[list[int]] = [
            text.pop() if text and not self._marker and not self._streams[row].begins_next() else []
            for row, text in enumerate(texts)
        ]
        self._before = [[id for patch in text for id in patch][-self._seen :] if self._seen else [] for text in texts]
        opened, self._latent = network.begin_latent(self._vectors(texts), max(map(len, texts)) + length)
        self._decoder = network.decoder_cache(len(prompts))
        self.logits = network.begin_patch(opened, self._decoder)
        for depth in range(max(map(len, self._open))):
            rows = [row for row, patch in enumerate(self._open) if len(patch) > depth]
            self._step(rows, [self._open[row][depth] for row in rows])
        self._nodes = [ROOT] * len(prompts)

    def allowed(self) -> Tensor | None:
        """See `generation.Rows`."""
        if not self._marker:
            return None
        found = torch.ones(self.logits.shape, dtype=torch.bool)
        for row, patch in enumerate(self._open):
            if self._spellings is not None:
                found[row] = False
                found[row, torch.from_numpy(self._spellings.following(self._nodes[row]))] = True
            elif not patch:
                found[row, MARKER] = False
            elif len(patch) == self._longest - 1:
                found[row] = False
                found[row, MARKER] = True
        return found.to(self.logits.device)

    def append(self, symbols: Sequence[int]) -> None:
        """See `generation.Rows`."""
        going: list[int] = []
        whole: list[int] = []
        for row, symbol in enumerate(symbols):
            self._open[row].append(symbol)
            if self._marker:
                ended = symbol == MARKER
            else:
                self._streams[row].feed(bytes([symbol]))
                ended = self._streams[row].begins_next()
            if self._spellings is not None:
                self._nodes[row] = ROOT if ended else self._spellings.child(self._nodes[row], symbol)
            (whole if ended else going).append(row)
        if going:
            self._step(going, [symbols[row] for row in going])
        if whole:
            self._finish(whole)

    def keep(self, rows: Sequence[int]) -> None:
        """See `generation.Rows`."""
        kept = torch.tensor(rows)
        self._latent, self._decoder = self._latent.select(kept), self._decoder.select(kept)
        self.logits = self.logits[kept.to(self.logits.device)]
        self._open = [self._open[row] for row in rows]
        self._before = [self._before[row] for row in rows]
        self._nodes = [self._nodes[row] for row in rows]
        self._streams = [self._streams[row] for row in rows] if self._streams else []

    @property
    def _seen(self) -> int:
        """Symbols before a patch that its encoder looks at."""
        return self._network.shape.hash.largest - 1 if self._network.shape.hash else 0

    def _vectors(self, texts: Sequence[Sequence[list[int]]]) -> list[Tensor]:
        """The vectors of the whole patches of each text, float32[patches, latent width]."""
        patches, befores = [], []
        for text in texts:
            before: list[int] = []
            for patch in text:
                patches.append(patch)
                befores.append(before)
                before = (before + patch)[-self._seen :] if self._seen else []
        width = self._network.shape.latent.width
        if not patches:
            return [self._network.start.new_zeros(0, width) for _ in texts]
        return list(self._network.encode_patches(patches, befores).split([len(text) for text in texts]))

    def _step(self, rows: list[int], symbols: list[int]) -> None:
        """Symbols join the open patches of some rows."""
        self._set(rows, self._network.step_symbol(self._tensor(symbols), self._decoder, self._some(rows)))

    def _finish(self, rows: list[int]) -> None:
        """The open patches of some rows are whole."""
        vectors = self._network.encode_patches([self._open[row] for row in rows], [self._before[row] for row in rows])
        opened = self._network.step_latent(vectors, self._latent, self._some(rows))
        self._set(rows, self._network.begin_patch(opened, self._decoder, self._some(rows)))
        for row in rows:
            self._before[row] = (self._before[row] + self._open[row])[-self._seen :] if self._seen else []
            self._open[row] = []

    def _some(self, rows: list[int]) -> Tensor | None:
        """Rows as the caches take them: None for all, which needs no copy."""
        return None if len(rows) == len(self._open) else self._tensor(rows)

    def _set(self, rows: list[int], logits: Tensor) -> None:
        if len(rows) == len(self._open):
            self.logits = logits
        else:
            self.logits[self._tensor(rows)] = logits

    def _tensor(self, numbers: list[int]) -> Tensor:
        return torch.tensor(numbers, device=self._network.start.device)


def patch_spellings(coder: Coder) -> Spellings:
    """The spellings of all tokens of a `bpe` patcher. Raises ParameterError for another coder."""
    from tokenlab.patches.bpe import BpePatcher  # Its import takes as long as generating a sentence.

    if coder.hierarchical is None or not isinstance(coder.patcher, BpePatcher):
        raise ParameterError("spellings is for models with bpe patches, whose patches are tokens; leave it out")
    tokens = [token for token in coder.patcher.tokens if token]
    starts = np.cumsum([0, *(len(token) for token in tokens[:-1])])
    ids, begins = coder.hierarchical.encode_patches(b"".join(tokens), starts)
    return Spellings(ids[begin:end].tolist() for begin, end in pairwise([*begins.tolist(), len(ids)]))


def _fed(coder: Coder, prompt: bytes) -> CausalStream:
    """A stream that has read a prompt."""
    stream = cast(CausalPatcher, coder.patcher).stream()
    stream.feed(prompt)
    return stream


def _patches(passage: CodedPassage) -> Iterator[list[int]]:
    """The symbols of each patch."""
    ids = passage.ids.tolist()
    for start, end in pairwise([*passage.starts.tolist(), len(ids)]):
        yield ids[start:end]
