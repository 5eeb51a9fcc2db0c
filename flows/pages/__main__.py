"""The project's pages on this machine: `python -m flows.pages [--only prefect | --compare QUESTION]`.

`make ui` serves Prefect, MLflow and the reports and prints the address of each as soon as it answers. `make compare
QUESTION=name` serves MLflow alone and prints the pages that compare the answers to a question. Control-C ends the
servers.
"""

import argparse
import contextlib
from pathlib import Path

from flows.pages.servers import (
    Server,
    Servers,
    ask_questions,
    choose_port,
    mlflow_server,
    prefect_server,
    reports_server,
)
from flows.prefect_environment import SECRET_FILE
from flows.run.processes import Interrupted, signals_raise
from tokenlab.core.errors import InputError, ending_in_one_line
from tokenlab.core.parent_death import die_with_parent

_USUAL = {"prefect": 4200, "mlflow": 5000, "reports": 8000}


def main() -> None:
    """Serve until asked to end, or end with status 2 for an error that the user can correct."""
    parser = argparse.ArgumentParser(prog="python -m flows.pages", description="Serve the project's pages here.")
    compare = "serve MLflow alone, and print the pages that compare the answers to a question"
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--compare", metavar="QUESTION", help=compare)
    some.add_argument("--only", choices=list(_USUAL), help="serve only this one")
    for name, usual in _USUAL.items():
        default = f"by default {usual} if it is free, else any"
        parser.add_argument(f"--{name}-port", type=int, metavar="PORT", help=default)
    options = parser.parse_args()
    die_with_parent()
    names = ["mlflow"] if options.compare is not None else [options.only] if options.only else list(_USUAL)
    with ending_in_one_line("ui"), contextlib.suppress(Interrupted), signals_raise():
        ports = {name: choose_port(getattr(options, f"{name}_port"), _USUAL[name]) for name in names}
        serve(Path.cwd().resolve(), ports, options.compare)


def serve(root: Path, ports: dict[str, int], question: str | None = None) -> None:
    """Serve pages at these ports and print their addresses, or those that compare the answers to a question.

    Raises InputError for a question that MLflow does not have.
    """

    def ready(server: Server) -> None:
        questions = ask_questions(server) if server == mlflow else []
        if question is None:
            _show(server.name, questions[0].variants if questions else server.address)
            return
        known = {found.name: found for found in questions}
        if question not in known:
            raise InputError(f"no question {question!r} in MLflow; there are: {', '.join(known) or 'none'}")
        _show("Variants", known[question].variants)
        _show("Charts", known[question].charts)
        _show("All runs", known[question].runs)

    mlflow = mlflow_server(root, ports["mlflow"]) if "mlflow" in ports else None
    with Servers(root) as servers:
        if mlflow:
            servers.start(mlflow)
        if "prefect" in ports:
            servers.start(prefect_server(root, ports["prefect"]))
        if "reports" in ports:
            servers.start(reports_server(root, ports["reports"], mlflow))
        servers.wait(ready)
        # Not the password itself, which would stay in logs and on screens.
        place = f"in {root / SECRET_FILE}, as USER:PASSWORD"
        _show("Password", f"{place}; Prefect's page takes both in one, as they stand there")
        _show("", "Control-C ends the servers")
        servers.watch()


def _show(name: str, text: str) -> None:
    print(f"{name + ':' if name else '':10}{text}", flush=True)


if __name__ == "__main__":
    main()
