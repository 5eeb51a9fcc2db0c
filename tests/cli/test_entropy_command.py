"""`tokenlab entropy`, and `tokenlab segment` by its values, as a user runs them."""

import json
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest
from tiny_models import save_bert

from tokenlab.cli.entropy import Scoring
from tokenlab.entropy.options import DeviceOptions, ScoringOptions
from tokenlab.entropy.scorer import load_scorer
from tokenlab.segment.by_entropy import segment_by_entropy
from tokenlab.segment.options import BoundaryOptions

TEXT = "共同创造美好的新世纪，共同 努力\n\n二○二五年 hello 世界abc\n"
LINES = TEXT.split("\n")[:-1]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    save_bert(folder)
    return folder


def scores(model, **options):
    return load_scorer(model, "cpu").score(LINES, ScoringOptions(**options))


def test_a_value_for_each_character(tokenlab, model, text):
    expected = scores(model)
    records = [json.loads(line) for line in tokenlab("entropy", text, "--model", model, "--json").splitlines()]
    assert [record["text"] for record in records] == LINES
    for record, values in zip(records, expected, strict=True):
        read = np.array([np.nan if v is None else v for v in record["entropy"]], np.float32)
        np.testing.assert_allclose(read, values, atol=1e-5)
    shown = tokenlab("entropy", text, "--model", model, "--threads", 1)
    sentences = [[row.split("\t") for row in block.split("\n") if row] for block in shown[:-1].split("\n\n")]
    assert shown.count("\n\n") == 2  # The blank line of the text has no rows: three line feeds in a row.
    flat = [cell for sentence in sentences for cell in sentence]
    assert "".join(character for character, _ in flat) == "".join(LINES)
    for (_, cell), value in zip(flat, np.concatenate(expected), strict=True):
        assert cell == "" if np.isnan(value) else float(cell) == pytest.approx(value, abs=1e-5)


def test_windows_are_those_that_were_asked_for(tokenlab, model, text):
    options = ["--context", 6, "--stride", 2, "--batch-tokens", 8, "--dtype", "float32", "--device", "cpu"]
    records = tokenlab("entropy", text, "--model", model, "--json", *options).splitlines()
    expected = scores(model, context=6, stride=2)
    read = np.array([np.nan if v is None else v for v in json.loads(records[0])["entropy"]], np.float32)
    np.testing.assert_allclose(read, expected[0], atol=1e-5)
    assert not np.allclose(expected[0], scores(model)[0], atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("rule", [(), ("threshold", 1.5)], ids=lambda rule: rule[0] if rule else "maxima")
def test_segment_by_model_by_json_and_by_parquet(tokenlab, model, text, tmp_path, rule):
    (tmp_path / "e.json").write_text(tokenlab("entropy", text, "--model", model, "--json"), encoding="utf-8")
    assert tokenlab("entropy", text, "--model", model, "-o", tmp_path / "e.parquet") == ""
    options = ["--boundaries", rule[0], "--threshold", rule[1]] if rule else []
    for isolate in ("script", "none"):
        expected = segment_by_entropy(LINES, scores(model), BoundaryOptions(*rule), isolate).text()
        for given in (
            ["--model", model],
            ["--entropies", tmp_path / "e.json"],
            ["--entropies", tmp_path / "e.parquet"],
        ):
            assert tokenlab("segment", text, *given, *options, "--isolate", isolate) == expected
    records = map(json.loads, tokenlab("segment", text, "--model", model, "--json").splitlines())
    for record, line in zip(records, tokenlab("segment", text, "--model", model).splitlines(), strict=True):
        assert [record["text"][a:b] for a, b in record["offsets"]] == line.split()


def test_a_process_loads_the_model_once_in_a_run(tmp_path, monkeypatch):
    """A worker of Dask has threads, and outlives the runs, between which the model may change."""
    load = mock.Mock(wraps=load_scorer)
    monkeypatch.setattr("tokenlab.entropy.scorer.load_scorer", load)
    found = []
    for run in range(2):
        save_bert(tmp_path, seed=run)
        scoring = Scoring(str(run), str(tmp_path), DeviceOptions("cpu"), ScoringOptions(), "text")
        with ThreadPoolExecutor(4) as pool:
            found += pool.map(scoring.score, [LINES] * 4)
        assert load.call_count == run + 1
        for lines in found[4 * run :]:
            for (_, values), expected in zip(lines, scores(tmp_path), strict=True):
                np.testing.assert_array_equal(values, expected)
    assert not np.array_equal(found[0][0][1], found[-1][0][1], equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "place"), [("entropy --json", "--workers 2"), ("segment", "--cluster local")])
def test_the_same_bytes_by_several_processes(tokenlab, model, tmp_path, command, place):
    text = tmp_path / "text.txt"
    text.write_text(TEXT * 30, encoding="utf-8")  # twelve blocks
    alone = [*command.split(), text, "--model", model, "--threads", 1, "--batch-tokens", 8]
    assert tokenlab(*alone, *place.split()) == tokenlab(*alone)
