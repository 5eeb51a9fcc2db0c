"""Shared by the commands: checks of paths before any work, whole files, printed rows, progress, names in errors."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from tqdm import tqdm

from tokenlab.cli.ending import to_output
from tokenlab.core.errors import InputError, ParameterError, TokenlabError, of_rust, of_system, one_line

Item = TypeVar("Item")


def check_output(option: str, name: str | None, inputs: Iterable[str | None], endings: Collection[str] = ()) -> None:
    """Refuse a place that cannot be written to, or that is an input, before any work is done.

    Args:
        option: its flag.
        name: None where nothing is written.
        inputs: what the command reads; `-` is the file that standard input was redirected from, None is nothing.
        endings: those of the formats that can be written; without any, every name is accepted.
    """
    if name is None:
        return
    path = Path(name)
    if name in ("", "-"):
        raise ParameterError(f"{option} is {name!r}; name a file, since it is written as a whole")
    if not path.parent.is_dir():
        raise ParameterError(f"{option} is {name}, but there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        raise ParameterError(f"{option} is {name}, which is no regular file; name another")
    _check_writable(option, name, path.parent)
    _check_no_input(option, name, inputs)
    if endings and not name.lower().endswith(tuple(endings)):
        *others, last = endings
        kinds = f"{', '.join(others)} or {last}" if others else last
        raise ParameterError(f"{option} is {name}; the format goes by the name, which must end in {kinds}")


def _check_writable(option: str, name: str, folder: Path) -> None:
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(f"{option} is {name}, but nothing may be written to {folder}; name another place")


def _check_no_input(option: str, name: str, inputs: Iterable[str | None]) -> None:
    """Refuse an output that is an input, lies in an input folder, or contains an input."""
    place = Path(name)
    if not place.exists():
        return
    for given in filter(None, inputs):
        source = Path("/dev/stdin" if given == "-" else given)
        if not source.exists():
            continue
        if source.samefile(place):
            raise ParameterError(f"{option} is {name}, which is an input; name another place")
        if place.resolve() in source.resolve().parents:
            raise ParameterError(f"{option} is {name}, which holds the input {given}; name another place")
        if source.is_dir() and source.resolve() in place.resolve().parents:
            raise ParameterError(f"{option} is {name}, a file of the input {given}; name another place")


def check_folder(option: str, name: str, inputs: Iterable[str | None], known: Callable[[Path], bool]) -> None:
    """Refuse an output folder that cannot be written, or that holds other paths than `known` ones: it is replaced."""
    folder = Path(name)
    if name in ("", "-"):
        raise ParameterError(f"{option} is {name!r}; name a folder")
    _check_no_input(option, name, inputs)
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{option} is {name}, which is no folder; name another")
    try:
        place, here = folder.resolve(), Path.cwd()
    except (OSError, RuntimeError):  # a loop of links, or a working directory that is gone
        raise ParameterError(f"{option} is {name}, which leads nowhere; name another place") from None
    if here.is_relative_to(place):
        raise ParameterError(f"{option} is {name}, which holds the folder you are in; name a folder of its own")
    if folder.is_dir() and (others := sorted(path.name for path in folder.iterdir() if not known(path))):
        raise ParameterError(f"{option} is {name}, which already holds {others[0]}; name a folder of its own")
    _check_writable(option, name, next(path for path in place.parents if path.exists()))


def check_stdin(*names: str | None) -> None:
    """Refuse to read standard input more than once."""
    if names.count("-") > 1:
        raise ParameterError("standard input can be only one of the inputs; name files for the others")


@contextmanager
def written(name: str) -> Iterator[None]:
    """Errors of writing a whole file or folder name it, and not the temporary place where it is written first."""
    try:
        yield
    except (TokenlabError, MemoryError):
        raise
    except Exception as error:
        if not of_system(error):
            raise
        reason = " ".join((getattr(error, "strerror", None) or str(error)).split())
        raise InputError(
            f"{name}: cannot be written ({reason}); nothing was changed there, so make room or name another place"
        ) from None


@contextmanager
def room_for_copy(what: str) -> Iterator[None]:
    """Errors of writing to a temporary file say what it is a copy of, and where room is missing."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{what}: no room for a temporary copy in {tempfile.gettempdir()} ({error.strerror}); make room, or set "
            "TMPDIR to another folder"
        ) from None


@contextmanager
def temporary_file() -> Iterator[BinaryIO]:
    """A temporary file with a name, which is removed at the end of the block."""
    file = tempfile.NamedTemporaryFile(prefix="tokenlab-")  # noqa: SIM115
    try:
        yield cast(BinaryIO, file)
    finally:
        with suppress(OSError):  # Closing writes what is left, for which there may be no room, as was said already.
            file.close()


@contextmanager
def whole_output() -> Iterator[Callable[[str], None]]:
    """Yield a function that collects text, which is printed where the block ends without an error."""
    with temporary_file() as spool:

        def keep(text: str) -> None:
            with room_for_copy("the result"):
                spool.write(text.encode())

        yield keep
        with room_for_copy("the result"):
            spool.seek(0)
        for line in spool:
            _write(line)


def write(text: str) -> None:
    """Write UTF-8 to standard output, whatever the encoding of the terminal."""
    _write(text.encode(errors="surrogateescape"))


def _write(data: bytes) -> None:
    with to_output():
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(data)
        else:  # a stream of the program that called `main`, such as a notebook
            sys.stdout.write(data.decode(errors="surrogateescape"))


def note(line: str) -> None:
    """Print a remark on standard error."""
    print(f"tokenlab: {line}", file=sys.stderr)


def json_line(record: object) -> str:
    """A record as JSON, on a line of its own."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def tabbed(rows: Iterable[Iterable[object]], places: int | None = None) -> str:
    """A table with a line for each row, its cells separated by tabs; None is an empty cell.

    places: decimal places of numbers with a fraction; by default, as many as tell them apart.
    """

    def cell(value: object) -> str:
        return f"{value:.{places}f}" if places and isinstance(value, float) else "" if value is None else str(value)

    return "".join("\t".join(map(cell, row)) + "\n" for row in rows)


def bar(what: str, **settings: Any) -> "tqdm[Any]":
    """A bar that shows progress where standard error is a terminal."""
    return tqdm(desc=what, disable=None, leave=False, **settings)


def with_progress(
    items: Iterable[Item], what: str, size: Callable[[Any], int] = len, total: int | None = None
) -> Iterator[Item]:
    """The items, with a bar that counts their characters where standard error is a terminal.

    size: characters of an item. total: those of all items, where it is known; the bar then shows what remains.
    """
    with bar(what, total=total, unit=" characters", unit_scale=True) as shown:
        for item in items:
            shown.update(size(item))
            yield item


@contextmanager
def steps_shown(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A function of the steps done and their total, which shows them; nothing before it is called."""
    with bar(what, unit=unit, delay=0.1) as shown:  # With a delay, an update shows it first.

        def progress(done: int, total: int) -> None:
            shown.total = total
            shown.update(done - shown.n)

        yield progress


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Put the name of an input before errors about it; errors of reading already begin with it."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, InputError) and (not of_rust(error) or of_system(error)):
            raise
        said = one_line(error)
        raise error if said.startswith(f"{name}:") else InputError(f"{name}: {said}") from None
