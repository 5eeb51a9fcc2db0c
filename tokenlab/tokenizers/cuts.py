"""Cuts: where no merge of a tokenizer may cross, and what of that a `tokenizer.json` can say.

A cut is a regular expression, whose matches and the text between them are the pieces, and for scripts without spaces
possibly learned words inside them. The expression is in the tokenizer (`pre_tokenizers.Split`); learned words are not,
and shape only the merges.

    auto        the expression below, and for Thai, Lao, Khmer, Burmese and Tibetan words of a word model
    words       the same expression; words in Chinese and Japanese, too, also by a word model from a file, FILE.words
    statistics  the same; words by n-gram statistics
    gpt2        the expression of GPT-2
    llama3      the expression of Llama 3
    whitespace  words with the space before them
    none        each text is one piece
    REGEX       any expression of Oniguruma

Words are learned from the beginning of the text. `auto` cuts where that was better, on held-out text that the written
tokenizer encodes without the words. Thai, 900 sentences, 2,000 entries: 3,374 tokens with the word model, 3,655 with
statistics, 3,797 without words. Chinese, 5,400 lines of news, 4,000 entries: 48,099, 47,723 and 47,172.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from tokenizers import Regex, pre_tokenizers

from tokenlab.core.errors import ParameterError
from tokenlab.segment.isolation import FREE, CharacterClasses
from tokenlab.segment.segmentation import Segmentation
from tokenlab.text.code_points import code_points
from tokenlab.tokenizers.options import CUTS, WORDS_FILE

_SAMPLE = 500_000
"""Characters of the text from which words are learned: whole texts, until they are so many; of each one no more."""
_HAN_AND_KANA = r"\p{Han}\p{Hiragana}\p{Katakana}ーｰ○"
_OTHERS = tuple(rf"\p{{{script}}}" for script in ("Thai", "Lao", "Khmer", "Myanmar", "Tibetan"))
_UNSPACED = _HAN_AND_KANA + "".join(_OTHERS)
_IN_WORDS = r"\p{L}\p{M}○\x{0F0B}\x{0F0C}"
"""Of the characters of a script without spaces: the two marks between syllables of Tibetan are in words."""
_RUNS = "|".join(rf" ?[{run}&&[{_IN_WORDS}]][{run}\p{{M}}&&[{_IN_WORDS}]]*" for run in (_HAN_AND_KANA, *_OTHERS))
_WORD = rf"[\p{{L}}\p{{M}}&&[^{_UNSPACED}]]+"
_AUTO = rf"{_RUNS}| ?{_WORD}(?:['’]{_WORD})*| ?\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+|\s*[\r\n]+|\s+(?!\S)|\s+"
"""Runs of one script without spaces, words (`don't` is one), up to three digits, other signs, each with a space before
it; and other whitespace."""
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_PATTERNS = {
    "auto": _AUTO,
    "words": _AUTO,
    "statistics": _AUTO,
    "gpt2": GPT2,
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "whitespace": r" ?\S+|\s+(?!\S)|\s+",
}


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
    first_kind: int = FREE
    """The first kind of run that the words cut, of `tokenlab.segment.isolation.CharacterClasses`."""

    @property
    def begins_at_spaces(self) -> bool:
        """Whether a piece begins at every single space, whatever stands around it."""
        return self.cutter is None and self.pattern in _PATTERNS.values()

    def split(self) -> Any:
        """The step of a tokenizer; None where a text is one piece."""
        return None if self.pattern is None else pre_tokenizers.Split(Regex(self.pattern), "isolated")

    def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        """The pieces of each text; together they spell it."""
        split = self.split()
        spans = [
            [span for _, span in split.pre_tokenize_str(text)] if split and text else [(0, len(text))] for text in texts
        ]
        if self.cutter is not None:
            found = zip(spans, self._boundaries(texts), strict=True)
            spans = [list(_cut_at(of_text, boundaries)) for of_text, boundaries in found]
        return [
            [text[start:end] for start, end in of_text if end > start]
            for text, of_text in zip(texts, spans, strict=True)
        ]

    def _boundaries(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """For each text the offsets inside of it at which a word begins after another of the same kind of run."""
        assert self.cutter is not None
        lines = [text.split("\n") for text in texts]  # a segmenter takes sentences
        segments = (
            spans for batch in self.cutter.segment(line for of_text in lines for line in of_text)
            for spans in batch.spans()
        )  # fmt: skip
        classes = CharacterClasses("script")
        for text, of_text in zip(texts, lines, strict=True):
            starts: list[int] = []
            begin = 0
            for line, spans in zip(of_text, islice(segments, len(of_text)), strict=True):
                starts += [begin + start for start, _ in spans if start]
                begin += len(line) + 1
            if starts:
                kinds, offsets = classes(code_points(text)), np.array(starts)
                inside = (kinds[offsets] == kinds[offsets - 1]) & (kinds[offsets] >= self.first_kind)
                starts = offsets[inside].tolist()
            yield starts


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
    if cut in ("auto", "words", "statistics"):
        first = FREE + (cut == "auto")  # Han and kana are the first kind.
        return Cut(cut, _AUTO, _learn(cut, texts, first, progress), first)
    return Cut(cut, None if cut == "none" else _PATTERNS.get(cut, cut))


def _learn(cut: str, texts: Iterable[str], first: int, progress: Callable[[int, int], None] | None) -> Cutter | None:
    """Words of a sample; None where it has no character of the scripts that are cut."""
    classes, sample, size = CharacterClasses("script"), [], 0
    for text in texts:
        for line in text[:_SAMPLE].split("\n"):
            if line and (classes(code_points(line)) >= first).any():
                sample.append(line)
                size += len(line)
        if size >= _SAMPLE:
            break
    if not sample:
        return None
    if cut != "statistics":
        from tokenlab.segment.words.model import WordModel

        return WordModel.fit(sample, progress=progress)
    from tokenlab.ngrams.counting import ngram_statistics
    from tokenlab.segment.by_statistics import Segmenter
    from tokenlab.segment.options import SegmentOptions

    return Segmenter(ngram_statistics(sample), SegmentOptions())


def _cut_at(spans: Iterable[tuple[int, int]], boundaries: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The spans, cut at the boundaries; both ascend."""
    place = 0
    for start, end in spans:
        while place < len(boundaries) and boundaries[place] < end:
            if boundaries[place] > start:
                yield start, boundaries[place]
                start = boundaries[place]
            place += 1
        yield start, end


def gpt2_cut() -> Cut:
    """The cut of plain byte-level BPE."""
    return Cut("gpt2", GPT2)
