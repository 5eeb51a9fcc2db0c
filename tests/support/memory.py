"""The memory that work takes."""

import sys
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

# The kernel's count of the process itself: what `wait4` counts begins with the memory of the process that starts it.
_PROGRAM = """
import sys
from pathlib import Path
from tokenlab.cli import main
try:
    sys.exit(main(sys.argv[1:]))
finally:
    (peak,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    print("peak", int(peak.split()[1]) // 1024, file=sys.stderr)
"""
COMMAND = [sys.executable, "-c", _PROGRAM]
"""The command in a process of its own; the last line of its complaint is its peak in MiB."""


def traced(work: Callable[[], Result]) -> tuple[Result, int]:
    """What a function returns, and the most bytes that Python had meanwhile."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
