"""Folders and files are complete or not there, and nothing else is lost."""

from pathlib import Path

import pytest

from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file, atomic_folder


def write(folder: Path, *names: str) -> None:
    with atomic_folder(folder) as temporary:
        for name in names:
            (temporary / name).write_text(name)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_replaces_one_of_its_kind(tmp_path: Path) -> None:
    write(tmp_path / "a", "1.txt", "2.txt")
    write(tmp_path / "a", "3.txt")
    assert names(tmp_path / "a") == ["3.txt"] and names(tmp_path) == ["a"]


@pytest.mark.parametrize("lost", ["notes.md", "model.safetensors", "src"])
def test_other_files_are_not_lost(tmp_path: Path, lost: str) -> None:
    write(tmp_path / "a", "1.txt")
    if lost == "src":
        (tmp_path / "a" / lost).mkdir()
    else:
        (tmp_path / "a" / lost).write_text("mine")
    with pytest.raises(InputError, match=f"a: holds {lost}"):
        write(tmp_path / "a", "2.txt")
    assert names(tmp_path / "a") == ["1.txt", lost] and names(tmp_path) == ["a"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(InputError, match="a: a file"), atomic_folder(tmp_path / "a"):
        pytest.fail("refused before any work")
    assert (tmp_path / "a").read_text() == "mine"


@pytest.mark.parametrize("manager", [atomic_file, atomic_folder])
def test_an_error_leaves_the_old_one(tmp_path: Path, manager) -> None:
    write(tmp_path / "a", "1.txt")
    place = tmp_path / "a" if manager is atomic_folder else tmp_path / "a" / "1.txt"
    with pytest.raises(ZeroDivisionError), manager(place):
        raise ZeroDivisionError
    assert names(tmp_path / "a") == ["1.txt"] and names(tmp_path) == ["a"]
    assert (tmp_path / "a" / "1.txt").read_text() == "1.txt"


@pytest.mark.parametrize(
    ("call", "done", "left"), [("rename", True, "1"), ("replace", False, "1"), ("replace", True, "2")]
)
def test_an_interruption_of_the_exchange_leaves_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, done: bool, left: str
) -> None:
    """It comes before a call of the system, or right after it."""
    write(tmp_path / "a", "1.txt")
    real = getattr(Path, call)

    def interrupted(path: Path, target: Path) -> None:
        monkeypatch.undo()
        if done:
            real(path, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, call, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a", "2.txt")
    assert names(tmp_path / "a") == [f"{left}.txt"] and names(tmp_path) == ["a"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a")
    write(tmp_path / "link", "1.txt")
    assert (tmp_path / "link").is_symlink() and names(tmp_path / "a") == ["1.txt"]
