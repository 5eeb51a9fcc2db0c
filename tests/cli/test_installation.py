"""What the library needs when it is installed alone."""

import ast
import contextlib
import io
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from imports import imported_names
from packaging.requirements import Requirement
from workspace import ROOT

import tokenlab
from tokenlab import codes
from tokenlab.cli import main

PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IMPORTED = {"charset-normalizer": "charset_normalizer", "pyyaml": "yaml", "scikit-learn": "sklearn"}
EXTRAS = {
    IMPORTED.get(name, name) for extra in PACKAGE["optional-dependencies"].values() for name in extra if "[" not in name
}
NEED_EXTRAS = (
    "tokenlab.classification.",
    "tokenlab.comparison.",
    "tokenlab.entropy.training",
    "tokenlab.language.",
    "tokenlab.networks.",
    "tokenlab.pretrained.",
    "tokenlab.training.",
    "tokenlab.translation.",
    "tokenlab.entropy.scorer",
    "tokenlab.codes.bits.over.hugging_face",
    "tokenlab.codes.generation",
    "tokenlab.codes.language_model",
    "tokenlab.codes.latom.hmm_reference",
    "tokenlab.exact.transformers_model",
    "tokenlab.patches.entropy_patcher",
    "tokenlab.patches.learned",
)

USE = """
import importlib, sys
extras, modules = sys.argv[1].split(","), sys.argv[2].split(",")
sys.modules.update(dict.fromkeys(extras))  # None: importing it raises ModuleNotFoundError
for name in modules:
    importlib.import_module(name)
"""


def modules() -> dict[str, Path]:
    files = {path.relative_to(ROOT).with_suffix(""): path for path in (ROOT / "tokenlab").rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in files.items()}


def test_imported_packages_are_declared() -> None:
    names = [Requirement(needed).name for needed in PACKAGE["dependencies"]]
    declared = {IMPORTED.get(name, name) for name in names}
    for module, path in modules().items():
        names = imported_names(ast.parse(path.read_text(encoding="utf-8")))
        foreign = {name.split(".")[0] for name in names} - sys.stdlib_module_names - declared - {"tokenlab"}
        assert foreign <= EXTRAS, (module, foreign)
        # They import torch, sentencepiece and dask inside a function, and say what is missing.
        lazily = module in (
            "tokenlab.cli.entropy",
            "tokenlab.cli.generate",
            "tokenlab.tokenizers.export.agreement",
            "tokenlab.core.devices",
            "tokenlab.core.shards",
            "tokenlab.exact.loading",
        )
        assert not foreign or lazily or module.startswith(NEED_EXTRAS), (module, foreign)


def test_everything_else_works_without_the_extras() -> None:
    alone = [name for name in modules() if not name.startswith(NEED_EXTRAS)]
    subprocess.run([sys.executable, "-c", USE, ",".join(EXTRAS - {"huggingface_hub"}), ",".join(alone)], check=True)


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        ("--help", "numpy numba scipy torch pyarrow"),
        ("exact next --help", "numpy numba torch transformers"),
        ("generate --help", "numpy torch transformers"),
        ("segment text.txt", "torch transformers"),
        ("bits encode text.txt", "torch transformers polars tokenizers"),
    ],
)
def test_a_command_loads_only_what_it_needs(tmp_path: Path, command: str, unneeded: str) -> None:
    (tmp_path / "text.txt").write_text("共同创造\n", encoding="utf-8")
    code = "import sys\nfrom tokenlab.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    run = [sys.executable, "-c", code, *command.split()]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not set(unneeded.split()) & set(done.stderr.split())


@pytest.mark.parametrize(
    "command",
    [
        ["entropy", "text.txt", "--model", "."],
        ["exact", "next", "text", "--model", "."],
        ["patches", "cut", "text.txt", "--patcher", "entropy", "--model", "."],
    ],
)
def test_a_model_without_torch_says_what_is_missing(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "text.txt").write_text("text")
    code = f"import sys; sys.modules['torch'] = None; from tokenlab.cli import main; sys.exit(main({command!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "needs torch" in done.stderr and "extra `models`" in done.stderr


def test_a_program_with_an_output_of_its_own(tmp_path: Path) -> None:
    """As a notebook, whose stream takes text alone."""
    (tmp_path / "text.txt").write_text("共同创造\n", encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        main(["segment", str(tmp_path / "text.txt")])
    assert stream.getvalue().replace(" ", "") == "共同创造\n"


def test_a_package_lists_what_it_offers() -> None:
    assert {*tokenlab.__all__, "__name__"} <= {*dir(tokenlab)} and "read_code" in dir(codes)
