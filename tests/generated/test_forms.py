"""Inflected forms and numerals, against tables written by hand."""

import pytest

from tokenlab.generated import english, german_forms, japanese, numerals
from tokenlab.generated.concepts import load_lexicon


def row(table: str, english_form: str) -> dict[str, str]:
    """The row of the first noun or verb with this English form."""
    return next(dict(item.row) for item in getattr(load_lexicon(), table) if item.row["en"] == english_form)


class TestGerman:
    # Masculine, feminine, neuter, plural, each nominative, accusative, dative, genitive (Duden, "gut").
    @pytest.mark.parametrize(
        ("declension", "endings"),
        [
            ("strong", "er en em en  e e er er  es es em en  e e en er"),
            ("weak", "e en en en  e e en en  e e en en  en en en en"),
            ("mixed", "er en en en  e e en en  es es en en  en en en en"),
        ],
    )
    def test_adjective_endings(self, declension, endings):
        cells = [(gender, case) for gender in "mfnp" for case in ("nom", "acc", "dat", "gen")]
        assert [german_forms.adjective_ending(declension, *cell) for cell in cells] == endings.split()

    @pytest.mark.parametrize(
        ("determiner", "gender", "case", "expected"),
        [
            ("the", "m", "acc", ("den", "weak")),
            ("the", "f", "dat", ("der", "weak")),
            ("the", "n", "gen", ("des", "weak")),
            ("the", "p", "dat", ("den", "weak")),
            ("a", "m", "nom", ("ein", "mixed")),
            ("a", "m", "acc", ("einen", "mixed")),
            ("a", "n", "acc", ("ein", "mixed")),
            ("a", "f", "dat", ("einer", "mixed")),
            ("no", "p", "acc", ("keine", "mixed")),
            ("this", "n", "nom", ("dieses", "weak")),
            ("every", "m", "dat", ("jedem", "weak")),
            ("we", "f", "acc", ("unsere", "mixed")),
            ("you", "m", "nom", ("Ihr", "mixed")),
            ("", "m", "acc", ("", "strong")),
        ],
    )
    def test_determiners(self, determiner, gender, case, expected):
        assert german_forms.determiner_form(determiner, gender, case) == expected

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
        assert (german_forms.noun_form(cells, "gen", False), german_forms.noun_form(cells, "dat", True)) == (
            genitive,
            dative_plural,
        )

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
        assert german_forms.present_first(infinitive) == first

    @pytest.mark.parametrize(
        ("third", "person", "form"),
        [("kaufte", "3p", "kauften"), ("ging", "1p", "gingen"), ("ging", "1s", "ging"), ("wurde", "3p", "wurden")],
    )
    def test_preterite(self, third, person, form):
        assert german_forms.past_form(third, person) == form


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
        forms = ("negative", "polite plain", "past", "te", "passive")
        assert ["".join(japanese.conjugate((dictionary,), group, form)) for form in forms] == expected

    def test_polite_past_negative_is_cut_into_morphemes(self):
        assert japanese.conjugate(("行く",), "5", "polite negative past") == ("行き", "ませ", "ん", "でし", "た")

    @pytest.mark.parametrize(
        ("adjective", "group", "form", "expected"),
        [
            ("高い", "i", "plain", "高い"),
            ("高い", "i", "polite plain", "高いです"),
            ("高い", "i", "past", "高かった"),
            ("高い", "i", "negative", "高くない"),
            ("高い", "i", "polite negative past", "高くなかったです"),
            ("静か", "na", "plain", "静かだ"),
            ("静か", "na", "polite past", "静かでした"),
            ("静か", "na", "negative", "静かではない"),
            ("病気", "no", "polite negative", "病気ではありません"),
        ],
    )
    def test_adjectives(self, adjective, group, form, expected):
        assert "".join(japanese.describe((adjective,), group, form)) == expected


class TestEnglish:
    @pytest.mark.parametrize(
        ("verb", "expected"),
        [
            ("buy", "buy buys bought bought buying"),
            ("write", "write writes wrote written writing"),
            ("go", "go goes went gone going"),
            ("stop", "stop stops stopped stopped stopping"),
            ("study", "study studies studied studied studying"),
            ("travel", "travel travels travelled travelled travelling"),
            ("open", "open opens opened opened opening"),
            ("run", "run runs ran run running"),
            ("fly", "fly flies flew flown flying"),
            ("watch", "watch watches watched watched watching"),
            ("control", "control controls controlled controlled controlling"),
        ],
    )
    def test_verbs(self, verb, expected):
        assert list(english.verb_forms(verb, row("verbs", verb)["en_forms"]).values()) == expected.split()

    def test_particle_stays_behind_the_verb(self):
        assert english.verb_forms("turn off", "+")["past"] == "turned off"

    @pytest.mark.parametrize(
        ("singular", "expected"),
        [("city", "cities"), ("bus", "buses"), ("photo", "photos"), ("boy", "boys"), ("school bag", "school bags")],
    )
    def test_regular_plurals(self, singular, expected):
        assert english.plural(singular) == expected

    @pytest.mark.parametrize(
        ("word", "expected"),
        [("apple", "an"), ("university", "a"), ("umbrella", "an"), ("honest", "an"), ("useful", "a"), ("house", "a")],
    )
    def test_articles(self, word, expected):
        assert english.article(word) == expected

    @pytest.mark.parametrize(
        ("adjective", "rule", "expected"),
        [
            ("big", "bigger", "bigger"),
            ("happy", "+", "happier"),
            ("safe", "+", "safer"),
            ("famous", "more", "more famous"),
        ],
    )
    def test_comparatives(self, adjective, rule, expected):
        assert " ".join(english.comparative(adjective, rule)) == expected


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
    spoken = [numerals.chinese(number), numerals.japanese(number), numerals.english(number), numerals.german(number)]
    assert spoken == [zh, ja, en, de]
