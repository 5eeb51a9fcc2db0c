"""Names that a package offers, imported when they are first asked for (PEP 562).

`from tokenlab.codes import read_code` loads the module that reads codes, and neither numba nor scipy, which learn them.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def offer(package: str, modules: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], list[str]]:
    """`__getattr__` and `__all__` of a package, whose `dir` then has the names.

    Args:
        package: its `__name__`.
        modules: module, as its name below the package or in full -> the names taken from it.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        return getattr(import_module(module if module.startswith("tokenlab.") else f"{package}.{module}"), name)

    module = sys.modules[package]
    vars(module)["__dir__"] = lambda: sorted({*module_of, *vars(module)})
    return load, sorted(module_of)
