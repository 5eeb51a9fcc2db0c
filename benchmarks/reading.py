"""Reading corpora: the documents of one text in each format, beside the plainest reader of the same text.

Ours also checks the file and gives ids and, from sighan and Parquet, word boundaries; the peers give the text alone.
"""

import json
from collections.abc import Callable, Iterator
from xml.etree.ElementTree import iterparse

import pyarrow.parquet as pq

from benchmarks.measure import Bench, Facts, Task, agree, digest
from tokenlab.text.readers import read_documents

TITLE = "reading corpora"
TEXTS = ("once",)
_ENDINGS = {"sighan": "utf8", "text": "txt", "jsonl": "jsonl", "ces": "xml", "parquet": "parquet"}


def table(bench: Bench) -> list[str]:
    lines = ["| format | file, MB | tokenlab, MB of text/s | peer | peer, MB of text/s | peer's time / tokenlab's |"]
    lines.append("| --- | --: | --: | --- | --: | --: |")
    for form, ending in _ENDINGS.items():
        path = bench.folder / f"corpus.{ending}"
        ours, plain = (bench.measure(f"reading:{who}", str(path), form) for who in ("tokenlab", "plain"))
        agree(ours, plain)
        megabytes = ours.facts["bytes"] / 1e6
        lines.append(
            f"| {form} | {path.stat().st_size / 1e6:.1f} | {ours.rate(megabytes)} | {_PEERS[form].__doc__} "
            f"| {plain.rate(megabytes)} | {plain.median / ours.median:.2f} |"
        )
    return lines


def _sighan(path: str) -> Iterator[str]:
    """open, str.split"""
    with open(path, encoding="utf-8") as lines:  # noqa: PTH123
        for line in lines:
            yield "".join(line.split())


def _text(path: str) -> Iterator[str]:
    """open, str.rstrip"""
    with open(path, encoding="utf-8") as lines:  # noqa: PTH123
        for line in lines:
            yield line.rstrip("\n")


def _jsonl(path: str) -> Iterator[str]:
    """json.loads"""
    with open(path, encoding="utf-8") as lines:  # noqa: PTH123
        for line in lines:
            yield json.loads(line)["text"]


def _ces(path: str) -> Iterator[str]:
    """xml.etree iterparse"""
    for _, element in iterparse(path):
        if element.tag == "seg" and element.get("type") == "verse":
            yield " ".join((element.text or "").split())
        element.clear()


def _parquet(path: str) -> Iterator[str]:
    """pyarrow iter_batches"""
    for batch in pq.ParquetFile(path).iter_batches(columns=["text"]):
        yield from batch.column(0).to_pylist()


_PEERS: dict[str, Callable[[str], Iterator[str]]] = {
    "sighan": _sighan,
    "text": _text,
    "jsonl": _jsonl,
    "ces": _ces,
    "parquet": _parquet,
}


def _task(texts: Callable[[str], Iterator[str]], path: str) -> Task:
    def facts(_: int) -> Facts:
        found = "\n".join(texts(path))
        return {"bytes": len(found.encode()), "text": digest(found)}

    return Task(lambda path: sum(map(len, texts(path))), path, path, facts)


TASKS = {
    "tokenlab": lambda path, form: _task(lambda path: (d.text for d in read_documents(path, form)), path),
    "plain": lambda path, form: _task(_PEERS[form], path),
}
