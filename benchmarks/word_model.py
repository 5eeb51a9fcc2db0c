"""The word model: fitting, and segmentation of other text by a fitted model. There is no peer at hand."""

from benchmarks.measure import Bench, Task, digest, lines_of, on_lines, table_of
from tokenlab.segment.segmentation import Segmentation
from tokenlab.segment.words import WordModel, WordOptions

TITLE = "word model"
TEXTS = ("once", "part", "held_out")


def table(bench: Bench) -> list[str]:
    rows = []
    for text in ("part", "once"):
        fitted = bench.measure("word_model:fit", bench.text(text), runs=1)
        segmented = bench.measure("word_model:segment", bench.text(text), bench.text("held_out"))
        characters, rate = bench.millions(text) * 1e6, segmented.rate(bench.millions("held_out"))
        facts = fitted.facts["sweeps"], f"{fitted.median:.1f}", f"{fitted.peak / 1e6:,.0f}"
        rows.append([text, f"{characters:,.0f}", *facts, rate])
    heads = ["text", "characters", "sweeps", "seconds to fit", "MB at the peak", "million characters/s of `held_out`"]
    return table_of(heads, rows)


def _fit(text: str) -> Task:
    sweeps = []

    def fit(sentences: list[str]) -> Segmentation | None:
        sweeps.clear()
        return WordModel.fit(sentences, progress=lambda done, of: sweeps.append(done)).training

    return on_lines(fit, text, lambda found: {"sweeps": len(sweeps), "text": digest(found.text())})


def _segment(text: str, other: str) -> Task:
    model = WordModel.fit(lines_of(text), WordOptions(sweeps=8))
    return on_lines(lambda lines: [batch.text() for batch in model.segment(lines)], other)


TASKS = {"fit": _fit, "segment": _segment}
