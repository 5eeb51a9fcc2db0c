"""The built-in corpora: streaming, gold words, parallelism, statistics, tables."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tokenlab.generated
from tokenlab.core.errors import ParameterError
from tokenlab.generated import LANGUAGES, generate
from tokenlab.generated.lexicon import Concept, load_lexicon
from tokenlab.generated.meanings import meanings
from tokenlab.text.documents import Document, words

TABLES = Path(tokenlab.generated.__file__).parent / "tables"


@pytest.fixture(scope="module")
def corpora() -> dict[str, list[Document]]:
    return {language: list(generate(language, sentences=3000, seed=5)) for language in LANGUAGES}


class TestStream:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_a_sentence_does_not_depend_on_how_many_are_asked_for(self, language):
        assert list(generate(language, sentences=40, seed=3)) == list(generate(language, sentences=150, seed=3))[:40]

    def test_unknown_language_names_the_four(self):
        with pytest.raises(ParameterError, match=r"'fr'.*zh, ja, en, de"):
            generate("fr", sentences=1, seed=1)

    def test_negative_number_of_sentences(self):
        with pytest.raises(ParameterError, match="-1"):
            generate("zh", sentences=-1, seed=1)

    def test_same_bytes_in_processes_with_other_hash_seeds(self):
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


class TestGoldWords:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_boundaries_rebuild_the_text(self, corpora, language):
        for document in corpora[language]:
            boundaries = document.boundaries
            assert boundaries is not None
            assert list(boundaries) == sorted(set(boundaries))
            assert boundaries[0] > 0
            assert boundaries[-1] < len(document.text)
            assert "".join(words(document.text, boundaries)) == document.text.replace(" ", "")

    @pytest.mark.parametrize("language", ["en", "de"])
    def test_words_are_what_stands_between_spaces_and_punctuation(self, corpora, language):
        for document in corpora[language]:
            marked = re.sub(r"([“„”:!?]|'s\b|[,.](?= |$|[“”]))", r" \1 ", document.text)
            # The full stop of an ordinal belongs to its word: am 5. März.
            marked = re.sub(r"(?<=[Aa]m )(\d+) \. ", r"\1. ", marked)
            assert words(document.text, document.boundaries or ()) == marked.split()
            assert "  " not in document.text
            assert document.text[0] in "“„" or document.text[0].isupper() or document.text[0].isdigit()


def concepts_in(meaning: object) -> Iterator[Concept]:
    """All heads of noun phrases in a tree, but for the gap of a relative clause, which is its own head again."""
    if isinstance(meaning, dict) and not isinstance(meaning, Concept):
        if "head" in meaning:
            yield meaning["head"]
        for name, part in meaning.items():
            if name not in ("head", "theme"):
                yield from concepts_in(part)


class TestParallel:
    def test_ids_and_digits_agree(self, corpora):
        digits = 0
        for documents in zip(*corpora.values(), strict=True):
            assert len({document.id for document in documents}) == 1
            found = [
                sorted(re.findall(r"\d+(?:\.\d)?", re.sub(r"(\d),(\d)", r"\1.\2", document.text)))
                for document in documents
            ]
            assert found[0] == found[1] == found[2] == found[3], documents
            digits += bool(found[0])
        assert digits > 150

    def test_names_and_nouns_of_the_meaning_are_in_all_texts(self, corpora):
        names = 0
        for index, meaning in zip(range(1500), meanings(load_lexicon(), 5), strict=False):
            texts = {language: corpora[language][index].text for language in LANGUAGES}
            for head in concepts_in(meaning):
                for language in ("zh", "ja"):
                    assert head["kind"] == "pronouns" or head[language].replace(" ", "") in texts[language]
                if head["kind"] in ("name", "city", "country", "abbr"):
                    names += 1
                    assert head["en"] in texts["en"]
                    assert head["de"] in texts["de"]
                elif head["kind"] != "pronouns":
                    forms = (head["en"], head.get("plural", head["en"]))
                    assert any(form.lower() in texts["en"].lower() for form in forms)
        assert names > 500


class TestStatistics:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_rank_frequency_is_zipfian(self, corpora, language):
        counts: Counter[str] = Counter()
        for document in corpora[language]:
            counts.update(words(document.text, document.boundaries or ()))
        frequencies = np.array(sorted(counts.values(), reverse=True)[20:500], dtype=float)
        slope, _ = np.polyfit(np.log(np.arange(21, 501)), np.log(frequencies), 1)
        assert -1.4 < slope < -0.7

    def test_neighbouring_sentences_share_their_topic(self):
        """Nouns of a sentence come up again in the next one more often than in one far away."""
        kinds = [
            {head for head in concepts_in(meaning) if head["kind"] not in ("pronouns", "name")}
            for _, meaning in zip(range(4000), meanings(load_lexicon(), 2), strict=False)
        ]
        near = sum(bool(a & b) for a, b in pairwise(kinds))
        far = sum(bool(a & b) for a, b in zip(kinds, kinds[500:], strict=False)) * len(kinds) / (len(kinds) - 500)
        assert near > 2 * far


class TestTables:
    KEYS: ClassVar = {
        "adverbs": ("kind", "en"),
        "dimensions": ("for", "en"),
        "heads": ("kind", "en"),
        "names": ("kind", "latin"),
        "pronouns": ("id",),
        "verbs": ("en", "zh"),
    }
    """The columns that form a unique key, where it is not the English form."""

    @pytest.mark.parametrize("table", sorted(TABLES.glob("*.tsv")), ids=lambda path: path.stem)
    def test_all_cells_are_filled_and_no_row_is_repeated(self, table):
        header, *rows = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
        assert all(len(row) == len(header) and all(cell and cell == cell.strip() for cell in row) for row in rows)
        key = self.KEYS.get(table.stem, ("en",))
        assert len({tuple(row[header.index(column)] for column in key) for row in rows}) == len(rows)

    def test_classes_exist(self):
        groups = load_lexicon().groups
        classes = {noun["kind"] for noun in groups["nouns"]}
        for verb in (*groups["verbs"], *groups["speech"]):
            assert set(verb["subj"].split(",")) <= classes
            assert set(verb.get("obj", "clause").split(",")) <= classes | {"city", "country", "clause"}
        for adjective in groups["adjectives"]:
            assert set(adjective["for"].split(",")) <= classes
        for head in groups["heads"]:
            assert set(head["mods"].split(",")) <= classes
