"""The patches of a text while it arrives, by any patcher.

Causal patchers have streams of their own. For the tokens of a tokenizer: the covers of a text
(`tokenlab.exact.covers`) are all ways in which the encoding of a longer text can begin, or be complete. The
tokens that all of them share are certain.
"""

import codecs
from functools import lru_cache

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.hugging_face import from_tokenizer
from tokenlab.exact.covers import Context, Covers
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.patches.bpe import BpePatcher
from tokenlab.patches.interface import Patcher, PatchStream


def stream(patcher: Patcher) -> PatchStream:
    """A new stream of a patcher; its starts are those of the whole text.

    With tokens, a start is certain when all tokens that may still be the encoding's agree on it. Where the encodings of
    the tokenizer are not modelled (`tokenlab.exact.adapters`), all starts are certain at the end.
    """
    if isinstance(patcher, BpePatcher):
        automaton = _automaton(patcher)
        if automaton is not None:
            return CoverStream(automaton, patcher)
    elif hasattr(patcher, "stream"):
        own: PatchStream = patcher.stream()
        return own
    return WholeStream(patcher)


@lru_cache(maxsize=4)
def _automaton(patcher: BpePatcher) -> TokenAutomaton | None:
    """Which tokens spell a text, its prefix included; None where this is not modelled."""
    try:
        return from_tokenizer(patcher.bare, name=patcher.name).automaton
    except InputError:
        return None


class WholeStream:
    """A stream that knows nothing before the end."""

    def __init__(self, patcher: Patcher, text: bytes | bytearray = b"", given: int = 0) -> None:
        """text: what has come already; given: number of its starts that were given."""
        self._patcher, self._text, self._given = patcher, bytearray(text), given

    def feed(self, data: bytes) -> list[int]:
        """Nothing."""
        self._text += data
        return []

    def finish(self) -> list[int]:
        """All starts that were not given. Raises InputError for a text that cannot be encoded."""
        return self._patcher.starts([bytes(self._text)])[0].tolist()[self._given :]


class CoverStream:
    """A stream that gives a start as soon as it is certain.

    After a character that the automaton does not model (U+2581 in a tokenizer where it stands for a space), the rest is
    given at the end.
    """

    def __init__(self, automaton: TokenAutomaton, patcher: BpePatcher) -> None:
        """automaton: of the tokens of a text with its prefix."""
        self._automaton, self._patcher = automaton, patcher
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = bytearray()
        self._given = 0
        self._late: WholeStream | None = None
        self._certain = _root(automaton)
        self._covers = Covers(automaton, self._certain, max_contexts=0)
        for byte in patcher.prefix:
            self._covers.advance(byte)
        self._ends: list[int] = []  # Of tokens that are certain, where no byte has come after them.

    def feed(self, data: bytes) -> list[int]:
        """Starts that are certain now and were not before. Raises InputError for bytes that are not UTF-8."""
        self._text += data
        if self._late:
            return self._late.feed(data)
        try:
            characters = self._decoder.decode(data)
        except UnicodeDecodeError:
            raise InputError("the text is not UTF-8; a tokenizer reads characters") from None
        return self._take(characters)

    def finish(self) -> list[int]:
        """The remaining starts. Raises InputError for a text that cannot be encoded, or ends inside a character."""
        if not self._late:
            if self._decoder.getstate()[0]:
                raise InputError("the text ends inside a character; a tokenizer reads characters")
            ending = [cover.context for cover in self._covers.ending() if self._accepts(cover.context)]
            if not self._text or len(ending) == 1:
                return self._new(ending[0]) if self._text else []
            self._late = WholeStream(self._patcher, self._text, self._given)
        return self._late.finish()

    def _take(self, characters: str) -> list[int]:
        """Only whole characters go on: after a part of one, the encoding of the text before it would be missing."""
        starts: list[int] = []
        escaped = self._patcher.escaped
        for character in characters:
            if escaped and escaped.match(character):
                self._covers.covers = []
            for byte in character.encode():
                if self._covers.covers:
                    self._covers.advance(byte)
            if not self._covers.covers:
                self._late = WholeStream(self._patcher, self._text, self._given + len(starts))
                break
            starts += self._new(self._shared())
        self._given += len(starts)
        return starts

    def _shared(self) -> Context:
        """The longest context that all covers share."""
        contexts = {id(cover.context): cover.context for cover in self._covers.covers}
        while len(contexts) > 1:
            longest = max(contexts.values(), key=lambda context: context.length)
            del contexts[id(longest)]
            assert longest.parent is not None
            contexts[id(longest.parent)] = longest.parent
        return next(iter(contexts.values()))

    def _new(self, certain: Context) -> list[int]:
        """The starts before the end of the text that a longer certain context adds."""
        ends, context = [], certain
        while context is not self._certain:
            ends.append(context.length - len(self._patcher.prefix))
            assert context.parent is not None
            context = context.parent
        self._ends += ends[::-1]
        self._certain = certain
        certain.parent = None  # So that memory does not grow with the text.
        certain.children.clear()
        size = len(self._covers.text) - len(self._patcher.prefix)
        known = sum(end < size for end in self._ends)
        starts, self._ends = [end for end in self._ends[:known] if end > 0], self._ends[known:]
        if not self._started and size > 0:
            starts.insert(0, 0)
            self._started = True
        return starts

    _started = False

    def _accepts(self, context: Context) -> bool:
        return self._automaton.may_end(context.state)


def _root(automaton: TokenAutomaton) -> Context:
    return Context(None, -1, -1, 0, automaton.start())
