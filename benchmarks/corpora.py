"""The texts of the benchmarks: `python -m benchmarks.corpora FOLDER SIZE PART` writes them as files.

With TOKENLAB_MIRROR set they are real: Chinese news (PKU), then what else the mirror has of Chinese and Japanese, then
built-in sentences for what is missing to ten times SIZE. Without it all of them are built-in. A document a line:

once, three, ten   the first SIZE characters (whitespace not counted) and three and ten times as many
part               the first PART characters, for slow peers
held_out           the SIZE characters behind `once`

and texts.json: characters of each, and from which source. Run as a process, so that its memory is not the parent's.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tokenlab.codes.corpus import collapse
from tokenlab.generated.corpora import generate
from tokenlab.text.documents import Document
from tokenlab.text.readers import read_documents

_REAL = (
    ("PKU news", "pku/pd199801_train.utf8.gz", "sighan"),
    ("Chinese Bible", "bible/Chinese.xml.gz", "ces"),
    ("SkyPile stand-in", "web/skypile_STANDIN_zh.jsonl.gz", "jsonl"),
    ("Chinese web articles", "web/skywork_zh_general_first160.jsonl.gz", "jsonl"),
    ("Japanese Bible", "bible/Japanese.xml.gz", "ces"),
    ("Japanese Bible, classical", "bible/Japanese-Bungo.xml.gz", "ces"),
)
_BIBLES = {
    "en": "English",
    "de": "German",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "el": "Greek",
    "es": "Spanish",
    "gu": "Gujarati-NT",
    "chr": "Cherokee-NT",
    "eu": "Basque-NT",
}


def _documents() -> Iterator[tuple[str, Document]]:
    """Documents with the name of their source, without end."""
    if mirror := os.environ.get("TOKENLAB_MIRROR"):
        for name, path, form in _REAL:
            for document in read_documents(Path(mirror) / path, form):
                yield name, document
    for document in generate("zh", sentences=sys.maxsize, seed=1):
        yield "built-in sentences", document


def bible_languages() -> list[str]:
    """The languages of which there are verses; without the mirror, those of built-in sentences."""
    return [*_BIBLES][: None if os.environ.get("TOKENLAB_MIRROR") else 4]


def verses(text: str, size: int) -> list[str]:
    """The verses of the first `size` characters of a Bible (all for 0), whitespace collapsed.

    text: one of `bible_languages`. Without the mirror the verses are built-in sentences.
    """
    if mirror := os.environ.get("TOKENLAB_MIRROR"):
        documents = read_documents(Path(mirror) / f"bible/{_BIBLES[text]}.xml.gz", "ces")
    else:
        documents = generate(text, sentences=20_000, seed=1)
    found, read = [], 0
    for document in documents:
        found.append(collapse(document.text))
        read += len(found[-1])
        if 0 < size <= read:
            break
    return found


def english() -> list[str]:
    """Web pages, whitespace collapsed; without the mirror, built-in sentences."""
    if mirror := os.environ.get("TOKENLAB_MIRROR"):
        pages = read_documents(Path(mirror) / "web/slimpajama_STANDIN_en.jsonl.gz", "jsonl")
        return [collapse(page.text) for page in pages]
    return verses("en", 0)


def source_of_verses() -> str:
    """What `verses` reads, in words."""
    return "Bible" if os.environ.get("TOKENLAB_MIRROR") else "built-in sentences"


def write_texts(folder: Path, size: int, part: int) -> None:
    """Write all files into `folder`."""
    spans = {"part": (0, part), "once": (0, size), "held_out": (size, 2 * size)}
    spans |= {"three": (0, 3 * size), "ten": (0, 10 * size)}
    files = {name: (folder / f"{name}.txt").open("w", encoding="utf-8", newline="\n") for name in spans}
    sources: dict[str, Counter[str]] = {name: Counter() for name in spans}
    place = 0
    for source, document in _documents():
        text = collapse(document.text)
        characters = len(text) - text.count(" ")
        for name, (start, end) in spans.items():
            if start <= place < end:
                files[name].write(text + "\n")
                sources[name][source] += characters
        place += characters
        if place >= 10 * size:
            break
    for file in files.values():
        file.close()
    facts = {name: {"characters": found.total(), "sources": found} for name, found in sources.items()}
    (folder / "texts.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    write_texts(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
