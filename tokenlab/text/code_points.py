"""Text as an array of code points, and in UTF-8."""

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of a text, uint32[characters]. Raises InputError for a lone surrogate."""
    try:
        return np.frombuffer(text.encode("utf-32-le"), np.uint32)
    except UnicodeEncodeError as error:
        raise _lone_surrogate(error) from None


def utf8(text: str) -> bytes:
    """A text in UTF-8. Raises InputError for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _lone_surrogate(error) from None


def _lone_surrogate(error: UnicodeEncodeError) -> InputError:
    return InputError(f"the text holds a lone surrogate (U+{ord(error.object[error.start]):04X}); remove it")
