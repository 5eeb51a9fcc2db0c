"""Built-in corpora: sentences of a small generated language over real words, with gold word boundaries."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
