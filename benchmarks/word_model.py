"""The word model: fitting, and segmentation of other text by a fitted model. There is no peer at hand."""

from hashlib import sha256
from pathlib import Path

from benchmarks.measure import Bench, Facts, Task
from tokenlab.segment.segmentation import Segmentation
from tokenlab.segment.words import WordModel, WordOptions

TITLE = "word model"
TEXTS = ("once", "part", "held_out")


def table(bench: Bench) -> list[str]:
    """Measure both texts; Markdown."""
    lines = ["| text | characters | sweeps | seconds to fit | MB at the peak | million characters/s of `held_out` |"]
    lines.append("| --- | --: | --: | --: | --: | --: |")
    for text in ("part", "once"):
        fitted = bench.measure("word_model:fit", bench.text(text), runs=1)
        segmented = bench.measure("word_model:segment", bench.text(text), bench.text("held_out"))
        characters, rate = bench.millions(text) * 1e6, segmented.rate(bench.millions("held_out"))
        facts = f"{fitted.facts['sweeps']} | {fitted.median:.1f} | {fitted.peak / 1e6:,.0f}"
        lines.append(f"| {text} | {characters:,.0f} | {facts} | {rate} |")
    return lines


def _fit(text: str) -> Task:
    sentences = _sentences(text)
    sweeps = []

    def fit(sentences: list[str]) -> Segmentation | None:
        sweeps.clear()
        return WordModel.fit(sentences, progress=lambda done, of: sweeps.append(done)).training

    def facts(segmentation: Segmentation) -> Facts:
        return {"sweeps": len(sweeps), "text": sha256(segmentation.text().encode()).hexdigest()}

    return Task(fit, sentences[:20], sentences, facts)


def _segment(text: str, other: str) -> Task:
    model = WordModel.fit(_sentences(text), WordOptions(sweeps=8))
    sentences = _sentences(other)
    return Task(
        lambda sentences: [batch.text() for batch in model.segment(sentences)], sentences[:20], sentences, _size
    )


TASKS = {"fit": _fit, "segment": _segment}


def _sentences(text: str) -> list[str]:
    return Path(text).read_text(encoding="utf-8").splitlines()


def _size(parts: list[str]) -> Facts:
    return {"characters": sum(map(len, parts))}
