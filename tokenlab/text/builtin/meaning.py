"""Meanings: the trees that a sampler draws and that each language puts into words."""

from typing import Literal, NamedTuple, cast

from tokenlab.text.builtin.concepts import Concept

Tense = Literal["past", "present", "progressive", "future", "perfect", "pluperfect"]
Relation = Literal["because", "although", "if", "when", "after", "before", "and", "but"]


class Phrase(NamedTuple):
    """A noun phrase: who or what a clause is about."""

    head: Concept
    """A common noun, a name (kind "name"), a city, country or abbreviation, or a pronoun."""
    determiner: str = ""
    """The determiner: "the", "a", "this", "that", "every", the id of a possessing pronoun, or ""."""
    plural: bool = False
    cardinal: int = 0
    """A cardinal number that is said; 0 says none."""
    digits: bool = False
    """Whether `cardinal` is written in Arabic digits."""
    adjective: Concept | None = None
    owner: "Phrase | None" = None
    relative: "Action | None" = None
    more: "tuple[Phrase, ...]" = ()
    """Further phrases of an enumeration: apples, bread and tea."""


class Action(NamedTuple):
    """Somebody does something."""

    verb: Concept
    subject: Phrase | None
    """The agent; None in a passive that names none, and in a purpose."""
    object: Phrase | None = None
    place: Phrase | None = None
    time: Concept | None = None
    companion: Phrase | None = None
    """Who does it together with the subject."""
    purpose: "Action | None" = None
    """What the subject wants to do by it; its own subject is left out."""
    manner: Concept | None = None
    tense: Tense = "present"
    negative: bool = False
    passive: bool = False
    disposal: bool = False
    """Chinese 把: what was done to the object. The other languages know no such difference."""
    modal: str = ""
    """One of "can", "must", "want", "should", "may" or ""."""
    percent: str = ""
    """By how much a measure changed, with a decimal point."""
    gap: str = ""
    """In a relative clause the role of the noun that it belongs to: "subject" or "object"."""

    @property
    def theme(self) -> Phrase:
        """The grammatical subject in languages with a passive: the object of a passive, else the agent."""
        return cast(Phrase, self.object if self.passive else self.subject)


class Property(NamedTuple):
    """Something is big, or very big, or not big."""

    subject: Phrase
    adjective: Concept
    degree: Concept | None = None
    tense: Tense = "present"
    negative: bool = False


class Comparison(NamedTuple):
    """Something is bigger than something else."""

    subject: Phrase
    adjective: Concept
    other: Phrase
    tense: Tense = "present"


class Exclamation(NamedTuple):
    """How big something is!"""

    subject: Phrase
    adjective: Concept


class Identity(NamedTuple):
    """A person, by name, is something."""

    subject: Phrase
    object: Phrase
    tense: Tense = "present"


class Existence(NamedTuple):
    """There is something at a place."""

    subject: Phrase
    place: Phrase
    tense: Tense = "present"


class Measure(NamedTuple):
    """Something is a number of units long, high or old."""

    subject: Phrase
    dimension: Concept
    number: str


Clause = Action | Property | Comparison | Exclamation | Identity | Existence | Measure


class Sentence(NamedTuple):
    """What one document says.

    kind: "statement", "question" (yes or no; who or what, if the clause holds one) or "exclamation".
    """

    kind: str
    clauses: tuple[Clause, ...]
    """One clause, or two with a `relation`."""
    relation: Relation | None = None
    """How clauses[0], the subordinate one, bears on clauses[1]."""
    main_first: bool = False
    """Where the language lets either clause come first, whether the main clause does."""
    opener: Concept | None = None
    time_first: bool = False
    polite: bool = True
    """Register of Japanese, the same in a paragraph."""
    frame: Action | None = None
    """Who says or thinks clauses[0]."""
    quoted: bool = False
    """Whether what `frame` introduces stands in quotation marks."""


def asked(phrase: Phrase | None) -> str:
    """ "who" or "what" if the phrase is that question word, else ""."""
    word = "" if phrase is None else phrase.head.row.get("id", "")
    return word if word in ("who", "what") else ""
