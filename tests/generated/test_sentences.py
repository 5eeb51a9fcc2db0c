"""Meanings built by hand, and what a speaker of each language says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import tokenlab.generated
from tokenlab.generated import LANGUAGES, express
from tokenlab.generated.grammar import load_grammar
from tokenlab.generated.lexicon import Concept, load_lexicon
from tokenlab.generated.meanings import Meaning, action, phrase
from tokenlab.text.documents import words

GRAMMARS = Path(tokenlab.generated.__file__).parent / "grammars"


def concept(english_form: str) -> Concept:
    """The first noun, verb, adjective, place name or time with this English form."""
    groups = load_lexicon().groups
    everything = [*groups["nouns"], *groups["verbs"], *groups["speech"], *groups["adjectives"]]
    everything += [item for items in groups.values() for item in items]
    return next(item for item in everything if item.get("en") == english_form)


def sentence(kind: str, clauses: tuple[Meaning, ...], relation: str = "", **features: object) -> Meaning:
    second = clauses[1] if relation else None
    return {"kind": kind, "clause": clauses[0], "second": second, "relation": relation, "polite": True, **features}


def described(type_: str, subject: Meaning, adjective: str = "", **features: object) -> Meaning:
    quality = concept(adjective) if adjective else None
    return {"type": type_, "subject": subject, "adjective": quality, "tense": "present", **features}


def the(noun: str, **parts: object) -> Meaning:
    return phrase(concept(noun), "the", **parts)


PRONOUNS = load_lexicon().pronouns
ANNA = phrase(Concept(kind="name", zh="安娜·林登贝格", ja="アンナ", en="Anna Hoff", de="Anna Hoff", gender="f"))

# Expected in the order of LANGUAGES: Chinese, Japanese, English, German.
HAND_CHECKED = {
    "aspect, place and accusative": (
        sentence(
            "statement",
            (
                action(
                    concept("read"),
                    the("student"),
                    phrase(concept("novel"), "a", adjective=concept("new")),
                    place=the("library"),
                    tense="progressive",
                ),
            ),
        ),
        (
            "学生正在图书馆里读一部新小说。",
            "学生は図書館で新しい小説を読んでいます。",
            "The student is reading a new novel in the library.",
            "Der Student liest gerade in der Bibliothek einen neuen Roman.",
        ),
    ),
    "disposal": (
        sentence(
            "statement",
            (action(concept("sell"), the("farmer"), the("car"), tense="past", disposal=True),),
            polite=False,
        ),
        ("农民把汽车卖掉了。", "農民は車を売った。", "The farmer sold the car.", "Der Bauer verkaufte das Auto."),
    ),
    "passive": (
        sentence("statement", (action(concept("write"), the("writer"), the("letter"), tense="past", passive=True),)),
        (
            "信被作家写完了。",
            "手紙は作家に書かれました。",
            "The letter was written by the writer.",
            "Der Brief wurde vom Schriftsteller geschrieben.",
        ),
    ),
    "modal, separable verb and dative": (
        sentence(
            "statement",
            (action(concept("take part"), phrase(PRONOUNS["I"]), the("exam"), modal="must"),),
        ),
        (
            "我必须参加考试。",
            "私は試験に参加しなければなりません。",
            "I must take part in the exam.",
            "Ich muss an der Prüfung teilnehmen.",
        ),
    ),
    "reason before the main clause": (
        sentence(
            "statement",
            (
                action(concept("call"), ANNA, the("doctor"), tense="past"),
                action(concept("sleep"), the("child"), tense="past", negative=True),
            ),
            "because",
        ),
        (
            "因为安娜·林登贝格给医生打了电话，所以孩子没有睡觉。",
            "アンナが医者に電話したので、子供は眠りませんでした。",
            "Because Anna Hoff called the doctor, the child did not sleep.",
            "Weil Anna Hoff den Arzt anrief, schlief das Kind nicht.",
        ),
    ),
    "relative clause with an object gap and a genitive": (
        sentence(
            "statement",
            (
                action(
                    concept("find"),
                    the("police officer"),
                    the("key", relative=action(concept("lose"), the("child"), the("key"), tense="past", gap="object")),
                    tense="past",
                    time=concept("yesterday"),
                    time_first=True,
                ),
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
            (described("property", the("tea"), "hot"),),
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
    "enumeration": (
        sentence(
            "statement",
            (
                action(
                    concept("eat"),
                    the("child"),
                    phrase(
                        concept("apple"),
                        plural=True,
                        next=phrase(concept("bread"), next=phrase(concept("egg"), plural=True)),
                    ),
                    tense="past",
                ),
            ),
        ),
        (
            "孩子吃了苹果、面包和鸡蛋。",
            "子供はりんご、パンと卵を食べました。",
            "The child ate apples, bread and eggs.",
            "Das Kind aß Äpfel, Brot und Eier.",
        ),
    ),
}


class TestHandCheckedSentences:
    @pytest.mark.parametrize("name", HAND_CHECKED)
    @pytest.mark.parametrize(("column", "language"), list(enumerate(LANGUAGES)))
    def test_sentence(self, name, column, language):
        meaning, expected = HAND_CHECKED[name]
        assert express(meaning, language, "x").text == expected[column]

    def test_gold_words(self):
        meaning, _ = HAND_CHECKED["disposal"]
        zh, ja, en, de = (words(d.text, d.boundaries or ()) for d in (express(meaning, x, "x") for x in LANGUAGES))
        assert zh == ["农民", "把", "汽车", "卖掉", "了", "。"]
        assert ja == ["農民", "は", "車", "を", "売っ", "た", "。"]
        assert en == ["The", "farmer", "sold", "the", "car", "."]
        assert de == ["Der", "Bauer", "verkaufte", "das", "Auto", "."]

    def test_compound_is_one_word_in_german_and_before_a_suffix_in_chinese(self):
        lexicon = load_lexicon()
        head = next(head for head in lexicon.groups["heads"] if head["en"] == "dealer")
        dealer = lexicon.compound(concept("oil"), head)
        meaning = sentence("statement", (described("property", phrase(dealer, "the"), "rich"),), polite=False)
        assert [words(d.text, d.boundaries or ()) for d in (express(meaning, x, "x") for x in LANGUAGES)] == [
            ["石油商", "很", "富有", "。"],
            ["石油", "商", "は", "豊か", "だ", "。"],
            ["The", "oil", "dealer", "is", "rich", "."],
            ["Der", "Ölhändler", "ist", "reich", "."],
        ]


def inflect(language: str, table: str, *form: str) -> str:
    return load_grammar(language).inflect(table, " ".join(form))


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
