"""The benchmark of answers: winners between equals are counted, and the choice of a short run is looked up in the long
one."""

from benchmarks import answers as benchmark
from benchmarks.measure import Bench


def test_table(monkeypatch, tmp_path):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    asked = []

    def compared(folder, text, flops, *candidates, seed=0):
        asked.append((text.stem, flops, len(candidates), seed))
        long = flops > 1e8
        rows = [("words", 0.0, 0.0), ("bpe", 0.04, 0.05)] if long else [("bpe", 0.0, 0.0), ("words", 0.1, 0.05)]
        return {
            "use": rows[0][0],
            "separable": seed == 3,
            "candidates": [dict(zip(("name", "behind", "interval"), row, strict=True)) for row in rows],
        }

    monkeypatch.setattr(benchmark, "_compared", compared)
    monkeypatch.setattr(benchmark, "_tokenlab", lambda *arguments: None)
    lines = benchmark.table(Bench(tmp_path, {}, 1, None))
    assert "1 of 2 comparisons of English named a winner" in lines[0]
    assert [line.split("|")[1].strip() for line in lines[-4:]] == ["en", "de", "zh", "ja"]
    assert lines[-1].endswith("| bpe | words | 0.040 ± 0.050 |")
    assert asked[:4] == [
        ("answers-en", 1e8, 2, 0),
        ("answers-en", 1e8, 2, 3),
        ("answers-en", 1e8, 0, 0),
        ("answers-en", 4e8, 0, 0),
    ]
