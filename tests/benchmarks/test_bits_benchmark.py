"""The benchmark of bit-level codes on small texts: same tokens, restored texts, rows and notes of the table."""

import json

import numpy as np
import pytest
import small_bases

from benchmarks import bits as benchmark

TEXTS = ["鼎鼎大名，a@b", "ありがとう", "plain"]


@pytest.fixture
def files(tmp_path):
    base, texts, text = tmp_path / "tokenizer.json", tmp_path / "texts.json", tmp_path / "once.txt"
    small_bases.pieces().save(str(base))
    texts.write_text(json.dumps(TEXTS), encoding="utf-8")
    text.write_text("\n".join(TEXTS), encoding="utf-8")
    return base, texts, text


def run(name, *arguments):
    task = benchmark.TASKS[name](*map(str, arguments))
    task.run(task.sample)
    result = task.run(task.whole)
    return result, task.facts(result)


def test_the_code_alone(files):
    ids, facts = run("encode", files[2], 1)
    assert facts["tokens"] == len(ids) > facts["characters"] == len("\n".join(TEXTS))
    assert run("decode", files[2], 1)[0].text == "\n".join(TEXTS)


def test_over_a_base(files):
    alone, facts = run("base", *files[:2])
    over, tokens = run("over", *files[:2])
    assert facts["bytes"] == sum(len(text.encode()) for text in TEXTS)
    assert tokens["tokens"] < facts["tokens"] == run("base_back", *files[:2])[1]["tokens"]
    assert run("over_back", *files[:2])[1] == tokens
    ids = files[0].with_name("ids.npz")
    np.savez(ids, ids=np.concatenate(alone), starts=np.cumsum([0, *map(len, alone)]))
    (found, starts), rewritten = run("rewrite", files[0], ids)
    assert rewritten == tokens
    assert found.tolist() == np.concatenate(over).tolist() and np.diff(starts).tolist() == [len(one) for one in over]


def test_a_text_that_is_lost_stops_the_run():
    with pytest.raises(RuntimeError, match="no time"):
        benchmark._restored(["a"], ["b"], 1)
