"""What an edit may rerun, as docs/pipeline.md promises: edit a copy, ask DVC what is stale, run nothing."""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import networkx
import pytest
import workspace
import yaml
from dvc.repo import Repo
from stub_outputs import PIPELINES, commit_stubs

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:dvc.repo.*")]

DRAWING = {"draw_segmentation", "draw_codes", "draw_exact", "draw_bits", "draw_patches", "report"}
COMPARISON = {"measure"}
PATCHES = {"patch_tokenizer", "patches", "train_patch_lm", "evaluate_patch_lm", "zero_shot", "draw_patches"}
EVALUATION = {"evaluate_segmentation", "own_text", "evaluate_codes", *COMPARISON}


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project whose stages all count as run: every output is a stub, and dvc.lock has its hash."""
    folder = workspace.copy_project(tmp_path_factory.mktemp("reruns") / "project")
    shutil.rmtree(folder / "presets")  # DVC would read their stages again and again
    commit_stubs(folder)
    return folder


@pytest.fixture
def project(committed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(committed, tmp_path / "project", symlinks=True)


def changed(folder: Path) -> set[str]:
    """The stages of `sample` and of the raw data whose own dependencies, parameters or outputs differ."""
    with contextlib.chdir(folder), Repo() as repo:
        return _changed(repo)


def stale(folder: Path) -> set[str]:
    """The stages of `sample` that DVC would run, and all that rest on them."""
    with contextlib.chdir(folder), Repo() as repo:
        own, graph = _changed(repo), repo.index.graph
        found = {stage for stage in graph if stage.name in own}
        for stage in list(found):
            found |= networkx.ancestors(graph, stage)
        return {stage.name for stage in found}


def _changed(repo: Repo) -> set[str]:
    return {address.rpartition(":")[2] for address in repo.status(list(PIPELINES))}


def names(addresses: set[str]) -> set[str]:
    return {address.partition("@")[0] for address in addresses}


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def set_parameter(folder: Path, name: str, value: object) -> None:
    path = folder / "params.yaml"
    parameters = yaml.safe_load(path.read_text(encoding="utf-8"))
    *above, last = name.split(".")
    place = parameters
    for key in above:
        place = place[key]
    place[last] = value
    path.write_text(yaml.safe_dump(parameters, allow_unicode=True), encoding="utf-8")


def test_nothing_is_stale_before_an_edit(project: Path) -> None:
    assert stale(project) == set()


def test_what_is_drawn_or_said_reruns_drawing_alone(project: Path) -> None:
    report = project / "tasks" / "report"
    for name in ("style.py", "draw_codes.py", "papers.yaml", "templates/page.html.j2", "page.py"):
        append(report / name, "\n# another colour\n")
    assert stale(project) == DRAWING


@pytest.mark.slow
def test_a_codebook_drawn_otherwise_reruns_drawing_alone(project: Path) -> None:
    append(project / "tokenlab" / "codes" / "table.py", "\n# another label\n")
    assert stale(project) == {"draw_codes", "report"}


def test_a_new_metric_reruns_evaluation(project: Path) -> None:
    (project / "tokenlab" / "metrics" / "toy.py").write_text("def toy():\n    return 1\n", encoding="utf-8")
    append(project / "tokenlab" / "metrics" / "registry.py", "\n# toy\n")
    found = names(stale(project))
    assert found >= EVALUATION
    assert found <= EVALUATION | DRAWING


@pytest.mark.slow
def test_a_new_rule_or_method_of_segmentation_reruns_segmentation_and_what_follows(project: Path) -> None:
    append(project / "tokenlab" / "segment" / "boundaries.py", "\n# toy\n")
    (project / "tasks" / "segmentation" / "methods" / "toy.py").write_text(
        "def toy():\n    return 1\n", encoding="utf-8"
    )
    found = names(stale(project))
    following = {"tokenizer", "evaluate_segmentation", "export", "own_text", "measure"}
    assert found == {"segment", "draw_segmentation", "report"} | following


@pytest.mark.slow
def test_a_new_estimator_or_encoder_trains_no_model(project: Path) -> None:
    for name in ("naive.py", "encoders/byte_pair.py", "adapters/real.py"):
        append(project / "tokenlab" / "exact" / name, "\n# another one\n")
    assert stale(project) == {"markov_experiment@third-order", "evaluate_exact@en", "draw_exact", "report"}


@pytest.mark.slow
def test_another_way_to_read_tokenizers_trains_no_network_by_itself(project: Path) -> None:
    """Patch models are trained again only if their tokenizers come out otherwise."""
    append(project / "tokenlab" / "formats" / "pieces.py", "\n# another format\n")
    assert names(changed(project)) == {"bits_length", "patch_tokenizer"}


@pytest.mark.slow
def test_more_prompts_train_no_model(project: Path) -> None:
    set_parameter(project, "exact.markov.third-order.prompts.count", 11)
    assert stale(project) == {"markov_experiment@third-order", "draw_exact", "report"}


@pytest.mark.slow
def test_another_split_of_the_bits_trains_no_model(project: Path) -> None:
    set_parameter(project, "bits.search.largest_prefix", 9)
    append(project / "tokenlab" / "codes" / "bits" / "search.py", "\n# another policy\n")
    assert names(stale(project)) - DRAWING == {"bits_length"}


@pytest.mark.slow
def test_other_prompts_or_tasks_train_no_patch_model(project: Path) -> None:
    set_parameter(project, "patches.evaluation.prompts", 3)
    set_parameter(project, "patches.zero_shot.en.limit", 11)
    append(project / "tokenlab" / "language" / "generation.py", "\n# another way to draw\n")
    evaluated = {"evaluate_patch_lm@en", "evaluate_patch_lm@zh", "zero_shot@en"}
    assert stale(project) == evaluated | {"draw_patches", "report"}


@pytest.mark.slow
def test_another_budget_or_variant_cuts_no_patches(project: Path) -> None:
    set_parameter(project, "patches.models.en.budget.flops", 3e9)
    of_models = {"train_patch_lm@en", "evaluate_patch_lm@en", "zero_shot@en", "draw_patches", "report"}
    assert stale(project) == of_models
    set_parameter(project, "patches.variants.bpe-s5", {"model": "tokens"})
    assert stale(project) == of_models | {"train_patch_lm@zh", "evaluate_patch_lm@zh"}


@pytest.mark.slow
def test_another_number_of_workers_reruns_nothing_but_drawing(project: Path) -> None:
    set_parameter(project, "patches.workers", 2)
    assert stale(project) == {"draw_patches", "report"}


@pytest.mark.slow
def test_a_new_kind_of_code_reruns_no_codebook(project: Path) -> None:
    append(project / "tokenlab" / "codes" / "baselines.py", "\n\ndef toy():\n    return 1\n")
    append(project / "tokenlab" / "codes" / "registry.py", "\n# toy\n")
    found = names(stale(project))
    assert "encode" in found
    assert found <= {
        "encode",
        "code_tokenizer",
        "evaluate_codes",
        "measure",
        "draw_codes",
        "report",
    }


def _one_more_size(folder: Path) -> None:
    set_parameter(folder, "codes.vocabulary_sizes.reported", [300, 400, 500, 1000, 2000])


def _one_more_unigram(folder: Path) -> None:
    set_parameter(folder, "codes.corpora.en.unigram", [2])


@pytest.mark.parametrize(
    ("edit", "corpora"), [(_one_more_size, {"en", "zh", "en-de"}), (_one_more_unigram, {"en"})], ids=["size", "unigram"]
)
@pytest.mark.slow
def test_one_more_tokenizer_reruns_no_codebook(project: Path, edit: Callable[[Path], None], corpora: set[str]) -> None:
    edit(project)
    of_corpora = {f"{stage}@{corpus}" for stage in ("code_tokenizer", "evaluate_codes") for corpus in corpora}
    assert stale(project) == of_corpora | {"measure@en", "draw_codes", "report"}


@pytest.mark.slow
def test_one_more_export_reruns_no_method(project: Path) -> None:
    set_parameter(project, "segmentation.export.other", {"vocabulary_size": 2000})
    stages = ("export", "measure")
    assert stale(project) == {f"{stage}@{corpus}" for stage in stages for corpus in ("zh", "ja")} | {"report"}


@pytest.mark.slow
def test_a_new_corpus_runs_its_own_stages(project: Path) -> None:
    text = project / "mine.txt"
    text.write_text("今天天气很好。\n", encoding="utf-8")
    set_parameter(project, "corpora.mine", {"path": "mine.txt", "format": "text"})
    set_parameter(project, "segmentation.corpora.mine", {})
    own = {"prepare", "ngram_statistics", "word_model", "segment", "tokenizer", "evaluate_segmentation", "export"}
    found = stale(project)
    comparing = {f"measure@{name}" for name in ("zh", "ja", "en", "languages")}  # it may read any corpus
    assert {address for address in found if "@" in address} - comparing == {f"{stage}@mine" for stage in own}
    assert names(found - comparing) - own <= DRAWING


@pytest.mark.slow
def test_an_incidental_helper_reruns_nothing(project: Path) -> None:
    for name in (
        "tokenlab/core/errors.py",
        "tokenlab/core/files.py",
        "tasks/runtime/pool.py",
        "tokenlab/cli/options.py",
    ):
        append(project / name, '\n"""Another docstring."""\n')
    assert stale(project) == set()


@pytest.mark.slow
def test_another_forward_pass_trains_its_networks_again(project: Path) -> None:
    append(project / "tokenlab" / "networks" / "blocks.py", "\n# another norm\n")
    assert names(changed(project)) >= {"patches", "train_patch_lm", "evaluate_patch_lm"}
    append(project / "tokenlab" / "networks" / "gpt.py", "\n# another GPT\n")
    assert names(changed(project)) >= {"entropy_model", "markov_model", "train_lm"}
    append(project / "tokenlab" / "translation" / "model.py", "\n# another Marian\n")
    assert "train_translation" in names(changed(project))
