"""The models of a comparison, and the patchers and codes of their texts."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch

from tasks.patches.parameters import BPE, ModelSettings, Variant, patcher_name
from tasks.patches.stored_tokenizers import FACTS, PATCHER, TOKENS, StoredTokenizer
from tasks.runtime.stage import read_json
from tokenlab.core.devices import check_device, computing
from tokenlab.core.errors import ParameterError
from tokenlab.language.coding import ByteCoder, Coder, PatchCoder, TokenCoder
from tokenlab.language.options import LanguageTraining
from tokenlab.language.stored import LanguageModel, read_language_model
from tokenlab.networks.options import Computation
from tokenlab.patches.registry import read_patcher


class Planned(NamedTuple):
    """A model to train. small: with the small budget of `Models.search`."""

    label: str
    variant: Variant
    seed: int
    small: bool = False

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.label}-seed{self.seed}" + "-small" * self.small


class Patched(NamedTuple):
    """The patchers of a corpus, in the folder that the stage `patches` wrote. vocabulary: the main size."""

    folder: Path
    vocabulary: int
    tokenizers: dict[str, str]
    """Label of the tokenizer of a patcher whose patches are tokens."""

    def column(self, variant: Variant) -> str | None:
        """The patcher whose patches a variant reads; None for bytes and learned chunks."""
        if variant.model not in ("patches", "tokens"):
            return None
        name = patcher_name(variant.patcher or BPE, variant.vocabulary, self.vocabulary)
        if not (self.folder / name).is_dir():
            raise ParameterError(
                f"patches.variants: there is no patcher {name} with models; correct the name or the size"
            )
        return name

    def coder(self, variant: Variant) -> Coder:
        """The code of a variant's text."""
        column = self.column(variant)
        if column is None:
            return ByteCoder()
        tokens = StoredTokenizer(column, 0, self.folder / column / TOKENS)
        if variant.model == "tokens":
            return _token_coder(tokens.tokenizer)
        patcher = read_patcher(self.folder / column / PATCHER)
        return PatchCoder(patcher, None if variant.longest is None else tokens.hierarchical(variant.longest))


@lru_cache(maxsize=8)
def _token_coder(tokenizer: Path) -> TokenCoder:
    """Reading a tokenizer takes longer than training a small model."""
    return TokenCoder(tokenizer)


def read_patched(folder: Path) -> Patched:
    """The patchers of a corpus."""
    return Patched(folder, **read_json(folder / FACTS))


def planned(settings: ModelSettings) -> list[Planned]:
    """All models of the whole budget, variant by variant."""
    return [
        Planned(label, variant, seed)
        for label, variant in settings.variants.items()
        for seed in (settings.models.seeds if variant.seeds is None else variant.seeds)
    ]


def planned_small(settings: ModelSettings) -> list[Planned]:
    """Those of the small budget, if there is one."""
    return [] if settings.models.search is None else [model._replace(small=True) for model in planned(settings)]


@contextmanager
def loaded(folder: Path, computation: Computation, options: LanguageTraining) -> Iterator[LanguageModel]:
    """A trained model on the device of its training, for use within the block."""
    device = torch.device(options.device)
    check_device(device, options.dtype)
    with computing(device, options.threads):
        model = read_language_model(folder, computation)
        model.network.to(device)
        yield model
