"""Names in the parameters that refer to other parameters: corpora, methods, models, tokenizers.

Each check yields lines `PLACE: what is wrong`, to which the caller adds the name of the file.
"""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from tasks.codes.variants import LATOM
from tasks.compared.parameters import PATCHERS, Code, Tokens
from tasks.compared.parameters import Patches as CutIntoPatches
from tasks.parameters.sections import Codes, Compared, Exact, Patches, Sections
from tasks.patches.parameters import BPE
from tasks.segmentation.evaluation.own_text import DESCRIPTION_LENGTH, OwnText
from tasks.segmentation.methods import CombinedMethod, StatisticalMethod, WordMethod
from tokenlab.codes.registry import KINDS
from tokenlab.core.errors import ParameterError

_REFERENCES = (
    ("segmentation.corpora", None, "corpora"),
    ("segmentation.own_text", "corpus", "corpora"),
    ("entropy.models", "text", "corpora"),
    ("entropy.models", "held_out", "corpora"),
    ("entropy.scored", None, "corpora"),
    ("codes.corpora", None, "corpora"),
    ("exact.models", "corpus", "corpora"),
    ("exact.evaluated", "corpus", "corpora"),
    ("bits.corpora", None, "corpora"),
    ("bits.translation", "source", "corpora"),
    ("bits.translation", "target", "corpora"),
    ("patches.corpora", "corpus", "corpora"),
    ("patches.corpora", "gold", "corpora"),
    ("patches.corpora", "tokenizer", "patches.tokenizers"),
    ("patches.corpora", "published", "patches.tokenizers"),
    ("patches.models", "texts", "patches.corpora"),
    ("patches.models", "size", "patches.sizes"),
    ("patches.variants", "longest", "patches.longest"),
    ("patches.variants", "models", "patches.models"),
    ("patches.zero_shot", "models", "patches.models"),
    ("patches.zero_shot", "variants", "patches.variants"),
    ("downstream.classified", None, "codes.corpora"),
    ("downstream.classified", "labelled", "downstream.corpora"),
    ("downstream.language_models", None, "codes.corpora"),
    ("downstream.language_models", "labelled", "downstream.corpora"),
    ("compared.corpora", "corpus", "corpora"),
    ("compared.methods", "corpora", "compared.corpora"),
    ("compare.measured", "corpora", "corpora"),
)
"""A section of entries, the field of an entry that refers (None: its own name), and the section that it refers to."""


def check_references(sections: Sections) -> Iterator[str]:
    """A line for each name that refers to nothing, or to something that does not fit."""
    corpora = [*sections.corpora, *sections.concatenated]
    for section, field, target in _REFERENCES:
        known = corpora if target == "corpora" else attrgetter(target)(sections)
        for name, entry in attrgetter(section)(sections).items():
            place = f"{section}.{name}" + (f".{field}" if field else "")
            yield from unknown(place, _listed(getattr(entry, field) if field else name), known, target)
    yield from _corpora(sections, corpora)
    yield from _segmentation(sections)
    yield from _twice("entropy.public", sections.entropy.public, sections.entropy.models)
    yield from _codes(sections.codes)
    yield from _exact(sections.exact)
    yield from _patches(sections.patches)
    yield from _downstream(sections)
    yield from _comparison(sections)


def _listed(named: Any) -> Iterable[Any]:
    """The names in a field: several, one, or none."""
    return named if isinstance(named, list | tuple) else [] if named is None else [named]


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


def _segmentation(sections: Sections) -> Iterator[str]:
    family = sections.segmentation
    methods = family.methods
    for name, corpus in family.corpora.items():
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
        known = own.corpus in sections.corpora or own.corpus in sections.concatenated
        if known and not _has_gold(sections, own.corpus):
            yield f"{place}.corpus: {own.corpus} has no gold words to score by; leave the entry out"
        yield from _methods_of_own_text(f"{place}.methods", own, methods)


def _methods_of_own_text(place: str, own: OwnText, methods: Mapping[str, Any]) -> Iterator[str]:
    yield from unknown(place, own.methods, [*methods, DESCRIPTION_LENGTH], "segmentation.methods")
    for name in own.methods:
        method = methods.get(name, None)
        by_text_alone = isinstance(method, WordMethod) or (
            isinstance(method, StatisticalMethod) and method.has_one_configuration
        )
        if method is not None and not by_text_alone:
            yield f"{place}: {name}; use methods by words, and by statistics with a single weight"


def _codes(family: Codes) -> Iterator[str]:
    kinds = [name for name, kind in KINDS.items() if name != LATOM and not kind.table]
    tables = [name for name, kind in KINDS.items() if kind.table]
    for name, corpus in family.corpora.items():
        place = f"codes.corpora.{name}"
        yield from unknown(f"{place}.baselines", corpus.baselines, kinds, "the kinds of codes")
        yield from unknown(
            f"{place}.codebooks.tables", corpus.codebooks.tables, tables, "the kinds of codes from tables"
        )
        if "character" not in corpus.baselines:
            yield f"{place}.baselines: character is missing, which every other code is compared with; add it"


def _exact(family: Exact) -> Iterator[str]:
    for name, experiment in family.markov.items():
        for label, vocabulary in experiment.vocabularies.items():
            try:
                vocabulary.spelled(experiment.chain.alphabet)
            except ParameterError as error:
                yield f"exact.markov.{name}.vocabularies.{label}: {error}"
        if experiment.model.shape.dropout:
            yield f"exact.markov.{name}.model.shape.dropout is above 0; set it to 0"


def _downstream(sections: Sections) -> Iterator[str]:
    family = sections.downstream
    for section, entries in (("classified", family.classified), ("language_models", family.language_models)):
        for name, entry in entries.items():
            if (labelled := family.corpora.get(entry.labelled)) is not None:
                place, languages = f"downstream.{section}.{name}", f"downstream.corpora.{entry.labelled}.languages"
                yield from unknown(f"{place}.language", [entry.language], labelled.languages, languages)
    for name, labelled in family.corpora.items():
        place = f"downstream.corpora.{name}.only"
        yield from unknown(place, labelled.only, labelled.languages, f"downstream.corpora.{name}.languages")
    made = sections.codes.vocabulary_sizes
    most = max(made.largest, *made.reported)
    for section, cuts in (
        ("classification", family.classification.cuts),
        ("language_model", family.language_model.cuts),
    ):
        for size in cuts.sizes:
            if "bpe" in cuts.tokenizers and size != "characters" and size > most:
                yield (
                    f"downstream.{section}.cuts.sizes: BPE over codes is trained to {most} entries, not to {size}; add "
                    "that to codes.vocabulary_sizes.reported"
                )


def _comparison(sections: Sections) -> Iterator[str]:
    for name, method in sections.compared.methods.items():
        if isinstance(method, CutIntoPatches):
            yield from _parts(sections.compared, f"compared.methods.{name}", method)
    for name, measured in sections.compare.measured.items():
        place = f"compare.measured.{name}"
        if measured.kind == "segmented":
            yield from unknown(place, [name], sections.segmentation.corpora, "segmentation.corpora")
        elif measured.kind == "encoded":
            yield from unknown(place, [name], sections.codes.corpora, "codes.corpora")


def _parts(family: Compared, place: str, method: CutIntoPatches) -> Iterator[str]:
    """The methods that patches are made of, which must be there for the same corpora."""
    of_corpora = {*(method.corpora or family.corpora)}
    tokens = None if method.of in PATCHERS else method.of
    for field, kind, name in (("of", Tokens, tokens), ("code", Code, method.code)):
        others = [
            other
            for other, found in family.methods.items()
            if isinstance(found, kind) and of_corpora <= {*(found.corpora or family.corpora)}
        ]
        section = f"compared.methods of the kind {kind.__name__.lower()}"
        yield from unknown(f"{place}.{field}", _listed(name), others, section)


def _patches(family: Patches) -> Iterator[str]:
    for name, patcher in family.patchers.items():
        if (name == BPE) != (patcher.kind == "bpe"):
            yield f"patches.patchers.{name}: {BPE} is the name of the kind bpe alone; rename it"
    for name, corpus in family.corpora.items():
        yield from _size(family, f"patches.corpora.{name}.vocabulary", corpus.vocabulary, corpus.tokenizer)
    modelled = [name for name, patcher in family.patchers.items() if patcher.modelled]
    for label, variant in family.variants.items():
        place = f"patches.variants.{label}"
        yield from unknown(f"{place}.patcher", _listed(variant.patcher), modelled, "patches.patchers with models")
        for name, models in family.models.items() if variant.vocabulary is not None else ():
            texts = family.corpora.get(models.texts)
            if texts is not None and (variant.models is None or name in variant.models):
                yield from _size(family, f"{place}.vocabulary", variant.vocabulary, texts.tokenizer)


def _size(family: Patches, place: str, size: int | None, tokenizer: str) -> Iterator[str]:
    """A line for a size that a tokenizer does not have; a published one has a size of its own."""
    entry = family.tokenizers.get(tokenizer)
    if entry is not None and entry.vocabularies is not None:
        yield from unknown(place, [size], entry.vocabularies, f"patches.tokenizers.{tokenizer}.vocabularies")
