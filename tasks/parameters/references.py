"""Names in the parameters that refer to other parameters: corpora, methods, models, tokenizers.

Each check yields lines `PLACE: what is wrong`, to which the caller adds the name of the file.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tasks.codes.variants import LATOM
from tasks.compared.parameters import PATCHERS, Code, Method, Tokens
from tasks.compared.parameters import Patches as CutIntoPatches
from tasks.parameters.sections import Codes, Compared, Entropy, Exact, Patches, Sections
from tasks.patches.parameters import BPE, Variant
from tasks.segmentation.evaluation.own_text import OwnText
from tasks.segmentation.methods import CombinedMethod, StatisticalMethod, WordMethod
from tokenlab.codes.registry import KINDS
from tokenlab.core.errors import ParameterError

_DESCRIPTION_LENGTH = "description-length"
"""The method of `own_text` that is no entry of `segmentation.methods`."""


def check_references(sections: Sections) -> Iterator[str]:
    """A line for each name that refers to nothing, or to something that does not fit."""
    corpora = [*sections.corpora, *sections.concatenated]
    yield from _corpora(sections, corpora)
    yield from _segmentation(sections, corpora)
    yield from _entropy(sections.entropy, corpora)
    yield from _codes(sections.codes, corpora)
    yield from _exact(sections.exact, corpora)
    for name in sections.bits.corpora:
        yield from unknown(f"bits.corpora.{name}", [name], corpora, "corpora")
    for name, pair in sections.bits.translation.items():
        for side in ("source", "target"):
            yield from unknown(f"bits.translation.{name}.{side}", [getattr(pair, side)], corpora, "corpora")
    yield from _downstream(sections)
    yield from _comparison(sections, corpora)


def unknown(place: str, names: Iterable[Any], known: Iterable[Any], section: str) -> Iterator[str]:
    """A line for each name that is not known. section: where names are defined."""
    for name in names:
        if name not in (known := list(known)):
            there = ", ".join(map(str, known)) or "none"
            yield f"{place}: {name} is not in {section}; there are: {there}"


def _twice(place: str, names: Iterable[str], other: Mapping[str, Any]) -> Iterator[str]:
    for name in names:
        if name in other:
            yield f"{place} also has {name}, and both would write the same files; rename one"


def _corpora(sections: Sections, corpora: list[str]) -> Iterator[str]:
    yield from _twice("concatenated", sections.concatenated, sections.corpora)
    for name, both in sections.concatenated.items():
        for part in ("first", "second"):
            place = f"concatenated.{name}.{part}"
            yield from unknown(place, [getattr(both, part)], (other for other in corpora if other != name), "corpora")


def _has_gold(sections: Sections, name: str, depth: int = 0) -> bool:
    """Whether some sentences of a corpus have gold words."""
    if (corpus := sections.corpora.get(name)) is not None:
        return corpus.gold is not None
    both = sections.concatenated.get(name)
    if both is None or depth > len(sections.concatenated):  # corpora that contain each other, which DVC refuses
        return False
    return any(_has_gold(sections, part, depth + 1) for part in (both.first, both.second))


def _segmentation(sections: Sections, corpora: list[str]) -> Iterator[str]:
    family = sections.segmentation
    methods = family.methods
    for name, corpus in family.corpora.items():
        yield from unknown(f"segmentation.corpora.{name}", [name], corpora, "corpora")
        if corpus.entropy and name not in sections.entropy.scored:
            yield f"segmentation.corpora.{name}.entropy is true, but entropy.scored has no {name}; add its model there"
    yield from unknown("segmentation.full.methods", family.full.methods, methods, "segmentation.methods")
    for name, method in methods.items():
        if isinstance(method, WordMethod):
            place = f"segmentation.methods.{name}.model"
            yield from unknown(place, [method.model], family.word_models, "segmentation.word_models")
        elif isinstance(method, CombinedMethod):
            base = methods.get(method.statistics)
            one_row = isinstance(base, StatisticalMethod) and base.has_one_configuration
            if not one_row or base.given.decoder != "viterbi":  # type: ignore[union-attr]
                yield (
                    f"segmentation.methods.{name}.statistics: {method.statistics!r} is not a method by statistics with "
                    "decoder viterbi and one row; take one that is"
                )
            elif name in family.full.methods and method.statistics not in family.full.methods:
                yield f"segmentation.full.methods has {name} without {method.statistics}, on which it is based; add it"
    for name, export in family.export.items():
        if export.to != "tokenizer.json":
            yield f"segmentation.export.{name}.to is {export.to!r}; the pipeline writes tokenizer.json, so leave it out"
    for name, own in family.own_text.items():
        place = f"segmentation.own_text.{name}"
        yield from unknown(f"{place}.corpus", [own.corpus], corpora, "corpora")
        if own.corpus in corpora and not _has_gold(sections, own.corpus):
            yield f"{place}.corpus: {own.corpus} has no gold words to score by; leave the entry out"
        yield from _methods_of_own_text(f"{place}.methods", own, methods)


def _methods_of_own_text(place: str, own: OwnText, methods: Mapping[str, Any]) -> Iterator[str]:
    yield from unknown(place, own.methods, [*methods, _DESCRIPTION_LENGTH], "segmentation.methods")
    for name in own.methods:
        method = methods.get(name, None)
        by_text_alone = isinstance(method, WordMethod) or (
            isinstance(method, StatisticalMethod) and method.has_one_configuration
        )
        if method is not None and not by_text_alone:
            yield f"{place}: {name}; use methods by words, and by statistics with a single weight"


def _entropy(family: Entropy, corpora: list[str]) -> Iterator[str]:
    yield from _twice("entropy.public", family.public, family.models)
    for name, model in family.models.items():
        for field in ("text", "held_out"):
            yield from unknown(f"entropy.models.{name}.{field}", [getattr(model, field)], corpora, "corpora")
    for name in family.scored:
        yield from unknown(f"entropy.scored.{name}", [name], corpora, "corpora")


def _codes(family: Codes, corpora: list[str]) -> Iterator[str]:
    kinds = [name for name, kind in KINDS.items() if name != LATOM and not kind.table]
    tables = [name for name, kind in KINDS.items() if kind.table]
    for name, corpus in family.corpora.items():
        place = f"codes.corpora.{name}"
        yield from unknown(place, [name], corpora, "corpora")
        yield from unknown(f"{place}.baselines", corpus.baselines, kinds, "the kinds of codes")
        yield from unknown(
            f"{place}.codebooks.tables", corpus.codebooks.tables, tables, "the kinds of codes from tables"
        )
        if "character" not in corpus.baselines:
            yield f"{place}.baselines: character is missing, which every other code is compared with; add it"


def _exact(family: Exact, corpora: list[str]) -> Iterator[str]:
    for name, experiment in family.markov.items():
        for label, vocabulary in experiment.vocabularies.items():
            try:
                vocabulary.spelled(experiment.chain.alphabet)
            except ParameterError as error:
                yield f"exact.markov.{name}.vocabularies.{label}: {error}"
        if experiment.model.shape.dropout:
            yield f"exact.markov.{name}.model.shape.dropout is above 0; set it to 0"
    for name, model in family.models.items():
        yield from unknown(f"exact.models.{name}.corpus", [model.corpus], corpora, "corpora")
    for name, evaluated in family.evaluated.items():
        yield from unknown(f"exact.evaluated.{name}.corpus", [evaluated.corpus], corpora, "corpora")


def _downstream(sections: Sections) -> Iterator[str]:
    family = sections.downstream
    for section, entries in (("classified", family.classified), ("language_models", family.language_models)):
        for name, entry in entries.items():
            place = f"downstream.{section}.{name}"
            yield from unknown(place, [name], sections.codes.corpora, "codes.corpora")
            yield from unknown(f"{place}.labelled", [entry.labelled], family.corpora, "downstream.corpora")
            if (labelled := family.corpora.get(entry.labelled)) is not None:
                languages = f"downstream.corpora.{entry.labelled}.languages"
                yield from unknown(f"{place}.language", [entry.language], labelled.languages, languages)
    for name, labelled in family.corpora.items():
        place = f"downstream.corpora.{name}.only"
        yield from unknown(place, labelled.only, labelled.languages, f"downstream.corpora.{name}.languages")


def _comparison(sections: Sections, corpora: list[str]) -> Iterator[str]:
    family = sections.compared
    for name, compared in family.corpora.items():
        yield from unknown(f"compared.corpora.{name}.corpus", [compared.corpus], corpora, "corpora")
    for name, method in family.methods.items():
        yield from _method(family, f"compared.methods.{name}", method)
    for name, measured in sections.compare.measured.items():
        place = f"compare.measured.{name}"
        if measured.kind == "segmented":
            yield from unknown(place, [name], sections.segmentation.corpora, "segmentation.corpora")
        elif measured.kind == "encoded":
            yield from unknown(place, [name], sections.codes.corpora, "codes.corpora")
        yield from unknown(f"{place}.corpora", measured.corpora, corpora, "corpora")


def _method(family: Compared, place: str, method: Method) -> Iterator[str]:
    """What a method is made of, which must be there for the corpora of the method."""
    of_corpora = method.corpora or family.corpora
    yield from unknown(f"{place}.corpora", of_corpora, family.corpora, "compared.corpora")
    if not isinstance(method, CutIntoPatches):
        return
    tokens = None if method.of in PATCHERS else method.of
    for field, kind, name in (("of", Tokens, tokens), ("code", Code, method.code)):
        others = [
            other
            for other, found in family.methods.items()
            if isinstance(found, kind) and {*of_corpora} <= {*(found.corpora or family.corpora)}
        ]
        named = [] if name is None else [name]
        yield from unknown(f"{place}.{field}", named, others, f"compared.methods of the kind {kind.__name__.lower()}")


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
        if sizes is not None:
            section = f"patches.tokenizers.{corpus.tokenizer}.vocabularies"
            yield from unknown(f"{place}.vocabulary", [corpus.vocabulary], sizes, section)
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
