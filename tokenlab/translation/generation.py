"""Translations by greedy or beam search, in batches with a key-value cache."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm
from transformers import GenerationConfig, MarianMTModel

from tokenlab.core.devices import check_device, computing
from tokenlab.translation.model import check_lengths
from tokenlab.translation.options import GenerationOptions
from tokenlab.translation.pairs import Sentences, padded


class Translation(NamedTuple):
    """A generated sentence."""

    ids: NDArray[np.int32]
    """Without the start and the end."""
    ended: bool
    """Whether the model ended it; otherwise it was cut at the longest length."""


def translate(
    model: MarianMTModel, sources: Sentences, options: GenerationOptions, never: Sequence[int] = (), name: str = ""
) -> list[Translation]:
    """The translations of sentences, in their order. The model stays on the device of the options.

    Args:
        model: a trained model.
        sources: sentences to translate.
        options: how.
        never: ids that are never generated, such as those of special tokens that spell nothing. The padding never is.
        name: shown by the progress bar.

    Raises InputError for a sentence longer than the model's positions, ParameterError where the device is not there.
    """
    check_lengths(model, sources, "translate")
    device = torch.device(options.device)
    check_device(device, options.dtype)
    # Sentences of one length together: little padding, and translations of similar length.
    order = np.argsort(sources.lengths, kind="stable")
    found: dict[int, Translation] = {}
    torch.nn.Module.to(model, device).eval()
    with computing(device, options.threads), torch.inference_mode():
        starts = range(0, len(order), options.batch)
        for first in tqdm(starts, unit="batch", desc=name, disable=None):
            numbers = order[first : first + options.batch].tolist()
            rows = _generate(model, [sources.sentence(number) for number in numbers], options, never)
            found.update(zip(numbers, rows, strict=True))
    return [found[number] for number in range(len(order))]


def _generate(
    model: MarianMTModel, sources: list[NDArray[np.int32]], options: GenerationOptions, never: Sequence[int]
) -> list[Translation]:
    padding, end = cast(int, model.config.pad_token_id), cast(int, model.config.eos_token_id)
    ids = torch.from_numpy(padded(sources, padding)).to(model.device)
    how = GenerationConfig(
        max_new_tokens=min(options.longest, model.config.max_position_embeddings),
        num_beams=options.beams,
        do_sample=False,
        use_cache=True,
        suppress_tokens=[padding, *never],
        pad_token_id=padding,
        eos_token_id=end,
        decoder_start_token_id=padding,
    )
    with torch.autocast(model.device.type, torch.bfloat16, enabled=options.dtype == "bfloat16"):
        generating: Any = model  # `generate` is typed by a protocol that models do not match.
        rows = generating.generate(input_ids=ids, attention_mask=ids.ne(padding).long(), generation_config=how)
    return [_without_ends(row[1:], end) for row in rows.cpu().numpy().astype(np.int32)]


def _without_ends(ids: NDArray[np.int32], end: int) -> Translation:
    ends = np.flatnonzero(ids == end)
    return Translation(ids[: ends[0]], True) if len(ends) else Translation(ids, False)
