"""tokenlab: how should this text be cut?

The library of the project: text in, numbers and tokenizers out. It is independent of DVC, Prefect and MLflow.

The names below are those that most programs need; docs/api.md lists those of all packages.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
