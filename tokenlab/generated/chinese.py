"""Chinese (simplified, as on the mainland).

Words are segmented as in news corpora: an aspect particle, a classifier and 的 are words; a full name, a number and a
verb with its result complement (卖掉) are one word each.
"""

from functools import lru_cache

from tokenlab.generated import numerals
from tokenlab.generated.concepts import Concept
from tokenlab.generated.meaning import (
    Action,
    Clause,
    Comparison,
    Exclamation,
    Existence,
    Identity,
    Phrase,
    Property,
    Sentence,
    asked,
)

Words = tuple[str, ...]

_BARE_ATTRIBUTES = frozenset(("新", "旧", "大", "小", "好"))
"""Adjectives that precede a noun without 的."""
_MODALS = {"can": ("能",), "must": ("必须",), "want": ("想",), "should": ("应该",), "may": ("可以",)}
_JOINTS = {
    "because": (("因为",), (), ("所以",)),
    "although": (("虽然",), (), ("但是",)),
    "if": (("如果",), (), ("那么",)),
    "when": ((), ("的", "时候"), ()),
    "after": ((), ("以后",), ()),
    "before": ((), ("以前",), ()),
    "and": ((), (), ("而且",)),
    "but": ((), (), ("但是",)),
}
"""Words before the first clause, after it, and before the second."""


def realise(sentence: Sentence) -> list[str]:
    """The words of a sentence."""
    words: list[str] = []
    if sentence.opener is not None:
        words += (*split(sentence.opener, "zh"), "，")
    if sentence.frame is not None:
        words += clause(sentence.frame)
        said = clause(sentence.clauses[0])
        return [*words, "：", "“", *said, "。", "”"] if sentence.quoted else [*words, "，", *said, "。"]
    if sentence.relation is not None:
        first, second = sentence.clauses
        before, after, between = _JOINTS[sentence.relation]
        return [*words, *before, *clause(first), *after, "，", *between, *clause(second), "。"]
    words += clause(sentence.clauses[0], sentence.time_first)
    if sentence.kind == "question":
        main = sentence.clauses[0]
        if not (isinstance(main, Action) and (asked(main.subject) or asked(main.object))):
            words.append("吗")
    words.append(_MARKS[sentence.kind])
    return words


_MARKS = {"statement": "。", "question": "？", "exclamation": "！"}


def clause(meaning: Clause, time_first: bool = False) -> list[str]:
    """The words of a clause, without punctuation. The gap of a relative clause is left out."""
    if isinstance(meaning, Action):
        return _action(meaning, time_first)
    if isinstance(meaning, Existence):
        return [*_place(meaning.place), "有", *_phrase(meaning.subject)]
    words = _phrase(meaning.subject)
    if isinstance(meaning, Property):
        return words + _all(meaning.subject) + _property(meaning)
    if isinstance(meaning, Comparison):
        return [*words, "比", *_phrase(meaning.other), *split(meaning.adjective, "zh")]
    if isinstance(meaning, Exclamation):
        return [*words, "多么", *split(meaning.adjective, "zh"), "啊"]
    if isinstance(meaning, Identity):
        return words + (["曾经", "是"] if meaning.tense == "past" else ["是"]) + _phrase(meaning.object)
    dimension = meaning.dimension.row
    return [*words, dimension["zh"], meaning.number, dimension["zh_unit"]]


def _all(subject: Phrase | None) -> list[str]:
    return ["都"] if subject is not None and subject.determiner == "every" else []


def _property(meaning: Property) -> list[str]:
    adjective = split(meaning.adjective, "zh")
    if adjective[-1] == "的":
        return ["是", *adjective]
    if meaning.negative:
        return ["不", *adjective]
    if meaning.degree is not None:
        return [*split(meaning.degree, "zh"), *adjective]
    return [*adjective] if meaning.adjective.row["de_comp"] == "-" else ["很", *adjective]


def _action(meaning: Action, time_first: bool) -> list[str]:
    verb = meaning.verb.row
    agent = [] if meaning.subject is None or meaning.gap == "subject" else _phrase(meaning.subject)
    object_ = [] if meaning.object is None or meaning.gap == "object" else _phrase(meaning.object)
    time = [] if meaning.time is None else split(meaning.time, "zh")
    subject = object_ if meaning.passive else agent
    words = [*time, *subject] if time_first else [*subject, *time]
    if subject:
        words += _all(meaning.object if meaning.passive else meaning.subject)
    if meaning.purpose is not None:
        words = ["为了", *clause(meaning.purpose), "，", *words]
    before, group = _verb_group(
        meaning.verb, meaning.tense, meaning.negative, meaning.modal, meaning.passive, meaning.disposal
    )
    if meaning.gap == "object" and group[-1] == "了":
        group = group[:-1]
    # Directly before a place, 正在 would repeat 在.
    words += ("正",) if before == ("正在",) and meaning.place and not meaning.companion else before
    if meaning.companion is not None:
        words += ("跟", *_phrase(meaning.companion), "一起")
    if meaning.place is not None:
        words += ("在", *_place(meaning.place))
    if meaning.manner is not None:
        words += split(meaning.manner, "zh")
    if meaning.passive:
        return [*words, "被", *agent, *group]
    if meaning.disposal and meaning.gap != "object":
        return [*words, "把", *object_, *group]
    if verb["zh_pre"] != "-":
        return [*words, verb["zh_pre"], *object_, *group]
    words += group
    words += object_
    if meaning.percent:
        words.append(f"{meaning.percent}%")
    return words


@lru_cache(maxsize=8192)
def _verb_group(
    verb: Concept, tense: str, negative: bool, modal: str, passive: bool, disposal: bool
) -> tuple[Words, Words]:
    """The words before place and object, and the verb with its aspect."""
    row = verb.row
    words = split(verb, "zh")
    if (passive or disposal) and row["zh_ba"] != "-":
        words = (row["zh_ba"],)
    if modal:
        return ((("不",) if negative else ()) + _MODALS[modal], words)
    stative = "s" in row["flags"]
    if negative and tense == "future":
        return ("不", "会"), words
    if negative:
        return (("不",) if stative or tense in ("present", "progressive") else ("没有",)), (
            (words[0], "过", *words[1:]) if tense == "perfect" else words
        )
    if tense == "future":
        return ("将",), words
    if tense == "progressive":
        return ((), (*words, "着")) if "z" in row["flags"] else (("正在",), words)
    if tense == "perfect":
        return (), (words[0], "过", *words[1:])
    if tense == "past" and not stative and row["obj"] != "clause":
        return (), (words[0], "了", *words[1:])
    return (), words


def _place(phrase: Phrase) -> list[str]:
    localiser = phrase.head.row.get("loc", "-")
    return [*_phrase(phrase), localiser] if localiser != "-" else _phrase(phrase)


def _phrase(phrase: Phrase) -> list[str]:
    """A noun phrase: relative clause, owner, determiner, number and classifier, adjective, noun."""
    words: list[str] = []
    if phrase.relative is not None:
        words += clause(phrase.relative)
        words.append("的")
    if phrase.owner is not None:
        words += _phrase(phrase.owner)
        words.append("的")
    if phrase.cardinal:
        words.append(_count(phrase))
        words += split(phrase.head, "cl")
    if phrase.head.kind == "name":
        words.append(phrase.head.row["zh"])
    else:
        words += _nominal(phrase.head, phrase.determiner, phrase.plural and not phrase.cardinal, phrase.adjective)
    for index, other in enumerate(phrase.more):
        words.append("和" if index == len(phrase.more) - 1 else "、")
        words += _phrase(other)
    return words


def _count(phrase: Phrase) -> str:
    if phrase.digits:
        return str(phrase.cardinal)
    return "两" if phrase.cardinal == 2 else numerals.chinese(phrase.cardinal)


@lru_cache(maxsize=32768)
def _nominal(head: Concept, determiner: str, plural: bool, adjective: Concept | None) -> Words:
    words: list[str] = []
    classifier = head.row.get("cl", "个")
    if determiner == "a":
        words += ("一", classifier)
    elif determiner in ("this", "that"):
        words += ("这" if determiner == "this" else "那", classifier)
    elif determiner == "every":
        words += ("每", classifier)
    elif determiner in _POSSESSIVE:
        words += _POSSESSIVE[determiner]
    if adjective is not None:
        forms = split(adjective, "zh")
        words += forms
        if forms[-1] != "的" and adjective.row["zh"] not in _BARE_ATTRIBUTES:
            words.append("的")
    noun = split(head, "zh")
    # Only definite people take the plural suffix; otherwise number is not marked.
    if plural and determiner == "the" and head.kind == "person":
        noun = (*noun[:-1], noun[-1] + "们")
    return (*words, *noun)


_POSSESSIVE = {
    "I": ("我", "的"),
    "we": ("我们", "的"),
    "you": ("您", "的"),
    "he": ("他", "的"),
    "she": ("她", "的"),
    "they": ("他们", "的"),
}


@lru_cache(maxsize=8192)
def split(concept: Concept, column: str) -> Words:
    """The words of one cell."""
    return tuple(concept.row[column].split())
