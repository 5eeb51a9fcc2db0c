"""Meanings built by hand, and what a speaker of each language says."""

import pytest

from tokenlab.generated import LANGUAGES, express
from tokenlab.generated.grammar import load_grammar
from tokenlab.generated.lexicon import Concept, load_lexicon
from tokenlab.generated.meanings import Meaning, action, phrase
from tokenlab.text.documents import words


def concept(english_form: str) -> Concept:
    """The first noun, verb, adjective, place name or time with this English form."""
    groups = load_lexicon().groups
    everything = [*groups["nouns"], *groups["verbs"], *groups["speech"], *groups["adjectives"]]
    everything += [item for items in groups.values() for item in items]
    return next(item for item in everything if item.get("en") == english_form)


def sentence(kind: str, clause: Meaning, **features: object) -> Meaning:
    return {"kind": kind, "clause": clause, "second": None, "relation": "", "polite": True, **features}


def described(type_: str, subject: Meaning, adjective: str = "", **features: object) -> Meaning:
    quality = concept(adjective) if adjective else None
    return {"type": type_, "subject": subject, "adjective": quality, "tense": "present", **features}


def the(noun: str, **parts: object) -> Meaning:
    return phrase(concept(noun), "the", **parts)


# Expected in the order of LANGUAGES: Chinese, Japanese, English, German.
HAND_CHECKED = {
    "disposal": (
        sentence(
            "statement",
            action(concept("sell"), the("farmer"), the("car"), tense="past", disposal=True),
            polite=False,
        ),
        ("农民把汽车卖掉了。", "農民は車を売った。", "The farmer sold the car.", "Der Bauer verkaufte das Auto."),
    ),
    "relative clause with an object gap and a genitive": (
        sentence(
            "statement",
            action(
                concept("find"),
                the("police officer"),
                the("key", relative=action(concept("lose"), the("child"), the("key"), tense="past", gap="object")),
                tense="past",
                time=concept("yesterday"),
                time_first=True,
            ),
        ),
        (
            "昨天警察找到了孩子弄丢的钥匙。",
            "昨日、警察官は子供が失くした鍵を見つけました。",
            "Yesterday, the police officer found the key that the child lost.",
            "Gestern fand der Polizist den Schlüssel, den das Kind verlor.",
        ),
    ),
    "quotation": (
        sentence(
            "statement",
            described("property", the("tea"), "hot"),
            frame=action(concept("say"), the("mother"), tense="past"),
            quoted=True,
        ),
        (
            "母亲说：“茶很热。”",
            "母親は「お茶は熱いです。」と言いました。",
            "The mother said: “The tea is hot.”",
            "Die Mutter sagte: „Der Tee ist heiß.“",
        ),
    ),
}


@pytest.mark.parametrize("name", HAND_CHECKED)
@pytest.mark.parametrize(("column", "language"), list(enumerate(LANGUAGES)))
def test_sentence(name, column, language):
    meaning, expected = HAND_CHECKED[name]
    assert express(meaning, language, "x").text == expected[column]


def test_gold_words():
    meaning, _ = HAND_CHECKED["disposal"]
    zh, ja, en, de = (words(d.text, d.boundaries or ()) for d in (express(meaning, x, "x") for x in LANGUAGES))
    assert zh == ["农民", "把", "汽车", "卖掉", "了", "。"]
    assert ja == ["農民", "は", "車", "を", "売っ", "た", "。"]
    assert en == ["The", "farmer", "sold", "the", "car", "."]
    assert de == ["Der", "Bauer", "verkaufte", "das", "Auto", "."]


def test_compound_is_one_word_in_german_and_before_a_suffix_in_chinese():
    lexicon = load_lexicon()
    head = next(head for head in lexicon.groups["heads"] if head["en"] == "dealer")
    dealer = lexicon.compound(concept("oil"), head)
    meaning = sentence("statement", described("property", phrase(dealer, "the"), "rich"), polite=False)
    assert [words(d.text, d.boundaries or ()) for d in (express(meaning, x, "x") for x in LANGUAGES)] == [
        ["石油商", "很", "富有", "。"],
        ["石油", "商", "は", "豊か", "だ", "。"],
        ["The", "oil", "dealer", "is", "rich", "."],
        ["Der", "Ölhändler", "ist", "reich", "."],
    ]


@pytest.mark.parametrize(
    ("number", "zh", "ja", "en", "de"),
    [
        (7, "七", "七", "seven", "sieben"),
        (21, "二十一", "二十一", "twenty-one", "einundzwanzig"),
        (110, "一百一十", "百十", "one hundred and ten", "einhundertzehn"),
        (325, "三百二十五", "三百二十五", "three hundred and twenty-five", "dreihundertfünfundzwanzig"),
        (1005, "一千零五", "千五", "one thousand and five", "eintausendfünf"),
    ],
)
def test_numerals(number, zh, ja, en, de):
    spoken = [load_grammar(language).inflect("number", str(number)) for language in ("zh", "ja", "en", "de")]
    assert spoken == [zh, ja, en, de]
