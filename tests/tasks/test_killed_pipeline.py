"""The real pipeline, killed at several moments: the next run ends as if nothing had been."""

import killing
import pytest
import yaml
from workspace import SMALL, make_workspace

CORPORA = {"zh": {"path": "data/raw/builtin/zh", "format": "parquet", "gold": "words"}}
LOCKS = ["dvc.lock", "data/raw/dvc.lock"]


def locks(folder):
    return [yaml.safe_load((folder / name).read_text(encoding="utf-8")) for name in LOCKS]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = make_workspace(tmp_path_factory.mktemp("whole") / "project", corpora=CORPORA, segmentation=SMALL)
    status, output = killing.run(killing.RUNNER, folder)
    assert status == 0, output
    return locks(folder)


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["runner", "dvc", "stage"])
def test_killed_again_and_again(undisturbed, tmp_path, whom):
    """Each time a little later, so that every stage is hit at work, starting or being saved."""
    folder = make_workspace(tmp_path / "project", corpora=CORPORA, segmentation=SMALL)
    for after in (1.0, 2.5, 4.0, 5.0, 6.0, 7.0):
        started = killing.start(killing.RUNNER, folder)
        killed = killing.kill(started, whom, after)
        killing.assert_ended(started)
        if not killed:
            break
    status, output = killing.run(killing.RUNNER, folder)
    assert status == 0, output
    assert locks(folder) == undisturbed
    assert not list(folder.glob("**/.*.tmp"))
