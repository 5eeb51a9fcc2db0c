"""Bring the pipeline up to date: `python -m flows.repro [--preset NAME] [--only TAG]`, which is `make repro`.

DVC does the work, as a child. Around it: one run at a time in a workspace, mended if an earlier one was killed
(`flows.workspace`); nothing outlives a run that ends early (`tasks.lifeline`, `flows.processes`); in the end the table
of results. Nothing heavy is imported: when all is up to date, most of the time is DVC's.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import yaml

from flows.processes import PIPELINE
from flows.workspace import pipeline
from tasks.lifeline import PARENT, die_with_parent
from tokenlab.errors import EXIT_STATUS, InputError, ParameterError, TokenlabError, one_line

DEFAULT_PRESET = "sample"
"""The preset of the root dvc.yaml; the others lie in presets/."""


class Interrupted(BaseException):
    """A signal asked the runner to end. Not an error: it must pass every `except Exception`."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass
class Outcome:
    """What became of each stage: its last event (`flows.dvc_child`) by its address in DVC; and how DVC ended."""

    stages: dict[str, str] = field(default_factory=dict)
    failed_status: int | None = None
    status: int = 0

    def named(self, event: str) -> list[str]:
        """The stages whose last event this was."""
        return [stage for stage, last in self.stages.items() if last == event]


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 for a failed stage, 2 for what the user can mend."""
    parser = argparse.ArgumentParser(prog="python -m flows.repro", description="Bring the pipeline up to date.")
    parser.add_argument("--preset", default=DEFAULT_PRESET, help="sample (default), or a folder of presets/")
    parser.add_argument("--only", metavar="TAG", help="only the stages with this tag in dvc.yaml, and what they need")
    options = parser.parse_args(arguments)
    die_with_parent()
    root = Path.cwd().resolve()
    again = " ".join(["make repro", f"PRESET={options.preset}" * (options.preset != DEFAULT_PRESET)]).strip()
    again += f" ONLY={options.only}" if options.only else ""
    try:
        targets = find_targets(root, options.preset, options.only)
        with signals_raise(), pipeline(root) as workspace:
            outcome = reproduce(root, targets)
            if outcome.status == 0:
                workspace.succeeded()
    except (TokenlabError, OSError) as error:
        print(f"repro: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    except Interrupted as interruption:
        print(f"repro: ended by {interruption}; `{again}` goes on from here", file=sys.stderr)
        return 128 + interruption.number
    if outcome.status != 0:
        return _report_failure(outcome, again)
    _report_success(outcome, root / "reports" / options.preset, options.only)
    return 0


def find_targets(root: Path, preset: str, tag: str | None) -> list[str]:
    """What to name to `dvc repro`: the preset's dvc.yaml, or its stages with `tag` in their `meta: {tags: [...]}`.

    Raises ParameterError for a preset or a tag that does not exist, naming those that do.
    """
    pipelines = {path.parent.name: path for path in sorted(root.glob("presets/*/dvc.yaml"))}
    pipelines = {DEFAULT_PRESET: root / "dvc.yaml", **pipelines}
    if preset not in pipelines:
        raise ParameterError(f"no preset {preset!r}; there are: {', '.join(pipelines)}")
    path = pipelines[preset]
    address = str(path.relative_to(root))
    if tag is None:
        return [address]
    tagged = _tags(path)
    if targets := [f"{address}:{stage}" for stage, tags in tagged.items() if tag in tags]:
        return targets
    known = sorted({known for tags in tagged.values() for known in tags})
    raise ParameterError(f"{address}: no stage has the tag {tag!r}; there are: {', '.join(known) or 'none'}")


def _tags(path: Path) -> dict[str, list[str]]:
    """The tags of each stage, and of each group of stages that a loop makes."""
    try:
        stages: dict[str, Any] = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)["stages"]
        bodies = {name: stage.get("do", stage) for name, stage in stages.items()}
        return {name: [str(tag) for tag in body.get("meta", {}).get("tags", [])] for name, body in bodies.items()}
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a pipeline ({one_line(error)}); `dvc repro` says more") from None


def reproduce(root: Path, targets: list[str]) -> Outcome:
    """Run `dvc repro` on `targets` in a workspace that the caller holds, and wait for it."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "flows.dvc_child", str(writing), "repro", *targets]
    outcome = Outcome()
    with os.fdopen(reading, encoding="utf-8") as events:
        try:
            child = subprocess.Popen(
                command, cwd=root, env=environment(root), stdin=subprocess.DEVNULL, pass_fds=[writing]
            )
        finally:
            os.close(writing)
        for line in events:
            event = json.loads(line)
            outcome.stages[event["stage"]] = event["event"]
            if event["event"] == "failed":
                outcome.failed_status = event["status"]
    outcome.status = child.wait()
    return outcome


def environment(root: Path) -> dict[str, str]:
    """The environment of every process of a run in the workspace `root`."""
    return {
        **os.environ,
        PARENT: str(os.getpid()),
        PIPELINE: str(root),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "SHELL": "/bin/sh",  # DVC would run commands in the user's own shell
        "DVC_NO_ANALYTICS": "1",
    }


@contextmanager
def signals_raise() -> Iterator[None]:
    """Within the block, requests to end raise Interrupted, once; those that nohup ignores stay ignored."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = {number: signal.getsignal(number) for number in numbers}

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)  # ending the children must not be cut short
        raise Interrupted(number)

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report_failure(outcome: Outcome, again: str) -> int:
    """Say which stage failed and how to go on; return the runner's own exit status."""
    failed = outcome.named("failed")
    if failed:
        print(
            f"repro: stage {failed[0]} failed (see above); when it is mended, `{again}` goes on from there",
            file=sys.stderr,
        )
    elif outcome.status < 0:
        name = signal.Signals(-outcome.status).name
        print(f"repro: dvc was ended by {name}; `{again}` goes on from there", file=sys.stderr)
    else:
        print("repro: dvc could not run the pipeline (see above)", file=sys.stderr)
    return EXIT_STATUS if outcome.failed_status == EXIT_STATUS else 1


def _report_success(outcome: Outcome, reports: Path, tag: str | None) -> None:
    if tag is not None:
        for event, words in (
            ("running", "run"),
            ("restored", "taken from the cache"),
            ("unchanged", "already up to date"),
        ):
            if stages := outcome.named(event):
                print(f"{words}: {', '.join(stages)}")
        return
    results, report = reports / "tables" / "results.txt", reports / "index.html"
    if results.exists():
        print(results.read_text(encoding="utf-8"), end="")
    if report.exists():
        print(f"report: {report.relative_to(Path.cwd())}")


if __name__ == "__main__":
    sys.exit(main())
