"""The built-in corpora: streaming, gold words, parallelism, statistics, tables."""

import os
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from tokenlab.core.errors import ParameterError
from tokenlab.generated import LANGUAGES, generate
from tokenlab.text.documents import Document, words


@pytest.fixture(scope="module")
def corpora() -> dict[str, list[Document]]:
    return {language: list(generate(language, sentences=3000, seed=5)) for language in LANGUAGES}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_does_not_depend_on_how_many_are_asked_for(language):
    assert list(generate(language, sentences=40, seed=3)) == list(generate(language, sentences=150, seed=3))[:40]


def test_unknown_language_names_the_four():
    with pytest.raises(ParameterError, match=r"'fr'.*zh, ja, en, de"):
        generate("fr", sentences=1, seed=1)


def test_same_bytes_in_processes_with_other_hash_seeds():
    """The corpora of a seed never change: results of the pipeline are made from them."""
    program = (
        "import hashlib\n"
        "from tokenlab.generated import LANGUAGES, generate\n"
        "from tokenlab.generated.lexicon import load_lexicon\n"
        "assert load_lexicon.cache_info().currsize == 0, 'tables are read at import'\n"
        "for x in LANGUAGES:\n"
        "    text = repr(list(generate(x, sentences=400, seed=7))).encode()\n"
        "    print(x, hashlib.sha256(text).hexdigest()[:16])"
    )
    for hash_seed in ("0", "1234"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert dict(line.split() for line in done.stdout.splitlines()) == {
            "zh": "7ed246fcfeba8ed6",
            "ja": "67ee8d9af07e0369",
            "en": "65f9161423532a86",
            "de": "0aa3d11c15eccd8d",
        }


@pytest.mark.parametrize("language", LANGUAGES)
def test_boundaries_rebuild_the_text(corpora, language):
    for document in corpora[language]:
        boundaries = document.boundaries
        assert boundaries is not None
        assert list(boundaries) == sorted(set(boundaries))
        assert boundaries[0] > 0
        assert boundaries[-1] < len(document.text)
        assert "".join(words(document.text, boundaries)) == document.text.replace(" ", "")


@pytest.mark.parametrize("language", ["en", "de"])
def test_words_are_what_stands_between_spaces_and_punctuation(corpora, language):
    for document in corpora[language]:
        marked = re.sub(r"([“„”:!?]|'s\b|[,.](?= |$|[“”]))", r" \1 ", document.text)
        # The full stop of an ordinal belongs to its word: am 5. März.
        marked = re.sub(r"(?<=[Aa]m )(\d+) \. ", r"\1. ", marked)
        assert words(document.text, document.boundaries or ()) == marked.split()
        assert "  " not in document.text
        assert document.text[0] in "“„" or document.text[0].isupper() or document.text[0].isdigit()


def test_ids_and_digits_agree(corpora):
    digits = 0
    for documents in zip(*corpora.values(), strict=True):
        assert len({document.id for document in documents}) == 1
        found = [
            sorted(re.findall(r"\d+(?:\.\d)?", re.sub(r"(\d),(\d)", r"\1.\2", document.text))) for document in documents
        ]
        assert found[0] == found[1] == found[2] == found[3], documents
        digits += bool(found[0])
    assert digits > 150


@pytest.mark.parametrize("language", LANGUAGES)
def test_rank_frequency_is_zipfian(corpora, language):
    counts: Counter[str] = Counter()
    for document in corpora[language]:
        counts.update(words(document.text, document.boundaries or ()))
    frequencies = np.array(sorted(counts.values(), reverse=True)[20:500], dtype=float)
    slope, _ = np.polyfit(np.log(np.arange(21, 501)), np.log(frequencies), 1)
    assert -1.4 < slope < -0.7
