"""The reports as pages: an index of the presets, and the files below `reports/`, to read only.

No folder is listed, and no path or link leads out of `reports/`.
"""

import itertools
import os
import time
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from flows.pages.guard import Guard
from flows.pages.questions import Question, ask_questions
from flows.pages.servers import MLFLOW_ADDRESS, Server
from flows.prefect_environment import read_secret
from flows.run.presets import DEFAULT_PRESET

# The report is one page with its styles and pictures inside it; it loads nothing and sends nothing.
_POLICY = (
    "default-src 'self' data: 'unsafe-inline'; connect-src 'none'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


_TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True)


class Preset(NamedTuple):
    """A line of the index: a preset, what it is, and when its report was written, empty where there is none."""

    name: str
    about: str
    written: str


def create() -> ASGIApp:
    """The application, for the workspace in the present folder."""
    root = Path.cwd().resolve()
    (root / "reports").mkdir(exist_ok=True)

    address = os.environ.get(MLFLOW_ADDRESS, "")
    mlflow = Server("MLflow", address, address, [], secret=read_secret(root))

    def index(request: Request) -> HTMLResponse:
        page = _TEMPLATES.get_template("index.html.j2")
        return HTMLResponse(page.render(presets=presets(root), mlflow=address, questions=_questions(mlflow)))

    files = StaticFiles(directory=root / "reports", html=True, follow_symlink=False)
    application = Starlette(routes=[Route("/", index), Mount("/", files)])
    return Guard(application, mlflow.secret, {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"})


def _questions(mlflow: Server) -> list[Question]:
    """What MLflow compares; empty as long as it does not answer."""
    try:
        return ask_questions(mlflow) if mlflow.address else []
    except OSError:
        return []


def presets(root: Path) -> list[Preset]:
    """The presets of the project, the default one first."""
    files = {DEFAULT_PRESET: root / "params.yaml"}
    files |= {path.parent.name: path for path in sorted(root.glob("presets/*/params.yaml"))}
    return [Preset(name, _about(path), _written(root / "reports" / name)) for name, path in files.items()]


def _about(params: Path) -> str:
    """What a preset is: the comment that its parameters begin with."""
    if not params.exists():
        return ""
    lines = itertools.takewhile(lambda line: line.startswith("#"), params.read_text(encoding="utf-8").splitlines())
    return " ".join(line.lstrip("# ") for line in lines).replace("`", "")


def _written(folder: Path) -> str:
    page = folder / "index.html"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(page.stat().st_mtime)) if page.exists() else ""
