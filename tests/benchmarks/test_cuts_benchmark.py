"""The benchmark of cuts: its tokens are those of tokenizers that never saw the text, and its ratios those of tokens."""

from benchmarks import cuts as benchmark
from benchmarks.measure import Bench, Measurement
from tokenlab.generated import generate
from tokenlab.tokenizers import TrainOptions, count_pieces, make_cut, train_tokenizers

LINES = [document.text for document in generate("zh", sentences=100, seed=3)]


def test_tokens_of_held_out_text(tmp_path):
    parts = {"train": LINES[:90], "held_out": LINES[90:]}
    for name, lines in parts.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = benchmark.TASKS["train"](*(str(tmp_path / name) for name in parts), "none", "level", "400", "99999")
    found = task.facts(task.run(task.whole))
    (counts,) = count_pieces(LINES[:90], [make_cut("none", [])])
    expected = train_tokenizers(counts, TrainOptions(vocabulary=(400, 99_999)))
    for size, tokenizer in zip((400, 99_999), expected, strict=True):
        assert found[f"tokens_{size}"] == sum(len(tokenizer.encode(line).ids) for line in LINES[90:])
        assert found[f"entries_{size}"] == tokenizer.get_vocab_size()
    assert found["entries_400"] == 400 and found["entries_99999"] < 99_999


def test_table(monkeypatch, tmp_path):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    monkeypatch.setenv("TOKENLAB_TEXTS", str(tmp_path))
    (tmp_path / "thai.txt").write_text("วันนี้\n" * 20, encoding="utf-8")
    tokens = {"gpt2": 200, "none": 100}

    def measure(bench, task, train, held_out, cut, byte_tokens, *sizes, runs):
        count = tokens.get(cut, 110) if byte_tokens == "level" or cut == "none" else 150
        facts = {f"tokens_{size}": count for size in sizes} | {f"entries_{size}": 1500 for size in sizes}
        return Measurement([1.0], [3.0], 0.0, 0, facts)

    monkeypatch.setattr(Bench, "measure", measure)
    lines = benchmark.table(Bench(tmp_path, {}, 1, None))
    row = next(line for line in lines if line.startswith("| Thai | 108 | auto | level |"))
    assert row == "| Thai | 108 | auto | level | 110 | 0.550 | 1.100 | 110 (1,500) | 0.550 | 1.100 | 3 |"
    named = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert list(dict.fromkeys(named))[1:] == ["---", "English", "Thai", "Chinese", "Japanese"]
    assert (tmp_path / "cuts-train.txt").read_text(encoding="utf-8").count("\n") > 0
