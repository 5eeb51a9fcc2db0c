"""German (standard, as in Germany).

A clause is put together from its fields: the finite verb stands second in a main clause and first in a question, and
goes to the end, joined to its prefix, in a subordinate clause.
"""

from functools import lru_cache
from typing import NamedTuple

from tokenlab.text.builtin import numerals
from tokenlab.text.builtin.concepts import Concept
from tokenlab.text.builtin.meaning import Clause, Phrase, Sentence

Words = tuple[str, ...]

_CASES = {"nom": 0, "acc": 1, "dat": 2, "gen": 3}
# Columns: nominative, accusative, dative, genitive. The rows of the plural are the same for all genders.
_DEFINITE = {
    "m": ("der", "den", "dem", "des"),
    "f": ("die", "die", "der", "der"),
    "n": ("das", "das", "dem", "des"),
    "p": ("die", "die", "den", "der"),
}
_STRONG = {
    "m": ("er", "en", "em", "en"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "en"),
    "p": ("e", "e", "en", "er"),
}
_WEAK = {
    "m": ("e", "en", "en", "en"),
    "f": ("e", "e", "en", "en"),
    "n": ("e", "e", "en", "en"),
    "p": ("en", "en", "en", "en"),
}
_MIXED = {
    "m": ("er", "en", "en", "en"),
    "f": ("e", "e", "en", "en"),
    "n": ("es", "es", "en", "en"),
    "p": ("en", "en", "en", "en"),
}
# Endings of dies-, jed- and, where it has one, of ein-, kein- and mein-.
_DETERMINER = {
    "m": ("er", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "es"),
    "p": ("e", "e", "en", "er"),
}
_POSSESSIVE = {"I": "mein", "we": "unser", "you": "Ihr", "he": "sein", "she": "ihr", "they": "ihr"}
_RELATIVE_PLURAL_DATIVE = "denen"
_CONTRACTED = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}
_JOINTS = {
    "because": "weil",
    "although": "obwohl",
    "if": "wenn",
    "when": "als",
    "after": "nachdem",
    "before": "bevor",
}
_AUXILIARIES = {
    # Present 1s, 3s and plural, then past 3s.
    "sein": ("bin", "ist", "sind", "war"),
    "haben": ("habe", "hat", "haben", "hatte"),
    "werden": ("werde", "wird", "werden", "wurde"),
    "können": ("kann", "kann", "können", "konnte"),
    "müssen": ("muss", "muss", "müssen", "musste"),
    "wollen": ("will", "will", "wollen", "wollte"),
    "sollen": ("sollte", "sollte", "sollten", "sollte"),
    "dürfen": ("darf", "darf", "dürfen", "durfte"),
    "mögen": ("mag", "mag", "mögen", "mochte"),
}
_MODALS = {"can": "können", "must": "müssen", "want": "wollen", "should": "sollen", "may": "dürfen"}


class Fields(NamedTuple):
    """The topological fields of a clause. `finite` stands alone; `last` is it at the end, with its prefix."""

    subject: list[str]
    time: Words
    finite: str
    middle: list[str]
    closing: Words
    last: Words


def noun_form(row: dict[str, str], case: str, plural: bool) -> str:
    """A noun in a case: weak masculines take their plural form, genitives -s or -es, plural datives -n."""
    if plural:
        form = row["de_plural"]
        return form + "n" if case == "dat" and form[-1] not in "nsa" else form
    noun, gender = row["de"], row["gender"]
    if gender == "w" and case != "nom":
        return row["de_plural"]
    if case != "gen" or gender not in "mn":
        return noun
    if noun.endswith(("nis",)):
        return noun + "ses"
    if noun.endswith(("s", "ß", "x", "z", "sch", "st")):
        return noun if noun.endswith(("us", "ismus")) and noun not in ("Bus", "Haus") else noun + "es"
    return noun + "s"


def adjective_ending(determiner: str, gender: str, case: str) -> str:
    """Ending of an attributive adjective: "weak" after der, "mixed" after ein, "strong" after none."""
    table = {"weak": _WEAK, "mixed": _MIXED, "strong": _STRONG}[determiner]
    return table[gender][_CASES[case]]


def present_first(infinitive: str) -> str:
    """First person singular: kaufe, sammle, wandere."""
    if infinitive in _AUXILIARIES:
        return _AUXILIARIES[infinitive][0]
    if infinitive.endswith("eln"):
        return infinitive[:-3] + "le"
    return infinitive[:-1] + "e" if infinitive.endswith("ern") else infinitive[:-2] + "e"


def past_form(third: str, person: str) -> str:
    """Preterite: the third person serves the first too; plurals add -en or -n."""
    if person.endswith("s"):
        return third
    return third + "n" if third.endswith("e") else third + "en"


def auxiliary(verb: str, tense: str, person: str) -> str:
    """A form of sein, haben, werden or a modal verb; person is 1s, 1p, 2p, 3s or 3p."""
    first, third, many, past = _AUXILIARIES[verb]
    if tense == "past":
        return past_form(past, person)
    return many if person.endswith("p") else first if person == "1s" else third


def realise(sentence: Sentence) -> list[str]:
    """The words of a sentence, not yet capitalised at its start."""
    kind, clauses = sentence.kind, sentence.clauses
    opener = None if sentence.opener is None else split(sentence.opener, "de")
    if kind == "quotation":
        said = main_clause(clauses[0])
        said[0] = said[0][0].upper() + said[0][1:]
        return [*main_clause(clauses[1], opener, sentence.time_first), ":", "„", *said, ".", "“"]
    if kind == "report":
        frame = main_clause(clauses[1], opener, sentence.time_first)
        return [*frame, ",", "dass", *subordinate_clause(clauses[0]), "."]
    if sentence.relation is not None:
        return _joined(sentence, opener)
    if kind == "exclamation":
        subject, adjective = clauses[0].subject, clauses[0].predicate
        start = [*opener, ",", "wie"] if opener is not None else ["wie"]
        return [*start, *split(adjective, "de"), *_phrase(subject, "nom"), "ist", "!"]
    if kind == "statement":
        return [*main_clause(clauses[0], opener, sentence.time_first), "."]
    start = [*opener, ","] if opener is not None else []
    return [*start, *question_clause(clauses[0]), "?"]


def _joined(sentence: Sentence, opener: Words | None) -> list[str]:
    first, second = sentence.clauses
    relation = sentence.relation
    if relation in ("and", "but"):
        joint = "und" if relation == "and" else "aber"
        return [*main_clause(first, opener), ",", joint, *main_clause(second), "."]
    joint = _JOINTS[relation]
    if relation == "after":
        first = first._replace(tense="perfect" if first.tense == "future" else "pluperfect")
    subordinate = [joint, *subordinate_clause(first)]
    if sentence.main_first or opener is not None:
        return [*main_clause(second, opener), ",", *subordinate, "."]
    return [*main_clause(second, (*subordinate, ",")), "."]


def main_clause(meaning: Clause, front: Words | None = None, time_first: bool = False) -> list[str]:
    """Verb second: after `front` if there is one, else after the time or the subject."""
    subject, time, finite, middle, closing, _ = fields(meaning)
    if front is not None:
        return [*front, finite, *subject, *time, *middle, *closing]
    if time_first and time:
        return [*time, finite, *subject, *middle, *closing]
    return [*subject, finite, *time, *middle, *closing]


def subordinate_clause(meaning: Clause) -> list[str]:
    """Verb last."""
    subject, time, _, middle, _, last = fields(meaning)
    return [*subject, *time, *middle, *last]


def question_clause(meaning: Clause) -> list[str]:
    """Verb first, or after wer or was."""
    subject, time, finite, middle, closing, _ = fields(meaning)
    if meaning.subject is not None and meaning.subject.head.row.get("id") in ("who", "what"):
        return [*subject, finite, *time, *middle, *closing]
    if meaning.object is not None and meaning.object.head.row.get("id") == "what":
        middle.remove("was")
        return ["was", finite, *subject, *time, *middle, *closing]
    return [finite, *subject, *time, *middle, *closing]


def fields(meaning: Clause) -> Fields:
    """The fields of any clause."""
    if meaning.kind == "action":
        return _action(meaning)
    tense = "past" if meaning.tense == "past" else "present"
    if meaning.kind == "existence":
        finite = "gab" if tense == "past" else "gibt"
        return Fields(["es"], (), finite, [*_place(meaning.place), *_phrase(meaning.subject, "acc")], (), (finite,))
    finite = auxiliary("sein", tense, agreement(meaning.subject))
    subject = _phrase(meaning.subject, "nom")
    if meaning.kind == "identity":
        middle = _identity(meaning)
    elif meaning.kind == "comparison":
        row = meaning.predicate.row
        better = row["de"] + "er" if row["de_comp"] == "+" else row["de_comp"]
        middle = [better, "als", *_phrase(meaning.object, "nom")]
    elif meaning.kind == "measure":
        middle = [meaning.amount.number, meaning.predicate.row["de_unit"], *split(meaning.predicate, "de")]
    else:
        degree = ("nicht",) if meaning.negative else split(meaning.manner, "de") if meaning.manner is not None else ()
        middle = [*degree, *split(meaning.predicate, "de")]
    return Fields(subject, (), finite, middle, (), (finite,))


def _identity(meaning: Clause) -> list[str]:
    """What somebody is, in the feminine form of a woman."""
    noun = meaning.object.head
    if meaning.subject.head.row["gender"] == "f" and noun.row["fem"] != "-":
        row = {**noun.row, "de": noun.row["fem"], "gender": "n" if noun.row["fem"] in _NEUTER_PEOPLE else "f"}
    else:
        row = noun.row
    return [*_nominal(Concept(noun.kind, noun.topic, row), "a", False, meaning.object.adjective, "nom")]


_NEUTER_PEOPLE = ("Kind", "Mädchen")


def agreement(phrase: Phrase) -> str:
    """Person and number that the verb agrees with: 1s, 1p, 2p, 3s or 3p."""
    if phrase.head.kind == "pronoun":
        return phrase.head.row["person"]
    return "3p" if phrase.plural or phrase.more else "3s"


def _action(meaning: Clause) -> Fields:
    row = meaning.predicate.row
    surface = meaning.object if meaning.passive else meaning.subject
    finite, closing, last = _verb_group(
        meaning.predicate, meaning.tense, meaning.modal, meaning.passive, agreement(surface)
    )
    subject = [] if meaning.gap == "subject" else _phrase(surface, "nom")
    time = split(meaning.time, "de") if meaning.time is not None else ()
    adverbs: list[str] = ["gerade"] if meaning.tense == "progressive" and not meaning.negative else []
    if meaning.manner is not None:
        adverbs += split(meaning.manner, "de")
    place = [] if meaning.place is None else _place(meaning.place)
    if meaning.passive:
        agent = [] if meaning.subject is None else _prepositional("von", meaning.subject, "dat")
        no = ["nicht"] if meaning.negative else []
        return Fields(subject, time, finite, [*adverbs, *agent, *no, *place], closing, last)
    target = meaning.object if meaning.gap != "object" else None
    middle = [*adverbs, *_with_object(row["de_frame"], target, place, meaning.negative, meaning.tense)]
    if meaning.amount is not None:
        middle += ("um", meaning.amount.number.replace(".", ","), "%")
    return Fields(subject, time, finite, middle, closing, last)


def _with_object(frame: str, target: Phrase | None, place: list[str], negative: bool, tense: str) -> list[str]:
    """Object and place around the negation: nicht follows a definite object, kein goes into an indefinite one."""
    no = ["noch", "nie"] if tense == "perfect" else ["nicht"]
    if target is None:
        return [*(no if negative else ()), *place]
    if frame in ("acc", "dat"):
        if target.head.kind == "pronoun":
            return [*_phrase(target, frame), *(no if negative else ()), *place]
        if not negative:
            return [*place, *_phrase(target, frame)] if target.determiner in ("", "a") else [*_phrase(target, frame), *place]
        if target.determiner in ("", "a") and not target.count and target.head.kind not in _PROPER and tense != "perfect":
            return [*place, *_phrase(target._replace(determiner="no"), frame)]
        return [*_phrase(target, frame), *no, *place]
    negation = no if negative else []
    if frame == "to":
        return [*place, *negation, *_direction(target)]
    if frame in ("loc", "in+dat"):
        return [*negation, *place, *_place(target)]
    preposition, case = frame.split("+")
    return [*place, *negation, *_prepositional(preposition, target, case)]


_PROPER = frozenset(("name", "city", "country", "abbr", "pronoun"))


@lru_cache(maxsize=8192)
def _verb_group(verb: Concept, tense: str, modal: str, passive: bool, person: str) -> tuple[str, Words, Words]:
    """The finite verb, what closes the clause, and both together as they end a subordinate clause."""
    infinitive, third, past, participle = verb.row["de"].split(",")
    prefix, _, base = infinitive.rpartition("_")
    full = prefix + base
    perfect = "sein" if verb.row["de_aux"] == "s" else "haben"
    if modal or tense == "future":
        finite = auxiliary(_MODALS[modal] if modal else "werden", "present", person)
        closing: Words = (participle, "werden") if passive else (full,)
    elif passive:
        perfected = tense in ("perfect", "pluperfect")
        finite = auxiliary("sein" if perfected else "werden", "present" if tense == "perfect" else "past", person)
        closing = (participle, "worden") if perfected else (participle,)
    elif tense in ("perfect", "pluperfect"):
        finite, closing = auxiliary(perfect, "present" if tense == "perfect" else "past", person), (participle,)
    else:
        finite = _finite(base, third, past, tense, person)
        return finite, (prefix,) if prefix else (), (prefix + finite,)
    return finite, closing, (*closing, finite)


def _finite(base: str, third: str, past: str, tense: str, person: str) -> str:
    if tense == "past":
        return past_form(past, person)
    if person == "1s":
        return present_first(base)
    return third if person == "3s" else base


def _direction(phrase: Phrase) -> list[str]:
    if phrase.head.kind in ("city", "country"):
        return ["nach", *_phrase(phrase, "dat")]
    return _prepositional("zu", phrase, "dat")


def _place(phrase: Phrase) -> list[str]:
    return _prepositional(phrase.head.row.get("de_prep", "in"), phrase, "dat")


def _prepositional(preposition: str, phrase: Phrase, case: str) -> list[str]:
    words = _phrase(phrase, case)
    contracted = _CONTRACTED.get((preposition, words[0]))
    return [contracted, *words[1:]] if contracted is not None else [preposition, *words]


def _phrase(phrase: Phrase, case: str) -> list[str]:
    """A noun phrase in a case: determiner, number, adjective, noun, owner, relative clause."""
    head = phrase.head
    if head.kind == "pronoun":
        return [head.row[{"nom": "de", "acc": "de_acc", "dat": "de_dat"}[case]]]
    if head.kind == "name":
        return head.row["de"].split()
    if phrase.count:
        number = str(phrase.count) if phrase.digits else numerals.german(phrase.count)
        words = [number, *_nominal(head, "", True, phrase.adjective, case)]
    else:
        words = [*_nominal(head, phrase.determiner, phrase.plural, phrase.adjective, case)]
    if phrase.owner is not None:
        by_name = phrase.owner.head.kind == "name"
        words += ("von", *_phrase(phrase.owner, "dat")) if by_name else _phrase(phrase.owner, "gen")
    if phrase.relative is not None:
        words += (",", *_relative(phrase), ",")
    for index, other in enumerate(phrase.more):
        words.append("und" if index == len(phrase.more) - 1 else ",")
        words += _phrase(other, case)
    return words


def _relative(phrase: Phrase) -> list[str]:
    clause = phrase.relative
    case = "nom" if clause.gap == "subject" else clause.predicate.row["de_frame"]
    gender = "p" if phrase.plural else _gender(phrase.head)
    pronoun = _RELATIVE_PLURAL_DATIVE if (gender, case) == ("p", "dat") else _DEFINITE[gender][_CASES[case]]
    return [pronoun, *subordinate_clause(clause)]


def _gender(noun: Concept) -> str:
    return "m" if noun.row["gender"] == "w" else noun.row["gender"]


@lru_cache(maxsize=65536)
def _nominal(head: Concept, determiner: str, plural: bool, adjective: Concept | None, case: str) -> Words:
    """Determiner, adjective and noun, agreeing in gender, number and case."""
    if head.kind in _PROPER:
        return tuple(head.row["de"].split())
    gender = "p" if plural else _gender(head)
    word, declension = _determiner(determiner, gender, case)
    words = [word] if word else []
    if adjective is not None:
        row = adjective.row
        stem = row["de"] if row["de_attr"] == "+" else row["de_attr"]
        words.append(stem.removesuffix("e") + adjective_ending(declension, gender, case))
    noun = noun_form(head.row, case, plural)
    return (*words, noun[0].upper() + noun[1:])


def _determiner(determiner: str, gender: str, case: str) -> tuple[str, str]:
    """A determiner and the declension of the adjective after it."""
    column = _CASES[case]
    if determiner == "" or (determiner == "a" and gender == "p"):
        return "", "strong"
    if determiner == "the":
        return _DEFINITE[gender][column], "weak"
    if determiner in ("this", "that", "every"):
        stem = {"this": "dies", "that": "jen", "every": "jed"}[determiner]
        return stem + _DETERMINER[gender][column], "weak"
    stem = {"a": "ein", "no": "kein"}.get(determiner) or _POSSESSIVE[determiner]
    endingless = (gender in "mn" and case == "nom") or (gender == "n" and case == "acc")
    ending = "" if endingless else _DETERMINER[gender][column]
    return stem + ending, "mixed"


@lru_cache(maxsize=8192)
def split(concept: Concept, column: str) -> Words:
    """The words of one cell."""
    return tuple(concept.row[column].split())
