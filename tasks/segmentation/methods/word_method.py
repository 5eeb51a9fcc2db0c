"""Segmentation by a word model that the stage `word_model` fitted (docs/word-model.md)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

from tasks.runtime.stage import Parameters
from tasks.segmentation.methods.interface import Configuration, Entropies, Method, Signals, Tuned
from tokenlab.segment.words.model import WordModel


class WordMethod(Parameters):
    """The word model of this name in `segmentation.word_models`: one configuration."""

    by: Literal["words"]
    model: str

    needs_entropy: ClassVar[bool] = False
    needs_statistics: ClassVar[bool] = True

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
        return [Configuration(name, name, self.by, segment, parameters={"word_model": self.model})]


def _segment(model: str, texts: Sequence[str], entropies: Entropies | None, signals: Signals) -> Iterator[list[int]]:
    """The boundaries of sentences by the word model of a training split."""
    for batch in WordModel.load(signals.word_models / model / f"{signals.split}.safetensors").segment(texts):
        yield from ([start for start, _ in spans[1:]] for spans in batch.spans())
