"""Meanings: the trees that a sampler draws and that each language puts into words."""

from typing import Literal, NamedTuple

from tokenlab.text.builtin.concepts import Concept

Tense = Literal["past", "present", "progressive", "future", "perfect"]
Relation = Literal["because", "although", "if", "when", "after", "before", "and", "but"]


class Phrase(NamedTuple):
    """A noun phrase: who or what a clause is about."""

    head: Concept
    """A common noun, a name (kind "name"), a city, country or abbreviation, or a pronoun."""
    determiner: str = ""
    """The determiner: "the", "a", "this", "that", "every", the id of a pronoun that possesses it, or "" for a bare noun."""
    plural: bool = False
    count: int = 0
    """A cardinal number that is said; 0 says none."""
    digits: bool = False
    """Whether `count` is written in Arabic digits."""
    adjective: Concept | None = None
    owner: "Phrase | None" = None
    relative: "Clause | None" = None
    more: "tuple[Phrase, ...]" = ()
    """Further phrases of an enumeration: apples, bread and tea."""


class Amount(NamedTuple):
    """A measured quantity. `number` has a decimal point; `percent` or else the unit of the dimension."""

    number: str
    percent: bool = False


class Clause(NamedTuple):
    """One predication.

    kind: "action" (predicate is a verb), "property" and "comparison" (an adjective), "identity" (subject is an
    `object`), "existence" (`subject` is found at `place`), "measure" (predicate is a dimension).
    """

    kind: str
    subject: Phrase | None
    """The agent; None in a passive that names none."""
    predicate: Concept | None = None
    object: Phrase | None = None
    place: Phrase | None = None
    time: Concept | None = None
    manner: Concept | None = None
    """How an action is done, or the degree of a property."""
    tense: Tense = "present"
    negative: bool = False
    passive: bool = False
    disposal: bool = False
    """Chinese 把: what was done to the object. The other languages know no such difference."""
    modal: str = ""
    """One of "can", "must", "want", "should", "may" or ""."""
    amount: Amount | None = None
    gap: str = ""
    """In a relative clause the role of the noun that it belongs to: "subject" or "object"."""


class Sentence(NamedTuple):
    """What one document says.

    kind: "statement", "question" (yes or no), "wh" (`clauses[0]` holds who or what), "exclamation", "quotation" and
    "report" (`speaker` said `clauses[0]`).
    """

    kind: str
    clauses: tuple[Clause, ...]
    relation: Relation | None = None
    """How clauses[0], the subordinate one, bears on clauses[1]."""
    main_first: bool = False
    """Where the language lets either clause come first, whether the main clause does."""
    opener: Concept | None = None
    time_first: bool = False
    polite: bool = True
    """Register of Japanese, the same in a paragraph."""
    speaker: Phrase | None = None
    speech: Concept | None = None
