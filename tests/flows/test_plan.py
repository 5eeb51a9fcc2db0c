"""Plans of a run and stale results, without running any stage; and the commands that only show or clean."""

import json
import shutil
import sys
from pathlib import Path

import killing
import pytest
import toy_pipeline

from flows.run.plan import Plan, Selection, find_pipeline, find_stale, make_plan, put_to_use, read_policy
from tokenlab.core.errors import InputError, ParameterError

pytestmark = pytest.mark.usefixtures("own_site_cache")

FLOWS = [sys.executable, "-m", "flows"]
DRY_RUN = [*FLOWS, "run", "--dry-run"]


def reasons(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {step.address: step.reasons for step in plan.steps}


def test_never_run(fresh: Path) -> None:
    plan = make_plan(fresh, Selection())
    assert len(plan.selected) == 5
    assert reasons(plan) == dict.fromkeys(["first", "fan", "leaf@a", "leaf@b", "last"], ("never run",))
    assert {step.address: set(step.after) for step in plan.steps} == {
        "first": set(),
        "fan": {"first"},
        "leaf@a": {"fan"},
        "leaf@b": {"fan"},
        "last": {"leaf@a", "leaf@b"},
    }


def test_reasons(copy_of_finished: Path) -> None:
    assert not make_plan(copy_of_finished, Selection()).steps
    (copy_of_finished / "seed.txt").write_text("other\n")
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")
    (copy_of_finished / "data/sample/leaf-a/name.txt").unlink()
    (copy_of_finished / "data/sample/leaf-b.json").unlink()
    toy_pipeline.change(copy_of_finished, "stage.py last", "stage.py  last")
    found = reasons(make_plan(copy_of_finished, Selection()))
    assert set(found["first"]) == {"changed dependency seed.txt", "changed parameter letters"}
    assert found["fan"] == ("after first",)
    assert found["leaf@a"] == ("changed output data/sample/leaf-a",)
    assert found["leaf@b"] == ("missing output data/sample/leaf-b.json",)
    assert found["last"] == ("changed command",)


def test_families_that_a_report_can_show(copy_of_finished: Path) -> None:
    """Those whose stages are all up to date after a run of one family; none where the report needs nothing."""
    pipeline = copy_of_finished / "dvc.yaml"
    text = pipeline.read_text()
    assert make_plan(copy_of_finished, Selection(only="leaves")).reported == ()
    page = "  report: {cmd: exec true, deps: [data/sample/last], outs: [page]}\n"
    pipeline.write_text(text + page)
    assert make_plan(copy_of_finished, Selection(only="leaves")).reported == ("start", "leaves", "end")
    (copy_of_finished / "data/sample/last/name.txt").unlink()  # `last` alone is of the family `end`
    assert make_plan(copy_of_finished, Selection(only="leaves")).reported == ("start", "leaves")
    (copy_of_finished / "seed.txt").write_text("other\n")
    assert make_plan(copy_of_finished, Selection(only="start")).reported == ("start",)
    assert make_plan(copy_of_finished, Selection()).reported == ()


def test_tracked_stages_are_noticed(fresh: Path) -> None:
    assert not make_plan(fresh, Selection()).tracked
    toy_pipeline.change(fresh, "  leaf:", "  evaluate_codes:")
    assert make_plan(fresh, Selection()).tracked
    assert not make_plan(fresh, Selection(end="fan")).tracked


def test_parts_of_the_dag(fresh: Path) -> None:
    assert list(reasons(make_plan(fresh, Selection(only="start")))) == ["first"]
    assert set(reasons(make_plan(fresh, Selection(end="leaf")))) == {"first", "fan", "leaf@a", "leaf@b"}
    assert set(reasons(make_plan(fresh, Selection(only="leaves", end="leaf@b")))) == {"first", "fan", "leaf@b"}


def test_from_leaves_earlier_stages_alone(copy_of_finished: Path) -> None:
    (copy_of_finished / "seed.txt").write_text("other\n")
    plan = make_plan(copy_of_finished, Selection(start="leaf"))
    assert not plan.steps
    assert set(plan.selected) == {"leaf@a", "leaf@b", "last"}
    (copy_of_finished / "data/sample/leaf-a/name.txt").unlink()
    assert list(reasons(make_plan(copy_of_finished, Selection(start="leaf@a")))) == ["leaf@a", "last"]
    assert list(reasons(make_plan(copy_of_finished, Selection(start="leaf@a", end="leaf@a")))) == ["leaf@a"]
    shutil.rmtree(copy_of_finished / "data/sample/fan")
    with pytest.raises(InputError, match=r"leaf@[ab] needs data/sample/fan"):
        make_plan(copy_of_finished, Selection(start="leaf"))


def test_preset_needs_raw_data_of_another_pipeline(fresh: Path) -> None:
    toy_pipeline.write_files(
        fresh, {"data/raw/dvc.yaml": "stages: {get: {wdir: ../.., cmd: exec true, outs: [data/raw/text]}}\n"}
    )
    pipeline = 'stages: {use: {wdir: "${root}", cmd: exec true, deps: [data/raw/text], outs: ["data/${preset}"]}}\n'
    (fresh / "presets/big").mkdir(parents=True)
    (fresh / "dvc.yaml").write_text(pipeline)
    for folder, parameters in (("", "preset: sample\nroot: .\n"), ("presets/big", "preset: big\nroot: ../..\n")):
        (fresh / folder / "params.yaml").write_text(parameters)
    assert list(reasons(make_plan(fresh, Selection("big")))) == ["data/raw/dvc.yaml:get", "presets/big/dvc.yaml:use"]
    assert list(reasons(make_plan(fresh, Selection("big", end="data/raw/dvc.yaml:get")))) == ["data/raw/dvc.yaml:get"]


def test_unknown_names_are_one_line(fresh: Path) -> None:
    for selection, message in (
        (Selection(start="leaf@c"), "stage 'leaf@c'.*: fan, first, last, leaf"),
        (Selection(only="x"), "tag 'x'.*: end, leaves, start"),
        (Selection("small"), "preset 'small'.*: sample"),
        (Selection(start="last", end="first"), "names no stage"),
    ):
        with pytest.raises(ParameterError, match=message):
            make_plan(fresh, selection)


def test_a_preset_is_read_before_it_is_used(fresh: Path) -> None:
    """Reading leaves it out of use; then it has a copy of the stages."""
    toy_pipeline.write_files(fresh, {"presets/big/params.yaml": "letters: 4\n"})
    assert "presets/big/dvc.yaml:fan" in reasons(make_plan(fresh, Selection("big")))
    assert not (fresh / "presets/big/dvc.yaml").exists()
    put_to_use(fresh, "big")
    assert (fresh / "presets/big/dvc.yaml").read_bytes() == (fresh / "dvc.yaml").read_bytes()


@pytest.mark.parametrize("kind", ["edited", "link"])
def test_a_preset_with_a_dag_of_its_own_is_refused(fresh: Path, kind: str) -> None:
    """Neither a copy that somebody forgot to renew, nor a link, which DVC cannot read in a commit."""
    pipeline = fresh / "presets" / "big" / "dvc.yaml"
    toy_pipeline.write_files(fresh, {"presets/big/params.yaml": "letters: 4\n"})
    shutil.copy(fresh / "dvc.yaml", pipeline)
    assert find_pipeline(fresh, "big") == Path("presets/big/dvc.yaml")
    if kind == "link":
        pipeline.unlink()
        pipeline.symlink_to("../../dvc.yaml")
    else:
        pipeline.write_text((fresh / "dvc.yaml").read_text() + "# edited\n")
    with pytest.raises(InputError, match=r"presets/big/dvc.yaml .*make presets"):
        find_pipeline(fresh, "big")


def test_what_cannot_be_planned_is_one_line(fresh: Path, tmp_path: Path) -> None:
    (fresh / "dvc.yaml").write_text("stages: [\n")
    with pytest.raises(InputError, match="cannot read the pipeline"):
        make_plan(fresh, Selection())
    status, output = killing.run(DRY_RUN, tmp_path)
    assert (status, output.count("\n")) == (2, 1) and "root of the project" in output


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"retry": 2}, "'retry' is unknown"),
        ({"resources": {"ram": 2}}, "'ram' is unknown"),
        ({"retries": True}, "retries is True"),
        ({"resources": 4}, "resources must be a mapping"),
        ({"resources": {"net": -1}}, "net is -1"),
    ],
)
def test_invalid_policy(meta: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=f"first: .*{message}"):
        read_policy("first", meta)


def test_dry_run_changes_nothing(fresh: Path) -> None:
    def all_files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in fresh.rglob("*") if path.is_file() and ".dvc" not in path.parts}

    before = all_files()
    status, output = killing.run(DRY_RUN, fresh)
    assert (status, output.splitlines()[0]) == (0, "would run 5 of 5 stages:")
    assert before == all_files()


def test_nothing_to_do_imports_nothing_heavy_and_shows_the_results(copy_of_finished: Path) -> None:
    page = {"tables/results.txt": "all  F1\n", "tables/results-leaves.txt": "leaves  F1\n", "index.html": ""}
    toy_pipeline.write_files(copy_of_finished / "reports/sample", page)
    command = [sys.executable, "-X", "importtime", *FLOWS[1:], "run"]
    status, output = killing.run(command, copy_of_finished)
    assert status == 0, output
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in output.splitlines() if "|" in line}
    assert {"flows", "dvc"} <= imported
    assert not imported & {"prefect", "mlflow", "torch", "numpy", "pandas", "polars", "pydantic", "transformers"}
    assert "nothing to do: all 5 stages" in output
    assert "all  F1\nreport: reports/sample/index.html\n" in output
    status, output = killing.run([*FLOWS, "run", "--only", "leaves"], copy_of_finished)
    assert (status, output.splitlines()[-2]) == (0, "leaves  F1")


def test_status_before_any_run_and_after_a_killed_one(copy_of_finished: Path) -> None:
    status, output = killing.run([*FLOWS, "status"], copy_of_finished)
    assert (status, output.splitlines()[0]) == (0, "last run of sample: never run")
    run = {"state": "Running", "started": 0, "ended": None}
    content = json.dumps({"run": run, "states": {}, "durations": {"first": 3.5}})
    toy_pipeline.write_files(copy_of_finished, {".work/flow/sample.json": content})
    status, output = killing.run([*FLOWS, "status"], copy_of_finished)
    assert status == 0
    assert output.startswith("last run of sample: Crashed")
    size = sum(path.stat().st_size for path in copy_of_finished.glob("data/sample/first*/**/*") if path.is_file())
    size += (copy_of_finished / "data/sample/first.json").stat().st_size
    first = next(line for line in output.splitlines() if line.startswith("  first"))
    assert first.split() == ["first", "-", "3.5", "s", f"{size / 1024:.1f}", "KiB"]


def test_status_ends_silently_when_nobody_reads_on(fresh: Path) -> None:
    """As in `python -m flows status | head -1`."""
    command = ["bash", "-c", f"'{sys.executable}' -m flows status | true; echo ${{PIPESTATUS[0]}}"]
    assert killing.run(command, fresh) == (0, "141\n")


def test_stale_results_are_found_without_data(copy_of_finished: Path) -> None:
    def shown() -> list[str]:
        status, output = killing.run([*FLOWS, "stale"], copy_of_finished)
        assert status == 0
        return output.splitlines()

    toy_pipeline.write_files(copy_of_finished, {"code/helper.py": "x = 1\n"})
    toy_pipeline.change(copy_of_finished, "deps: [data/sample/fan/text.txt]", "deps: [data/sample/fan, code]")
    toy_pipeline.repro(copy_of_finished)
    for folder in ("data", ".dvc/cache"):
        shutil.rmtree(copy_of_finished / folder)
    assert shown() == ["no stage is older than its code"]
    (copy_of_finished / "code/helper.py").write_text("x = 2\n")
    *leaves, last = shown()
    assert sorted(leaves) == [f"leaf@{name}: changed dependency code" for name in "ab"]
    assert last.startswith("last: after leaf@")
    (copy_of_finished / "code/helper.py").write_text("x = 1\n")
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")
    found = find_stale(copy_of_finished, "sample")
    assert found["first"] == ["changed parameter letters"] and found["fan"] == ["after first"] and len(found) == 5
    (copy_of_finished / "dvc.lock").unlink()
    assert find_stale(copy_of_finished, "sample")["first"] == ["never run"]
