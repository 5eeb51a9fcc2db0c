"""Segmentation by a word model that the stage `word_model` fitted (docs/word-model.md)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar, Literal, Self

from pydantic import PrivateAttr

from tasks.runtime.stage import Parameters
from tasks.segmentation.methods.interface import Configuration, Entropies, Method, Signals, Tuned
from tokenlab.core.errors import ParameterError
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions


class WordMethod(Parameters):
    """The word model of this name in `segmentation.word_models`: one configuration."""

    by: Literal["words"]
    model: str
    _options: WordOptions = PrivateAttr()

    needs_entropy: ClassVar[bool] = False
    needs_statistics: ClassVar[bool] = True

    def with_options(self, word_models: Mapping[str, WordOptions]) -> Self:
        """The method with the options of its model. Raises ParameterError for a model that is not there."""
        if self.model not in word_models:
            raise ParameterError(
                f"model is {self.model!r}; use one of segmentation.word_models: "
                f"{', '.join(word_models) or 'there is none'}"
            )
        self._options = word_models[self.model]
        return self

    @property
    def options(self) -> WordOptions:
        """The options of the word model."""
        return self._options

    @property
    def tuning(self) -> None:
        """Nothing."""

    @property
    def based_on(self) -> None:
        """No other method."""

    def check(self, methods: Mapping[str, Method]) -> None:
        """It is based on no other method."""

    def configurations(self, name: str, methods: Mapping[str, Method], tuned: Tuned) -> list[Configuration]:
        """The only row."""
        segment = partial(_segment, self.model)
        return [Configuration(name, name, self.by, segment, parameters=word_columns(self.options))]


def _segment(model: str, texts: Sequence[str], entropies: Entropies | None, signals: Signals) -> Iterator[list[int]]:
    """The boundaries of sentences by the word model of a training split."""
    for batch in WordModel.load(signals.word_models / model / f"{signals.split}.safetensors").segment(texts):
        yield from ([start for start, _ in spans[1:]] for spans in batch.spans())


def word_columns(options: WordOptions) -> dict[str, Any]:
    """The options as parameters of a row."""
    return {f"word_model.{name}": value for name, value in asdict(options).items()}
