"""Speed of an exported tokenizer on new text, beside its segmenter, SentencePiece with the same export, and jieba.

The tokenizer has 30,000 entries and is learned from `once`; `held_out` is encoded in batches, on one thread. Every run
loads the tokenizer of Hugging Face anew, because it remembers words that it has encoded. jieba, which cuts by a
dictionary of its own, is measured where it is installed.
"""

import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks.measure import Bench, Facts, Task, lines_of, on_lines, table_of
from tokenlab.ngrams.counting import ngram_statistics
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.options import SegmentOptions
from tokenlab.tokenizers.export.agreement import Exported, HuggingFace, SentencePiece, measure_agreement
from tokenlab.tokenizers.export.hugging_face import unigram_tokenizer
from tokenlab.tokenizers.export.options import ExportOptions
from tokenlab.tokenizers.export.sentencepiece_format import sentencepiece_model
from tokenlab.tokenizers.export.vocabulary import Vocabulary, learn_vocabulary

TITLE = "Exported tokenizer"
TEXTS = ("once", "held_out")
_ENTRIES = 30_000
_ALIKE = 0.9  # share of the segments that must be equal
_LINES_PER_BATCH = 1 << 10


def table(bench: Bench) -> list[str]:
    folder, once, held_out = str(bench.folder), bench.text("once"), bench.text("held_out")
    exported = bench.measure("export:export", once, held_out, folder, runs=1)
    shares = {name: exported.facts[name] for name in ("tokenizer.json", "SentencePiece")}
    if min(shares.values()) < _ALIKE:
        raise RuntimeError(f"the tokenizers cut otherwise than the segmenter, so no time is printed: {shares}")
    ours = bench.measure("export:segmenter", once, held_out)
    rows = [("`Segmenter`", ours, "")]
    for method in ("encode_batch", "encode_batch_fast"):
        found = bench.measure("export:tokenizer", folder, held_out, method)
        loading = found.facts["loading"]
        rows.append((f"tokenizer.json, `{method}`", found, f"{shares['tokenizer.json']:.2%}"))
    found = bench.measure("export:sentencepiece", folder, held_out)
    rows.append((f"SentencePiece {version('sentencepiece')}", found, f"{shares['SentencePiece']:.2%}"))
    if find_spec("jieba"):
        rows.append((f"jieba {version('jieba')}, `lcut`", bench.measure("export:jieba", held_out), "other words"))
    millions = bench.millions("held_out")
    return [
        *table_of(
            ["", "million characters/s", "time / that of `Segmenter`", "segments equal"],
            ([name, one.rate(millions), f"{one.median / ours.median:.2f}", equal] for name, one, equal in rows),
        ),
        "",
        f"The export of {exported.facts['entries']:,} entries, statistics of `once` included, takes "
        f"{exported.median:.1f} s. Loading the tokenizer.json, {loading:.2f} s, is part of each of its runs.",
        *([] if find_spec("jieba") else ["jieba is not installed, so it has no row."]),
    ]


def _export(once: str, held_out: str, folder: str) -> Task:
    """Write the export in both formats; the facts compare them with the segmenter on `held_out`."""
    options = ExportOptions(vocabulary_size=_ENTRIES)

    def run(lines: list[str]) -> tuple[Vocabulary, Segmenter]:
        statistics = ngram_statistics(lines)
        vocabulary = learn_vocabulary(lines, statistics, SegmentOptions(), options)
        unigram_tokenizer(vocabulary).save(f"{folder}/tokenizer.json")
        Path(f"{folder}/export.model").write_bytes(sentencepiece_model(vocabulary))
        return vocabulary, Segmenter(statistics)

    def facts(result: tuple[Vocabulary, Segmenter]) -> Facts:
        vocabulary, segmenter = result
        lines = lines_of(held_out)
        exported: dict[str, Exported] = {
            "tokenizer.json": HuggingFace(Tokenizer.from_file(f"{folder}/tokenizer.json")),
            "SentencePiece": SentencePiece(Path(f"{folder}/export.model").read_bytes()),
        }
        shares = {name: measure_agreement(one, segmenter, lines).words.recall for name, one in exported.items()}
        return {"entries": len(vocabulary.pieces), **shares}

    return on_lines(run, once, facts)


def _segmenter(once: str, held_out: str) -> Task:
    segmenter = Segmenter(ngram_statistics(lines_of(once)))
    return on_lines(lambda lines: [batch.text() for batch in segmenter.segment(lines)], held_out)


def _tokenizer(folder: str, held_out: str, method: str) -> Task:
    loading = []

    def run(lines: list[str]) -> list[list[int]]:
        start = time.perf_counter()
        tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        loading.append(time.perf_counter() - start)
        encode = getattr(tokenizer, method)
        return [encoding.ids for batch in _batches(lines) for encoding in encode(batch, add_special_tokens=False)]

    return on_lines(run, held_out, lambda _: {"loading": loading[-1]})


def _sentencepiece(folder: str, held_out: str) -> Task:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=f"{folder}/export.model")

    def run(lines: list[str]) -> list[list[int]]:
        return [ids for batch in _batches(lines) for ids in processor.encode(batch, num_threads=1)]

    return on_lines(run, held_out)


def _jieba(held_out: str) -> Task:
    jieba = import_module("jieba")
    jieba.setLogLevel("WARNING")
    jieba.initialize()
    return on_lines(lambda lines: [jieba.lcut(line) for line in lines], held_out)


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(lines)
    while batch := list(islice(remaining, _LINES_PER_BATCH)):
        yield batch


TASKS = {
    "export": _export,
    "segmenter": _segmenter,
    "tokenizer": _tokenizer,
    "sentencepiece": _sentencepiece,
    "jieba": _jieba,
}
