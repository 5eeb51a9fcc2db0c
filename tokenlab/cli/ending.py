"""How a command ends: errors as one line, Ctrl-C and termination at any moment, a reader that went away, a full disk.

This module imports next to nothing, because it stands before the imports that take time.
"""

import errno
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, Self, TypeGuard

from tokenlab.core.errors import EXIT_STATUS, TokenlabError, of_rust, one_line

_BY_SIGNAL = 128
"""Added to the number of a signal: the exit status of a process that it ended."""
_DOUBLE_PRESS = 1.0
"""A second Ctrl-C within so many seconds is ignored: it would interrupt the removal of temporary files."""
_TRY_AGAIN = 0.05
"""Python drops an interrupt inside a destructor or a callback; it is repeated after so many seconds."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a write."""
_MODELS = ("torch", "transformers", "huggingface_hub")
"""Packages of the extra `models`."""
_TEMPORARY = r"\.([^/\s]+)\.[a-z0-9_]{8}\.tmp"
"""Names that `tokenlab.core.files` gives to files until they are whole; a message has their final names."""


def ended_well(command: Callable[[], None], *, whole_process: bool) -> int:
    """Run a command; returns the exit status, and says in one line on standard error why it is not 0.

    whole_process: nothing follows the command but the end of the process, which ignores Ctrl-C from then on. Raises
    SystemExit of the parser of arguments, and of commands with an exit status of their own.
    """
    if sys.stderr is None:  # Closed by the shell (`2>&-`). Python would print to standard output instead.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if whole_process and isinstance(sys.stdout, io.TextIOWrapper):
        if isinstance(sys.stdout.buffer, io.RawIOBase):  # PYTHONUNBUFFERED: a write may take a part and say nothing.
            sys.stdout = io.TextIOWrapper(io.BufferedWriter(sys.stdout.detach()))
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # whatever the locale says
    with _Signals(whole_process) as signals:
        try:
            try:
                with _panics_unseen() if whole_process else nullcontext():
                    command()
            except SystemExit:
                _flush()
                raise
            _flush()
            return 0
        except BaseException as error:
            known = isinstance(error, TokenlabError | OSError | MemoryError) or of_rust(error)
            fixable = known or _is_missing(error) or _of_place(error) is not None
            if not signals.number and not fixable:
                raise  # SystemExit, and errors in the program
            signals.ignore()
            status, said = _reason(error, signals.number)
        # Here, the error and what it held on to (temporary files, pools) are gone.
        _give_output_up(whole_process)
        if said:
            feed = "\n" if sys.stderr.isatty() else ""  # The terminal shows ^C at the beginning of the line.
            sys.stderr.write(f"{feed}tokenlab: {said}\n")
        elif whole_process:  # As every other program in a pipe whose reader went away.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGPIPE)
        return status


@contextmanager
def _panics_unseen() -> Iterator[None]:
    """Drop what a panic of Rust writes to the standard error of the process, in many lines, before it is an error.

    What compiled code writes there is kept until the block ends; Python's own standard error is written at once.
    """
    try:
        python, shown, kept = sys.stderr, os.dup(2), os.memfd_create("stderr")
    except (AttributeError, OSError):  # no Linux, or closed by the shell
        yield
        return
    dropped = False
    try:
        os.dup2(kept, 2)
        sys.stderr = open(shown, "w", buffering=1, encoding=python.encoding, errors=python.errors)  # noqa: SIM115, PTH123
        yield
    except BaseException as error:
        dropped = of_rust(error) or (error.__context__ is not None and of_rust(error.__context__))
        raise
    finally:
        os.dup2(shown, 2)
        sys.stderr.close()
        sys.stderr = python
        if not dropped:
            os.write(2, os.pread(kept, os.fstat(kept).st_size, 0))


class _Signals:
    """Ctrl-C, termination and hanging up as KeyboardInterrupt, so that temporary files are removed."""

    def __init__(self, whole_process: bool) -> None:
        self.number = 0
        """Of the signal that came; 0 for none."""
        self._whole_process = whole_process
        self._came = float("-inf")
        self._before: dict[int, Any] = {}
        self._hook = sys.unraisablehook

    def __enter__(self) -> Self:
        with suppress(ValueError):  # In a thread other than the main one, no handler can be set and none is called.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
                if signal.getsignal(number) != signal.SIG_IGN:  # as `nohup` and background jobs want it
                    self._before[number] = signal.signal(number, self._interrupt)
            # A write then is a BrokenPipeError, even if the parent ignored no signal.
            self._before[signal.SIGPIPE] = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        sys.unraisablehook = self._dropped
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        sys.unraisablehook = self._hook
        if self._whole_process and (kind is None or kind is SystemExit):
            self.ignore()
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def ignore(self) -> None:
        """From now on, no signal of these has an effect."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        if not self.number or number != signal.SIGALRM:
            now = time.monotonic()
            if now - self._came < _DOUBLE_PRESS:
                return
            self.number, self._came = number, now
        raise KeyboardInterrupt

    def _dropped(self, unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _TRY_AGAIN)
        else:
            self._hook(unraisable)


def _is_missing(error: BaseException) -> TypeGuard[ModuleNotFoundError]:
    """Whether a package of language models is not installed; another missing module is an error in the program."""
    return isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] in _MODELS


def _of_place(error: BaseException) -> str | None:
    """What a RuntimeError says that is of a place in the file system, in one line; None for any other error."""
    said = str(error) if isinstance(error, RuntimeError) else ""
    if said.startswith("cannot cache function"):  # numba
        return (
            "compiled code can be kept neither beside the package nor in the home folder, which cannot be written; set "
            "NUMBA_CACHE_DIR to a folder that can"
        )
    return said if said.startswith("Symlink loop from ") else None  # `Path.resolve` before Python 3.13


def _reason(error: BaseException, number: int) -> tuple[int, str]:
    """The exit status and the line for standard error, which is empty where the reader of the output went away."""
    if number:
        name = signal.Signals(number).name
        return _BY_SIGNAL + number, "interrupted" if name == "SIGINT" else f"ended by {name}"
    if _is_missing(error):
        return EXIT_STATUS, f"this needs {error.name}, which is not installed; install tokenlab with its extra `models`"
    if isinstance(error, BrokenPipeError):
        return _BY_SIGNAL + 13, ""
    if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename == _output_name():
        reason = f"{error.filename}: {error.strerror}; what was written there is not whole, so make room and run again"
        return EXIT_STATUS, reason
    if said := _of_place(error):
        return EXIT_STATUS, said
    import re

    return EXIT_STATUS, re.sub(_TEMPORARY, r"\1", one_line(error))


@contextmanager
def to_output() -> Iterator[None]:
    """A block that writes to standard output, which its errors name."""
    try:
        yield
    except OSError as error:
        error.filename = _output_name()
        raise


def _flush() -> None:
    if sys.stdout is not None:
        with to_output():
            sys.stdout.flush()


def _output_name() -> str:
    """Standard output in a message, with the name of its file where the system says it."""
    try:
        place = os.readlink("/proc/self/fd/1")  # noqa: PTH115
    except OSError:
        return "standard output"
    return f"standard output ({place})" if os.path.isfile(place) else "standard output"  # noqa: PTH113


def _give_output_up(whole_process: bool) -> None:
    """Write what the buffer still holds; where that fails, drop it, or Python would try and complain at its end."""
    try:
        _flush()
    except OSError:
        if whole_process:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
