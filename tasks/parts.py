"""The parts of a corpus that the segmentation family works on: training, test, validation, all the rest."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pydantic import ConfigDict, Field

from tasks.stage import Parameters, Stage
from tokenlab.errors import InputError
from tokenlab.text.documents import Document
from tokenlab.text.splits import Split, draw_splits
from tokenlab.text.store import read_corpus


class Draw(Parameters):
    """How many sentences a seed draws for training and test together, the share of training, and how many more are
    drawn for validation, once for all seeds."""

    sentences: int = Field(ge=2, le=10**9)
    train: float = Field(gt=0, lt=1)
    validation: int = Field(ge=0, le=10**9)


class Seeds(Parameters):
    """The seeds, each a row or more of its own; the other entries of the section are checked where they are used."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    seeds: list[int] = Field(min_length=1)


@dataclass(frozen=True, eq=False)
class Parts:
    """A corpus in memory (its n-gram statistics take far more), and the numbers of the sentences of its parts."""

    documents: list[Document]
    splits: dict[int, Split]
    validation: list[int]

    def select(self, numbers: Iterable[int]) -> list[Document]:
        """The sentences of these numbers, in their order."""
        return [self.documents[number] for number in numbers]

    @cached_property
    def rest(self) -> list[int]:
        """The numbers of all sentences that are in no test or validation part, nor equal to one that is.

        Raises InputError where there is none.
        """
        held_out = self.validation + [int(number) for split in self.splits.values() for number in split.test]
        texts = {document.text for document in self.select(held_out)}
        rest = [number for number, document in enumerate(self.documents) if document.text not in texts]
        if not rest:
            raise InputError("every sentence of the corpus equals one of a test or validation part; draw fewer of them")
        return rest


def parts(stage: Stage) -> Parts:
    """The parts of the stage's corpus, from `segmentation.seeds` and `segmentation.draw` alone.

    Validation sentences that equal a test sentence of any seed are left out: nothing is chosen on a test sentence.
    """
    draw = stage.parameters("segmentation.draw", Draw)
    seeds = stage.parameters("segmentation", Seeds).seeds
    if min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise InputError(f"{stage.params_file}: segmentation.seeds: {seeds}; use different numbers of at least 0")
    documents = list(read_corpus(stage.data("corpora", stage.variant)))
    drawn = draw_splits(len(documents), seeds, **draw.model_dump())
    tested = {documents[number].text for split in drawn.of_seed.values() for number in split.test}
    validation = [int(number) for number in drawn.validation if documents[number].text not in tested]
    return Parts(documents, drawn.of_seed, validation)
