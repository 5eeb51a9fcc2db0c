"""The record of a preset's last run and of the time that each stage took: `.work/flow/PRESET.json`.

Times and hosts never go into an output of DVC, so they are kept here, outside git. Only the holder of the workspace
writes.
"""

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tokenlab.core.files import write_text

FOLDER = Path(".work", "flow")
"""The folder of the records in a workspace."""

EVENT_STATES = {"running": "Completed", "restored": "Restored", "unchanged": "Cached"}
"""Last event of a stage that succeeded (`flows.run.dvc_child`) -> its state."""


@dataclass
class History:
    """The record of a preset. Times in seconds, `started` and `ended` since 1970.

    run: `state`, `started`, `ended`, `pid`. stages: address -> `state`, `ended`, `seconds`. durations: address ->
    seconds of the last time that the command itself ran.
    """

    path: Path
    run: dict[str, Any] = field(default_factory=dict)
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, preset: str) -> "History":
        """The record of a preset; empty where there is none or it cannot be read."""
        path = root / FOLDER / f"{preset}.json"
        try:
            content = json.loads(path.read_bytes())
            return cls(path, content["run"], content["stages"], content["durations"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return cls(path)

    def start(self) -> None:
        """Record that this process starts a run."""
        self.run = {"state": "Running", "started": time.time(), "ended": None, **process_identity()}
        self.stages = {}
        self._write()

    def stage_ended(self, address: str, state: str, seconds: float, ran: bool) -> None:
        """Record the end of a stage. ran: its command ran and succeeded."""
        self.stages[address] = {"state": state, "ended": time.time(), "seconds": round(seconds, 2)}
        if ran:
            self.durations[address] = round(seconds, 2)
        self._write()

    def end(self, state: str) -> None:
        """Record the end of the run."""
        self.run |= {"state": state, "ended": time.time()}
        self._write()

    def state(self) -> str:
        """How the last run ended; `Crashed` where its process is gone and recorded no end."""
        if self.run.get("state") == "Running" and not is_running(self.run):
            return "Crashed"
        return str(self.run.get("state", "never run"))

    def _write(self) -> None:
        content = {"run": self.run, "stages": self.stages, "durations": self.durations}
        write_text(self.path, json.dumps(content, indent=1) + "\n")


def process_identity() -> dict[str, Any]:
    """Identifies this process, also among later processes with the same pid."""
    return {"pid": os.getpid(), "born": psutil.Process().create_time()}


def is_running(identity: dict[str, Any]) -> bool:
    """Whether the process with this identity still runs."""
    try:
        process = psutil.Process(identity["pid"])
        return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - identity["born"]) < 1
    except (psutil.NoSuchProcess, KeyError, TypeError):
        return False
