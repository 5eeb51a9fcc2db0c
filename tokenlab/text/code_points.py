"""Text as an array of code points."""

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of a text, uint32[characters]. Raises InputError for a lone surrogate."""
    try:
        return np.frombuffer(text.encode("utf-32-le"), np.uint32)
    except UnicodeEncodeError as error:
        found = f"U+{ord(text[error.start]):04X}"
        raise InputError(f"the text holds a lone surrogate ({found}); remove it") from None
