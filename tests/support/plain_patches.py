"""The streams of patchers, fed in parts or asked byte by byte."""

import random


def streamed(stream, text, seed=0):
    """The starts that a stream gives for a text in parts of random sizes; each must lie in the text so far."""
    parts = random.Random(seed)
    starts, at = [], 0
    while at < len(text):
        end = min(len(text), at + parts.randint(1, 5))
        new = stream.feed(text[at:end])
        assert all(start < end for start in new)
        starts += new
        at = end
    return starts + stream.finish()


def causally(stream, text):
    """The starts that `begins_next` announces, byte by byte; feeding gives the same."""
    starts = []
    for at in range(len(text)):
        begins = stream.begins_next()
        assert stream.feed(text[at : at + 1]) == ([at] if begins else [])
        starts += [at] * begins
    assert stream.finish() == []
    return starts
