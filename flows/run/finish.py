"""What follows the stages of a run: the page of one family, and tracking. Prefect is not imported here."""

import sys
from pathlib import Path

from flows.run.plan import Plan, Selection, find_pipeline
from flows.run.processes import Log, Processes
from flows.tracking.synchronise import track
from tokenlab.core.errors import TokenlabError


def finish(root: Path, selection: Selection, plan: Plan, changed: bool, show_report: Log, show_tracking: Log) -> None:
    """Bring page and MLflow up to date. changed: whether any result may be new.

    Raises TokenlabError where they cannot be written.
    """
    if selection.only in plan.reported:
        _report_family(root, selection.preset, plan.reported, changed, show_report)
    if plan.tracked and (line := track(root, selection.preset, selection.only)):
        show_tracking(line)


def _report_family(root: Path, preset: str, families: tuple[str, ...], changed: bool, log: Log) -> None:
    """Write page and tables of `families`: a run of one family leaves out the stage that writes those of all."""
    parameters = find_pipeline(root, preset).with_name("params.yaml")
    shown = ",".join(families)
    page = root / "reports" / preset / "index.html"
    written = page.with_name("tables") / "families.txt"
    if not changed and page.exists() and written.exists() and written.read_text(encoding="utf-8") == shown + "\n":
        code = [path for path in (root / "tasks/report").rglob("*") if path.suffix not in ("", ".pyc")]
        sources = [*code, root / "tasks/views.py", root / "tokenlab/codes/table.py", root / parameters, written]
        if all(path.stat().st_mtime_ns <= page.stat().st_mtime_ns for path in sources if path.exists()):
            return
    with Processes(root) as processes:
        ended = processes.run([sys.executable, "-m", "tasks.report.page", str(parameters), shown], log)
    if ended.status != 0:
        raise TokenlabError(f"the report was not written ({ended.describe()}, see above)")
