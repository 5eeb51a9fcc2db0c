"""What compiled loops share."""

from numba import njit


@njit(cache=True, nogil=True)
def copy(source, target):
    """target[: source.size] = source of vectors: numba compiles that for two seconds in each module that says it."""
    for i in range(source.size):
        target[i] = source[i]
