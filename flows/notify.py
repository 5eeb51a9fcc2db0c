"""Tell somebody that a flow failed or crashed.

TOKENLAB_ON_FAILURE in the environment of the flow (or its worker) is an address, which gets a POST of JSON, or a
command for the shell, which gets the JSON as its input:

    {"flow": "tokenlab", "run": "sample", "id": "...", "state": "Failed", "message": "...", "parameters": {...}}
"""

import json
import os
import subprocess
import urllib.request
from typing import Any

from prefect.logging.loggers import flow_run_logger

ON_FAILURE = "TOKENLAB_ON_FAILURE"
"""Environment variable: the command or the address to tell."""

_SECONDS = 30.0


def notify(flow: Any, flow_run: Any, state: Any) -> None:
    """Hook of a flow. What goes wrong here is in the run's log, and changes nothing else."""
    whom = os.environ.get(ON_FAILURE)
    if not whom:
        return
    message = {
        "flow": flow.name,
        "run": flow_run.name,
        "id": str(flow_run.id),
        "state": state.name,
        "message": state.message,
        "parameters": flow_run.parameters,
    }
    content = json.dumps(message, ensure_ascii=False).encode()
    try:
        if whom.startswith(("http://", "https://")):
            request = urllib.request.Request(whom, content, {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=_SECONDS).close()
        else:
            subprocess.run(whom, shell=True, input=content, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        flow_run_logger(flow_run, flow).error("%s: %s", ON_FAILURE, error)
