"""Streams of bit-level codes written by hand: `stream("P:39 N:05E N:1A0 B:41 R T:3")`, T with the id of the token."""

import numpy as np

_SYMBOLS = {
    "B": lambda value: int(value, 16),
    "N": lambda value: int(value, 16),
    "P": lambda value: 512 + int(value, 16) - 0x38,
    "R": lambda value: 516,
    "T": lambda value: 517 + int(value),
}


def stream(tokens: str) -> np.ndarray:
    """int32[n]: the symbols of tokens."""
    pairs = (token.partition(":") for token in tokens.split())
    return np.array([_SYMBOLS[kind](value) for kind, _, value in pairs], np.int32)
