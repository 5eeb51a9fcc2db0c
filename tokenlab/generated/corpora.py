"""Built-in corpora: sentences of a small generated language over real words, with gold word boundaries.

`meaning` defines the meanings of sentences, `sampler` draws them, and `chinese`, `japanese`, `english` and `german`
express the same meaning in words, so the four corpora of a seed are parallel, sentence by sentence. The words come from
tables (`concepts`). The text is grammatical and has the statistics of language in miniature (Zipfian words, paragraphs
with topics, an open vocabulary of names, numbers and compounds), but it is generated, which result tables must say.
"""

from collections.abc import Iterator
from itertools import accumulate, islice

from tokenlab.core.errors import ParameterError
from tokenlab.generated import chinese, english, german, japanese
from tokenlab.generated.concepts import load_lexicon
from tokenlab.generated.meaning import Sentence
from tokenlab.generated.sampler import meanings
from tokenlab.text.documents import Document

_REALISERS = {"zh": chinese.realise, "ja": japanese.realise, "en": english.realise, "de": german.realise}
LANGUAGES = tuple(_REALISERS)
"""The languages that can be generated."""

_SPACED = ("en", "de")
_NO_SPACE_BEFORE = frozenset((".", ",", "!", "?", ":", "'s"))
_CLOSING_QUOTE = {"en": "”", "de": "“"}
_OPENING_QUOTE = {"en": "“", "de": "„"}


def generate(language: str, *, sentences: int, seed: int) -> Iterator[Document]:
    """Stream generated sentences; document i of a seed has the same meaning in every language.

    Args:
        language: "zh", "ja", "en" or "de".
        sentences: their number; sentence i does not depend on it.
        seed: the same seed gives the same bytes everywhere.

    Returns:
        Documents with id "{seed}-{i}" and gold `boundaries`: one after each word but the last, where punctuation is a
        word. In English and German the space before a word belongs to its slice; `tokenlab.text.documents.words`
        drops it.

    Raises:
        ParameterError: an unknown language, or a negative number of sentences.
    """
    if language not in _REALISERS:
        raise ParameterError(f"language {language!r} is not built in: take one of {', '.join(LANGUAGES)}")
    if sentences < 0:
        raise ParameterError(f"sentences is {sentences}: take 0 or more")
    return (
        express(sentence, language, f"{seed}-{index}")
        for index, sentence in enumerate(islice(meanings(load_lexicon(), seed), sentences))
    )


def express(sentence: Sentence, language: str, id: str) -> Document:
    """One meaning in one of `LANGUAGES`, as a document with gold boundaries."""
    pieces = _REALISERS[language](sentence)
    if language in _SPACED:
        pieces = _spaced(pieces, _OPENING_QUOTE[language], _CLOSING_QUOTE[language])
    *ends, _ = accumulate(map(len, pieces))
    return Document(id, "".join(pieces), tuple(ends))


def _spaced(words: list[str], opening: str, closing: str) -> list[str]:
    """Words with the space before each, the first one capitalised, repeated commas merged."""
    first = words[0]
    pieces = [first[0].upper() + first[1:]]
    previous = first
    for word in words[1:]:
        if word in _NO_SPACE_BEFORE:
            if previous == "," and word != "'s":
                # A relative clause closes with a comma, unless other punctuation follows.
                pieces.pop()
            pieces.append(word)
        elif word == closing or previous == opening:
            pieces.append(word)
        else:
            pieces.append(" " + word)
        previous = word
    return pieces
