"""Character codes behind one interface: text to atoms and back (Latom and its baselines).

`character_corpus` reads text, `learn_code` (or `learn_latom`, ...) makes a code of it, whose `encode`, `decode` and
`check` work on any text, and `write_code` and `read_code` keep it as JSON.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "byte": ["ByteCode"],
    "code": ["Code", "Violation", "names_of", "parse_atoms", "print_atoms"],
    "codebook": ["Codebook"],
    "components": ["ComponentCode", "learn_components"],
    "corpus": ["CharacterCorpus", "character_corpus"],
    "learn": ["character_codebook", "learn_code", "learn_latom", "random_codebook", "refine_codebook"],
    "myte": ["MyteCode", "learn_myte"],
    "saved": ["read_code", "write_code"],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import what is asked for: who encodes needs nothing of what learns (scipy, numba; half a second)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
