"""Names in the section `patches` that refer to other parameters; see `references`."""

from collections.abc import Iterator

from tasks.parameters.references import unknown
from tasks.parameters.sections import Patches
from tasks.patches.parameters import BPE, Variant


def check_patches(family: Patches, corpora: list[str]) -> Iterator[str]:
    """A line for each name that refers to nothing, or to something that does not fit."""
    for name, patcher in family.patchers.items():
        if (name == BPE) != (patcher.kind == "bpe"):
            yield f"patches.patchers.{name}: {BPE} is the name of the kind bpe alone; rename it"
    for name, corpus in family.corpora.items():
        place = f"patches.corpora.{name}"
        for field in ("corpus", "gold"):
            yield from unknown(f"{place}.{field}", [getattr(corpus, field)], corpora, "corpora")
        named = [corpus.tokenizer, *corpus.published]
        yield from unknown(f"{place}.tokenizer and published", named, family.tokenizers, "patches.tokenizers")
        sizes = _sizes(family, corpus.tokenizer)
        if sizes is not None and corpus.vocabulary not in sizes:
            yield from unknown(
                f"{place}.vocabulary", [corpus.vocabulary], sizes, f"patches.tokenizers.{corpus.tokenizer}.vocabularies"
            )
    for name, models in family.models.items():
        yield from unknown(f"patches.models.{name}.texts", [models.texts], family.corpora, "patches.corpora")
        yield from unknown(f"patches.models.{name}.size", [models.size], family.sizes, "patches.sizes")
    for label, variant in family.variants.items():
        yield from _variant(family, f"patches.variants.{label}", variant)
    for name, tasks in family.zero_shot.items():
        yield from unknown(f"patches.zero_shot.{name}.models", [tasks.models], family.models, "patches.models")
        chosen = tasks.variants or []
        yield from unknown(f"patches.zero_shot.{name}.variants", chosen, family.variants, "patches.variants")


def _sizes(family: Patches, tokenizer: str) -> list[int] | None:
    """The sizes of a tokenizer; None for one that is unknown or published, whose size is its own."""
    entry = family.tokenizers.get(tokenizer)
    return None if entry is None else entry.vocabularies


def _variant(family: Patches, place: str, variant: Variant) -> Iterator[str]:
    if variant.patcher is not None:
        modelled = [name for name, patcher in family.patchers.items() if patcher.modelled]
        yield from unknown(f"{place}.patcher", [variant.patcher], modelled, "patches.patchers with models")
    if variant.longest is not None:
        yield from unknown(f"{place}.longest", [variant.longest], family.longest, "patches.longest")
    yield from unknown(f"{place}.models", variant.models or [], family.models, "patches.models")
    if variant.vocabulary is None:
        return
    for name, models in family.models.items():
        of_models = family.corpora.get(models.texts) if variant.models is None or name in variant.models else None
        sizes = None if of_models is None else _sizes(family, of_models.tokenizer)
        if of_models is not None and sizes is not None:
            section = f"patches.tokenizers.{of_models.tokenizer}.vocabularies"
            yield from unknown(f"{place}.vocabulary", [variant.vocabulary], sizes, section)
