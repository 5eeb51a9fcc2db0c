"""`python -m flows.pages.applications NAME PORT`: serve Prefect, MLflow or the reports on loopback, for
`flows.pages.servers`.

Other users of the machine can reach a server on loopback, and so can every web page that the user opens: by requests to
http://127.0.0.1, or by a name of its own that it makes the browser look up again and find here ("rebinding"). So a
request must name this server as its host, must not come from another server's page, and must carry the password.

Prefect asks for the password itself, but it has no list of hosts. MLflow's own accounts (`--app-name basic-auth`) need
packages that are not in the lock, and its default list of hosts has patterns such as `10.*`, which the name
10.example.org matches.
"""

import base64
import contextlib
import hmac
import itertools
import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flows.pages.servers import MLFLOW_ADDRESS, Question, Server, ask_questions
from flows.prefect_environment import HOST, origins, read_secret
from flows.run.plan import pipelines
from flows.tracking import ARTEFACTS, DATABASE
from tokenlab.core.parent_death import die_with_parent

_HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}
_REPORT_HEADERS = {
    # The report is one page with its styles and pictures inside it; it loads nothing and sends nothing.
    "Content-Security-Policy": "default-src 'self' data: 'unsafe-inline'; connect-src 'none'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-cache",
}

_PREFECT_HEADERS = {
    # Prefect's page asks a service of analytics for its settings, even where analytics are switched off.
    "Content-Security-Policy": "connect-src 'self' "
    + " ".join(f"{scheme}://{host}:*" for scheme in ("http", "ws") for host in (HOST, "localhost")),
}

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


class Guard:
    """An application behind a password. Browsers ask for it once (HTTP's basic authentication)."""

    def __init__(self, application: ASGIApp, secret: str | None = None, headers: dict[str, str] | None = None) -> None:
        """secret: `USER:PASSWORD`; None where the application asks for it. headers: further ones of every answer."""
        self._application = application
        self._secret = secret
        self._headers = _HEADERS | (headers or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        refusal = self._refuse(Headers(scope=scope), scope["server"][1])
        if scope["type"] == "websocket" and refusal is not None:
            await send({"type": "websocket.close", "code": 1008})  # HTTP 403, before it is accepted
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message.get("headers", [])}
                own = [(name.lower().encode(), value.encode()) for name, value in self._headers.items()]
                message["headers"] = [*message.get("headers", []), *(pair for pair in own if pair[0] not in given)]
            await send(message)

        await (refusal or self._application)(scope, receive, send_with_headers)

    def _refuse(self, headers: Headers, port: int) -> Response | None:
        """The answer to a request that must not reach the application."""
        hosts = {origin.removeprefix("http://") for origin in origins(port)}
        if headers.getlist("host") == [] or not hosts.issuperset(headers.getlist("host")):
            return PlainTextResponse("This server answers to http://127.0.0.1 alone.", 403)
        if any(origin.removeprefix("http://") not in hosts for origin in headers.getlist("origin")):
            return PlainTextResponse("Pages of other servers get nothing here.", 403)
        if self._secret is not None and not _knows(self._secret, headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": f'Basic realm="tokenlab {port}", charset="UTF-8"'}
            return PlainTextResponse("User and password are in the file .env of the project.", 401, challenge)
        return None


def _knows(secret: str, authorization: str) -> bool:
    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "basic" and hmac.compare_digest(given.encode(), base64.b64encode(secret.encode()))


def prefect_application(root: Path) -> ASGIApp:
    """Prefect, with the settings of the environment.

    It begins its transactions on SQLite so that one that reads first, and writes after another one has written, is
    turned away at once as "database is locked", whatever the time that it may wait. Here each waits for its turn from
    its beginning: BEGIN IMMEDIATE, as Prefect does itself where it knows that it will write.
    """
    from prefect.server.api.server import create_app
    from prefect.server.database.configurations import AioSqliteConfiguration

    begin = AioSqliteConfiguration.begin_transaction

    def begin_at_once(
        database: AioSqliteConfiguration, session: Any, with_for_update: bool = False
    ) -> contextlib.AbstractAsyncContextManager[Any]:
        return begin(database, session, with_for_update=True)

    AioSqliteConfiguration.begin_transaction = begin_at_once  # type: ignore[method-assign, assignment]
    return Guard(create_app(final=True), headers=_PREFECT_HEADERS)


def mlflow_application(root: Path) -> ASGIApp:
    """MLflow without the services that call out; its page has `_CHOICES` and opens on the list of questions.

    What `mlflow server` would set is set here, but artefacts are read from the store alone: no service takes files from
    elsewhere.
    """
    import mlflow.server
    from mlflow.server.constants import ARTIFACT_ROOT_ENV_VAR, BACKEND_STORE_URI_ENV_VAR, REGISTRY_STORE_URI_ENV_VAR
    from mlflow.server.handlers import initialize_backend_stores

    store, artefacts = f"sqlite:///{root / DATABASE}", (root / ARTEFACTS).as_uri()
    os.environ |= dict.fromkeys((BACKEND_STORE_URI_ENV_VAR, REGISTRY_STORE_URI_ENV_VAR), store)
    os.environ[ARTIFACT_ROOT_ENV_VAR] = artefacts
    # MLflow's page asks its proxy for models at each start; without a target, the proxy says "none" and calls nobody.
    os.environ.pop("MLFLOW_DEPLOYMENTS_TARGET", None)
    initialize_backend_stores(store, store, artefacts)
    from mlflow.server.fastapi_app import app  # reads the environment

    index = Path(mlflow.server.__file__).parent / mlflow.server.REL_STATIC_DIR / "index.html"
    page = index.read_text(encoding="utf-8").replace("<head>", f"<head>{_BEFORE_MLFLOW}", 1)

    async def adapted(scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = app
        if _CALLS_OUT.match(scope.get("path", "")):
            answer = PlainTextResponse("not served here", 404)
        elif (scope.get("path"), scope.get("method")) == ("/", "GET"):
            answer = HTMLResponse(page, headers={"Cache-Control": "no-cache"})
        await answer(scope, receive, send)

    return Guard(adapted, read_secret(root))


def reports_application(root: Path) -> ASGIApp:
    """The files below `reports/`, to read only, and an index of the presets.

    No folder is listed, and no path or link leads out of `reports/`.
    """
    (root / "reports").mkdir(exist_ok=True)
    address = os.environ.get(MLFLOW_ADDRESS, "")
    mlflow = Server("MLflow", address, read_secret(root), {})
    templates = Environment(loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True)

    def index(request: Request) -> HTMLResponse:
        presets = [_preset(root, name, path.with_name("params.yaml")) for name, path in pipelines(root).items()]
        questions: list[Question] = []
        with contextlib.suppress(OSError):  # as long as MLflow does not answer
            questions = ask_questions(mlflow) if address else []
        page = templates.get_template("index.html.j2")
        return HTMLResponse(page.render(presets=presets, mlflow=address, questions=questions))

    files = StaticFiles(directory=root / "reports", html=True, follow_symlink=False)
    application = Starlette(routes=[Route("/", index), Mount("/", files)])
    return Guard(application, mlflow.secret, _REPORT_HEADERS)


def _preset(root: Path, name: str, params: Path) -> dict[str, str]:
    """A line of the index: a preset, the comment that its parameters begin with, and when its report was written."""
    text = (root / params).read_text(encoding="utf-8") if (root / params).exists() else ""
    comment = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    page = root / "reports" / name / "index.html"
    written = time.strftime("%Y-%m-%d %H:%M", time.localtime(page.stat().st_mtime)) if page.exists() else ""
    about = " ".join(line.lstrip("# ") for line in comment).replace("`", "")
    return {"name": name, "about": about, "written": written}


_APPLICATIONS: dict[str, Callable[[Path], ASGIApp]] = {
    "Prefect": prefect_application,
    "MLflow": mlflow_application,
    "Reports": reports_application,
    "Flow": prefect_application,
}


def main() -> None:
    """Serve until asked to end, or until the process that started this one ends."""
    die_with_parent()
    name, port = sys.argv[1:]
    level = "warning" if name == "Flow" else None
    application = _APPLICATIONS[name](Path.cwd().resolve())
    uvicorn.run(application, host=HOST, port=int(port), server_header=False, log_level=level)


if __name__ == "__main__":
    main()
