"""The registry of kinds. That a new kind is a module and an entry is tested with the pipeline (`tests/tasks/codes`)."""

import subprocess
import sys
from inspect import signature

import pytest

from tokenlab.codes.registry import KINDS, Kind


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_learner_takes_the_options_and_the_class_reads_documents(kind: Kind) -> None:
    parameters = signature(kind.load_learner()).parameters.values()
    positional = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    keywords = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    assert positional[0] == "corpus" and len(positional) == 1 + len(kind.options)
    needed = {"unknown": not kind.total, "tables": bool(kind.table), "progress": kind.iterative}
    assert keywords == {name for name, is_needed in needed.items() if is_needed}
    assert callable(kind.load_code().of_document) and callable(kind.load_code().document)


def test_importing_the_registry_imports_no_kind() -> None:
    program = "import sys, tokenlab.codes.registry; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "tokenlab.codes.registry" in modules
    assert not {
        name for name in modules if name.startswith(("numpy", "tokenlab.codes.codebook", "tokenlab.codes.latom"))
    }
