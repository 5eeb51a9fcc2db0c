"""Built-in corpora: sentences of a small generated language over real words, with gold word boundaries.

`meaning` says what a sentence can mean, `sampler` draws meanings, and `chinese`, `japanese`, `english` and `german`
put the same meaning into words, so the four corpora of a seed are parallel, sentence by sentence. The words stand in
tables (`concepts`). The text is grammatical and its statistics are those of language in miniature (Zipfian words,
paragraphs with topics, an open vocabulary of names, numbers and compounds), but it is generated: say so in tables.
"""

from collections.abc import Iterator
from itertools import accumulate, islice

from tokenlab.errors import ParameterError
from tokenlab.text.builtin import chinese, english, german, japanese
from tokenlab.text.builtin.concepts import load_lexicon
from tokenlab.text.builtin.meaning import Sentence
from tokenlab.text.builtin.sampler import meanings
from tokenlab.text.documents import Document

_REALISERS = {"zh": chinese.realise, "ja": japanese.realise, "en": english.realise, "de": german.realise}
LANGUAGES = tuple(_REALISERS)
"""The languages that can be generated."""

_SPACED = ("en", "de")
_NO_SPACE_BEFORE = frozenset((".", ",", "!", "?", ":", "'s"))
_CLOSING_QUOTE = {"en": "”", "de": "“"}
_OPENING_QUOTE = {"en": "“", "de": "„"}


def generate(language: str, *, sentences: int, seed: int) -> Iterator[Document]:
    """Stream generated sentences; document i of a seed means the same in every language.

    Args:
        language: "zh", "ja", "en" or "de".
        sentences: how many; sentence i does not depend on it.
        seed: the same seed gives the same bytes everywhere.

    Returns:
        Documents with id "{seed}-{i}" and gold `boundaries`: one after each word but the last, punctuation being a
        word. In English and German the space before a word stands in its slice; `tokenlab.text.documents.words`
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
    """Words with the space that goes before each, the first one capitalised, doubled commas made one."""
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
