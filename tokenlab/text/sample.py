"""A sample of lines, drawn by a hash of their content."""

import hashlib
from collections.abc import Iterable
from heapq import heappop, heappush


def sample_lines(lines: Iterable[str], characters: int) -> list[str]:
    """The lines with the lowest hashes (BLAKE2b), as many as have at most so many characters together, by their hashes.

    Which lines these are, and their order, does not depend on the order of the lines or of the files that they come
    from. Lines of the same content are drawn all or not at all. Blank lines are left out. The first line
    without room ends the sample: a very long line may leave it small or empty. Memory is that of the sample.
    """
    highest_first: list[tuple[int, str]] = []
    copies: dict[int, int] = {}
    total = 0
    bound = float("-inf")
    for line in lines:
        if not line or line.isspace():
            continue
        digest = hashlib.blake2b(line.encode(errors="surrogatepass"), digest_size=16).digest()
        negated = -int.from_bytes(digest, "big")
        if negated <= bound:
            continue
        if negated not in copies:
            heappush(highest_first, (negated, line))
        copies[negated] = copies.get(negated, 0) + 1
        total += len(line)
        while total > characters:
            bound, dropped = heappop(highest_first)
            total -= len(dropped) * copies.pop(bound)
    return [line for negated, line in sorted(highest_first, reverse=True) for _ in range(copies[negated])]
