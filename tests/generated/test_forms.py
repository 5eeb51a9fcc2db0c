"""Inflected forms and numerals, against tables written by hand."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import tokenlab.generated
from tokenlab.generated.grammar import load_grammar
from tokenlab.generated.lexicon import Concept, load_lexicon
from tokenlab.generated.meanings import phrase

GRAMMARS = Path(tokenlab.generated.__file__).parent / "grammars"


def row(group: str, english_form: str) -> Concept:
    """The first noun, verb or adjective with this English form."""
    return next(item for item in load_lexicon().groups[group] if item["en"] == english_form)


def inflect(language: str, table: str, *form: str) -> str:
    return load_grammar(language).inflect(table, " ".join(form))


class TestGerman:
    # Masculine, feminine, neuter, plural, each nominative, accusative, dative, genitive (Duden, "gut").
    @pytest.mark.parametrize(
        ("determiner", "endings"),
        [
            ("", "er en em en  e e er er  es es em en  e e en er"),
            ("the", "e en en en  e e en en  e e en en  en en en en"),
            ("we", "er en en en  e e en en  es es en en  en en en en"),
        ],
    )
    def test_adjective_endings(self, determiner, endings):
        cells = [(gender, case) for gender in "mfnp" for case in ("nom", "acc", "dat", "gen")]
        forms = [inflect("de", "ending", f"{determiner} {gender} {case}".strip()) for gender, case in cells]
        assert forms == endings.split()

    @pytest.mark.parametrize(
        ("determiner", "gender", "case", "expected"),
        [
            ("the", "m", "acc", "den"),
            ("the", "f", "dat", "der"),
            ("the", "n", "gen", "des"),
            ("the", "p", "dat", "den"),
            ("a", "m", "nom", "ein"),
            ("a", "m", "acc", "einen"),
            ("a", "n", "acc", "ein"),
            ("a", "f", "dat", "einer"),
            ("no", "p", "acc", "keine"),
            ("this", "n", "nom", "dieses"),
            ("every", "m", "dat", "jedem"),
            ("we", "f", "acc", "unsere"),
            ("you", "m", "nom", "Ihr"),
            ("", "m", "acc", ""),
        ],
    )
    def test_determiners(self, determiner, gender, case, expected):
        assert inflect("de", "determiner", f"{determiner} {gender} {case}".strip()) == expected

    @pytest.mark.parametrize(
        ("noun", "genitive", "dative_plural"),
        [
            ("teacher", "Lehrers", "Lehrern"),
            ("student", "Studenten", "Studenten"),
            ("child", "Kindes", "Kindern"),
            ("man", "Mannes", "Männern"),
            ("woman", "Frau", "Frauen"),
            ("house", "Hauses", "Häusern"),
            ("car", "Autos", "Autos"),
            ("bus", "Busses", "Bussen"),
            ("secret", "Geheimnisses", "Geheimnissen"),
            ("lake", "Sees", "Seen"),
            ("girl", "Mädchens", "Mädchen"),
        ],
    )
    def test_nouns(self, noun, genitive, dative_plural):
        cells = row("nouns", noun)
        assert (cells["de_gen"], inflect("de", "dative_plural", cells["de_plural"])) == (genitive, dative_plural)

    @pytest.mark.parametrize(
        ("infinitive", "first"),
        [
            ("kaufen", "kaufe"),
            ("entwickeln", "entwickle"),
            ("ändern", "ändere"),
            ("mögen", "mag"),
            ("arbeiten", "arbeite"),
        ],
    )
    def test_first_person(self, infinitive, first):
        assert inflect("de", "first", infinitive) == first

    @pytest.mark.parametrize(
        ("third", "person", "form"),
        [("kaufte", "3p", "kauften"), ("ging", "1p", "gingen"), ("ging", "1s", "ging"), ("wurde", "3p", "wurden")],
    )
    def test_preterite(self, third, person, form):
        assert inflect("de", "past", third, person) == form


class TestJapanese:
    # Dictionary form, group, then ない, ます, た, て, passive.
    VERBS = """
    書く 5 書かない 書きます 書いた 書いて 書かれる
    行く 5 行かない 行きます 行った 行って 行かれる
    泳ぐ 5 泳がない 泳ぎます 泳いだ 泳いで 泳がれる
    話す 5 話さない 話します 話した 話して 話される
    待つ 5 待たない 待ちます 待った 待って 待たれる
    死ぬ 5 死なない 死にます 死んだ 死んで 死なれる
    学ぶ 5 学ばない 学びます 学んだ 学んで 学ばれる
    読む 5 読まない 読みます 読んだ 読んで 読まれる
    作る 5 作らない 作ります 作った 作って 作られる
    買う 5 買わない 買います 買った 買って 買われる
    食べる 1 食べない 食べます 食べた 食べて 食べられる
    見る 1 見ない 見ます 見た 見て 見られる
    研究する s 研究しない 研究します 研究した 研究して 研究される
    """

    @pytest.mark.parametrize("line", [line.split() for line in VERBS.strip().splitlines()], ids=lambda line: line[0])
    def test_verbs(self, line):
        dictionary, group, *expected = line
        forms = ("negative present", "polite present", "past", "te", "passive")
        found = [inflect("ja", "conjugated", dictionary, group, form).removesuffix(" 1") for form in forms]
        assert ["".join(form.split()) for form in found] == expected

    def test_polite_past_negative_is_cut_into_morphemes(self):
        assert inflect("ja", "conjugated", "行く 5 polite negative past") == "行き ませ ん でし た"

    @pytest.mark.parametrize(
        ("adjective", "group", "form", "expected"),
        [
            ("高い", "i", "present", "高い"),
            ("高い", "i", "polite present", "高いです"),
            ("高い", "i", "past", "高かった"),
            ("高い", "i", "negative present", "高くない"),
            ("高い", "i", "polite negative past", "高くなかったです"),
            ("静か", "na", "present", "静かだ"),
            ("静か", "na", "polite past", "静かでした"),
            ("静か", "na", "negative present", "静かではない"),
            ("病気", "no", "polite negative present", "病気ではありません"),
        ],
    )
    def test_adjectives(self, adjective, group, form, expected):
        assert inflect("ja", "described", adjective, group, form).replace(" ", "") == expected


class TestEnglish:
    @pytest.mark.parametrize(
        "expected",
        [
            "buy buys bought bought buying",
            "write writes wrote written writing",
            "go goes went gone going",
            "study studies studied studied studying",
            "travel travels travelled travelled travelling",
            "open opens opened opened opening",
            "fly flies flew flown flying",
            "watch watches watched watched watching",
        ],
    )
    def test_verbs(self, expected):
        verb = row("verbs", expected.split()[0])
        columns = ("en", "en_third", "en_past", "en_participle", "en_ing")
        assert [verb[column] for column in columns] == expected.split()

    @pytest.mark.parametrize(
        ("word", "expected"),
        [("apple", "an"), ("university", "a"), ("umbrella", "an"), ("honest", "an"), ("useful", "a"), ("house", "a")],
    )
    def test_articles(self, word, expected):
        meaning = phrase(Concept(kind="thing", en=word), "a")
        assert load_grammar("en").words(meaning, "phrase") == [expected, word]


@pytest.mark.parametrize(
    ("number", "zh", "ja", "en", "de"),
    [
        (7, "七", "七", "seven", "sieben"),
        (10, "十", "十", "ten", "zehn"),
        (15, "十五", "十五", "fifteen", "fünfzehn"),
        (21, "二十一", "二十一", "twenty-one", "einundzwanzig"),
        (100, "一百", "百", "one hundred", "einhundert"),
        (110, "一百一十", "百十", "one hundred and ten", "einhundertzehn"),
        (325, "三百二十五", "三百二十五", "three hundred and twenty-five", "dreihundertfünfundzwanzig"),
        (1005, "一千零五", "千五", "one thousand and five", "eintausendfünf"),
        (2060, "二千零六十", "二千六十", "two thousand and sixty", "zweitausendsechzig"),
    ],
)
def test_numerals(number, zh, ja, en, de):
    spoken = [inflect(language, "number", str(number)) for language in ("zh", "ja", "en", "de")]
    assert spoken == [zh, ja, en, de]


@pytest.mark.parametrize("path", sorted(GRAMMARS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_grammar_names_all_its_rules_and_tables_and_no_others(path):
    grammar = yaml.safe_load(path.read_text(encoding="utf-8"))
    conditions, templates = zip(*conditions_and_templates(grammar["rules"]), strict=True)
    expressions = " ".join(re.findall(r"\{([^}]*)\}", " ".join(templates)))
    assert set(re.findall(r":(\w+)", f"{expressions} {' '.join(conditions)}")) | {"sentence"} == set(grammar["rules"])
    assert set(re.findall(r"\|(\w+)", expressions)) == set(grammar["inflections"])


def conditions_and_templates(body: object, condition: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(body, str):
        yield condition, body
    elif isinstance(body, list):
        for part in body:
            yield from conditions_and_templates(part)
    elif isinstance(body, dict):
        for name, part in body.items():
            yield name, ""
            yield from conditions_and_templates(part)
