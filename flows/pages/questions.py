"""The questions that MLflow holds answers to, and the addresses of the pages that compare the answers."""

import json
from typing import NamedTuple

from flows.pages.servers import Server, ask
from flows.tracking.mlflow_pages import charts_page, runs_page, variants_page


class Question(NamedTuple):
    """An experiment of MLflow: its short name, its title, and the addresses of its pages."""

    name: str
    title: str
    variants: str
    charts: str
    runs: str


def ask_questions(server: Server) -> list[Question]:
    """The questions in the order in which they were first tracked. Raises OSError where MLflow does not answer."""
    answer = json.loads(ask(server, "/api/2.0/mlflow/experiments/search", {"max_results": 1000}))
    found = [
        (int(experiment["experiment_id"]), tag["value"], experiment["name"])
        for experiment in answer["experiments"]
        for tag in experiment.get("tags", [])
        if tag["key"] == "question"
    ]
    pages = (variants_page, charts_page, runs_page)
    return [
        Question(name, title, *(page(server.address, str(number)) for page in pages))
        for number, name, title in sorted(found)
    ]
