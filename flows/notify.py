"""Send a notification when a flow fails or crashes.

The environment variable TOKENLAB_ON_FAILURE of the flow (or of its worker) is an address, which receives a POST with
JSON, or a shell command, which receives the JSON on its standard input:

    {"flow": "tokenlab", "run": "sample", "id": "...", "state": "Failed", "message": "...", "parameters": {...}}
"""

import json
import os
import subprocess
import urllib.request
from typing import Any

from prefect.logging.loggers import flow_run_logger

ON_FAILURE = "TOKENLAB_ON_FAILURE"
"""Environment variable: the command or the address that receives notifications."""

_SECONDS = 30.0


def notify(flow: Any, flow_run: Any, state: Any) -> None:
    """Hook of a flow. Errors of the notification are logged and have no other effect."""
    receiver = os.environ.get(ON_FAILURE)
    if not receiver:
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
        if receiver.startswith(("http://", "https://")):
            request = urllib.request.Request(receiver, content, {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=_SECONDS).close()
        else:
            subprocess.run(receiver, shell=True, input=content, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        flow_run_logger(flow_run, flow).error("%s: %s", ON_FAILURE, error)
