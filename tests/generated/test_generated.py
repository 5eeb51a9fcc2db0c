"""The built-in corpora: streaming, gold words, parallelism, statistics, tables."""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import LANGUAGES, english, generate
from tokenlab.generated.concepts import Concept, load_lexicon, parse_table
from tokenlab.generated.meaning import Phrase
from tokenlab.generated.sampler import meanings
from tokenlab.text.documents import Document, words


@pytest.fixture(scope="module")
def corpora() -> dict[str, list[Document]]:
    return {language: list(generate(language, sentences=3000, seed=5)) for language in LANGUAGES}


class TestStream:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_a_sentence_does_not_depend_on_how_many_are_asked_for(self, language):
        assert list(generate(language, sentences=40, seed=3)) == list(generate(language, sentences=150, seed=3))[:40]

    def test_seeds_differ(self):
        first, second = (" ".join(d.text for d in generate("en", sentences=50, seed=seed)) for seed in (1, 2))
        assert first != second

    def test_ids(self):
        assert [document.id for document in generate("de", sentences=3, seed=8)] == ["8-0", "8-1", "8-2"]

    def test_no_sentences(self):
        assert list(generate("zh", sentences=0, seed=1)) == []

    def test_unknown_language_names_the_four(self):
        with pytest.raises(ParameterError, match=r"'fr'.*zh, ja, en, de"):
            generate("fr", sentences=1, seed=1)

    def test_negative_number_of_sentences(self):
        with pytest.raises(ParameterError, match="-1"):
            generate("zh", sentences=-1, seed=1)

    def test_same_bytes_in_processes_with_other_hash_seeds(self):
        program = (
            "import hashlib\n"
            "from tokenlab.generated import LANGUAGES, generate\n"
            "from tokenlab.generated.concepts import load_lexicon\n"
            "assert load_lexicon.cache_info().currsize == 0, 'tables are read at import'\n"
            "texts = repr([list(generate(x, sentences=400, seed=7)) for x in LANGUAGES])\n"
            "print(hashlib.sha256(texts.encode()).hexdigest())"
        )
        digests = {
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": hash_seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for hash_seed in ("0", "1234")
        }
        here = repr([list(generate(x, sentences=400, seed=7)) for x in LANGUAGES]).encode()
        assert digests == {hashlib.sha256(here).hexdigest()}


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

    @pytest.mark.parametrize("language", ["zh", "ja"])
    def test_no_whitespace_and_punctuation_alone(self, corpora, language):
        for document in corpora[language]:
            assert not re.search(r"\s", document.text)
            for word in words(document.text, document.boundaries or ()):
                assert len(word) == 1 or not re.search("[。，、！？：「」“”]", word)

    @pytest.mark.parametrize("language", ["en", "de"])
    def test_words_are_what_stands_between_spaces_and_punctuation(self, corpora, language):
        for document in corpora[language]:
            marked = re.sub(r"([“„”:!?]|'s\b|[,.](?= |$|[“”]))", r" \1 ", document.text)
            # The full stop of an ordinal belongs to its word: am 5. März.
            marked = re.sub(r"(?<=[Aa]m )(\d+) \. ", r"\1. ", marked)
            assert words(document.text, document.boundaries or ()) == marked.split()
            assert "  " not in document.text
            assert document.text[0] in "“„" or document.text[0].isupper() or document.text[0].isdigit()

    @pytest.mark.parametrize(
        ("language", "ends"), [("zh", "。？！”"), ("ja", "。？！"), ("en", ".?!”"), ("de", ".?!“")]
    )
    def test_every_sentence_ends_and_all_ends_occur(self, corpora, language, ends):
        assert {document.text[-1] for document in corpora[language]} == set(ends)


def concepts_in(meaning: object) -> Iterator[Concept]:
    """All heads of noun phrases in a tree, but for the gap of a relative clause, which is its own head again."""
    if isinstance(meaning, Phrase):
        yield meaning.head
    if isinstance(meaning, tuple):
        for part in meaning:
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
                    assert head.kind == "pronoun" or head.row[language].replace(" ", "") in texts[language]
                if head.kind in ("name", "city", "country", "abbr"):
                    names += 1
                    assert head.row["en"] in texts["en"]
                    assert head.row["de"] in texts["de"]
                elif head.kind != "pronoun":
                    plural = english.plural(head.row["en"]) if head.row["plural"] == "+" else head.row["plural"]
                    assert any(form.lower() in texts["en"].lower() for form in (head.row["en"], plural))
        assert names > 500


@pytest.fixture(scope="module")
def halves() -> list[Counter[str]]:
    """Word counts of the first and the second half of 20,000 Chinese sentences."""
    counts: list[Counter[str]] = [Counter(), Counter()]
    for index, document in enumerate(generate("zh", sentences=20_000, seed=1)):
        counts[index >= 10_000].update(words(document.text, document.boundaries or ()))
    return counts


class TestStatistics:
    def test_distinct_words(self, halves):
        assert len(halves[0] | halves[1]) > 1500

    def test_new_words_keep_coming(self, halves):
        unseen = [word for word in halves[1] if word not in halves[0]]
        assert len(unseen) > 500

    def test_chinese_words_have_one_to_many_characters(self, halves):
        lengths = {len(word) for word in halves[0]}
        assert {1, 2, 3, 4, 5, 6} <= lengths

    def test_length_of_chinese_sentences(self, corpora):
        lengths = [len(document.text) for document in corpora["zh"]]
        assert 18 <= np.mean(lengths) <= 30
        assert np.percentile(lengths, 99) < 60

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
            {head for head in concepts_in(meaning) if head.kind not in ("pronoun", "name")}
            for _, meaning in zip(range(4000), meanings(load_lexicon(), 2), strict=False)
        ]
        near = sum(bool(a & b) for a, b in pairwise(kinds))
        far = sum(bool(a & b) for a, b in zip(kinds, kinds[500:], strict=False)) * len(kinds) / (len(kinds) - 500)
        assert near > 2 * far


class TestTables:
    def test_incomplete_row(self):
        with pytest.raises(InputError, match=r"t\.tsv, line 3: every one of the 2 cells"):
            parse_table("t.tsv", "a\tb\n1\t2\n3\t\n", ("a",))

    def test_repeated_row(self):
        with pytest.raises(InputError, match=r"t\.tsv, line 3: 1 stands in line 2"):
            parse_table("t.tsv", "a\tb\n1\t2\n1\t3\n", ("a",))

    def test_size(self):
        lexicon = load_lexicon()
        adverbs = ("manner", "degree", "opener", "past", "present", "future", "city", "country")
        concepts = len(lexicon.nouns) + len(lexicon.verbs) + len(lexicon.adjectives)
        assert concepts + sum(len(lexicon.roles[role].items) for role in adverbs) >= 800

    def test_classes_exist(self):
        lexicon = load_lexicon()
        classes = {noun.kind for noun in lexicon.nouns}
        for verb in lexicon.verbs:
            assert set(verb.row["subj"].split(",")) <= classes
            assert set(verb.row["obj"].split(",")) <= classes | {"city", "country", "clause", "-"}
        for adjective in lexicon.adjectives:
            assert set(adjective.row["for"].split(",")) <= classes
        for head in lexicon.heads:
            assert set(head.row["mods"].split(",")) <= classes

    def test_verbs(self):
        frames = re.compile(r"-|acc|dat|to|loc|\w+\+(acc|dat)")
        for verb in load_lexicon().verbs:
            row = verb.row
            assert row["ja_class"] in ("1", "5", "s")
            assert row["ja"].endswith({"1": "る", "s": "する"}.get(row["ja_class"], tuple("うくぐすつぬぶむる")))
            assert len(row["de"].split(",")) == 4
            assert row["de_aux"] in "hs"
            assert frames.fullmatch(row["de_frame"])

    def test_nouns(self):
        for noun in load_lexicon().nouns:
            row = noun.row
            assert row["gender"] in ("m", "f", "n", "w")
            assert row["gender"] != "w" or row["de_plural"].endswith("n")
            assert row["de"][0].isupper()
            assert re.fullmatch(r"[一-鿿]{1,6}", row["zh"])

    def test_adjectives_without_degree_take_de_in_chinese(self):
        for adjective in load_lexicon().adjectives:
            if adjective.row["zh"].endswith(" 的"):
                assert adjective.row["de_comp"] == "-"
