"""Stage `join`: a corpus of two languages, the sequences of one after those of the other."""

from itertools import chain

from tasks.stage import Parameters, Stage, read_json, run, write_json
from tokenlab.text.store import read_corpus, write_corpus


class Joined(Parameters):
    """The corpora that are joined, in this order."""

    first: str
    second: str


def join(stage: Stage) -> None:
    """Write the sequences of both, and what is to be said of their origin."""
    joined = stage.parameters(f"joined.{stage.variant}", Joined)
    names = [joined.first, joined.second]
    documents = chain.from_iterable(
        (document._replace(id=f"{name}:{document.id}") for document in read_corpus(stage.data("corpora", name)))
        for name in names
    )
    summary = write_corpus(documents, stage.data("corpora", stage.variant))
    parts = [read_json(stage.reports("corpora", f"{name}.json")) for name in names]
    origins = {part["origin"] for part in parts}
    facts = {
        "corpus": stage.variant,
        "sentences": summary.documents,
        "characters": summary.characters,
        "gold_words": summary.words,
        "source": None,
        "origin": origins.pop() if len(origins) == 1 else "mixed",
        "notes": list(dict.fromkeys(note for part in parts for note in part["notes"])),
    }
    write_json(stage.reports("corpora", f"{stage.variant}.json"), facts)


if __name__ == "__main__":
    run(join)
