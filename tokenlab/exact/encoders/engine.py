"""The encodings of an automaton by the tokenizer's own engine."""

from collections.abc import Callable

from tokenlab.exact.interface import TokenAutomaton

Encode = Callable[[bytes], list[int]]


class EngineEncoding:
    """The automaton `inner` with the tokenizer's own engine."""

    def __init__(self, inner: TokenAutomaton, encode: Encode) -> None:
        self.inner, self.encode = inner, encode
        self.vocabulary, self.prefix, self.has_end = inner.vocabulary, inner.prefix, inner.has_end
        self.start, self.step, self.allowed, self.may_end = inner.start, inner.step, inner.allowed, inner.may_end
