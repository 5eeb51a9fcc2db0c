"""Sources of data: the catalogue, verified downloads, and the record of where files came from."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
