"""Stage `prepare`: a corpus of any format as sentences in Parquet, with its size and origin."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tasks.runtime.stage import Parameters, Stage, run, write_json
from tokenlab.core.errors import InputError
from tokenlab.sources.record import RECORD, read_record, substitutes
from tokenlab.text.documents import Document, split_sentences
from tokenlab.text.options import LONGEST_LINE
from tokenlab.text.readers import read_documents
from tokenlab.text.store import write_corpus


class Corpus(Parameters):
    """One corpus. `gold`: `words` where the file marks gold words; null where it does not, or to ignore them."""

    path: str
    format: Literal["sighan", "ces", "jsonl", "text", "parquet"]
    gold: Literal["words"] | None = None
    sentence_ends: str | None = "。！？"
    text_key: str | None = None
    sources: list[str] | None = None
    longest_line: int = Field(default=LONGEST_LINE, ge=1)

    def documents(self, root: Path = Path()) -> Iterator[Document]:
        """All texts of the file. root: the folder of the project. Raises InputError and ParameterError."""
        return read_documents(
            root / self.path,
            self.format,
            text_key=self.text_key,
            sources=self.sources,
            longest_line=self.longest_line,
        )


def prepare(stage: Stage) -> None:
    """Write the sentences of a corpus, and the facts about it that tables and pages show."""
    corpus = stage.parameters(f"corpora.{stage.variant}", Corpus)
    documents = corpus.documents()
    if corpus.gold:
        documents = _with_words(documents, corpus.path, f"corpora.{stage.variant}.gold")
    else:
        documents = (document._replace(boundaries=None) for document in documents)
    summary = write_corpus(_sentences(documents, corpus.sentence_ends), stage.data("corpora", stage.variant))
    facts = {
        "corpus": stage.variant,
        "sentences": summary.documents,
        "characters": summary.characters,
        "gold_words": summary.words,
        **_origin(Path(corpus.path)),
    }
    write_json(stage.reports("corpora", f"{stage.variant}.json"), facts)


def _with_words(documents: Iterable[Document], path: str, parameter: str) -> Iterator[Document]:
    """The documents; one without marked words is an error."""
    for document in documents:
        if document.boundaries is None:
            raise InputError(f"{path}: no words are marked in {document.id}; set {parameter} to null")
        yield document


def _sentences(documents: Iterable[Document], ends: str | None) -> Iterator[Document]:
    for document in documents:
        if ends is None:
            yield document
        else:
            yield from split_sentences(document, ends)


def _origin(path: Path) -> dict[str, Any]:
    """Origin of a text: `generated`, `official`, `substitute` or `own`, with the notes that tables must show."""
    if path.is_relative_to("data/raw/builtin"):
        return {
            "source": "builtin",
            "origin": "generated",
            "notes": ["generated text: no figure here says anything about a real language"],
        }
    folder = path if path.is_dir() else path.parent
    if not (folder / RECORD).exists():
        return {"source": None, "origin": "own", "notes": []}
    record, replaced = read_record(folder), substitutes(folder)
    terms = [f"{record['title']}: {record['licence']}"] if record["research_only"] else []
    origin = "substitute" if replaced else "official"
    return {"source": record["source"], "origin": origin, "notes": replaced + terms}


if __name__ == "__main__":
    run(prepare)
