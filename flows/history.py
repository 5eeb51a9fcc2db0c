"""What the last run of a preset did, and how long each stage took when it last ran: `.work/flow/PRESET.json`.

Times and hosts never go into an output of DVC, so they are kept here, out of git. Whoever holds the workspace writes.
"""

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tokenlab.files import write_text

FOLDER = Path(".work", "flow")
"""Where the records of runs lie, in a workspace."""


@dataclass
class History:
    """The record of a preset. Times in seconds, `started` and `ended` since 1970.

    `run` has `state`, `started`, `ended`, `pid`; `stages` by address `state`, `ended`, `seconds`; `durations` by
    address the seconds of the last time that the command truly ran.
    """

    path: Path
    run: dict[str, Any] = field(default_factory=dict)
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, preset: str) -> "History":
        """The record of a preset; empty where there is none, or none that can be read."""
        path = root / FOLDER / f"{preset}.json"
        try:
            content = json.loads(path.read_bytes())
            return cls(path, content["run"], content["stages"], content["durations"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return cls(path)

    def start(self) -> None:
        """A run of this process begins."""
        self.run = {"state": "Running", "started": time.time(), "ended": None, **process_identity()}
        self.stages = {}
        self._write()

    def stage_ended(self, address: str, state: str, seconds: float, ran: bool) -> None:
        """A stage ended; `ran` where its command went through."""
        self.stages[address] = {"state": state, "ended": time.time(), "seconds": round(seconds, 2)}
        if ran:
            self.durations[address] = round(seconds, 2)
        self._write()

    def end(self, state: str) -> None:
        """The run ended."""
        self.run |= {"state": state, "ended": time.time()}
        self._write()

    def state(self) -> str:
        """How the last run ended; `Crashed` where it never said."""
        if self.run.get("state") == "Running" and not is_running(self.run):
            return "Crashed"
        return str(self.run.get("state", "never run"))

    def _write(self) -> None:
        content = {"run": self.run, "stages": self.stages, "durations": self.durations}
        write_text(self.path, json.dumps(content, indent=1) + "\n")


def process_identity() -> dict[str, Any]:
    """What tells this process from any other, later ones with the same pid among them."""
    return {"pid": os.getpid(), "born": psutil.Process().create_time()}


def is_running(identity: dict[str, Any]) -> bool:
    """Whether the process of `process_identity` still runs."""
    try:
        process = psutil.Process(identity["pid"])
        return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - identity["born"]) < 1
    except (psutil.NoSuchProcess, KeyError, TypeError):
        return False
