"""The command `make repro`: its targets, output, exit status and environment."""

import json
import sys
from pathlib import Path

import killing
import pytest
from killing import RUNNER

from flows.run.presets import find_targets
from tokenlab.core.errors import InputError, ParameterError


def test_targets_of_presets_and_tags(fresh: Path) -> None:
    preset = fresh / "presets" / "big"
    preset.mkdir(parents=True)
    (preset / "dvc.yaml").symlink_to("../../dvc.yaml")
    assert find_targets(fresh, "sample", None) == ["dvc.yaml"]
    assert find_targets(fresh, "big", None) == ["presets/big/dvc.yaml"]
    assert find_targets(fresh, "sample", "end") == ["dvc.yaml:leaf", "dvc.yaml:last"]
    assert find_targets(fresh, "big", "start") == ["presets/big/dvc.yaml:first"]


def test_unknown_preset_and_tag_name_the_known_ones(fresh: Path) -> None:
    preset = fresh / "presets" / "big"
    preset.mkdir(parents=True)
    (preset / "dvc.yaml").symlink_to("../../dvc.yaml")
    with pytest.raises(ParameterError, match="no preset 'small'; there are: sample, big"):
        find_targets(fresh, "small", None)
    with pytest.raises(ParameterError, match=r"^dvc.yaml: no stage has the tag 'x'; there are: end, leaves, start$"):
        find_targets(fresh, "sample", "x")
    status, output = killing.run([*RUNNER, "--only", "x"], fresh)
    assert (status, output.count("\n")) == (2, 1)


def test_malformed_pipeline_is_named(fresh: Path) -> None:
    (fresh / "dvc.yaml").write_text("stages: [\n")
    with pytest.raises(InputError, match=r"dvc\.yaml: not a pipeline"):
        find_targets(fresh, "sample", "end")


@pytest.mark.slow
def test_what_dvc_refuses_is_told_by_dvc(fresh: Path) -> None:
    (fresh / "dvc.yaml").write_text("stages: [\n")
    status, output = killing.run(RUNNER, fresh)
    assert (status, output.count("\n")) == (2, 1)
    assert "repro: dvc cannot read the pipeline: unable to read: 'dvc.yaml'" in output


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
    assert output.endswith("are up to date.\nmethod  F1\nreport: reports/sample/index.html\n")


def test_only_names_its_stages(copy_of_finished: Path) -> None:
    (copy_of_finished / "data/sample/fan/text.txt").unlink()
    status, output = killing.run([*RUNNER, "--only", "leaves"], copy_of_finished)
    assert status == 0
    *_, restored, unchanged = output.splitlines()
    assert restored == "restored from the cache: fan"
    assert set(unchanged.removeprefix("already up to date: ").split(", ")) == {"first", "leaf@a", "leaf@b"}


def test_failed_stage_is_named(copy_of_finished: Path) -> None:
    lock_before = (copy_of_finished / "dvc.lock").read_bytes()
    (copy_of_finished / "fail").write_text("fan")
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")
    (copy_of_finished / "seed.txt").write_text("other\n")
    status, output = killing.run([*RUNNER, "--only", "leaves"], copy_of_finished)
    assert status == 2  # as the stage
    assert "ERROR: failed to reproduce 'fan'" in output
    assert output.endswith(
        "repro: stage fan failed (see above); once that is corrected, `make repro ONLY=leaves` continues from there\n"
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
    assert (
        "repro: stage first failed (see above); once that is corrected, `make repro` continues from there\n" in output
    )


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
    assert not imported & {"dvc", "prefect", "mlflow", "torch", "numpy", "pandas", "polars", "pydantic", "transformers"}
