"""The record of a preset's last run and of the time that each stage took: `.work/flow/PRESET.json`.

Times and hosts never go into an output of DVC, so they are kept here, outside git. Only the holder of the workspace
writes.
"""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flows.run.workspace import is_held
from tokenlab.core.files import write_text

FOLDER = Path(".work", "flow")
"""The folder of the records in a workspace."""


@dataclass
class History:
    """The record of a preset, by the addresses of stages. Times in seconds, those of starts and ends since 1970.

    run: `state`, `started`, `ended`. durations, ends: of the last time that the command itself ran.
    """

    run: dict[str, Any] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)
    path: Path = Path()

    @classmethod
    def read(cls, root: Path, preset: str) -> "History":
        """The record of a preset; empty where there is none or it cannot be read."""
        path = root / FOLDER / f"{preset}.json"
        try:
            return cls(**json.loads(path.read_bytes()), path=path)
        except (FileNotFoundError, ValueError, TypeError):
            return cls(path=path)

    def start(self) -> None:
        """Record that this process starts a run."""
        self.run, self.states = {"state": "Running", "started": time.time(), "ended": None}, {}
        self._write()

    def stage_ended(self, address: str, state: str, seconds: float) -> None:
        """Record the end of a stage. Completed means that its command ran and succeeded."""
        self.states[address] = state
        if state == "Completed":
            self.durations[address], self.ends[address] = round(seconds, 2), round(time.time(), 2)
        self._write()

    def end(self, state: str) -> None:
        """Record the end of the run."""
        self.run |= {"state": state, "ended": time.time()}
        self._write()

    def span(self, address: str) -> tuple[float, float]:
        """When the command of a stage last started and ended; for one that never ran here, now twice."""
        end = self.ends.get(address, time.time())
        return end - self.durations.get(address, 0.0), end

    def state(self, root: Path) -> str:
        """How the last run ended; `Crashed` where it recorded no end and no run is at work."""
        state = str(self.run.get("state", "never run"))
        return "Crashed" if state == "Running" and not is_held(root) else state

    def _write(self) -> None:
        content = {name: value for name, value in vars(self).items() if name != "path"}
        write_text(self.path, json.dumps(content, indent=1) + "\n")
