"""docs/api.md lists what the library offers, and the library offers what it lists."""

import importlib.util
import subprocess
import sys

import pytest
from workspace import ROOT


def api_page():
    specification = importlib.util.spec_from_file_location("api_page", ROOT / "docs" / "api_page.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["api_page"] = module
    specification.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_code():
    assert (ROOT / "docs/api.md").read_text(encoding="utf-8") == api_page().page(), "run `make api`"


@pytest.mark.parametrize(("module", "message"), [("", "no definition of f"), ("def f(): ...\n", "f is public")])
def test_a_name_without_definition_or_docstring_is_an_error(tmp_path, module, message):
    package = tmp_path / "tokenlab/pack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""A package.\n\nMore."""\n')
    (package / "__init__.pyi").write_text("from tokenlab.pack.a import f as f\n")
    (package / "a.py").write_text(module)
    with pytest.raises(LookupError, match=message):
        api_page().page(tmp_path)


USE = """
import sys
import tokenlab
assert not {"numpy", "torch", "pyarrow"} & set(sys.modules), "import tokenlab loads what nobody has asked for"
statistics = tokenlab.ngram_statistics(["abab", "ab"])
print(tokenlab.Segmenter(statistics, tokenlab.SegmentOptions()).spans("abab"))
assert "torch" not in sys.modules
missing = [name for name in tokenlab.__all__ if name not in TORCH and not hasattr(tokenlab, name)]
print(missing)
"""


def test_names_of_the_library_itself():
    needs_torch = ["BitLevelTokenizer", "EntropyPatcher"]
    done = subprocess.run(
        [sys.executable, "-c", USE.replace("TORCH", repr(needs_torch))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[(0, 4)]", "[]"]
