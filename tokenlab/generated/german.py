"""German (standard, as in Germany).

A clause is composed of topological fields: the finite verb is second in a main clause, first in a question, and last,
joined to its prefix, in a subordinate clause.
"""

from functools import lru_cache
from typing import NamedTuple

from tokenlab.generated import numerals
from tokenlab.generated.concepts import Concept
from tokenlab.generated.german_forms import (
    CASES,
    DEFINITE,
    adjective_ending,
    auxiliary,
    determiner_form,
    noun_form,
)
from tokenlab.generated.german_forms import finite as finite_form
from tokenlab.generated.meaning import (
    Action,
    Clause,
    Comparison,
    Exclamation,
    Existence,
    Identity,
    Measure,
    Phrase,
    Relation,
    Sentence,
    asked,
)

Words = tuple[str, ...]

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
_MODALS = {"can": "können", "must": "müssen", "want": "wollen", "should": "sollen", "may": "dürfen"}


class Fields(NamedTuple):
    """The topological fields of a clause. `finite` is the verb alone, `last` the verb at the end, with its prefix."""

    subject: list[str]
    pronoun: list[str]
    """A pronoun as object, which precedes the adverbials."""
    time: Words
    finite: str
    middle: list[str]
    closing: Words
    last: Words
    purpose: list[str]
    """An infinitive clause with um ... zu, after everything else."""


def realise(sentence: Sentence) -> list[str]:
    """The words of a sentence, not yet capitalised at its start."""
    opener = None if sentence.opener is None else split(sentence.opener, "de")
    main = sentence.clauses[0]
    if sentence.frame is not None:
        frame = main_clause(sentence.frame, opener)
        if not sentence.quoted:
            return [*frame, ",", "dass", *subordinate_clause(main), "."]
        said = main_clause(main)
        said[0] = said[0][0].upper() + said[0][1:]
        return [*frame, ":", "„", *said, ".", "“"]
    if sentence.relation is not None:
        return _joined(sentence, sentence.relation, opener)
    if sentence.kind == "statement":
        return [*main_clause(main, opener, sentence.time_first), "."]
    start = [*opener, ","] if opener is not None else []
    if sentence.kind == "question":
        return [*start, *question_clause(main), "?"]
    return [*start, *subordinate_clause(main), "!"]


def _joined(sentence: Sentence, relation: Relation, opener: Words | None) -> list[str]:
    first, second = sentence.clauses
    if relation in ("and", "but"):
        joint = "und" if relation == "and" else "aber"
        return [*main_clause(first, opener), ",", joint, *main_clause(second), "."]
    joint = _JOINTS[relation]
    if relation == "after" and isinstance(first, Action):
        first = first._replace(tense="pluperfect")
    subordinate = [joint, *subordinate_clause(first)]
    if sentence.main_first or opener is not None:
        return [*main_clause(second, opener), ",", *subordinate, "."]
    return [*main_clause(second, (*subordinate, ",")), "."]


def main_clause(meaning: Clause, front: Words | None = None, time_first: bool = False) -> list[str]:
    """Verb second: after `front` if there is one, else after the time or the subject."""
    subject, pronoun, time, finite, middle, closing, _, purpose = fields(meaning)
    if front is not None:
        return [*front, finite, *subject, *pronoun, *time, *middle, *closing, *purpose]
    if time_first and time:
        return [*time, finite, *subject, *pronoun, *middle, *closing, *purpose]
    return [*subject, finite, *pronoun, *time, *middle, *closing, *purpose]


def subordinate_clause(meaning: Clause) -> list[str]:
    """Verb last."""
    subject, pronoun, time, _, middle, _, last, purpose = fields(meaning)
    return [*subject, *pronoun, *time, *middle, *last, *purpose]


def question_clause(meaning: Clause) -> list[str]:
    """Verb first, or after wer or was."""
    subject, pronoun, time, finite, middle, closing, _, purpose = fields(meaning)
    if isinstance(meaning, Action) and asked(meaning.subject):
        return [*subject, finite, *pronoun, *time, *middle, *closing, *purpose]
    if isinstance(meaning, Action) and asked(meaning.object):
        return ["was", finite, *subject, *time, *middle, *closing, *purpose]
    return [finite, *subject, *pronoun, *time, *middle, *closing, *purpose]


def fields(meaning: Clause) -> Fields:
    """The fields of any clause."""
    if isinstance(meaning, Action):
        return _action(meaning)
    subject = _phrase(meaning.subject, "nom")
    tense = "past" if not isinstance(meaning, Measure | Exclamation) and meaning.tense == "past" else "present"
    finite = auxiliary("sein", tense, agreement(meaning.subject))
    if isinstance(meaning, Existence):
        finite = "gab" if tense == "past" else "gibt"
        subject, middle = ["es"], [*_place(meaning.place), *_phrase(meaning.subject, "acc")]
    elif isinstance(meaning, Identity):
        middle = _identity(meaning)
    elif isinstance(meaning, Comparison):
        row = meaning.adjective.row
        better = row["de"] + "er" if row["de_comp"] == "+" else row["de_comp"]
        middle = [better, "als", *_phrase(meaning.other, "nom")]
    elif isinstance(meaning, Measure):
        middle = [meaning.number, meaning.dimension.row["de_unit"], meaning.dimension.row["de"]]
    elif isinstance(meaning, Exclamation):
        subject, middle = ["wie", *split(meaning.adjective, "de"), *subject], []
    else:
        degree = ("nicht",) if meaning.negative else split(meaning.degree, "de") if meaning.degree is not None else ()
        middle = [*degree, *split(meaning.adjective, "de")]
    return Fields(subject, [], (), finite, middle, (), (finite,), [])


def _identity(meaning: Identity) -> list[str]:
    """The predicate noun, in its feminine form for a woman."""
    noun, adjective = meaning.object.head, meaning.object.adjective
    if meaning.subject.head.row["gender"] == "f":
        noun = _feminine(noun)
    return [*_nominal(noun, "a", False, adjective, "nom")]


@lru_cache(maxsize=1024)
def _feminine(noun: Concept) -> Concept:
    feminine = noun.row["fem"]
    return noun if feminine == "-" else Concept(noun.kind, noun.topic, {**noun.row, "de": feminine, "gender": "f"})


def agreement(phrase: Phrase) -> str:
    """Person and number that the verb agrees with: 1s, 1p, 2p, 3s or 3p."""
    if phrase.head.kind == "pronoun":
        return phrase.head.row["person"]
    return "3p" if phrase.plural or phrase.more else "3s"


def _action(meaning: Action) -> Fields:
    row = meaning.verb.row
    theme = meaning.theme
    finite, closing, last = _verb_group(meaning.verb, meaning.tense, meaning.modal, meaning.passive, agreement(theme))
    subject = [] if meaning.gap == "subject" else _phrase(theme, "nom")
    time = split(meaning.time, "de") if meaning.time is not None else ()
    adverbs: list[str] = ["gerade"] if meaning.tense == "progressive" and not meaning.negative else []
    if meaning.manner is not None:
        adverbs += split(meaning.manner, "de")
    if meaning.companion is not None:
        adverbs += ("zusammen", *_prepositional("mit", meaning.companion, "dat"))
    place = [] if meaning.place is None else _place(meaning.place)
    purpose = [] if meaning.purpose is None else _purpose(meaning.purpose)
    if meaning.passive:
        agent = [] if meaning.subject is None else _prepositional("von", meaning.subject, "dat")
        no = ["nicht"] if meaning.negative else []
        return Fields(subject, [], time, finite, [*adverbs, *agent, *no, *place], closing, last, purpose)
    target = meaning.object if meaning.gap != "object" else None
    pronoun: list[str] = []
    if target is not None and target.head.kind == "pronoun" and row["de_frame"] in ("acc", "dat"):
        if not asked(target):
            pronoun = _phrase(target, row["de_frame"])
        target = None
    middle = [*adverbs, *_with_object(row["de_frame"], target, place, meaning.negative, meaning.tense)]
    if meaning.percent:
        middle += ("um", meaning.percent.replace(".", ","), "%")
    return Fields(subject, pronoun, time, finite, middle, closing, last, purpose)


def _purpose(meaning: Action) -> list[str]:
    infinitive, *_ = meaning.verb.row["de"].split(",")
    prefix, _, base = infinitive.rpartition("_")
    verb = (f"{prefix}zu{base}",) if prefix else ("zu", base)
    return [
        ",",
        "um",
        *_with_object(meaning.verb.row["de_frame"], meaning.object, [], False, "present"),
        *verb,
        ",",
    ]


def _with_object(frame: str, target: Phrase | None, place: list[str], negative: bool, tense: str) -> list[str]:
    """Object and place around the negation: nicht follows a definite object, kein goes into an indefinite one."""
    no = ["noch", "nie"] if tense == "perfect" else ["nicht"]
    if target is None:
        return [*(no if negative else ()), *place]
    if frame in ("acc", "dat"):
        if not negative:
            return (
                [*place, *_phrase(target, frame)]
                if target.determiner in ("", "a")
                else [*_phrase(target, frame), *place]
            )
        if (
            target.determiner in ("", "a")
            and not target.cardinal
            and target.head.kind not in _PROPER
            and tense != "perfect"
        ):
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
    """The finite verb, the end of the clause, and both together as in a subordinate clause."""
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
        finite = finite_form(base, third, past, tense, person)
        return finite, (prefix,) if prefix else (), (prefix + finite,)
    return finite, closing, (*closing, finite)


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
    if phrase.cardinal:
        number = str(phrase.cardinal) if phrase.digits else numerals.german(phrase.cardinal)
        words = [number, *_nominal(head, "", True, phrase.adjective, case)]
    else:
        words = [*_nominal(head, phrase.determiner, phrase.plural, phrase.adjective, case)]
    if phrase.owner is not None:
        by_name = phrase.owner.head.kind == "name"
        words += ("von", *_phrase(phrase.owner, "dat")) if by_name else _phrase(phrase.owner, "gen")
    if phrase.relative is not None:
        words += (",", *_relative(phrase, phrase.relative), ",")
    for index, other in enumerate(phrase.more):
        words.append("und" if index == len(phrase.more) - 1 else ",")
        words += _phrase(other, case)
    return words


def _relative(phrase: Phrase, clause: Action) -> list[str]:
    case = "nom" if clause.gap == "subject" else clause.verb.row["de_frame"]
    gender = "p" if phrase.plural else _gender(phrase.head)
    pronoun = "denen" if (gender, case) == ("p", "dat") else DEFINITE[gender][CASES[case]]
    return [pronoun, *subordinate_clause(clause)]


def _gender(noun: Concept) -> str:
    return "m" if noun.row["gender"] == "w" else noun.row["gender"]


@lru_cache(maxsize=65536)
def _nominal(head: Concept, determiner: str, plural: bool, adjective: Concept | None, case: str) -> Words:
    """Determiner, adjective and noun, agreeing in gender, number and case."""
    if head.kind in _PROPER:
        return tuple(head.row["de"].split())
    gender = "p" if plural else _gender(head)
    word, declension = determiner_form(determiner, gender, case)
    words = [word] if word else []
    if adjective is not None:
        row = adjective.row
        stem = row["de"] if row["de_attr"] == "+" else row["de_attr"]
        words.append(stem.removesuffix("e") + adjective_ending(declension, gender, case))
    noun = noun_form(head.row, case, plural)
    return (*words, noun[0].upper() + noun[1:])


@lru_cache(maxsize=8192)
def split(concept: Concept, column: str) -> Words:
    """The words of one cell."""
    return tuple(concept.row[column].split())
