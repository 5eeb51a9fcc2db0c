"""Errors that a user can fix. Commands print them as one line and exit with status 2."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class TokenlabError(Exception):
    """An error that the user can fix. The message is one line: what is wrong, where, and what to do."""


class InputError(TokenlabError):
    """A file with unexpected content: bad UTF-8, malformed XML, nothing at all, the statistics of another file."""


class ParameterError(TokenlabError):
    """An invalid option or parameter; the message names it and its valid values."""


class SourceError(TokenlabError):
    """A source of data that cannot be fetched: neither mirror nor network, wrong bytes, an unknown name."""


class ClusterError(TokenlabError):
    """Workers or a scheduler that cannot be reached, or that were lost. What was written is whole, so run again."""


EXIT_STATUS = 2
"""Exit status of a command or stage after an error that the user can fix."""


def of_rust(error: BaseException) -> bool:
    """Whether Rust code raised an error: `tokenizers` raises plain Exceptions, and a panic is not even one."""
    return type(error) is Exception or type(error).__module__ == "pyo3_runtime"


def of_system(error: BaseException) -> bool:
    """Whether the system refused: a full disk. Errors of safetensors and tokenizers are no OSErrors, but say so."""
    return isinstance(error, OSError) or (not isinstance(error, TokenlabError) and "os error" in str(error))


def one_line(error: BaseException) -> str:
    """The one line that commands and stages print for an error."""
    said = " ".join(str(error).split())
    if of_rust(error) and not of_system(error):
        return f"the tokenizer fails on this text: {said}; use another one"
    if isinstance(error, OSError) and error.strerror:
        if error.filename and isinstance(error, FileNotFoundError):
            return f"{error.filename}: no such file or folder; check the path"
        if error.filename:
            return f"{error.filename}: {error.strerror}; check the path, its permissions and the space left"
        return f"writing failed: {error.strerror}; what was written is not whole, so make room and run again"
    if isinstance(error, MemoryError):
        return "out of memory; use a smaller text or shorter n-grams"
    return f"{said}; check the path, its permissions and the space left" if of_system(error) else said


@contextmanager
def ending_in_one_line(program: str) -> Iterator[None]:
    """End the process with one line where the block raises an error that the user can fix."""
    try:
        yield
    except (TokenlabError, OSError) as error:
        print(f"{program}: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)
