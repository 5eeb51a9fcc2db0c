"""The benchmark of answers: winners between equals are counted, and the choice of a short run is looked up in the long
one."""

from benchmarks import answers as benchmark
from benchmarks.measure import Bench


def test_table(monkeypatch, tmp_path):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    asked = []

    def compared(folder, text, flops, *candidates, seed=0):
        asked.append((text.stem, flops, len(candidates), seed))
        long = flops > 3e10
        rows = [("words", 0.0, 0.0), ("bpe", 0.04, 0.05)] if long else [("bpe", 0.0, 0.0), ("words", 0.1, 0.05)]
        return {
            "use": rows[0][0],
            "separable": seed == 3,
            "candidates": [dict(zip(("name", "behind", "interval"), row, strict=True)) for row in rows],
        }

    monkeypatch.setattr(benchmark, "compared", compared)
    monkeypatch.setattr(benchmark, "tokenlab", lambda *arguments: None)
    lines = benchmark.table(Bench(tmp_path, {}, 1, None))
    assert "1 of 2 comparisons" in lines[0]
    assert lines[-1].startswith("| en |") and lines[-1].endswith("| bpe | words | 0.040 ± 0.050 |")
    assert asked == [
        ("answers-en", 3e10, 2, 0),
        ("answers-en", 3e10, 2, 3),
        ("answers-en", 3e10, 0, 0),
        ("answers-en", 1.2e11, 0, 0),
    ]
