"""The page and the tables after a run of one family, `--only`, which leaves out the stage that writes them."""

import sys
from collections.abc import Sequence
from pathlib import Path

from flows.run.dvc_processes import DvcProcesses, Log
from flows.run.presets import find_targets
from tokenlab.core.errors import TokenlabError


def report_part(root: Path, preset: str, tag: str, families: Sequence[str], changed: bool, log: Log) -> None:
    """Bring the page and the tables up to date where only the stages with a tag were asked for.

    families: those to show, whose results are up to date (`Plan.reported`). changed: whether any result may be new.

    Raises TokenlabError where they cannot be written.
    """
    shown = ",".join(families)
    written = root / "reports" / preset / "tables" / "families.txt"
    if tag not in families:
        return
    if not changed and written.exists() and written.read_text() == shown + "\n":
        return
    parameters = str(Path(find_targets(root, preset, None)[0]).with_name("params.yaml"))
    command = [sys.executable, "-m", "tasks.report.page", parameters, shown]
    with DvcProcesses(root) as processes:
        ended = processes.run(command, log)
    if ended.status != 0:
        raise TokenlabError(f"the report was not written ({ended.describe()}, see above)")
