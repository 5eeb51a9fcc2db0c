"""docs/api.md lists what the library offers, and the library offers what it lists."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


def api_page():
    specification = importlib.util.spec_from_file_location("api_page", PROJECT / "docs" / "api_page.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["api_page"] = module
    specification.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_code():
    assert (PROJECT / "docs/api.md").read_text(encoding="utf-8") == api_page().page(), "run `make api`"


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


INIT = '"""A package.\n\nMore."""\n\n__getattr__, __all__ = offer(__name__, {"a": %s})\n'


def test_signatures_of_every_kind(tmp_path):
    module = '''
from dataclasses import dataclass
from tokenlab.pack.b import moved
SIZE: int = 3
"""How many. Not more."""
@dataclass(frozen=True)
class Options:
    """What is done. And how."""
    weight: float = option("the weight", 4.0, flag="--lambda")
    name: str = option("a name")
class Reader:
    """Reads."""
    def __init__(self, path: str) -> None: ...
def read(path: str, limit: int = SIZE) -> "Reader":
    """Read a file."""
'''
    names = '["SIZE", "Options", "Reader", "read", "moved"]'
    moved = 'def moved() -> None:\n    """Moved here."""\n'
    write(
        tmp_path,
        {"tokenlab/pack/__init__.py": INIT % names, "tokenlab/pack/a.py": module, "tokenlab/pack/b.py": moved},
    )
    text = api_page().page(tmp_path)
    assert "## tokenlab.pack\n\nA package.\n" in text
    for line in (
        "- [`SIZE`](../tokenlab/pack/a.py): How many.",
        "- [`Options`](../tokenlab/pack/a.py): What is done.",
        "  `Options(weight: float = 4.0, name: str)`",
        "  `Reader(path: str)`",
        "  `read(path: str, limit: int=SIZE) -> 'Reader'`",
        "- [`moved`](../tokenlab/pack/b.py): Moved here.",
    ):
        assert line in text.splitlines(), line


@pytest.mark.parametrize(
    ("module", "message"), [("", "no definition of f"), ("def f(): ...\n", "f is public and has no docstring")]
)
def test_a_name_without_definition_or_docstring_is_an_error(tmp_path, module, message):
    write(tmp_path, {"tokenlab/pack/__init__.py": INIT % '["f"]', "tokenlab/pack/a.py": module})
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
