"""The project's pages on this machine: `python -m flows.pages [--only prefect | --compare QUESTION]`.

`make ui` serves Prefect, MLflow and the reports and prints the address of each as soon as it answers. `make compare
QUESTION=name` serves MLflow alone and prints the pages that compare the answers to a question. Control-C ends the
servers.
"""

import argparse
import sys
from pathlib import Path

from flows.pages.questions import ask_questions
from flows.pages.servers import (
    Server,
    Servers,
    choose_port,
    interrupt_on_signals,
    mlflow_server,
    prefect_server,
    reports_server,
)
from flows.prefect_environment import SECRET_FILE
from tasks.runtime.parent_death import die_with_parent
from tokenlab.core.errors import EXIT_STATUS, InputError, TokenlabError, one_line

_USUAL = {"prefect": 4200, "mlflow": 5000, "reports": 8000}


def main(arguments: list[str] | None = None) -> int:
    """Serve until asked to end; return the exit status: 0, or 2 for an error that the user can correct."""
    parser = argparse.ArgumentParser(prog="python -m flows.pages", description="Serve the project's pages here.")
    parser.add_argument(
        "--compare",
        metavar="QUESTION",
        help="serve MLflow alone, and print the pages that compare the answers to a question",
    )
    parser.add_argument("--only", choices=list(_USUAL), help="serve only this one")
    for name, usual in _USUAL.items():
        parser.add_argument(
            f"--{name}-port", type=int, metavar="PORT", help=f"by default {usual} if it is free, else any"
        )
    options = parser.parse_args(arguments)
    die_with_parent()
    interrupt_on_signals()
    root = Path.cwd().resolve()
    ports = {name: getattr(options, f"{name}_port") for name in _USUAL}
    try:
        if options.compare is None:
            serve_pages(root, ports, [options.only] if options.only else list(_USUAL))
        else:
            serve_comparison(root, options.compare, ports["mlflow"])
    except (TokenlabError, OSError) as error:
        print(f"ui: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    except KeyboardInterrupt:
        pass
    return 0


def serve_pages(root: Path, ports: dict[str, int | None], names: list[str]) -> None:
    """Serve Prefect, MLflow and the reports, or some. A port of None: the usual one, or a free one if it is taken."""
    chosen = {name: choose_port(ports[name], _USUAL[name]) for name in names}
    mlflow = mlflow_server(root, chosen["mlflow"]) if "mlflow" in chosen else None

    def ready(server: Server) -> None:
        questions = ask_questions(server) if server == mlflow else []
        _show(server.name, questions[0].variants if questions else server.address)

    with Servers(root) as servers:
        if mlflow:
            servers.start(mlflow)
        if "prefect" in chosen:
            servers.start(prefect_server(root, chosen["prefect"]))
        if "reports" in chosen:
            servers.start(reports_server(root, chosen["reports"], mlflow))
        servers.wait(ready)
        _show_password(root)
        if "prefect" in chosen:
            _show("", "Prefect has the runs of `python -m flows run`; `make repro` does the same work without Prefect")
        _show("", "Control-C ends the servers")
        servers.until_interrupted()


def serve_comparison(root: Path, question: str, port: int | None) -> None:
    """Serve MLflow, and print the addresses of the pages that compare the answers to a question."""

    def ready(server: Server) -> None:
        known = {found.name: found for found in ask_questions(server)}
        if question not in known:
            raise InputError(f"no question {question!r} in MLflow; there are: {', '.join(known) or 'none'}")
        _show("Variants", known[question].variants)
        _show("Charts", known[question].charts)
        _show("All runs", known[question].runs)
        _show_password(root)
        _show("", "Control-C ends the server")

    with Servers(root) as servers:
        servers.start(mlflow_server(root, choose_port(port, _USUAL["mlflow"])))
        servers.wait(ready)
        servers.until_interrupted()


def _show_password(root: Path) -> None:
    """Where the password is; the password itself would stay in logs and on screens."""
    _show(
        "Password", f"in {root / SECRET_FILE}, as USER:PASSWORD; Prefect's page takes both in one, as they stand there"
    )


def _show(name: str, text: str) -> None:
    print(f"{name + ':' if name else '':10}{text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
