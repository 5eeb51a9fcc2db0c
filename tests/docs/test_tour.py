"""The notebook runs, and says what it says."""

import json
import os
import subprocess
import sys

import pytest
from workspace import ROOT

from tasks.runtime.numerics import PINNED

DOCS = ROOT / "docs"
TOUR = DOCS / "tour.ipynb"
RUN = "import json, sys; from notebook import outputs; print(json.dumps(outputs(json.load(open(sys.argv[1])))))"


def outputs(path):
    """What the code cells of a notebook print and return, with the numerics of the pipeline: equal on every machine."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, path],
        env=os.environ | PINNED | {"PYTHONPATH": os.pathsep.join([str(DOCS), str(DOCS.parent)])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow  # Twenty seconds where numba has to compile.
def test_the_tour_has_the_outputs_that_it_shows():
    cells = [cell for cell in json.loads(TOUR.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["outputs"] for cell in cells] == outputs(TOUR), "run `make tour`"
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))


def test_a_cell_that_fails_is_named(tmp_path):
    cells = [{"cell_type": "code", "source": [source]} for source in ("x = 2", "x / 0")]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    with pytest.raises(AssertionError, match=r'File "<cell 2>", line 1'):
        outputs(tmp_path / "a.ipynb")
