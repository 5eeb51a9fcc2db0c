"""The longer training of the answer at toy size on a CPU: every way that is there stands in the tables."""

import pytest

from benchmarks import answer_gpu
from tokenlab.comparison.candidates import token_recipe, train_candidates
from tokenlab.comparison.texts import divide, write_documents
from tokenlab.generated import generate


@pytest.mark.slow
def test_ways_are_trained_and_stand_in_the_tables(tmp_path):
    recipes = [token_recipe("bpe", "gpt2", 300), token_recipe("uncut", "none", 300)]
    for language, code in (("english", "en"), ("chinese", "zh")):
        parts = divide([document.text for document in generate(code, sentences=300, seed=1)])
        for part, documents in (("training", parts.training), ("test", parts.held_out)):
            write_documents(documents, 512, tmp_path / language / part)
        train_candidates(recipes, parts.training, tmp_path / language / "candidates")
    arguments = [str(tmp_path), "--flops", "4e10", "--batch", "1", "--seeds", "2", "--device", "cpu", "--workers", "2"]
    assert answer_gpu.main(arguments) == 0
    scores = tmp_path / "scores-4e+10-1"
    tables = [*answer_gpu._tables(scores)]
    assert "CPU, 4e+10 operations" in tables[0]
    for language in ("english", "chinese"):
        first = next(number for number, line in enumerate(tables) if line.startswith(f"**{language}**: "))
        rows = [line.split(" | ") for line in tables[first + 4 : first + 6]]
        assert {row[0].removeprefix("| ") for row in rows} == {"bpe", "uncut"}
        assert [row[3] == "best" for row in rows] == [True, False] and all(row[4] == "2" for row in rows)
