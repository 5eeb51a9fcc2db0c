"""The benchmark of exact character probabilities on a tiny model: every way gives the same probability of the text."""

from math import isclose

import pytest

from benchmarks import exact as benchmark
from benchmarks import exact_models

TEXT = "and the name of the first is the name of the last"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    assert "trained" in exact_models.save(folder, [TEXT] * 3, small=True, size=280)
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    return folder


def run(name, folder, *arguments):
    task = benchmark.TASKS[name](str(folder), str(folder / "text.txt"), *arguments)
    task.run(task.sample)
    return task.facts(task.run(task.whole))


def test_stepping_and_known_text_have_one_probability(folder):
    characters, known = run("characters", folder), run("known", folder)
    assert isclose(characters["log_probability"], known["log_probability"], rel_tol=1e-5)
    assert characters["steps"] == len(TEXT) >= characters["contexts"] - 1
    assert known["passes"] < 5
    assert run("characters", folder, "all")["log_probability"] != characters["log_probability"]
    assert run("bpc", folder)["passes"] <= 2


def test_tokens_one_by_one_and_in_one_pass(folder):
    tokens, naive = run("tokens", folder), run("naive", folder)
    assert isclose(tokens["log_probability"], naive["log_probability"], rel_tol=1e-5)
    assert tokens["passes"] == naive["tokens"] < len(TEXT)
    assert naive["passes"] == 1


def test_other_probabilities_stop_the_run():
    with pytest.raises(RuntimeError, match="no time"):
        benchmark._check_equal(-100.0, -100.1)
