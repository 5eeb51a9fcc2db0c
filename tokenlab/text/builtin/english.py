"""English (British spelling)."""

from functools import lru_cache

from tokenlab.text.builtin import numerals
from tokenlab.text.builtin.concepts import Concept
from tokenlab.text.builtin.meaning import Clause, Phrase, Sentence

Words = tuple[str, ...]

_MODALS = {"can": "can", "must": "must", "should": "should", "may": "may"}
_JOINTS = {"because": "because", "although": "although", "if": "if", "when": "when", "after": "after", "before": "before"}
_BE = {
    "present": {"1s": "am", "3s": "is"},
    "past": {"1s": "was", "3s": "was"},
}
# Stressed on the last syllable or of one syllable, ending in one vowel and one consonant: the consonant doubles.
_VOWELS = "aeiou"
_SILENT_OR_GLIDE = ("uni", "use", "eu", "one", "u-")


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
    """Regular plural of the last word."""
    return third_person(noun) if " " not in noun else " ".join((*noun.split()[:-1], third_person(noun.split()[-1])))


def verb_forms(verb: str, irregular: str) -> dict[str, str]:
    """Base, third, past, participle and ing. `irregular` is "+" or "past/participle" or "past/participle/ing"."""
    base, *rest = verb.split()
    given = [part for part in irregular.split("/") if part != "+"] if irregular.count("/") != 2 else irregular.split("/")
    past, participle, ing = (given + ["+"] * 3)[:3]
    doubled = base + base[-1] if _doubles(base) else base
    regular = base + "d" if base.endswith("e") else doubled + "ed"
    if base.endswith("y") and base[-2] not in _VOWELS:
        regular = base[:-1] + "ied"
    gerund = base[:-1] + "ing" if base.endswith("e") and not base.endswith("ee") else doubled + "ing"
    if len(given) == 3 and past == "+":
        # A spelled-out gerund says whether the consonant doubles, in the past too.
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
    """Comparative by the table's rule: "+" adds -er, "more" goes before, else the form itself."""
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
    if lower.startswith(("hour", "honest")) or word in ("IBM", "8", "11", "18"):
        return "an"
    return "an" if lower[0] in _VOWELS and not lower.startswith(_SILENT_OR_GLIDE) else "a"


def realise(sentence: Sentence) -> list[str]:
    """The words of a sentence, not yet capitalised."""
    kind, clauses = sentence.kind, sentence.clauses
    words: list[str] = []
    if sentence.opener is not None:
        words += (*split(sentence.opener, "en"), ",")
    if kind == "quotation":
        return [*words, *clause(clauses[1], sentence.time_first), ":", "“", *_capitalised(clause(clauses[0])), ".", "”"]
    if kind == "report":
        return [*words, *clause(clauses[1], sentence.time_first), "that", *clause(clauses[0]), "."]
    if sentence.relation is not None:
        return words + _joined(sentence)
    if kind == "exclamation":
        adjective = split(clauses[0].predicate, "en")
        return [*words, "how", *adjective, *_phrase(clauses[0].subject), "is", "!"]
    if kind == "statement":
        return [*words, *clause(clauses[0], sentence.time_first), "."]
    return [*words, *clause(clauses[0], question=True), "?"]


def _capitalised(words: list[str]) -> list[str]:
    return [words[0][0].upper() + words[0][1:], *words[1:]]


def _joined(sentence: Sentence) -> list[str]:
    first, second = sentence.clauses
    relation = sentence.relation
    if relation in ("and", "but"):
        return [*clause(first), ",", relation, *clause(second), "."]
    subordinate = [_JOINTS[relation], *clause(first)]
    if sentence.main_first:
        comma = [","] if relation == "although" else []
        return [*clause(second), *comma, *subordinate, "."]
    return [*subordinate, ",", *clause(second), "."]


def clause(meaning: Clause, time_first: bool = False, question: bool = False) -> list[str]:
    """The words of a clause, without punctuation. The gap of a relative clause is left out."""
    if meaning.kind == "action":
        return _action(meaning, time_first, question)
    tense = "past" if meaning.tense == "past" else "present"
    subject = meaning.subject
    if meaning.kind == "existence":
        be = _be(tense, "3p" if subject.plural else "3s")
        start = [be, "there"] if question else ["there", be]
        return [*start, *_phrase(subject), *_place(meaning.place)]
    be = _be(tense, agreement(subject))
    words = [be, *_phrase(subject)] if question else [*_phrase(subject), be]
    if meaning.kind == "property":
        negation = ["not"] if meaning.negative else []
        degree = split(meaning.manner, "en") if meaning.manner is not None else ()
        return [*words, *negation, *degree, *split(meaning.predicate, "en")]
    if meaning.kind == "comparison":
        row = meaning.predicate.row
        return [*words, *comparative(row["en"], row["en_comp"]), "than", *_phrase(meaning.object)]
    if meaning.kind == "identity":
        return words + _phrase(meaning.object)
    dimension = meaning.predicate.row
    return [*words, meaning.amount.number, dimension["en_unit"], dimension["en"]]


def _be(tense: str, person: str) -> str:
    return _BE[tense].get(person, "are" if tense == "present" else "were")


def agreement(phrase: Phrase) -> str:
    """Person and number that the verb agrees with: 1s, 1p, 2p, 3s or 3p."""
    if phrase.head.kind == "pronoun":
        return phrase.head.row["person"]
    return "3p" if phrase.plural or phrase.more else "3s"


def _action(meaning: Clause, time_first: bool, question: bool) -> list[str]:
    row = meaning.predicate.row
    surface = meaning.object if meaning.passive else meaning.subject
    is_gap = meaning.gap == "subject"
    asks_subject = surface.head.row.get("id") in ("who", "what")
    asks_object = not asks_subject and meaning.object is not None and meaning.object.head.row.get("id") == "what"
    inverted = question and not asks_subject
    finite, rest = _verb_group(
        meaning.predicate, meaning.tense, meaning.negative, meaning.modal, meaning.passive, agreement(surface), inverted
    )
    subject = [] if is_gap else _phrase(surface)
    words = ["what"] if asks_object else []
    time = split(meaning.time, "en") if meaning.time is not None else ()
    if time_first and time:
        words += (*time, ",")
    words += (*finite, *subject, *rest) if inverted else (*subject, *finite, *rest)
    if meaning.passive:
        if meaning.subject is not None:
            words += ("by", *_phrase(meaning.subject, as_object=True))
    elif meaning.object is not None:
        if row["en_prep"] != "-":
            words.append(row["en_prep"])
        if meaning.gap != "object" and not asks_object:
            words += _phrase(meaning.object, as_object=True)
    if meaning.amount is not None:
        words += ("by", f"{meaning.amount.number}%")
    if meaning.manner is not None:
        words += split(meaning.manner, "en")
    if meaning.place is not None:
        words += _place(meaning.place)
    return words if time_first else words + [*time]


@lru_cache(maxsize=16384)
def _verb_group(
    verb: Concept, tense: str, negative: bool, modal: str, passive: bool, person: str, inverted: bool
) -> tuple[Words, Words]:
    """The finite verb (with "not"), which a question puts before the subject, and what follows."""
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
    if phrase.count:
        words += (str(phrase.count),) if phrase.digits else numerals.english(phrase.count).split()
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
