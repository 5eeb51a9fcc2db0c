"""Real tokenizers as automata: read, refused where they are not exact, and checked against their own engine."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
