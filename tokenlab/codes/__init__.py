"""Character codes behind one interface: text to atoms and back (Latom and its baselines).

`character_corpus` reads text, and `learn_code` (or `learn_latom`, ...) learns a code from it. `encode`, `decode` and
`check` of a code work on any text; `write_code` and `read_code` store it as JSON.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
