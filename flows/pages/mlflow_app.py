"""MLflow's server behind the password: the application that `flows.pages.servers` starts with uvicorn.

MLflow's own accounts (`--app-name basic-auth`) need packages that are not in the lock, and its default list of hosts
has patterns such as `10.*`, which the name 10.example.org matches. What `mlflow server` would set is set here, but
artefacts are read from the store alone: no service takes files from elsewhere.
"""

import os
import re
from pathlib import Path

from mlflow.server.constants import ARTIFACT_ROOT_ENV_VAR, BACKEND_STORE_URI_ENV_VAR, REGISTRY_STORE_URI_ENV_VAR
from mlflow.server.handlers import initialize_backend_stores
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from flows.pages.guard import Guard
from flows.prefect_environment import read_secret

_SERVICES = "assistant|gateway(?!-proxy)|genai/evaluate|issues/invoke|jobs|prompt-optimization|scorer/invoke|webhooks"
_CALLS_OUT = re.compile(rf"/+gateway/|/+(ajax-)?api/+\d\.\d/+(mlflow/+)?({_SERVICES})\b")
"""Services of MLflow that run other programs on this machine, or send requests elsewhere, as to language models."""


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

    return Guard(_Without(app, _CALLS_OUT), read_secret(root))


class _Without:
    """An application without some of its paths."""

    def __init__(self, application: ASGIApp, paths: re.Pattern[str]) -> None:
        self._application = application
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._paths.match(scope.get("path", "")):
            await PlainTextResponse("not served here", 404)(scope, receive, send)
        else:
            await self._application(scope, receive, send)
