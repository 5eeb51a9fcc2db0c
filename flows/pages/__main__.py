"""The project's pages on this machine: `python -m flows.pages [--compare QUESTION]`.

`make ui` serves Prefect, MLflow and the reports and prints the address of each as soon as it answers. `make compare
QUESTION=name` serves MLflow alone and prints the pages that compare the answers to a question. Control-C ends the
servers.
"""

import argparse
import json
import sys
from pathlib import Path

from flows.pages.servers import (
    Server,
    Servers,
    ask,
    choose_port,
    interrupt_on_signals,
    mlflow_server,
    prefect_server,
    serve_reports,
)
from flows.tracking.mlflow_pages import charts_page, runs_page, variants_page
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
            serve_all(root, ports)
        else:
            serve_comparison(root, options.compare, ports["mlflow"])
    except (TokenlabError, OSError) as error:
        print(f"ui: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    except KeyboardInterrupt:
        pass
    return 0


def serve_all(root: Path, ports: dict[str, int | None]) -> None:
    """Serve Prefect, MLflow and the reports. A port of None means the usual one, or a free one if that is taken."""
    folder = root / "reports"
    folder.mkdir(exist_ok=True)
    chosen = {name: choose_port(ports[name], usual) for name, usual in _USUAL.items()}
    with Servers(root) as servers:
        servers.start(mlflow_server(root, chosen["mlflow"]))
        servers.start(prefect_server(root, chosen["prefect"]))
        reports = serve_reports(folder, chosen["reports"])
        _show("Reports", f"http://127.0.0.1:{reports.server_port}")
        servers.wait(lambda server: _show(server.name, server.address))
        _show("", "Control-C ends the servers")
        servers.until_interrupted()
        reports.shutdown()


def serve_comparison(root: Path, question: str, port: int | None) -> None:
    """Serve MLflow, and print the addresses of the pages that compare the answers to a question."""

    def ready(server: Server) -> None:
        experiment = _experiment(server.address, question)
        _show("Variants", variants_page(server.address, experiment))
        _show("Charts", charts_page(server.address, experiment))
        _show("All runs", runs_page(server.address, experiment))
        _show("", "Control-C ends the server")

    with Servers(root) as servers:
        servers.start(mlflow_server(root, choose_port(port, _USUAL["mlflow"])))
        servers.wait(ready)
        servers.until_interrupted()


def _experiment(server: str, question: str) -> str:
    """The id of a question's experiment. Raises InputError where there is none."""
    answer = json.loads(ask(f"{server}/api/2.0/mlflow/experiments/search", {"max_results": 1000}))
    known = {
        tag["value"]: experiment["experiment_id"]
        for experiment in answer["experiments"]
        for tag in experiment.get("tags", [])
        if tag["key"] == "question"
    }
    if question not in known:
        raise InputError(f"no question {question!r} in MLflow; there are: {', '.join(known) or 'none'}")
    return known[question]


def _show(name: str, text: str) -> None:
    print(f"{name + ':' if name else '':10}{text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
