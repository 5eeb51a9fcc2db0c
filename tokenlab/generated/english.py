"""English (British spelling)."""

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
    Measure,
    Phrase,
    Property,
    Relation,
    Sentence,
    asked,
)

Words = tuple[str, ...]

_MODALS = {"can": "can", "must": "must", "should": "should", "may": "may"}
_JOINTS = {
    "because": "because",
    "although": "although",
    "if": "if",
    "when": "when",
    "after": "after",
    "before": "before",
}
_BE = {
    "present": {"1s": "am", "3s": "is"},
    "past": {"1s": "was", "3s": "was"},
}
_VOWELS = "aeiou"
_GLIDES = ("uni", "use", "eu", "one")
"""Written with a vowel, spoken with a consonant."""


def third_person(verb: str) -> str:
    """Third person singular present, of the first word: tries, watches, turns off."""
    base, *rest = verb.split()
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        form = base + "es"
    elif base.endswith("y") and base[-2] not in _VOWELS:
        form = base[:-1] + "ies"
    else:
        form = base + "s"
    return " ".join((form, *rest))


def plural(noun: str) -> str:
    """Regular plural of the last word; words in -o, irregular if they take -es, only add -s."""
    if noun.endswith("o"):
        return noun + "s"
    return third_person(noun) if " " not in noun else " ".join((*noun.split()[:-1], third_person(noun.split()[-1])))


def verb_forms(verb: str, irregular: str) -> dict[str, str]:
    """Base, third, past, participle and ing. `irregular` is "+" or "past/participle" or "past/participle/ing"."""
    base, *rest = verb.split()
    given = (
        [part for part in irregular.split("/") if part != "+"] if irregular.count("/") != 2 else irregular.split("/")
    )
    past, participle, ing = (given + ["+"] * 3)[:3]
    doubled = base + base[-1] if _doubles(base) else base
    regular = base + "d" if base.endswith("e") else doubled + "ed"
    if base.endswith("y") and base[-2] not in _VOWELS:
        regular = base[:-1] + "ied"
    gerund = base[:-1] + "ing" if base.endswith("e") and not base.endswith("ee") else doubled + "ing"
    if len(given) == 3 and past == "+":
        # A spelled-out gerund shows whether the consonant doubles, also in the past.
        regular = ing.removesuffix("ing") + "ed"
    forms = {
        "base": base,
        "third": third_person(base),
        "past": regular if past == "+" else past,
        "participle": regular if participle == "+" else participle,
        "ing": gerund if ing == "+" else ing,
    }
    return {name: " ".join((form, *rest)) for name, form in forms.items()}


def _doubles(base: str) -> bool:
    if len(base) < 3 or base[-1] in "aeiouwxy" or base[-2] not in _VOWELS or base[-3] in _VOWELS:
        return False
    return sum(letter in _VOWELS for letter in base) == 1


def comparative(adjective: str, rule: str) -> Words:
    """Comparative by the table's rule: "+" adds -er, "more" is put before, else the form itself."""
    if rule == "more":
        return ("more", adjective)
    if rule != "+":
        return (rule,)
    if adjective.endswith("e"):
        return (adjective + "r",)
    if adjective.endswith("y"):
        return (adjective[:-1] + "ier",)
    return (adjective + "er",)


def article(word: str) -> str:
    """The indefinite article before `word`."""
    lower = word.lower()
    if lower.startswith("honest"):
        return "an"
    return "an" if lower[0] in _VOWELS and not lower.startswith(_GLIDES) else "a"


def realise(sentence: Sentence) -> list[str]:
    """The words of a sentence, not yet capitalised."""
    words: list[str] = []
    if sentence.opener is not None:
        words += (*split(sentence.opener, "en"), ",")
    if sentence.frame is not None:
        said = clause(sentence.clauses[0])
        words += clause(sentence.frame)
        return [*words, ":", "“", *_capitalised(said), ".", "”"] if sentence.quoted else [*words, "that", *said, "."]
    if sentence.relation is not None:
        return words + _joined(sentence, sentence.relation)
    question = sentence.kind == "question"
    return [*words, *clause(sentence.clauses[0], sentence.time_first, question), _MARKS[sentence.kind]]


_MARKS = {"statement": ".", "question": "?", "exclamation": "!"}


def _capitalised(words: list[str]) -> list[str]:
    return [words[0][0].upper() + words[0][1:], *words[1:]]


def _joined(sentence: Sentence, relation: Relation) -> list[str]:
    first, second = sentence.clauses
    if relation in ("and", "but"):
        return [*clause(first), ",", relation, *clause(second), "."]
    subordinate = [_JOINTS[relation], *clause(first)]
    if sentence.main_first:
        comma = [","] if relation == "although" else []
        return [*clause(second), *comma, *subordinate, "."]
    return [*subordinate, ",", *clause(second), "."]


def clause(meaning: Clause, time_first: bool = False, question: bool = False) -> list[str]:
    """The words of a clause, without punctuation. The gap of a relative clause is left out."""
    if isinstance(meaning, Action):
        return _action(meaning, time_first, question)
    subject = _phrase(meaning.subject)
    if isinstance(meaning, Exclamation):
        return ["how", *split(meaning.adjective, "en"), *subject, _be("present", agreement(meaning.subject))]
    tense = "past" if not isinstance(meaning, Measure) and meaning.tense == "past" else "present"
    be = _be(tense, agreement(meaning.subject))
    if isinstance(meaning, Existence):
        return [*([be, "there"] if question else ["there", be]), *subject, *_place(meaning.place)]
    words = [be, *subject] if question else [*subject, be]
    if isinstance(meaning, Property):
        degree = ("not",) if meaning.negative else split(meaning.degree, "en") if meaning.degree is not None else ()
        return [*words, *degree, *split(meaning.adjective, "en")]
    if isinstance(meaning, Comparison):
        row = meaning.adjective.row
        return [*words, *comparative(row["en"], row["en_comp"]), "than", *_phrase(meaning.other)]
    if isinstance(meaning, Identity):
        return words + _phrase(meaning.object)
    return [*words, meaning.number, meaning.dimension.row["en_unit"], meaning.dimension.row["en"]]


def _be(tense: str, person: str) -> str:
    return _BE[tense].get(person, "are" if tense == "present" else "were")


def agreement(phrase: Phrase) -> str:
    """Person and number that the verb agrees with: 1s, 1p, 2p, 3s or 3p."""
    if phrase.head.kind == "pronoun":
        return phrase.head.row["person"]
    return "3p" if phrase.plural or phrase.more else "3s"


def _action(meaning: Action, time_first: bool, question: bool) -> list[str]:
    row = meaning.verb.row
    theme = meaning.theme
    asks_object = asked(meaning.object) == "what"
    inverted = question and not asked(theme)
    finite, rest = _verb_group(
        meaning.verb, meaning.tense, meaning.negative, meaning.modal, meaning.passive, agreement(theme), inverted
    )
    subject = [] if meaning.gap == "subject" else _phrase(theme)
    words = ["what"] if asks_object else []
    time = split(meaning.time, "en") if meaning.time is not None else ()
    if meaning.time is not None and meaning.time.kind == "frequency":
        negation, verb = (rest[:1], rest[1:]) if rest[0] == "not" else ((), rest)
        rest, time = (*negation, *time, *verb), ()
    if time_first and time:
        words += (*time, ",")
    words += (*finite, *subject, *rest) if inverted else (*subject, *finite, *rest)
    if meaning.passive:
        if meaning.subject is not None:
            words += ("by", *_phrase(meaning.subject, as_object=True))
    elif meaning.object is not None:
        if row["en_prep"] == "loc":
            words += _place(meaning.object)
        else:
            words += () if row["en_prep"] == "-" else (row["en_prep"],)
            words += [] if meaning.gap == "object" or asks_object else _phrase(meaning.object, as_object=True)
    if meaning.percent:
        words += ("by", f"{meaning.percent}%")
    if meaning.manner is not None:
        words += split(meaning.manner, "en")
    if meaning.companion is not None:
        words += ("together", "with", *_phrase(meaning.companion, as_object=True))
    if meaning.place is not None:
        words += _place(meaning.place)
    if not time_first:
        words += time
    if meaning.purpose is not None:
        words += _purpose(meaning.purpose)
    return words


def _purpose(meaning: Action) -> list[str]:
    preposition = meaning.verb.row["en_prep"]
    infinitive = split(meaning.verb, "en") + (() if preposition == "-" else (preposition,))
    return ["in", "order", "to", *infinitive, *(_phrase(meaning.object, as_object=True) if meaning.object else ())]


@lru_cache(maxsize=16384)
def _verb_group(
    verb: Concept, tense: str, negative: bool, modal: str, passive: bool, person: str, inverted: bool
) -> tuple[Words, Words]:
    """The finite verb (with "not"), which precedes the subject in a question, and the words after it."""
    forms = verb_forms(verb.row["en"], verb.row["en_forms"])
    no = ("not",) if negative else ()
    if modal == "want":
        tail: Words = ("to", "be", forms["participle"]) if passive else ("to", *forms["base"].split())
        if negative or inverted:
            return ("does" if person == "3s" else "do",), (*no, "want", *tail)
        return ("wants" if person == "3s" else "want",), tail
    if modal or tense == "future":
        tail = ("be", *forms["participle"].split()) if passive else tuple(forms["base"].split())
        auxiliary = _MODALS[modal] if modal else "will"
        if auxiliary == "can" and negative and not inverted:
            return ("cannot",), tail
        return (auxiliary,), (*no, *tail)
    if passive:
        return (_be("past", person),), (*no, *forms["participle"].split())
    if tense == "progressive":
        return (_be("present", person),), (*no, *forms["ing"].split())
    if tense == "perfect":
        adverb = ("never",) if negative else ()
        return ("has" if person == "3s" else "have",), (*adverb, *forms["participle"].split())
    if negative or inverted:
        auxiliary = "did" if tense == "past" else "does" if person == "3s" else "do"
        return (auxiliary,), (*no, *forms["base"].split())
    form = forms["past"] if tense == "past" else forms["third" if person == "3s" else "base"]
    return (), tuple(form.split())


def _place(phrase: Phrase) -> list[str]:
    return [phrase.head.row.get("en_prep", "in"), *_phrase(phrase)]


def _phrase(phrase: Phrase, as_object: bool = False) -> list[str]:
    """A noun phrase: owner or determiner, number, adjective, noun, relative clause."""
    head = phrase.head
    if head.kind == "pronoun":
        return [head.row["en_object" if as_object else "en"]]
    words: list[str] = []
    if head.kind == "name":
        return head.row["en"].split()
    if phrase.owner is not None:
        words += (*_phrase(phrase.owner), "'s")
    if phrase.cardinal:
        words += (str(phrase.cardinal),) if phrase.digits else numerals.english(phrase.cardinal).split()
    words += _nominal(head, "" if phrase.owner is not None else phrase.determiner, phrase.plural, phrase.adjective)
    if phrase.relative is not None:
        words.append("who" if head.kind == "person" else "that")
        words += clause(phrase.relative)
    for index, other in enumerate(phrase.more):
        words.append("and" if index == len(phrase.more) - 1 else ",")
        words += _phrase(other)
    return words


@lru_cache(maxsize=32768)
def _nominal(head: Concept, determiner: str, is_plural: bool, adjective: Concept | None) -> Words:
    row = head.row
    noun = row["en"] if not is_plural else plural(row["en"]) if row["plural"] == "+" else row["plural"]
    words = [*split(adjective, "en"), *noun.split()] if adjective is not None else noun.split()
    if not determiner:
        return tuple(words)
    if determiner == "a":
        determiner = article(words[0])
    return (_POSSESSIVE.get(determiner, determiner), *words)


_POSSESSIVE = {"I": "my", "we": "our", "you": "your", "he": "his", "she": "her", "they": "their"}


@lru_cache(maxsize=8192)
def split(concept: Concept, column: str) -> Words:
    """The words of one cell."""
    return tuple(concept.row[column].split())
