"""MLflow's server behind the password: the application that `flows.pages.servers` starts with uvicorn.

MLflow's own accounts (`--app-name basic-auth`) need packages that are not in the lock, and its default list of hosts
has patterns such as `10.*`, which the name 10.example.org matches. What `mlflow server` would set is set here, but
artefacts are read from the store alone: no service takes files from elsewhere.
"""

import json
import os
import re
from pathlib import Path

import mlflow.server
from mlflow.server.constants import ARTIFACT_ROOT_ENV_VAR, BACKEND_STORE_URI_ENV_VAR, REGISTRY_STORE_URI_ENV_VAR
from mlflow.server.handlers import initialize_backend_stores
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from flows.pages.guard import Guard
from flows.prefect_environment import read_secret

_SERVICES = "assistant|gateway(?!-proxy)|genai/evaluate|issues/invoke|jobs|prompt-optimization|scorer/invoke|webhooks"
_CALLS_OUT = re.compile(rf"/+gateway/|/+(ajax-)?api/+\d\.\d/+(mlflow/+)?({_SERVICES})\b")
"""Services of MLflow that run other programs on this machine, or send requests elsewhere, as to language models."""
_CHOICES = {
    "mlflow.workflowType_v1": "machine_learning",  # not "GenAI", whose menus lead away from the runs
    "mlflow.settings.telemetry.enabled_v1": False,
    "mlflow.telemetry.info.alert.dismissed_v1": True,
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,  # its service is among those left out
}
"""What MLflow's page keeps in the browser, for a reader who has chosen nothing there yet."""
_BEFORE_MLFLOW = f"""<script>
for (const [name, choice] of Object.entries({json.dumps(_CHOICES)})) localStorage[name] ??= JSON.stringify(choice);
if (!location.hash) location.replace("#/experiments");
</script>"""


def create() -> ASGIApp:
    """The application, for the workspace in the present folder."""
    root = Path.cwd().resolve()
    store = f"sqlite:///{root / '.mlflow' / 'mlruns.db'}"
    artefacts = (root / ".mlflow" / "artifacts").as_uri()
    os.environ |= {
        BACKEND_STORE_URI_ENV_VAR: store,
        REGISTRY_STORE_URI_ENV_VAR: store,
        ARTIFACT_ROOT_ENV_VAR: artefacts,
    }
    # MLflow's page asks its proxy for models at each start; without a target, the proxy says "none" and calls nobody.
    os.environ.pop("MLFLOW_DEPLOYMENTS_TARGET", None)
    initialize_backend_stores(store, store, artefacts)
    from mlflow.server.fastapi_app import app  # reads the environment

    return Guard(_Adapted(app), read_secret(root))


class _Adapted:
    """MLflow's application without some of its services, its page with `_CHOICES`, opened on the list of questions."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        page = Path(mlflow.server.__file__).parent / mlflow.server.REL_STATIC_DIR / "index.html"
        self._page = page.read_text(encoding="utf-8").replace("<head>", f"<head>{_BEFORE_MLFLOW}", 1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._own_answer(scope) or self._application)(scope, receive, send)

    def _own_answer(self, scope: Scope) -> Response | None:
        path, method = scope.get("path", ""), scope.get("method", "")
        if _CALLS_OUT.match(path):
            return PlainTextResponse("not served here", 404)
        if path == "/" and method == "GET":
            return HTMLResponse(self._page, headers={"Cache-Control": "no-cache"})
        return None
