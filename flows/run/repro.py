"""`python -m flows.run.repro [--preset NAME] [--only TAG]`, which is `make repro`: bring the pipeline up to date.

DVC does the work in a child process. This runner allows one run at a time in a workspace and repairs what a killed run
left (`flows.run.workspace`), lets no process outlive the run (`tasks.runtime.parent_death`, `flows.run.processes`), and
prints the table of results at the end. It imports nothing heavy: when all is up to date, most of the time is DVC's.
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
from typing import NoReturn

from flows.run.leftovers import remove_leftovers
from flows.run.presets import DEFAULT_PRESET, find_targets
from flows.run.processes import PIPELINE
from flows.run.workspace import pipeline
from tasks.runtime.parent_death import PARENT, die_with_parent
from tokenlab.core.errors import EXIT_STATUS, TokenlabError, one_line


class Interrupted(BaseException):
    """A signal asked the runner to end. A BaseException, so that no `except Exception` catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass
class Outcome:
    """Address of a stage -> its last event (`flows.run.dvc_child`); and the exit status of DVC."""

    stages: dict[str, str] = field(default_factory=dict)
    failed_status: int | None = None
    status: int = 0

    def named(self, event: str) -> list[str]:
        """The stages whose last event this was."""
        return [stage for stage, last in self.stages.items() if last == event]


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 for a failed stage, 2 for an error that the user can correct."""
    parser = argparse.ArgumentParser(prog="python -m flows.run.repro", description="Bring the pipeline up to date.")
    parser.add_argument("--preset", default=DEFAULT_PRESET, help="sample (default), or a folder of presets/")
    parser.add_argument(
        "--only", metavar="TAG", help="only the stages with this tag in dvc.yaml, and their dependencies"
    )
    options = parser.parse_args(arguments)
    die_with_parent()
    root = Path.cwd().resolve()
    again = " ".join(["make repro", f"PRESET={options.preset}" * (options.preset != DEFAULT_PRESET)]).strip()
    again += f" ONLY={options.only}" if options.only else ""
    try:
        targets = find_targets(root, options.preset, options.only)
        with signals_raise(), pipeline(root) as workspace:
            remove_leftovers(root, options.preset)
            outcome = reproduce(root, targets)
            if outcome.status == 0:
                workspace.succeeded()
    except (TokenlabError, OSError) as error:
        print(f"repro: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    except Interrupted as interruption:
        print(f"repro: ended by {interruption}; `{again}` continues from here", file=sys.stderr)
        return 128 + interruption.number
    if outcome.status != 0:
        return _report_failure(outcome, again)
    _report_success(outcome, root / "reports" / options.preset, options.only)
    return 0


def reproduce(root: Path, targets: list[str]) -> Outcome:
    """Run `dvc repro TARGETS` in a workspace that the caller holds, and wait for it."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "flows.run.dvc_child", str(writing), "repro", *targets]
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
    """Within the block, the first request to end raises Interrupted; signals that nohup ignores stay ignored."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = {number: signal.getsignal(number) for number in numbers}

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)  # nothing may interrupt the end of the children
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
    """Print which stage failed and the command that continues; return the exit status of the runner."""
    failed = outcome.named("failed")
    if failed:
        print(
            f"repro: stage {failed[0]} failed (see above); once that is corrected, `{again}` continues from there",
            file=sys.stderr,
        )
    elif outcome.status < 0:
        name = signal.Signals(-outcome.status).name
        print(f"repro: dvc was ended by {name}; `{again}` continues from there", file=sys.stderr)
    else:
        print("repro: dvc could not run the pipeline (see above)", file=sys.stderr)
    return EXIT_STATUS if outcome.failed_status == EXIT_STATUS else 1


def _report_success(outcome: Outcome, reports: Path, tag: str | None) -> None:
    if tag is not None:
        for event, words in (
            ("running", "ran"),
            ("restored", "restored from the cache"),
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
