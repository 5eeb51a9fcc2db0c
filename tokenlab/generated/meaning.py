"""Meanings: trees drawn by a sampler and expressed in words by each language."""

from typing import Literal, NamedTuple, cast

from tokenlab.generated.concepts import Concept

Tense = Literal["past", "present", "progressive", "future", "perfect", "pluperfect"]
Relation = Literal["because", "although", "if", "when", "after", "before", "and", "but"]


class Phrase(NamedTuple):
    """A noun phrase."""

    head: Concept
    """A common noun, a name (kind "name"), a city, country or abbreviation, or a pronoun."""
    determiner: str = ""
    """The determiner: "the", "a", "this", "that", "every", the id of a possessing pronoun, or ""."""
    plural: bool = False
    cardinal: int = 0
    """A cardinal number before the noun; 0 for none."""
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
    """The agent; None in a passive without agent, and in a purpose."""
    object: Phrase | None = None
    place: Phrase | None = None
    time: Concept | None = None
    companion: Phrase | None = None
    """A person who acts together with the subject."""
    purpose: "Action | None" = None
    """The aim of the action; its own subject is left out."""
    manner: Concept | None = None
    tense: Tense = "present"
    negative: bool = False
    passive: bool = False
    disposal: bool = False
    """Whether Chinese uses 把, for an effect on the object. The other languages have no such construction."""
    modal: str = ""
    """One of "can", "must", "want", "should", "may" or ""."""
    percent: str = ""
    """The change of a measure in percent, with a decimal point."""
    gap: str = ""
    """In a relative clause: the role in it of the noun that it modifies, "subject" or "object"."""

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
    """A named person is something."""

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
    """The meaning of one document.

    kind: "statement", "question" (yes or no; who or what, if the clause has such a word) or "exclamation".
    """

    kind: str
    clauses: tuple[Clause, ...]
    """One clause, or two with a `relation`."""
    relation: Relation | None = None
    """The relation of clauses[0], the subordinate one, to clauses[1]."""
    main_first: bool = False
    """Whether the main clause comes first, in languages that allow either order."""
    opener: Concept | None = None
    time_first: bool = False
    polite: bool = True
    """Register of Japanese, constant in a paragraph."""
    frame: Action | None = None
    """The clause of saying or thinking that introduces clauses[0]."""
    quoted: bool = False
    """Whether the clause introduced by `frame` is in quotation marks."""


def asked(phrase: Phrase | None) -> str:
    """ "who" or "what" if the phrase is that question word, else ""."""
    word = "" if phrase is None else phrase.head.row.get("id", "")
    return word if word in ("who", "what") else ""
