"""The benchmark of the export: both formats cut the text as the segmenter does, or no time is printed."""

import pytest

from benchmarks import export as benchmark
from benchmarks.measure import Bench, Measurement


def test_other_segments_stop_the_run(monkeypatch, tmp_path):
    other = Measurement([1.0], [1.0], 0.0, 0, {"entries": 500, "tokenizer.json": 0.5, "SentencePiece": 1.0})
    monkeypatch.setattr(Bench, "measure", lambda *arguments, **options: other)
    with pytest.raises(RuntimeError, match="no time is printed"):
        benchmark.table(Bench(tmp_path, {}, 1, None))
