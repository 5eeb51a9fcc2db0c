"""Stage `concatenate`: two corpora as one, the sequences of one after those of the other."""

from collections.abc import Iterator
from itertools import islice

from pydantic import Field

from tasks.runtime.stage import Parameters, Stage, read_json, run, write_json
from tokenlab.text.documents import Document
from tokenlab.text.store import read_corpus, write_corpus


class Concatenated(Parameters):
    """The two corpora, in this order. `sentences`: so many of the second, its first ones; null: all."""

    first: str
    second: str
    sentences: int | None = Field(default=None, ge=1)


def concatenate(stage: Stage) -> None:
    """Write the sequences of both corpora, and the facts about them."""
    parameters = stage.parameters(f"concatenated.{stage.variant}", Concatenated)
    names = [parameters.first, parameters.second]
    summary = write_corpus(_documents(stage, parameters), stage.data("corpora", stage.variant))
    originals = [read_json(stage.reports("corpora", f"{name}.json")) for name in names]
    origins = {facts["origin"] for facts in originals}
    facts = {
        "corpus": stage.variant,
        "sentences": summary.documents,
        "characters": summary.characters,
        "gold_words": summary.words,
        "source": None,
        "origin": origins.pop() if len(origins) == 1 else "mixed",
        "notes": list(dict.fromkeys(note for facts in originals for note in facts["notes"])),
    }
    write_json(stage.reports("corpora", f"{stage.variant}.json"), facts)


def _documents(stage: Stage, parameters: Concatenated) -> Iterator[Document]:
    """The documents, with the name of their corpus in the id."""
    for name, limit in ((parameters.first, None), (parameters.second, parameters.sentences)):
        for document in islice(read_corpus(stage.data("corpora", name)), limit):
            yield document._replace(id=f"{name}:{document.id}")


if __name__ == "__main__":
    run(concatenate)
