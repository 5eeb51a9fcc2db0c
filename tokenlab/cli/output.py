"""What commands share: checks of files before any work, standard output as a whole, progress, names in errors."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from tqdm import tqdm

from tokenlab.core.errors import InputError, ParameterError


def check_output(option: str, name: str, inputs: Iterable[str | None], why: str = "") -> None:
    """Refuse a place that cannot be written to, or that is an input, before any work is done.

    Args:
        option: its flag.
        inputs: what the command reads; `-` and None are no files.
        why: the reason why it must be a file and no stream, for the error message.
    """
    path = Path(name)
    if name in ("", "-"):
        raise ParameterError(f"{option} is {name!r}; name a file{why}")
    if not path.parent.is_dir():
        raise ParameterError(f"{option} is {name}, but there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        raise ParameterError(f"{option} is {name}, which is no regular file; name another")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ParameterError(f"{option} is {name}, but nothing may be written to {path.parent}; name another place")
    check_no_input(option, name, inputs)


def check_no_input(option: str, name: str, inputs: Iterable[str | None]) -> None:
    """Refuse a place that is an input, or a folder that holds one: the result would replace it."""
    place = Path(name)
    for source in map(Path, filter(None, inputs)):
        if place.exists() and source.exists():
            if source.samefile(place):
                raise ParameterError(f"{option} is {name}, which is an input; name another place")
            if place.resolve() in source.resolve().parents:
                raise ParameterError(f"{option} is {name}, which holds the input {source}; name another place")


def check_parquet(name: str, *inputs: str | None) -> None:
    """`check_output` for the `--output` of commands that write Parquet there."""
    check_output("--output", name, inputs, ", since Parquet cannot be written to a stream")


@contextmanager
def whole_output() -> Iterator[BinaryIO]:
    """A temporary file, copied to standard output when the block ends without an error, and dropped otherwise."""
    with tempfile.TemporaryFile() as spool:
        yield cast(BinaryIO, spool)
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout.buffer)


def with_progress(lines: Iterable[str], what: str) -> Iterator[str]:
    """The lines, counted in characters on standard error where that is a terminal."""
    with tqdm(desc=what, unit=" characters", unit_scale=True, disable=None, leave=False) as bar:
        for line in lines:
            bar.update(len(line))
            yield line


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Put the name of an input before errors about it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
