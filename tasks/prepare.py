"""Stage `prepare`: a corpus of any format as sentences in Parquet, and what is to be said of its origin."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from tasks.stage import Parameters, Stage, run, write_json
from tokenlab.errors import InputError
from tokenlab.text.documents import Document
from tokenlab.text.download import substitutes
from tokenlab.text.readers import read_documents
from tokenlab.text.sentences import split_sentences
from tokenlab.text.store import write_corpus


class CorpusParameters(Parameters):
    """One corpus. `gold: words` says that the format marks words and that they are right; null that nobody knows."""

    path: str
    format: Literal["sighan", "ces", "jsonl", "text", "parquet"]
    gold: Literal["words"] | None = None
    sentence_ends: str | None = "。！？"
    text_key: str | None = None
    sources: list[str] | None = None


def prepare(stage: Stage) -> None:
    """Write the sentences and the facts of the corpus."""
    corpus = stage.parameters(f"corpora.{stage.variant}", CorpusParameters)
    documents = read_documents(corpus.path, corpus.format, text_key=corpus.text_key, sources=corpus.sources)
    sentences = _sentences(documents, corpus, stage.variant)
    summary = write_corpus(sentences, stage.data("corpora", stage.variant))
    facts = {
        "corpus": stage.variant,
        "sentences": summary.documents,
        "characters": summary.characters,
        "gold_words": summary.words,
        **_origin(Path(corpus.path)),
    }
    write_json(stage.reports("corpora", f"{stage.variant}.json"), facts)


def _sentences(documents: Iterator[Document], corpus: CorpusParameters, name: str) -> Iterator[Document]:
    for document in documents:
        if corpus.gold and document.boundaries is None:
            raise InputError(f"{corpus.path}: no words are marked in {document.id}; set corpora.{name}.gold to null")
        whole = document if corpus.gold else document._replace(boundaries=None)
        if corpus.sentence_ends is None:
            yield whole
        else:
            yield from split_sentences(whole, corpus.sentence_ends)


def _origin(path: Path) -> dict[str, Any]:
    """Where the text comes from: `generated`, `official`, `substitute` or `own`, and what tables must say of it."""
    if path.is_relative_to("data/raw/builtin"):
        return {
            "source": "builtin",
            "origin": "generated",
            "notes": ["generated text: no figure here says anything about a real language"],
        }
    folder = path if path.is_dir() else path.parent
    if not (folder / "SOURCE.json").exists():
        return {"source": None, "origin": "own", "notes": []}
    record = json.loads((folder / "SOURCE.json").read_text(encoding="utf-8"))
    notes = substitutes(folder)
    if record["research_only"]:
        notes.append(f"{record['title']}: {record['licence']}")
    origin = "substitute" if substitutes(folder) else "official"
    return {"source": record["source"], "origin": origin, "notes": notes}


if __name__ == "__main__":
    run(prepare)
