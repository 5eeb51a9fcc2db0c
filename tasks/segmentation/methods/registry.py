"""The kinds of methods, and the methods of a preset.

A new kind is a module with a class that implements `interface.Method`, and a line in `METHODS`.
"""

from collections.abc import Mapping
from typing import Any

from tasks.runtime.stage import Parameters, Stage
from tasks.segmentation.methods.combined_method import CombinedMethod
from tasks.segmentation.methods.entropy_method import EntropyMethod
from tasks.segmentation.methods.interface import Configuration, Method, Tuned
from tasks.segmentation.methods.statistical_method import StatisticalMethod
from tasks.segmentation.methods.word_method import WordMethod
from tasks.segmentation.splits import Training
from tokenlab.core.errors import ParameterError
from tokenlab.segment.words.options import WordOptions

METHODS: dict[str, type[Any]] = {
    "statistics": StatisticalMethod,
    "entropy": EntropyMethod,
    "both": CombinedMethod,
    "words": WordMethod,
}
"""The kinds by the names that `by` takes."""

Methods = Mapping[str, Method]
"""The methods of one table by name, in the order of params.yaml."""


class SegmentedCorpus(Parameters):
    """A corpus to segment. `entropy`: whether the stage `entropy` scores it; without predictive entropies, the methods
    that need them are left out."""

    entropy: bool = False


def read_methods(stage: Stage) -> dict[Training, Methods]:
    """The methods of both tables of the stage's corpus: for `subset` all, for `full` those of `segmentation.full`.

    Raises ParameterError for an unknown kind, an invalid section, or a method that cannot be based on another.
    """
    has_entropy = stage.parameters(f"segmentation.corpora.{stage.variant}", SegmentedCorpus).entropy
    methods = read_sections(stage)
    of_full = stage.parameters("segmentation.full.methods", list[str])
    if unknown := set(of_full) - set(methods):
        raise ParameterError(
            f"{stage.params_file}: segmentation.full.methods: {', '.join(sorted(unknown))}; use methods of "
            f"segmentation.methods: {', '.join(methods)}"
        )
    usable = {name: method for name, method in methods.items() if has_entropy or not method.needs_entropy}
    tables: dict[Training, Methods] = {
        "subset": usable,
        "full": {name: usable[name] for name in of_full if name in usable},
    }
    for training, table in tables.items():
        for name, method in table.items():
            if problem := method.check(table):
                raise ParameterError(f"{stage.params_file}: segmentation.methods.{name}.{problem} ({training})")
    return tables


def read_sections(stage: Stage) -> Methods:
    """The methods of `segmentation.methods`. Raises ParameterError for an unknown kind or an invalid section."""
    sections = stage.parameters("segmentation.methods", dict[str, dict[str, Any]])
    return {name: _read_method(stage, name, section.get("by")) for name, section in sections.items()}


def configurations(methods: Methods, tuned: Tuned) -> list[Configuration]:
    """All rows of a table, in the order of its methods."""
    return [row for name, method in methods.items() for row in method.configurations(name, methods, tuned)]


def _read_method(stage: Stage, name: str, kind: Any) -> Method:
    section = f"segmentation.methods.{name}"
    if kind not in METHODS:
        raise ParameterError(f"{stage.params_file}: {section}.by is {kind!r}; use one of {', '.join(METHODS)}")
    method: Method = stage.parameters(section, METHODS[kind])
    if isinstance(method, WordMethod):
        try:
            return method.with_options(stage.parameters("segmentation.word_models", dict[str, WordOptions]))
        except ParameterError as error:
            raise ParameterError(f"{stage.params_file}: {section}.{error}") from None
    return method
