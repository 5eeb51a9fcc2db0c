"""Text after prompts, with caches at every level of the network.

A prompt is coded as a text of its own, then symbols are drawn one by one. So a prompt that ends inside what might be a
longer token, or patch of a tokenizer, continues as if the token ended there: with tokens and `bpe` patches the
probabilities of the next bytes are those after this one encoding, not those of the text (tokenization bias;
`tokenlab.exact` computes the latter). Bytes, and patches whose boundaries follow from the bytes before them, have no
such bias.

Positions have no limit, but texts longer than the pieces of the training are unlike all that the model has seen.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from tokenlab.core.errors import ParameterError
from tokenlab.language.generation.patches import PatchRows, patch_spellings
from tokenlab.language.generation.sampling import draw, uniforms
from tokenlab.language.generation.spellings import Spellings
from tokenlab.language.generation.symbols import SymbolRows
from tokenlab.language.options import GenerationOptions
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.options import PatchShape

_DEFAULT = GenerationOptions()


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
