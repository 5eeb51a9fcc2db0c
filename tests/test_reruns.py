"""What an edit may rerun, as docs/pipeline.md promises: edit a copy, ask DVC what is stale, run nothing."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx
import pytest
import workspace
import yaml
from dvc.repo import Repo
from stub_outputs import PIPELINES, commit_stubs

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:dvc.repo.*")]


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project whose stages all count as run: every output is a stub, and dvc.lock has its hash."""
    folder = workspace.copy_project(tmp_path_factory.mktemp("reruns") / "project")
    shutil.rmtree(folder / "presets")  # DVC would read their stages again and again
    commit_stubs(folder)
    return folder


@pytest.fixture
def project(committed: Path) -> Iterator[Path]:
    """The same copy for every test; edits of code and parameters are undone."""
    folders = [committed / name for name in ("tasks", "tokenlab")]
    before = {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}
    before[committed / "params.yaml"] = (committed / "params.yaml").read_bytes()
    yield committed
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path not in before:
                path.unlink()
    for path, content in before.items():
        if path.read_bytes() != content:
            path.write_bytes(content)


def stale(folder: Path, following: bool = True) -> set[str]:
    """The stages of `sample` and of the raw data that DVC would run; `following`: and all that rest on them."""
    with contextlib.chdir(folder), Repo() as repo:
        own = {address.rpartition(":")[2] for address in repo.status(list(PIPELINES))}
        if not following:
            return own
        graph = repo.index.graph
        found = {stage for stage in graph if stage.name in own}
        for stage in list(found):
            found |= networkx.ancestors(graph, stage)
        return {stage.name for stage in found}


def named(addresses: set[str], expected: set[str]) -> set[str]:
    """The addresses that are expected, and of all others the stage alone."""
    return {address if address in expected else address.partition("@")[0] for address in addresses}


def edit(folder: Path, files: list[str], parameters: dict[str, Any]) -> None:
    for name in files:
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write("\n# another line\n")
    path = folder / "params.yaml"
    sections = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name, value in parameters.items():
        *above, last = name.split(".")
        place = sections
        for key in above:
            place = place[key]
        place[last] = value
    if parameters:
        path.write_text(yaml.safe_dump(sections, allow_unicode=True), encoding="utf-8")


REPORT = [f"tasks/report/{name}" for name in ("style.py", "papers.yaml", "templates/page.html.j2", "page.py")]
REPORT += ["tasks/views.py"]  # which numbers are metrics
HELPERS = ["tokenlab/core/errors.py", "tokenlab/core/files.py", "tasks/runtime/pool.py"]
EXACT = "markov_experiment@third-order evaluate_exact@en evaluate_compared report"
CODE_TOKENIZERS = "code_tokenizer evaluate_codes classify train_code_lm generate measure@en report"
SEGMENTED = "segment tokenizer evaluate_segmentation export own_text measure report"
RERUNS: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "nothing": ([], {}, ""),
    "an incidental helper": (HELPERS, {}, ""),
    "what is drawn or said": (REPORT, {}, "report"),
    "a codebook drawn otherwise": (["tokenlab/codes/table.py"], {}, "report"),
    "a metric": (
        ["tokenlab/metrics/toy.py", "tokenlab/metrics/registry.py"],
        {},
        "evaluate_segmentation own_text evaluate_codes measure evaluate_compared report",
    ),
    "a rule or method of segmentation": (
        ["tokenlab/segment/boundaries.py", "tasks/segmentation/methods.py"],
        {},
        SEGMENTED,
    ),
    "an export": ([], {"segmentation.export.other": {"vocabulary_size": 2000}}, "export measure report"),
    "an estimator or encoder": (["tokenlab/exact/naive.py", "tokenlab/exact/encoders/byte_pair.py"], {}, EXACT),
    "more prompts": (
        [],
        {"exact.markov.third-order.prompts.count": 11},
        "markov_experiment@third-order report",
    ),
    "another split of the bits": (
        ["tokenlab/codes/bits/search.py"],
        {"bits.search.largest_prefix": 9},
        "bits_length report",
    ),
    "other prompts or tasks": (
        ["tokenlab/language/generation.py"],
        {"patches.evaluation.prompts": 3, "patches.zero_shot.en.limit": 11},
        "evaluate_patch_lm generate zero_shot report",
    ),
    "another budget": (
        [],
        {"patches.models.en.budget.flops": 3e9},
        "train_patch_lm@en evaluate_patch_lm@en zero_shot@en report",
    ),
    "another variant": (
        [],
        {"patches.variants.bpe-s5": {"model": "tokens"}},
        "train_patch_lm evaluate_patch_lm zero_shot report",
    ),
    "another way of cutting": (
        [],
        {"compared.methods.other": {"kind": "bytes"}},
        "train_compared evaluate_compared report",
    ),
    "how ways of cutting are judged": (["tokenlab/comparison/verdict.py"], {}, "evaluate_compared report"),
    "another number of workers": ([], {"patches.workers": 2}, "report"),
    "a kind of code": (
        ["tokenlab/codes/baselines.py", "tokenlab/codes/registry.py"],
        {},
        f"encode {CODE_TOKENIZERS}",
    ),
    "a size of vocabularies": (
        [],
        {"codes.vocabulary_sizes.reported": [300, 400, 500, 1000, 2000]},
        CODE_TOKENIZERS,
    ),
    "a unigram tokenizer": (
        [],
        {"codes.corpora.en.unigram": [2]},
        "code_tokenizer@en evaluate_codes@en classify@en train_code_lm@en generate@en measure@en report",
    ),
    "another number of generated texts": ([], {"downstream.generation.count": 60}, "generate report"),
    "a perturbation": (["tokenlab/comparison/perturbations.py"], {}, "evaluate_compared report"),
    "another seed of classifiers": ([], {"downstream.classification.seeds": [0, 1]}, "classify report"),
}
"""Edited files, changed parameters, and the stages that run again; NAME@VARIANT: that variant alone."""


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=pytest.mark.nightly) if place % 2 else what for place, what in enumerate(RERUNS)]
)
def test_what_an_edit_reruns(project: Path, what: str) -> None:
    files, parameters, stages = RERUNS[what]
    edit(project, files, parameters)
    expected = set(stages.split())
    assert named(stale(project), expected) == expected


def test_a_new_corpus_runs_its_own_stages(project: Path) -> None:
    mine = project / "mine.txt"
    mine.write_text("今天天气很好。\n", encoding="utf-8")
    corpus = {"path": "mine.txt", "format": "text"}
    edit(project, [], {"corpora.mine": corpus, "segmentation.corpora.mine": {}})
    stages = {"prepare", "ngram_statistics", "word_model", "segment", "tokenizer", "evaluate_segmentation", "export"}
    comparing = {f"measure@{name}" for name in ("zh", "ja", "en", "languages")}  # they may read any corpus
    found = stale(project) - comparing
    mine.unlink()
    assert {address for address in found if "@" in address} == {f"{stage}@mine" for stage in stages}
    assert named(found, set()) - stages <= {"report"}


@pytest.mark.parametrize(
    ("file", "trained"),
    [
        ("networks/blocks.py", {"patches", "train_patch_lm", "evaluate_patch_lm"}),
        ("networks/gpt.py", {"entropy_model", "markov_model", "train_lm"}),
        ("translation/model.py", {"train_translation"}),
    ],
)
def test_another_forward_pass_trains_its_networks_again(project: Path, file: str, trained: set[str]) -> None:
    edit(project, [f"tokenlab/{file}"], {})
    assert named(stale(project, following=False), set()) >= trained


def test_another_way_to_read_tokenizers_trains_no_network_by_itself(project: Path) -> None:
    """Patch models are trained again only if their tokenizers come out otherwise."""
    edit(project, ["tokenlab/formats/pieces.py"], {})
    assert named(stale(project, following=False), set()) == {"bits_length", "patch_tokenizer"}
