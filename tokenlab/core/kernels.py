"""Loops compiled by numba that other kernels call."""

from numba import njit


@njit(cache=True, nogil=True)
def copy(source, target):
    """Copy a vector into the beginning of another, at least as long, which is not checked.

    A loop: numba takes two seconds to compile the assignment of a slice, in each module again.
    """
    for i in range(source.size):
        target[i] = source[i]
