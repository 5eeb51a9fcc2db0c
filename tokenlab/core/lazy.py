"""Names that a package offers, imported when they are first asked for (PEP 562).

`from tokenlab.codes import read_code` loads the module that reads codes, and neither numba nor scipy, which learn them.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pkgutil import get_data
from typing import Any


def offer(package: str) -> tuple[Callable[[str], Any], list[str]]:
    """`__getattr__` and `__all__` of a package, whose `dir` then has the names.

    The names and their modules are those of its stub, `__init__.pyi`, which tells them to type checkers, too: a line
    `from MODULE import NAME as NAME` for each.

    package: its `__name__`.
    """
    stub = (get_data(package, "__init__.pyi") or b"").decode()
    module_of = {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(module_of[name]), name)

    names = vars(sys.modules[package])
    names["__dir__"] = lambda: sorted({*module_of, *names})
    return load, sorted(module_of)
