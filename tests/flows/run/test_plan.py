"""Plans of a run, made without running any stage; and the commands `status` and `clean`."""

import json
import shutil
import sys
from pathlib import Path

import killing
import pytest

from flows.__main__ import describe
from flows.run.plan import Plan, Policy, Selection, Step, make_plan, read_policy
from tokenlab.core.errors import InputError, ParameterError

DRY_RUN = [sys.executable, "-m", "flows", "run", "--dry-run"]


@pytest.fixture(autouse=True)
def own_site_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site-cache"))


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


def test_nothing_to_do(copy_of_finished: Path) -> None:
    plan = make_plan(copy_of_finished, Selection())
    assert not plan.steps
    assert set(plan.selected) == {"first", "fan", "leaf@a", "leaf@b", "last"}


def test_reasons(copy_of_finished: Path) -> None:
    (copy_of_finished / "seed.txt").write_text("other\n")
    (copy_of_finished / "params.yaml").write_text("letters: 4\n")
    (copy_of_finished / "data/sample/leaf-a/name.txt").unlink()
    (copy_of_finished / "data/sample/leaf-b.json").unlink()
    found = reasons(make_plan(copy_of_finished, Selection()))
    assert set(found["first"]) == {"changed dependency seed.txt", "changed parameter letters"}
    assert found["fan"] == ("after first",)
    assert found["leaf@a"] == ("changed output data/sample/leaf-a",)
    assert found["leaf@b"] == ("missing output data/sample/leaf-b.json",)
    assert set(found["last"]) == {"after leaf@a", "after leaf@b"}


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
    assert make_plan(copy_of_finished, Selection(only="leaves")).reported == ("start", "leaves")
    assert make_plan(copy_of_finished, Selection(only="start")).reported == ("start",)
    assert make_plan(copy_of_finished, Selection()).reported == ()


def test_changed_command(copy_of_finished: Path) -> None:
    pipeline = copy_of_finished / "dvc.yaml"
    pipeline.write_text(pipeline.read_text().replace("stage.py fan", "stage.py  fan"))
    assert reasons(make_plan(copy_of_finished, Selection()))["fan"] == ("changed command",)


def test_tracked_stages_are_noticed(fresh: Path) -> None:
    assert not make_plan(fresh, Selection()).tracked
    pipeline = fresh / "dvc.yaml"
    pipeline.write_text(pipeline.read_text().replace("  leaf:", "  evaluate_codes:"))
    assert make_plan(fresh, Selection()).tracked
    assert not make_plan(fresh, Selection(end="fan")).tracked


def test_parts_of_the_dag(fresh: Path) -> None:
    assert list(reasons(make_plan(fresh, Selection(only="start")))) == ["first"]
    assert list(reasons(make_plan(fresh, Selection(end="fan")))) == ["first", "fan"]
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


def test_from_requires_earlier_outputs(fresh: Path) -> None:
    with pytest.raises(InputError, match=r"leaf@[ab] needs data/sample/fan, an output of fan, which --from leaves out"):
        make_plan(fresh, Selection(start="leaf"))


def test_preset_needs_raw_data_of_another_pipeline(fresh: Path) -> None:
    (fresh / "raw").mkdir()
    (fresh / "raw/dvc.yaml").write_text("stages: {get: {wdir: .., cmd: exec true, outs: [raw/text]}}\n")
    pipeline = 'stages: {use: {wdir: "${root}", cmd: exec true, deps: [raw/text], outs: ["data/${preset}"]}}\n'
    (fresh / "presets/big").mkdir(parents=True)
    for folder, parameters in (("", "preset: sample\nroot: .\n"), ("presets/big", "preset: big\nroot: ../..\n")):
        (fresh / folder / "dvc.yaml").write_text(pipeline)
        (fresh / folder / "params.yaml").write_text(parameters)
    plan = make_plan(fresh, Selection("big"))
    assert list(reasons(plan)) == ["raw/dvc.yaml:get", "presets/big/dvc.yaml:use"]
    assert list(reasons(make_plan(fresh, Selection("big", end="raw/dvc.yaml:get")))) == ["raw/dvc.yaml:get"]


def test_unknown_names_are_one_line(fresh: Path) -> None:
    with pytest.raises(ParameterError, match=r"^no stage 'leaf@c'; there are: fan, first, last, leaf$"):
        make_plan(fresh, Selection(start="leaf@c"))
    with pytest.raises(ParameterError, match=r"no stage has the tag 'x'"):
        make_plan(fresh, Selection(only="x"))
    status, output = killing.run([*DRY_RUN, "--preset", "small"], fresh)
    assert (status, output) == (2, "flows: no preset 'small'; there are: sample\n")
    (fresh / "dvc.yaml").write_text("stages: {first: {cmd: 3}}\n")
    status, output = killing.run(DRY_RUN, fresh)
    assert (status, output.count("\n")) == (2, 1)


def test_policy() -> None:
    meta = {"tags": ["a"], "retries": 2, "retry_delay": 0.5, "timeout": 60, "resources": {"memory_gb": 4, "net": 1}}
    assert read_policy("first", meta) == Policy(2, 0.5, 60, {"memory_gb": 4, "net": 1})
    assert read_policy("first", {}) == Policy()


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (
            {"retry": 1},
            "first: meta 'retry' is unknown; there are: resources, retries, retry_delay, tags, timeout",
        ),
        ({"resources": {"cpu": 1}}, "first: resource 'cpu' is unknown; there are: gpu, memory_gb, net"),
        ({"resources": 4}, "first: meta resources must be a mapping such as {memory_gb: 4}"),
        ({"timeout": "1h"}, "first: meta timeout is '1h'; it must be a non-negative number"),
        ({"resources": {"net": -1}}, "first: meta net is -1; it must be a non-negative number"),
    ],
)
def test_invalid_policy(meta: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        read_policy("first", meta)
    assert str(raised.value) == message


def test_dry_run_of_known_durations() -> None:
    steps = (
        Step("first", ("changed dependency a", "changed parameter b", "changed parameter c"), (), Policy()),
        Step("second", ("after first",), ("first",), Policy()),
        Step("third", ("never run",), (), Policy()),
    )
    assert describe(Plan(steps, tuple("abcdefg")), {"first": 12.34, "second": 1.0, "other": 99.0}).splitlines() == [
        "would run 3 of 7 stages:",
        "  first      12.3 s  changed dependency a, changed parameter b and 1 more",
        "  second      1.0 s  after first",
        "  third           ?  never run",
        "their last runs took 13.3 s; 1 not timed yet",
    ]


def test_dry_run_changes_nothing(fresh: Path) -> None:
    before = {path: path.read_bytes() for path in fresh.rglob("*") if path.is_file() and ".dvc" not in path.parts}
    status, output = killing.run(DRY_RUN, fresh)
    assert status == 0
    assert output.startswith("would run 5 of 5 stages:\n  first           ?  never run\n")
    assert before == {path: path.read_bytes() for path in before}
    assert not (fresh / "dvc.lock").exists()


def test_nothing_to_do_is_decided_without_prefect(copy_of_finished: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "flows", "run"]
    status, output = killing.run(command, copy_of_finished)
    assert status == 0
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in output.splitlines() if "|" in line}
    assert "dvc" in imported
    assert not imported & {"prefect", "mlflow", "torch"}
    assert "nothing to do: all 5 stages are up to date" in output


def test_waits_for_another_dvc(copy_of_finished: Path) -> None:
    """A plain `dvc repro` locks the paths of its stage, and the plan waits for it."""
    (copy_of_finished / "seed.txt").write_text("other\n")
    command = "touch begun; until [ -e end ]; do sleep 0.05; done; echo > out"
    stages = {"first": {"cmd": command, "deps": ["seed.txt"], "outs": [{"out": {"cache": False}}]}}
    (copy_of_finished / "dvc.yaml").write_text(json.dumps({"stages": stages}))
    other = killing.start([sys.executable, "-m", "dvc", "repro"], copy_of_finished)
    killing.wait_until(lambda: (copy_of_finished / "begun").exists())
    waiting = killing.start(DRY_RUN, copy_of_finished)
    killing.wait_until(lambda: "is working here; waiting until it ends" in waiting.output())
    (copy_of_finished / "end").touch()
    assert other.finish() == 0, other.output()
    assert waiting.finish() == 0
    assert waiting.output().endswith("nothing to do: all 1 stages are up to date\n")


def test_server_that_is_not_there(fresh: Path) -> None:
    url = "http://127.0.0.1:9/api"
    status, output = killing.run(["env", f"PREFECT_API_URL={url}", *DRY_RUN[:-1]], fresh)
    assert status == 2
    assert output == f"flows: PREFECT_API_URL: no server answers at {url}; start it, or unset the variable\n"


def test_clean(copy_of_finished: Path) -> None:
    cache = copy_of_finished / ".dvc/cache/files/md5"
    unused = cache / "aa" / ("a" * 30)
    unused.parent.mkdir(exist_ok=True)
    unused.write_bytes(b"x" * 2048)
    command = [sys.executable, "-m", "flows", "clean"]
    status, output = killing.run(command, copy_of_finished)
    assert (status, output.splitlines()[-1]) == (2, "flows: no terminal to ask on; --yes removes it")
    assert "named by no dvc.lock here: 2.0 KiB" in output
    assert unused.exists()
    status, output = killing.run([*command, "--yes"], copy_of_finished)
    assert (status, output.splitlines()[-1]) == (0, "freed 2.0 KiB")
    assert not unused.exists()
    shutil.rmtree(copy_of_finished / "data/sample/first")
    assert killing.run([sys.executable, "-m", "dvc", "checkout"], copy_of_finished)[0] == 0
    assert make_plan(copy_of_finished, Selection()).steps == ()
    status, output = killing.run(command, copy_of_finished)
    assert (status, output.splitlines()[-1].partition("; ")[2]) == (0, "named by no dvc.lock here: 0 B")


def test_status_before_any_run_and_after_a_killed_one(copy_of_finished: Path) -> None:
    shutil.rmtree(copy_of_finished / ".work")
    command = [sys.executable, "-m", "flows", "status"]
    status, output = killing.run(command, copy_of_finished)
    assert status == 0
    assert output.splitlines()[0] == "last run of sample: never run"
    record = copy_of_finished / ".work/flow/sample.json"
    record.parent.mkdir(parents=True)
    run = {"state": "Running", "started": 0, "ended": None, "pid": 2**30, "born": 0}
    record.write_text(json.dumps({"run": run, "stages": {}, "durations": {"first": 3.5}}))
    status, output = killing.run(command, copy_of_finished)
    assert status == 0
    assert output.startswith("last run of sample: Crashed, started ")
    size = sum(path.stat().st_size for path in copy_of_finished.glob("data/sample/first*/**/*") if path.is_file())
    size += (copy_of_finished / "data/sample/first.json").stat().st_size
    first = next(line for line in output.splitlines() if line.startswith("  first"))
    assert first.split() == ["first", "-", "3.5", "s", f"{size / 1024:.1f}", "KiB"]
