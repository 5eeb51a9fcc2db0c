"""SCRIPT encoding: a character is its block of script and category, and its place in the block."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__, {"script_code": ["ScriptCode"]})
