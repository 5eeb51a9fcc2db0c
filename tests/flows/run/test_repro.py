"""The command `make repro`: its targets, output, exit status and environment."""

import json
import os
import shutil
import sys
from pathlib import Path

import killing
import pytest
from killing import RUNNER

from flows.run.presets import find_targets
from flows.run.schedule import in_words
from tokenlab.core.errors import InputError, ParameterError


def test_targets_of_presets_and_tags(fresh: Path) -> None:
    preset = fresh / "presets" / "big"
    preset.mkdir(parents=True)
    shutil.copy(fresh / "dvc.yaml", preset)
    assert find_targets(fresh, "sample", None) == ["dvc.yaml"]
    assert find_targets(fresh, "big", None) == ["presets/big/dvc.yaml"]
    assert find_targets(fresh, "sample", "end") == ["dvc.yaml:leaf", "dvc.yaml:last"]
    assert find_targets(fresh, "big", "start") == ["presets/big/dvc.yaml:first"]


def test_unknown_preset_and_tag_name_the_known_ones(fresh: Path) -> None:
    preset = fresh / "presets" / "big"
    preset.mkdir(parents=True)
    shutil.copy(fresh / "dvc.yaml", preset)
    with pytest.raises(ParameterError, match="no preset 'small'; there are: sample, big"):
        find_targets(fresh, "small", None)
    with pytest.raises(ParameterError, match=r"^dvc.yaml: no stage has the tag 'x'; there are: end, leaves, start$"):
        find_targets(fresh, "sample", "x")
    status, output = killing.run([*RUNNER, "--only", "x"], fresh)
    assert (status, output.count("\n")) == (2, 1)


@pytest.mark.parametrize("kind", ["edited", "link"])
def test_a_preset_with_a_dag_of_its_own_is_refused(fresh: Path, kind: str) -> None:
    """Neither a copy that somebody forgot to renew, nor a link, which DVC cannot read in a commit."""
    pipeline = fresh / "presets" / "big" / "dvc.yaml"
    pipeline.parent.mkdir(parents=True)
    if kind == "link":
        pipeline.symlink_to("../../dvc.yaml")
    else:
        pipeline.write_text((fresh / "dvc.yaml").read_text() + "# edited\n")
    with pytest.raises(InputError, match=r"presets/big/dvc.yaml is no copy of .*dvc.yaml.*make presets"):
        find_targets(fresh, "big", None)


def test_malformed_pipeline_is_named(fresh: Path) -> None:
    (fresh / "dvc.yaml").write_text("stages: [\n")
    with pytest.raises(InputError, match=r"dvc\.yaml: not a pipeline"):
        find_targets(fresh, "sample", "end")


@pytest.mark.slow
def test_what_dvc_refuses_is_told_by_dvc(fresh: Path) -> None:
    (fresh / "dvc.yaml").write_text("stages: [\n")
    status, output = killing.run(RUNNER, fresh)
    assert (status, output.count("\n")) == (2, 1)
    assert "flows: dvc cannot read the pipeline: unable to read: 'dvc.yaml'" in output


def test_elsewhere_than_in_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    status, output = killing.run(RUNNER, tmp_path)
    assert (status, output.count("\n")) == (2, 1)
    assert "run from the root of the project" in output


def test_nothing_to_do_shows_the_results(copy_of_finished: Path) -> None:
    tables = copy_of_finished / "reports/sample/tables"
    tables.mkdir(parents=True)
    (tables / "results.txt").write_text("method  F1\n")
    (copy_of_finished / "reports/sample/index.html").touch()
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0
    assert output.endswith("are up to date\nmethod  F1\nreport: reports/sample/index.html\n")


@pytest.mark.slow
def test_time_left_by_the_last_durations(copy_of_finished: Path) -> None:
    """Nothing is known in a first run; later each stage counts with the time that its command took last."""
    record = copy_of_finished / ".work/flow/sample.json"
    durations = json.loads(record.read_text())["durations"]
    assert set(durations) == {"first", "fan", "leaf@a", "leaf@b", "last"}
    del durations["last"]
    content = {"run": {}, "stages": {}, "durations": dict.fromkeys(durations, 600.0)}
    record.write_text(json.dumps(content))
    (copy_of_finished / "seed.txt").write_text("other\n")
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 0, output
    lines = [line for line in output.splitlines() if line.startswith("stage ")]
    assert lines[0] == (
        "stage 1 of 5: first (changed dependency seed.txt), about 30 min left and 1 stages not timed yet"
    ) or (os.cpu_count() == 1 and "about 40 min left" in lines[0])
    assert lines[-1].startswith("stage 5 of 5: last (after leaf@") and lines[-1].endswith(")")  # its time is not known
    assert json.loads(record.read_text())["run"]["state"] == "Completed"
    assert json.loads(record.read_text())["durations"]["last"] < 300


def test_a_first_run_does_not_guess(fresh: Path) -> None:
    status, output = killing.run([*RUNNER, "--only", "start"], fresh)
    assert (status, output.splitlines()[0]) == (0, "stage 1 of 1: first (never run)")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (59.6, "60 s"), (90, "2 min"), (3599, "1 h 0 min"), (12000, "3 h 20 min")]
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_only_shows_the_tables_of_its_family(copy_of_finished: Path) -> None:
    tables = copy_of_finished / "reports/sample/tables"
    tables.mkdir(parents=True)
    (tables / "results.txt").write_text("all\n")
    (tables / "results-leaves.txt").write_text("leaves  F1\n")
    status, output = killing.run([*RUNNER, "--only", "leaves"], copy_of_finished)
    assert (status, output.splitlines()[-1]) == (0, "leaves  F1")


@pytest.mark.slow
def test_invalid_parameters_stop_a_run_before_it_changes_anything(fresh: Path) -> None:
    """One line each, exit status 2; outputs of a corpus whose name is misspelt are not removed."""
    pipeline = fresh / "dvc.yaml"
    pipeline.write_text(pipeline.read_text().replace("python stage.py first", "python -m tasks.corpora.prepare"))
    (fresh / "data/raw").mkdir(parents=True)
    (fresh / "data/raw/params.yaml").write_text("builtin: {sentences: 1, questions: 1, seed: 0}\n")
    (fresh / "params.yaml").write_text("corpora:\n  zh: {path: a}\n  zh: {path: b}\n")
    status, output = killing.run(RUNNER, fresh)
    assert (status, output) == (2, "flows: params.yaml, line 3: 'zh' is there twice; correct it\n")
    assert not (fresh / "dvc.lock").exists() and not (fresh / ".dvc/tmp/tokenlab-locks").exists()


def test_only_names_its_stages(copy_of_finished: Path) -> None:
    (copy_of_finished / "data/sample/fan/text.txt").unlink()
    status, output = killing.run([*RUNNER, "--only", "leaves"], copy_of_finished)
    assert status == 0
    lines = set(output.splitlines())
    assert {"fan | restored from the cache", "leaf@a | already up to date", "leaf@b | already up to date"} <= lines


def test_failed_stage_is_named(copy_of_finished: Path) -> None:
    lock_before = (copy_of_finished / "dvc.lock").read_bytes()
    (copy_of_finished / "fail").write_text("fan")
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")
    (copy_of_finished / "seed.txt").write_text("other\n")
    status, output = killing.run([*RUNNER, "--only", "leaves"], copy_of_finished)
    assert status == 2  # as the stage
    assert "ERROR: failed to reproduce 'fan'" in output
    assert output.endswith(
        "flows: stage fan failed (exit status 2)\n"
        "flows: 1 of 4 stages failed: fan; `python -m flows run --only leaves` continues from there\n"
    )
    lock, good_copy = copy_of_finished / "dvc.lock", copy_of_finished / ".dvc/tmp/tokenlab-locks/dvc.lock"
    assert lock.read_bytes() != good_copy.read_bytes() == lock_before


@pytest.mark.slow
def test_status_of_a_stage_that_failed_otherwise(copy_of_finished: Path) -> None:
    stage = copy_of_finished / "stage.py"
    stage.write_text("raise ValueError\n")
    (copy_of_finished / "seed.txt").write_text("other\n")
    status, output = killing.run(RUNNER, copy_of_finished)
    assert status == 1
    assert "flows: 1 of 5 stages failed: first; `python -m flows run` continues from there\n" in output


@pytest.mark.slow
def test_environment_of_a_stage(fresh: Path) -> None:
    (fresh / "stage.py").write_text(
        "import json, os, shutil, sys\n"
        "json.dump([sys.executable, shutil.which('python'), os.environ['SHELL']], open('seen.json', 'w'))\n"
    )
    (fresh / "dvc.yaml").write_text("stages: {first: {cmd: exec python stage.py, outs: [seen.json]}}\n")
    status, output = killing.run(["env", "SHELL=/bin/false", *RUNNER], fresh)
    assert status == 0, output
    here = Path(sys.executable).parent
    executable, python, shell = json.loads((fresh / "seen.json").read_text())
    assert Path(executable).parent == here
    assert Path(python) == here / "python"
    assert shell == "/bin/sh"


def test_runner_imports_nothing_heavy(copy_of_finished: Path) -> None:
    status, output = killing.run([sys.executable, "-X", "importtime", *RUNNER[1:]], copy_of_finished)
    assert status == 0, output
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in output.splitlines() if "|" in line}
    assert "flows" in imported
    assert not imported & {"prefect", "mlflow", "torch", "numpy", "pandas", "polars", "pydantic", "transformers"}
