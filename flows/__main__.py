"""`python -m flows check|run|status|stale|clean`: check parameters, run, show what ran or is stale, clean the cache.

`run` asks DVC what is out of date before it imports Prefect: if nothing is, it ends at once.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from flows.parameter_check import find_problems
from flows.part_report import report_part
from flows.run.history import History
from flows.run.leftovers import remove_leftovers
from flows.run.plan import Dag, Plan, Selection, find_stale, make_plan
from flows.run.presets import DEFAULT_PRESET, find_targets, pipelines
from flows.run.processes import Interrupted, signals_raise
from flows.run.workspace import pipeline
from tasks.runtime.parent_death import die_with_parent
from tokenlab.core.errors import EXIT_STATUS, InputError, ParameterError, TokenlabError, one_line

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
        return EXIT_STATUS
    except Interrupted as interruption:
        advice = f"; `{_selection(options).command()}` continues from here" if options.command is _run else ""
        print(f"flows: ended by {interruption}{advice}", file=sys.stderr)
        return 128 + interruption.number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m flows", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="check all parameters, of every preset or of one; nothing runs")
    check.add_argument("--preset", help="sample, or a folder of presets/ (default: all of them)")
    check.set_defaults(command=_check)
    run = commands.add_parser("run", help="run the stages that are out of date, independent ones in parallel")
    run.add_argument("--only", metavar="TAG", help="only the stages with this tag in dvc.yaml, and their dependencies")
    run.add_argument("--from", dest="start", metavar="STAGE", help="only this stage and the stages after it")
    run.add_argument("--to", dest="end", metavar="STAGE", help="only this stage and the stages before it")
    run.add_argument(
        "--dry-run",
        action="store_true",
        help="only list the stages that would run, why, and the time that each took last",
    )
    run.add_argument("--workers", type=_count, metavar="N", help="stages that run in parallel (default: one per core)")
    run.set_defaults(command=_run)
    status = commands.add_parser("status", help="show the last run: state, time and size of each stage")
    status.set_defaults(command=_status)
    stale = commands.add_parser("stale", help="name the stages whose recorded results are older than their code")
    stale.set_defaults(command=_stale)
    for command in (run, status, stale):
        command.add_argument("--preset", default=DEFAULT_PRESET, help="sample (default), or a folder of presets/")
    clean = commands.add_parser("clean", help="remove the objects from the cache that no dvc.lock names any more")
    clean.add_argument("--yes", action="store_true", help="do not ask")
    clean.set_defaults(command=_clean)
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _selection(options: argparse.Namespace) -> Selection:
    given = {name: getattr(options, name) for name in Selection._fields if hasattr(options, name)}
    return Selection(**given)


def _check(root: Path, options: argparse.Namespace) -> int:
    presets = [options.preset] if options.preset else list(pipelines(root))
    if _show_problems(root, presets):
        return EXIT_STATUS
    print(f"the parameters of {', '.join(presets)} are valid")
    return 0


def _show_problems(root: Path, presets: list[str]) -> bool:
    """Print a line for each problem in the parameters of these presets; return whether there is any."""
    problems = find_problems(root, presets)
    for problem in problems:
        print(f"flows: {problem}", file=sys.stderr)
    return bool(problems)


def _run(root: Path, options: argparse.Namespace) -> int:
    selection = _selection(options)
    if _show_problems(root, [selection.preset]):
        return EXIT_STATUS
    with pipeline(root) as workspace:
        if not options.dry_run:
            remove_leftovers(root, selection.preset)
        plan = make_plan(root, selection)
        if not plan.steps:
            if selection.only and not options.dry_run:
                report_part(root, selection.preset, selection.only, plan.reported, changed=False, log=_print_report)
            workspace.succeeded()
    if options.dry_run:
        print(describe(plan, History.read(root, selection.preset).durations))
        return 0
    if not plan.steps:
        print(f"nothing to do: all {len(plan.selected)} stages are up to date", flush=True)
        status = _track(root, selection) if plan.tracked else 0
        _show_results(root, selection)
        return status

    from flows.server import connect

    wait_for_server = connect(root)
    from flows.flow import PipelineFailed, run_pipeline

    wait_for_server()
    state = run_pipeline(
        selection.preset, selection.only, selection.start, selection.end, options.workers, return_state=True
    )
    if state.is_completed():
        print(f"flows: {state.message}")
        _show_results(root, selection)
        return 0
    if state.is_cancelled():
        print(f"flows: {state.message}", file=sys.stderr)
        return 1
    error = state.result(raise_on_failure=False)
    if not isinstance(error, PipelineFailed):
        raise error if isinstance(error, BaseException) else TokenlabError(f"the flow ended {state.name}")
    print(f"flows: {error}", file=sys.stderr)
    return error.status


def _print_report(line: str) -> None:
    print(f"report | {line}", flush=True)


def _show_results(root: Path, selection: Selection) -> None:
    """Print the tables of the selection and where the page is."""
    reports = root / "reports" / selection.preset
    results = reports / "tables" / (f"results-{selection.only}.txt" if selection.only else "results.txt")
    if results.exists():
        print(results.read_text(encoding="utf-8"), end="")
    if (reports / "index.html").exists():
        print(f"report: {(reports / 'index.html').relative_to(root)}")


def _track(root: Path, selection: Selection) -> int:
    return subprocess.run(selection.tracking_command(), cwd=root).returncode


def _stale(root: Path, options: argparse.Namespace) -> int:
    stale = find_stale(root, options.preset)
    for address, reasons in stale.items():
        print(f"{address}: {_shortened(reasons)}")
    if not stale:
        print("no stage is older than its code")
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
    from dvc.repo import Repo

    history = History.read(root, options.preset)
    target = find_targets(root, options.preset, None)[0]
    with Repo(str(root)) as repo:
        dag = Dag(repo)
        own = [address for address, stage in dag.stages.items() if stage.path_in_repo == target]
        sizes = {address: sum(out.meta.size or 0 for out in dag.stages[address].outs) for address in dag.before(own)}
    run = history.run
    ended = run.get("ended")
    took = f" after {ended - run['started']:.1f} s" if ended else ""
    when = time.strftime(" %Y-%m-%d %H:%M", time.localtime(run["started"])) if run else ""
    print(f"last run of {options.preset}: {history.state()}{took}{when and f', started{when}'}")
    width = max(map(len, sizes))
    for address in dag.stages:
        if address in sizes:
            stage = history.stages.get(address, {})
            seconds = history.durations.get(address)
            print(
                f"  {address:<{width}}  {stage.get('state', '-'):<9}  "
                f"{f'{seconds:.1f} s' if seconds is not None else '-':>9}  {_size(sizes[address]):>9}"
            )
    print(
        f"  {'':<{width}}  {'':<9}  {sum(history.durations.get(address, 0) for address in sizes):>7.1f} s  "
        f"{_size(sum(sizes.values())):>9}"
    )
    return 0


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.{0 if unit == 'B' else 1}f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def _clean(root: Path, options: argparse.Namespace) -> int:
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    with pipeline(root) as workspace:
        try:
            with Repo(str(root), _wait_for_lock=True) as repo:
                cache = Path(repo.cache.local.path)
                before = _folder_size(cache)
                unused = before - _used_size(repo, cache)
                print(f"cache: {_size(before)}; named by no dvc.lock here: {_size(unused)}", flush=True)
                if unused <= 0:
                    workspace.succeeded()
                    return 0
                if not options.yes and not _agreed():
                    return 0
                repo.gc(workspace=True)
        except DvcException as error:
            raise InputError(f"dvc cannot clean: {one_line(error)}; `dvc gc -w` says more") from error
        workspace.succeeded()
        print(f"freed {_size(before - _folder_size(cache))}")
    return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise ParameterError("no terminal to ask on; --yes removes it")
    return input("Remove it? Results of other commits must then be computed again. [y/N] ").strip().lower() in (
        "y",
        "yes",
    )


def _folder_size(folder: Path) -> int:
    """The size of all objects in a cache, in bytes."""
    return sum(path.stat().st_size for path in folder.glob("??/*"))


def _used_size(repo: object, cache: Path) -> int:
    used = set()
    for objects in repo.used_objs(force=True).values():  # type: ignore[attr-defined]
        used |= {str(found.value) for found in objects}
    files = [cache / name[:2] / name[2:] for name in used]
    return sum(path.stat().st_size for path in files if path.exists())


if __name__ == "__main__":
    sys.exit(main())
