"""Text after prompts, with caches at every level of the network.

A prompt is coded as a text of its own, then symbols are drawn one by one. So a prompt that ends inside what might be a
longer token, or patch of a tokenizer, continues as if the token ended there: with tokens and `bpe` patches the
probabilities of the next bytes are those after this one encoding, not those of the text (tokenization bias;
`tokenlab.exact` computes the latter). Bytes, and patches whose boundaries follow from the bytes before them, have no
such bias.

Positions have no limit, but texts longer than the passages of the training are unlike all that the model has seen.

Symbols are drawn from the logits of the allowed ones: top-k, then temperature. Random numbers come by counting, without
a state, so that a row of a batch does not depend on the other rows.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tokenlab.core.errors import ParameterError
from tokenlab.language.options import GenerationOptions
from tokenlab.language.patch_generation import PatchRows, Spellings, patch_spellings
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.options import PatchShape

_DEFAULT = GenerationOptions()
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Rows(Protocol):
    """Texts of a batch, a row each, that grow by one symbol at a time."""

    logits: Tensor
    """float32[rows, symbols], of the next symbol of each row."""

    def allowed(self) -> Tensor | None:
        """bool[rows, symbols]: which symbols may come next; None: all."""
        ...

    def append(self, symbols: Sequence[int]) -> None:
        """Append a symbol to each row."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Drop the other rows."""
        ...


def generate(
    model: LanguageModel,
    prompts: Sequence[bytes],
    options: GenerationOptions = _DEFAULT,
    ends: Sequence[bytes] = (),
) -> list[bytes]:
    """Continue each prompt.

    Args:
        model: on the device where it computes, in evaluation mode.
        prompts: in UTF-8; may be empty.
        options: how symbols are drawn, and how many bytes.
        ends: a continuation stops before the first of these.

    Returns:
        Continuations without their prompts, of `options.length` bytes or, before one of the ends, less. They may be no
        UTF-8: the last character may be cut, and a model over bytes can draw any bytes.

    Raises:
        InputError: a prompt that the model's coder cannot code.
        ParameterError: an empty end, or `spellings` for a model without bpe patches.
    """
    if not all(ends):
        raise ParameterError("ends has an empty one; give texts of at least one byte")
    spellings = patch_spellings(model.coder) if options.spellings else None
    found: list[bytes] = []
    for first in range(0, len(prompts), options.batch):
        some = prompts[first : first + options.batch]
        with torch.no_grad():  # Inference mode would leave tables in the network that no training can use.
            found.extend(_continued(model, some, first, options, tuple(ends), spellings))
    return found


def begin(model: LanguageModel, prompts: Sequence[bytes], length: int, spellings: Spellings | None = None) -> Rows:
    """The prompts as rows, ready for their next symbols; `length`: about how many bytes will follow."""
    if isinstance(model.network.shape, PatchShape):
        return PatchRows(model, prompts, length, spellings)
    return SymbolRows(model, prompts, length)


def _continued(
    model: LanguageModel,
    prompts: Sequence[bytes],
    first: int,
    options: GenerationOptions,
    ends: tuple[bytes, ...],
    spellings: Spellings | None,
) -> list[bytes]:
    """The continuations of one batch; `first` is the number of its first prompt."""
    texts = [bytearray() for _ in prompts]
    if not options.length:
        return [b"" for _ in prompts]
    rows = begin(model, prompts, options.length, spellings)
    alive = list(range(len(prompts)))
    position = 0
    while True:
        uniform = uniforms(options.seed, first + np.array(alive), np.full(len(alive), position))
        drawn = draw(rows.logits, uniform, options.temperature, options.top_k, rows.allowed()).tolist()
        position += 1
        going = []
        for place, (row, symbol) in enumerate(zip(alive, drawn, strict=True)):
            before = len(texts[row])
            texts[row] += model.coder.spellings[symbol]
            if not _stopped(texts[row], before, options.length, ends):
                going.append(place)
        if not going:
            return [bytes(text) for text in texts]
        if len(going) < len(alive):
            rows.keep(going)
            alive = [alive[place] for place in going]
        rows.append([drawn[place] for place in going])


def _stopped(text: bytearray, before: int, length: int, ends: tuple[bytes, ...]) -> bool:
    """Whether a text is complete after the bytes from `before` on came; it is cut there."""
    done = len(text) >= length
    del text[length:]
    found = [text.find(end, max(0, before - len(end) + 1)) for end in ends]
    places = [place for place in found if place >= 0]
    if places:
        del text[min(places) :]
    return done or bool(places)


class SymbolRows:
    """Texts, a row each, that grow by one symbol at a time; see `Rows`."""

    def __init__(self, model: LanguageModel, prompts: Sequence[bytes], length: int) -> None:
        network: Any = model.network
        coded = model.coder.code([prompt for prompt in prompts if prompt])
        passages = iter(coded)
        texts = [next(passages).ids.tolist() if prompt else [] for prompt in prompts]
        self._network = network
        self.logits, self._state = network.begin(texts, max(map(len, texts)) + length)
        # Tokens that spell nothing, such as the end of a text, are never drawn: passages have none.
        spelled = torch.tensor([bool(spelling) for spelling in model.coder.spellings], device=self.logits.device)
        self._spelled = None if bool(spelled.all()) else spelled[None]

    def allowed(self) -> Tensor | None:
        """See `Rows`."""
        return None if self._spelled is None else self._spelled.expand(len(self.logits), -1)

    def append(self, symbols: Sequence[int]) -> None:
        """See `Rows`."""
        self.logits = self._network.step(torch.tensor(symbols, device=self.logits.device), self._state)

    def keep(self, rows: Sequence[int]) -> None:
        """See `Rows`."""
        kept = torch.tensor(rows)
        self._state = self._state.select(kept)
        self.logits = self.logits[kept.to(self.logits.device)]


def uniforms(seed: int, rows: NDArray[np.int64], positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Random numbers in [0, 1): the same for the same seed, row and position on every machine.

    SplitMix64 (Steele et al. 2014) of seed, row and position, one after the other.

    Args:
        seed: at least 0.
        rows: int64[n] numbers of prompts, at least 0.
        positions: int64[n] numbers of symbols drawn before, at least 0.

    Returns:
        float64[n], multiples of 2^-53.
    """
    state = _mixed(np.full(len(rows), seed % 2**64, np.uint64))
    for part in (rows, positions):
        state = _mixed(state ^ part.astype(np.uint64))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw(
    logits: Tensor, uniform: NDArray[np.float64], temperature: float, top_k: int | None, allowed: Tensor | None = None
) -> Tensor:
    """A symbol for each row.

    Args:
        logits: float[rows, symbols].
        uniform: float64[rows] in [0, 1), one number for each row.
        temperature: divides the logits; 0 takes the most probable symbol, the first of several.
        top_k: only the K most probable symbols are drawn; of equal ones at the edge, those with smaller ids.
        allowed: bool[rows, symbols]; others are never drawn. At least one in each row.

    Returns:
        int64[rows] on the device of the logits.
    """
    scores = logits.double()
    if allowed is not None:  # All others far below and different: equal ones slow the partition down.
        below = -1e300 - 1e290 * torch.arange(scores.shape[-1], dtype=scores.dtype, device=scores.device)
        scores = torch.where(allowed, scores, below)
    if temperature == 0 or top_k == 1:
        return scores.argmax(-1)
    ids = None
    if top_k is not None and top_k < scores.shape[-1]:
        scores, ids = _largest(scores, top_k)
    # Divided after the largest is taken away: a small temperature would overflow.
    weights = torch.exp((scores - scores.amax(-1, keepdim=True)) / temperature)
    total = weights.cumsum(-1)
    wanted = torch.from_numpy(uniform).to(total.device)[:, None] * total[:, -1:]
    drawn = torch.searchsorted(total, wanted, right=True)[:, 0]
    # The product may round up to the total: then the last symbol with a weight is meant.
    last = weights.shape[-1] - 1 - (weights > 0).flip(-1).int().argmax(-1)
    drawn = drawn.minimum(last)
    return drawn if ids is None else ids.gather(1, drawn[:, None])[:, 0]


def _largest(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row and their ids, in the order of the ids; of equal ones the first."""
    if scores.is_cpu:  # five times as fast as topk
        edge = scores.shape[1] - k
        least = torch.from_numpy(np.partition(scores.numpy(), edge)[:, edge, None])
    else:
        least = scores.topk(k).values[:, -1:]
    kept = scores >= least
    if bool((kept.sum(-1) > k).any()):
        equal, room = scores == least, k - (scores > least).sum(-1, keepdim=True)
        kept &= ~equal | (equal.cumsum(-1) <= room)
    ids = kept.nonzero()[:, 1].view(-1, k)
    return scores.gather(1, ids), ids


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        state = state + _GOLDEN
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
