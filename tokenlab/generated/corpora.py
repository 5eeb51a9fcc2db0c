"""Built-in corpora: sentences of a small generated language over real words, with gold word boundaries.

`meanings` draws the meanings of sentences over the words of a `lexicon`, and a `grammar` for each language expresses
the same meaning in words, so the four corpora of a seed are parallel, sentence by sentence. The text is grammatical and
has the statistics of language in miniature (Zipfian words, paragraphs with topics, an open vocabulary of names, numbers
and compounds), but it is generated, which result tables must say.
"""

from collections.abc import Iterator
from itertools import accumulate, islice

from tokenlab.core.errors import ParameterError
from tokenlab.generated.grammar import Meaning, load_grammar
from tokenlab.generated.lexicon import load_lexicon
from tokenlab.generated.meanings import meanings
from tokenlab.text.documents import Document

LANGUAGES = ("zh", "ja", "en", "de")
"""The languages that can be generated."""

_QUOTES = {"en": "“”", "de": "„“"}
"""Quotation marks of the languages that put spaces between words."""
_NO_SPACE_BEFORE = frozenset((".", ",", "!", "?", ":", "'s"))


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
    if language not in LANGUAGES:
        raise ParameterError(f"language {language!r} is not built in: take one of {', '.join(LANGUAGES)}")
    if sentences < 0:
        raise ParameterError(f"sentences is {sentences}: take 0 or more")
    return (
        express(sentence, language, f"{seed}-{index}")
        for index, sentence in enumerate(islice(meanings(load_lexicon(), seed), sentences))
    )


def express(sentence: Meaning, language: str, id: str) -> Document:
    """One meaning in one of `LANGUAGES`, as a document with gold boundaries."""
    pieces = load_grammar(language).words(sentence)
    if language in _QUOTES:
        pieces = _spaced(pieces, *_QUOTES[language])
    *ends, _ = accumulate(map(len, pieces))
    return Document(id, "".join(pieces), tuple(ends))


def _spaced(words: list[str], opening: str, closing: str) -> list[str]:
    """Words with the space before each, the first one of a sentence capitalised, repeated commas merged."""
    pieces: list[str] = []
    previous = opening
    for word in words:
        if word in _NO_SPACE_BEFORE:
            if previous == "," and word != "'s":
                # A relative clause closes with a comma, unless other punctuation follows.
                pieces.pop()
            pieces.append(word)
        elif previous == opening:
            pieces.append(word[0].upper() + word[1:])
        else:
            pieces.append(word if word == closing else " " + word)
        previous = word
    return pieces
