"""`python -m flows check|run|track|reproduced|status|stale`: run the pipeline, and show or check its results.

`run` asks DVC what is out of date before it imports Prefect: if nothing is, it ends at once.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from flows.parameter_check import find_problems
from flows.run.finish import finish
from flows.run.history import History
from flows.run.plan import DEFAULT_PRESET, Plan, Selection, find_stale, make_plan, pipelines, read_dag
from flows.run.processes import Interrupted, signals_raise
from flows.run.workspace import pipeline
from flows.tracking.synchronise import track
from tokenlab.core.errors import EXIT_STATUS, TokenlabError, one_line
from tokenlab.core.parent_death import die_with_parent

_REASONS_SHOWN = 2


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 for a failed stage, 2 for an error that the user can correct."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("DO_NOT_TRACK", "1")
    die_with_parent()
    root = Path.cwd().resolve()
    try:
        with signals_raise():
            status = int(options.command(root, options))
            sys.stdout.flush()
            return status
    except BrokenPipeError:  # the reader has seen enough, as in `python -m flows status | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (TokenlabError, OSError) as error:
        print(f"flows: {one_line(error)}", file=sys.stderr)
        return int(getattr(error, "status", EXIT_STATUS))
    except Interrupted as interruption:
        advice = f"; `{_selection(options).command()}` continues from here" if options.command is _run else ""
        print(f"flows: ended by {interruption}{advice}", file=sys.stderr)
        return 128 + interruption.number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m flows", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(command: Callable[..., int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(command.__name__.removeprefix("_"), help=text)
        added.set_defaults(command=command)
        return added

    check = add(_check, "check all parameters, of every preset or of one; nothing runs")
    run = add(_run, "run the stages that are out of date, independent ones in parallel")
    track_ = add(_track, "bring MLflow up to date with the results")
    status = add(_status, "show the last run: state, time and size of each stage")
    stale = add(_stale, "name the stages whose recorded results are older than their code")
    add(_reproduced, "compare the results of the preset `sample` with the last commit")
    check.add_argument("--preset", help="sample, or a folder of presets/ (default: all of them)")
    for command in (run, track_, status, stale):
        command.add_argument("--preset", default=DEFAULT_PRESET, help="sample (default), or a folder of presets/")
    run.add_argument("--only", metavar="TAG", help="only the stages with this tag in dvc.yaml, and their dependencies")
    run.add_argument("--from", dest="start", metavar="STAGE", help="only this stage and the stages after it")
    run.add_argument("--to", dest="end", metavar="STAGE", help="only this stage and the stages before it")
    dry_run = "only list the stages that would run, why, and the time that each took last"
    run.add_argument("--dry-run", action="store_true", help=dry_run)
    run.add_argument("--workers", type=_count, metavar="N", help="stages that run in parallel (default: one per core)")
    track_.add_argument("--only", metavar="TAG", help="only the results of stages with this tag in dvc.yaml")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _selection(options: argparse.Namespace) -> Selection:
    return Selection(options.preset, options.only, options.start, options.end)


def _check(root: Path, options: argparse.Namespace) -> int:
    presets = [options.preset] if options.preset else list(pipelines(root))
    _require_valid(root, presets)
    print(f"the parameters of {', '.join(presets)} are valid")
    return 0


def _require_valid(root: Path, presets: list[str]) -> None:
    """End with a line for each problem in the parameters of these presets."""
    problems = find_problems(root, presets)
    for problem in problems:
        print(f"flows: {problem}", file=sys.stderr)
    if problems:
        raise SystemExit(EXIT_STATUS)


def _run(root: Path, options: argparse.Namespace) -> int:
    selection = _selection(options)
    _require_valid(root, [selection.preset])
    with pipeline(root):
        plan = make_plan(root, selection, clean=not options.dry_run)
        if options.dry_run:
            print(describe(plan, History.read(root, selection.preset).durations))
            return 0
        if plan.steps:
            print(f"flows: {_execute(root, selection, plan, options.workers)}")
        else:
            print(describe(plan, {}), flush=True)
            finish(root, selection, plan, False, lambda line: print(f"report | {line}", flush=True), print)
    reports = root / "reports" / selection.preset
    results = reports / "tables" / (f"results-{selection.only}.txt" if selection.only else "results.txt")
    if results.exists():
        print(results.read_text(encoding="utf-8"), end="")
    if (reports / "index.html").exists():
        print(f"report: {(reports / 'index.html').relative_to(root)}")
    return 0


def _execute(root: Path, selection: Selection, plan: Plan, workers: int | None) -> str:
    """Run the steps of a plan as a flow of Prefect; return how they ended."""
    from flows.server import connect

    wait_for_server = connect(root)
    from flows.flow import run_planned

    wait_for_server()
    return run_planned(selection, plan, workers)


def _track(root: Path, options: argparse.Namespace) -> int:
    if options.only is not None:
        with read_dag(root, options.preset) as dag:
            dag.select(Selection(options.preset, options.only))
    if line := track(root, options.preset, options.only):
        print(line)
    return 0


def _reproduced(root: Path, options: argparse.Namespace) -> int:
    from flows.run.reproduced import check

    found = check(root)
    print("\n".join(found) or "reproduced: every output has the bytes that the committed dvc.lock records")
    return 1 if found else 0


def _stale(root: Path, options: argparse.Namespace) -> int:
    stale = find_stale(root, options.preset)
    lines = [f"{address}: {_shortened(reasons)}" for address, reasons in stale.items()]
    print("\n".join(lines) or "no stage is older than its code")
    return 0


def _shortened(reasons: Sequence[str]) -> str:
    more = len(reasons) - _REASONS_SHOWN
    return ", ".join(reasons[:_REASONS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def describe(plan: Plan, durations: dict[str, float]) -> str:
    """The stages that a run would execute, each with the seconds that it took last, and the reasons."""
    if not plan.steps:
        return f"nothing to do: all {len(plan.selected)} stages are up to date"
    width = max(len(step.address) for step in plan.steps)
    lines = [f"would run {len(plan.steps)} of {len(plan.selected)} stages:"]
    for step in plan.steps:
        seconds = f"{durations[step.address]:.1f} s" if step.address in durations else "?"
        lines.append(f"  {step.address:<{width}}  {seconds:>9}  {_shortened(step.reasons)}")
    known = [durations[step.address] for step in plan.steps if step.address in durations]
    unknown = len(plan.steps) - len(known)
    lines.append(f"their last runs took {sum(known):.1f} s" + (f"; {unknown} not timed yet" if unknown else ""))
    return "\n".join(lines)


def _status(root: Path, options: argparse.Namespace) -> int:
    history = History.read(root, options.preset)
    with read_dag(root, options.preset) as dag:
        selected = dag.select(Selection(options.preset))
        sizes = {address: sum(out.meta.size or 0 for out in dag.stages[address].outs) for address in selected}
    run = history.run
    took = f" after {run['ended'] - run['started']:.1f} s" if run.get("ended") else ""
    when = time.strftime(", started %Y-%m-%d %H:%M", time.localtime(run["started"])) if run else ""
    print(f"last run of {options.preset}: {history.state(root)}{took}{when}")
    seconds = {address: history.durations[address] for address in sizes if address in history.durations}
    rows = [
        (address, history.states.get(address, "-"), f"{seconds[address]:.1f} s" if address in seconds else "-", size)
        for address, size in sizes.items()
    ]
    width = max(map(len, sizes))
    for address, state, time_, size in [*rows, ("", "", f"{sum(seconds.values()):.1f} s", sum(sizes.values()))]:
        print(f"  {address:<{width}}  {state:<9}  {time_:>9}  {_size(size):>9}")
    return 0


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.{0 if unit == 'B' else 1}f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


if __name__ == "__main__":
    sys.exit(main())
