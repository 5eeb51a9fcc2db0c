"""Cuts: where no merge of a tokenizer may cross, and what of that a `tokenizer.json` can say.

A cut is a regular expression, whose matches and the text between them are the pieces, and for scripts without spaces
possibly learned words inside them. The expression is in the tokenizer (`pre_tokenizers.Split`); learned words are not,
and shape only the merges.

    auto        the expression below
    words       the same, and in scripts without spaces words of a word model; also of one from a file, FILE.words
    statistics  the same, and there words by n-gram statistics
    gpt2        the expression of GPT-2
    llama3      the expression of Llama 3
    whitespace  words with the space before them
    none        each text is one piece
    REGEX       any expression of Oniguruma

Words are learned from the beginning of the text. `auto` learns none: small language models need more bits for a text
that was cut into words (docs/benchmarks.md, Small models by cut).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, pre_tokenizers

from tokenlab.core.errors import ParameterError
from tokenlab.formats.ranks import LLAMA3
from tokenlab.segment.isolation import FREE, CharacterClasses
from tokenlab.segment.segmentation import Segmentation
from tokenlab.text.code_points import code_points, utf8
from tokenlab.tokenizers import piece_kernels
from tokenlab.tokenizers.kinds import IN_SPACED_WORDS, IN_WORDS, KINDS, NO_SIGN, RUNS, learn_kinds
from tokenlab.tokenizers.options import CUTS, LEARNED_CUTS, WORDS_FILE
from tokenlab.tokenizers.piece_kernels import find_pieces

_SAMPLE = 500_000
"""Characters of the text from which words are learned: whole texts, until they are so many; of each one no more."""
_SCRIPTS = CharacterClasses("script")
_RUNS = "|".join(rf" ?[{run}&&[{IN_WORDS}]][{run}\p{{M}}&&[{IN_WORDS}]]*" for run in RUNS)
_WORD = f"[{IN_SPACED_WORDS}]+"
_AUTO = rf"{_RUNS}| ?{_WORD}(?:['’]{_WORD})*| ?\p{{N}}{{1,3}}| ?[^{NO_SIGN}]+|\s*[\r\n]+|\s+(?!\S)|\s+"
"""Runs of one script without spaces, words (`don't` is one), up to three digits, other signs, each with a space before
it; and other whitespace."""
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_PATTERNS = {
    "auto": _AUTO,
    "words": _AUTO,
    "statistics": _AUTO,
    "gpt2": GPT2,
    "llama3": LLAMA3,
    "whitespace": r" ?\S+|\s+(?!\S)|\s+",
}
_KERNELS = {
    _AUTO: piece_kernels.AUTO,
    GPT2: piece_kernels.GPT2,
    LLAMA3: piece_kernels.LLAMA3,
    _PATTERNS["whitespace"]: piece_kernels.WHITESPACE,
}
"""Expressions with a kernel; Oniguruma takes a hundred times as long."""


class Cutter(Protocol):
    """A `Segmenter` or a `WordModel`."""

    def segment(self, sentences: Iterable[str], /) -> Iterator[Segmentation]:
        """The segments of sentences, batch by batch."""
        ...


class Cut(NamedTuple):
    """Where texts are cut into pieces."""

    name: str
    """As in the module, for the model card."""
    pattern: str | None
    """The regular expression; None where a text is one piece."""
    cutter: Cutter | None = None
    """Learned words, which are in no tokenizer.json."""

    def split(self) -> Any:
        """The step of a tokenizer; None where a text is one piece."""
        return None if self.pattern is None else pre_tokenizers.Split(Regex(self.pattern), "isolated")

    def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        """The pieces of each text; together they spell it."""
        encoded, starts = self.starts(texts)
        joined, spans = encoded.tobytes(), pairwise(starts.tolist())
        ends = np.cumsum([0, *(len(text.encode()) for text in texts)])
        numbers = np.diff(np.searchsorted(starts, ends))
        return [[joined[start:end].decode() for start, end in islice(spans, number)] for number in numbers.tolist()]

    def starts(self, texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The texts in UTF-8, one after the other, and where in them each piece begins and the last one ends:
        uint8[bytes] and int64[pieces + 1]. Raises InputError for a lone surrogate."""
        encoded = [*map(utf8, texts)]
        text = np.frombuffer(b"".join(encoded), np.uint8)
        if self.pattern in _KERNELS:
            starts = _scan(text, np.cumsum([*map(len, encoded)], dtype=np.int64), texts, _KERNELS[self.pattern])
            if self.cutter is None:
                return text, starts
        begins = np.cumsum([0, *map(len, texts)])
        places = np.append(np.flatnonzero(text & 0xC0 != 0x80), text.size)  # of characters
        if self.pattern not in _KERNELS:
            starts = places[[*self._matches(texts, begins), begins[-1]]]
        if self.cutter is not None:
            words = (places[offsets] for offsets in self._words(texts, begins, self.cutter))
            starts = np.unique(np.concatenate([starts, *words]))
        return text, starts

    def _matches(self, texts: Sequence[str], begins: NDArray[np.int64]) -> Iterator[int]:
        """The characters with which the pieces of the expression begin."""
        split = self.split()
        for text, begin in zip(texts, begins.tolist(), strict=False):
            spans = [span for _, span in split.pre_tokenize_str(text)] if split else [(0, len(text))]
            yield from (begin + start for start, end in spans if end > start)

    def _words(self, texts: Sequence[str], begins: NDArray[np.int64], cutter: Cutter) -> Iterator[NDArray[np.int64]]:
        """The characters with which a word begins inside of a text after another of the same kind of run."""
        lines = [text.split("\n") for text in texts]  # a segmenter takes sentences
        segments = (
            spans for batch in cutter.segment(line for of_text in lines for line in of_text)
            for spans in batch.spans()
        )  # fmt: skip
        for text, begin, of_text in zip(texts, begins.tolist(), lines, strict=False):
            starts: list[int] = []
            place = 0
            for line, spans in zip(of_text, islice(segments, len(of_text)), strict=True):
                starts += [place + start for start, _ in spans if start]
                place += len(line) + 1
            offsets = np.array(starts, np.int64)
            if starts:
                kinds = _SCRIPTS(code_points(text))
                offsets = offsets[(kinds[offsets] == kinds[offsets - 1]) & (kinds[offsets] >= FREE)]
            yield begin + offsets


def _scan(text: NDArray[np.uint8], ends: NDArray[np.int64], texts: Sequence[str], cut: int) -> NDArray[np.int64]:
    """Where the pieces begin, as `find_pieces`."""
    starts = find_pieces(text, KINDS, ends, cut)
    if not starts.size:
        learn_kinds(code_points("".join(texts)))
        starts = find_pieces(text, KINDS, ends, cut)
    return starts


def check_cut(cut: str) -> None:
    """Check the name of a cut, or the expression, before any work.

    Raises ParameterError where it is neither a name, the name of a word model, nor an expression.
    """
    if not cut:
        raise ParameterError(f"cut is empty; use one of {', '.join(CUTS)}, FILE{WORDS_FILE} or a regular expression")
    if cut in CUTS or cut.endswith(WORDS_FILE):
        return
    if cut.replace("-", "_").isidentifier():  # A misspelt name; no expression without a sign would cut text well.
        raise ParameterError(
            f"cut is {cut!r}; use one of {', '.join(CUTS)}, FILE{WORDS_FILE}, or a regular expression with other signs "
            "than letters and digits"
        )
    try:
        Regex(cut)
    except Exception as error:  # of no class of its own
        raise ParameterError(f"cut is {cut!r}, which is no regular expression of Oniguruma ({error})") from None


def make_cut(cut: str, texts: Iterable[str], progress: Callable[[int, int], None] | None = None) -> Cut:
    """The cut of a name, a word model's file or an expression; words are learned from the beginning of `texts`.

    Args:
        progress: as of `WordModel.fit`.

    Raises ParameterError as `check_cut`, InputError where FILE.words is no word model.
    """
    check_cut(cut)
    if cut.endswith(WORDS_FILE):
        from tokenlab.segment.words.model import WordModel

        return Cut(Path(cut).name, _AUTO, WordModel.load(cut))
    if cut in LEARNED_CUTS:
        return Cut(cut, _AUTO, _learn(cut, texts, progress))
    return Cut(cut, None if cut == "none" else _PATTERNS.get(cut, cut))


def _learn(cut: str, texts: Iterable[str], progress: Callable[[int, int], None] | None) -> Cutter | None:
    """Words of a sample; None where it has no character of a script without spaces."""
    sample, size = [], 0
    for text in texts:
        lines = [line for line in text[:_SAMPLE].split("\n") if _has_runs(line)]
        sample += lines
        size += sum(map(len, lines))
        if size >= _SAMPLE:
            break
    if not sample:
        return None
    if cut == "words":
        from tokenlab.segment.words.model import WordModel

        return WordModel.fit(sample, progress=progress)
    from tokenlab.ngrams.counting import ngram_statistics
    from tokenlab.segment.by_statistics import Segmenter
    from tokenlab.segment.options import SegmentOptions

    return Segmenter(ngram_statistics(sample), SegmentOptions())


def _has_runs(text: str) -> bool:
    """Whether a text has a character of a script without spaces."""
    return not text.isascii() and bool((_SCRIPTS(code_points(text)) >= FREE).any())


def gpt2_cut() -> Cut:
    """The cut of plain byte-level BPE."""
    return Cut("gpt2", GPT2)
