"""Draws meanings, paragraph by paragraph.

A paragraph has a topic, a register and a cast of two people who recur in it. Its random numbers depend on the seed and
its number alone, so the first sentences do not depend on how many are generated.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from tokenlab.generated.concepts import TOPICS, Concept, Lexicon, zipf_mandelbrot
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
    Tense,
)
from tokenlab.generated.names import compose_name

_TOPIC_WEIGHTS = tuple(accumulate(zipf_mandelbrot(rank) for rank in range(len(TOPICS))))
_RELATIONS: tuple[Relation, ...] = ("because", "although", "if", "when", "after", "before", "and", "and", "but", "but")
_CONDITIONED: dict[str, tuple[Tense, Tense]] = {"if": ("present", "future"), "when": ("past", "past")}
"""Tenses of the subordinate and the main clause."""
_TENSES: tuple[Tense, ...] = (
    ("past",) * 9 + ("present",) * 4 + ("future",) * 3 + ("progressive",) * 3 + ("perfect",) * 2
)
_MODALS = ("can", "can", "must", "want", "want", "should", "may")
_PRONOUNS = ("he", "she", "I", "we", "they", "you")
_COUNTED = "thing,person,animal,text,vehicle,device,plant"
_DESCRIBED = "person,place,thing,animal,area,food,idea,event,vehicle,text,art,device,cloth,org"
_ENUMERATED = frozenset(("food", "thing", "text", "cloth", "device", "vehicle", "stuff", "animal", "plant", "field"))
_ANIMATE = frozenset(("person", "name", "pronoun"))


def meanings(lexicon: Lexicon, seed: int) -> Iterator[Sentence]:
    """Endless sentences of `seed`."""
    paragraph = 0
    while True:
        yield from Paragraph(lexicon, random.Random(f"tokenlab/{seed}/{paragraph}")).sentences()
        paragraph += 1


class Paragraph:
    """Topic, register and cast of a paragraph; draws its sentences."""

    def __init__(self, lexicon: Lexicon, source: random.Random) -> None:
        self.lexicon = lexicon
        self.uniform = source.random
        self.topic = TOPICS[bisect_right(_TOPIC_WEIGHTS, self.uniform() * _TOPIC_WEIGHTS[-1])]
        self.polite = self.uniform() < 0.6
        self.mentioned: dict[str, Concept] = {}
        self.cast = (compose_name(self.lexicon, self.uniform), compose_name(self.lexicon, self.uniform))

    def sentences(self) -> Iterator[Sentence]:
        """The 3 to 9 sentences of the paragraph."""
        for _ in range(3 + int(self.uniform() * 7)):
            yield self._sentence()

    def _sentence(self) -> Sentence:
        u, polite = self.uniform(), self.polite
        time_first = self.uniform() < 0.55
        opener = self._role("opener") if self.uniform() < 0.1 else None
        if u < 0.40:
            clause = self._clause()
            # Adverbials of frequency do not come first in a sentence.
            if isinstance(clause, Action) and clause.time is not None and clause.time.kind == "frequency":
                time_first = False
            return Sentence("statement", (clause,), opener=opener, time_first=time_first, polite=polite)
        if u < 0.77:
            return self._compound_sentence()
        if u < 0.88:
            tense: Tense = "past" if self.uniform() < 0.8 else "present"
            verb = self.lexicon.speech_verbs(self.topic).draw(self.uniform())
            frame = Action(verb, self._core(verb.row["subj"]), tense=tense)
            said = self._clause()
            if isinstance(said, Action) and said.subject and said.subject.head is frame.theme.head and not said.passive:
                said = said._replace(subject=self._pronoun_for(said.subject))
            return Sentence("statement", (said,), frame=frame, quoted=self.uniform() < 0.4, polite=polite)
        if u < 0.93:
            return Sentence("question", (self._clause(),), polite=polite)
        if u < 0.97:
            return Sentence("question", (self._wh_clause(),), polite=polite)
        return Sentence("exclamation", (self._exclamation(),), polite=polite)

    def _compound_sentence(self) -> Sentence:
        relation = _RELATIONS[int(self.uniform() * len(_RELATIONS))]
        if relation in ("after", "before"):
            first, second = self._event("past"), self._event("past")
        elif relation in ("if", "when"):
            subordinate, main = _CONDITIONED[relation]
            first, second = self._event(subordinate), self._event(main)
        else:
            tense = self._tense()
            clauses = (self._clause(tense, short=True), self._clause(tense, short=True))
            return Sentence("statement", clauses, relation, main_first=self.uniform() < 0.4, polite=self.polite)
        if first.subject and second.subject and first.subject.head is second.subject.head and not second.passive:
            second = second._replace(subject=self._pronoun_for(second.subject))
        return Sentence("statement", (first, second), relation, main_first=self.uniform() < 0.4, polite=self.polite)

    def _pronoun_for(self, phrase: Phrase) -> Phrase:
        """He or she for a person with a name, else the phrase."""
        gender = phrase.head.row.get("gender") if phrase.head.kind == "name" else None
        return Phrase(self.lexicon.pronouns["he" if gender == "m" else "she"]) if gender else phrase

    def _tense(self) -> Tense:
        return _TENSES[int(self.uniform() * len(_TENSES))]

    def _clause(self, tense: Tense | None = None, short: bool = False) -> Clause:
        u = self.uniform()
        tense = tense or self._tense()
        if u < 0.70:
            return self._action(tense, short)
        simple: Tense = "past" if tense == "past" else "present"
        if u < 0.83:
            return self._property(simple)
        if u < 0.88:
            return self._comparison(simple)
        if u < 0.92:
            return self._identity(simple)
        if u < 0.97:
            place = self._place()
            thing = self._counted(self._noun(_COUNTED))
            return Existence(thing, place, simple)
        return self._measure()

    def _event(self, tense: Tense) -> Action:
        """An action placed in time by the other clause of its sentence."""
        return self._action(tense, event=True)._replace(time=None, purpose=None)

    def _action(self, tense: Tense, short: bool = False, event: bool = False) -> Action:
        verb = self.lexicon.verbs_for("subj", "*", self.topic).draw(self.uniform())
        row = verb.row
        flags = row["flags"]
        if tense == "perfect" and (row["obj"] == "-" or row["zh_pre"] != "-" or set("sml") & set(flags)):
            tense = "past"
        if tense == "progressive" and set("smlc") & set(flags):
            tense = "present"
        negative = not event and "c" not in flags and self.uniform() < 0.1
        modal = ""
        if not event and tense in ("present", "future") and row["subj"].startswith("person") and self.uniform() < 0.3:
            modal, tense = _MODALS[int(self.uniform() * len(_MODALS))], "present"
            negative = negative and modal in ("can", "want")
        subject = self._phrase(row["subj"], short)
        object_ = None if row["obj"] == "-" else self._object(row["obj"], short)
        passive = (
            row["de_frame"] == "acc"
            and row["en_prep"] == "-"
            and row["ja_p"] == "を"
            and not set("smz") & set(flags)
            and tense in ("past", "future")
            and object_ is not None
            and object_.head.kind != "pronoun"
            and subject.head.kind != "pronoun"
            and self.uniform() < 0.18
        )
        settled = not negative and not modal and not passive
        willed = settled and "s" not in flags and subject.head.kind in _ANIMATE
        bare = set("mls") & set(flags)
        return Action(
            verb,
            None if passive and self.uniform() < 0.4 else subject,
            object_,
            place=self._place() if not bare and self.uniform() < (0.2 if short else 0.35) else None,
            time=self._time(tense) if self.uniform() < (0.3 if short else 0.5) else None,
            companion=self._companion() if willed and self.uniform() < 0.14 else None,
            purpose=self._purpose() if willed and not short and self.uniform() < 0.13 else None,
            manner=self._role("manner") if willed and self.uniform() < 0.14 else None,
            tense=tense,
            negative=negative,
            passive=passive,
            disposal=settled and row["zh_ba"] != "-" and tense == "past" and _is_definite(object_),
            modal=modal,
            percent=self._percentage() if "c" in flags else "",
        )

    def _companion(self) -> Phrase:
        if self.uniform() < 0.5:
            return Phrase(compose_name(self.lexicon, self.uniform))
        noun = self.lexicon.nouns_of("person", self.topic).draw(self.uniform())
        return Phrase(noun, _PRONOUNS[int(self.uniform() * len(_PRONOUNS))])

    def _purpose(self) -> Action:
        """An intended action of a person, with a direct object."""
        verb = self.lexicon.verbs_for("subj", "person", self.topic).draw(self.uniform())
        while verb.row["obj"] == "-" or verb.row["zh_pre"] != "-" or set("sm") & set(verb.row["flags"]):
            verb = self.lexicon.verbs_for("subj", "person", self.topic).draw(self.uniform())
        object_ = self._determined(self._noun(verb.row["obj"]))
        return Action(verb, None, object_)

    def _percentage(self) -> str:
        whole, tenths = int(self.uniform() ** 2 * 40) + 1, int(self.uniform() * 10)
        return f"{whole}.{tenths}" if tenths else f"{whole}"

    def _property(self, tense: Tense) -> Clause:
        subject = self._phrase(_DESCRIBED, short=True)
        adjective = self._adjective(subject.head)
        if adjective is None:
            return self._action(tense)
        gradable = adjective.row["de_comp"] != "-"
        negative = gradable and self.uniform() < 0.15
        degree = self._role("degree") if gradable and not negative and self.uniform() < 0.7 else None
        return Property(subject, adjective, degree, tense, negative)

    def _comparison(self, tense: Tense) -> Clause:
        subject = self._phrase(_DESCRIBED, short=True)
        adjective = self._adjective(subject.head)
        if adjective is None or adjective.row["de_comp"] == "-":
            return self._property(tense)
        other = self._noun("person" if subject.head.kind in _ANIMATE else subject.head.kind)
        if other is subject.head:
            return self._property(tense)
        return Comparison(subject, adjective, Phrase(other, "this"), tense)

    def _identity(self, tense: Tense) -> Clause:
        name = self.cast[int(self.uniform() * 2)] if self.uniform() < 0.7 else compose_name(self.lexicon, self.uniform)
        people = self.lexicon.nouns_of("person", self.topic)
        noun = people.draw(self.uniform())
        while noun.row["fem"] == noun.row["de"]:
            # Skip nouns such as mother, man or girl, which fit only one gender.
            noun = people.draw(self.uniform())
        adjective = self._adjective(noun) if self.uniform() < 0.6 else None
        return Identity(Phrase(name), Phrase(noun, "a", adjective=adjective), tense)

    def _measure(self) -> Clause:
        subject = Phrase(self._noun("place,vehicle,animal,plant,person,area"), "this")
        dimensions = self.lexicon.dimensions_for(subject.head.kind)
        dimension = dimensions.draw(self.uniform())
        low, high = int(dimension.row["low"]), int(dimension.row["high"])
        number = low + int((high - low) * self.uniform() ** 2)
        return Measure(subject, dimension, str(number))

    def _exclamation(self) -> Clause:
        subject = Phrase(self._noun(_DESCRIBED), "this")
        adjective = self._adjective(subject.head)
        while adjective is None or adjective.row["de_comp"] == "-":
            adjective = self._adjective(subject.head)
        return Exclamation(subject, adjective)

    def _wh_clause(self) -> Clause:
        """Who did it, or what somebody did it to: an action whose subject or direct object is asked for."""
        tense: Tense = "past" if self.uniform() < 0.6 else "present"
        action = self._action(tense, short=True)
        action = Action(action.verb, action.subject, action.object, action.place, action.time, tense=action.tense)
        row = action.verb.row
        direct = row["de_frame"] == "acc" and row["en_prep"] == "-"
        if direct and action.subject and "person" not in row["obj"] and self.uniform() < 0.5:
            return action._replace(object=Phrase(self.lexicon.pronouns["what"]))
        kind = "who" if "person" in row["subj"] or "org" in row["subj"] else "what"
        return action._replace(subject=Phrase(self.lexicon.pronouns[kind]))

    def _object(self, classes: str, short: bool) -> Phrase:
        phrase = self._phrase(classes, short)
        if short or phrase.head.kind not in _ENUMERATED or self.uniform() > 0.16:
            return phrase
        more = tuple(self._bare(self._noun(phrase.head.kind)) for _ in range(1 + int(self.uniform() * 3)))
        heads = (phrase.head, *(other.head for other in more))
        return (
            self._bare(phrase.head)._replace(more=more) if len({id(head) for head in heads}) == len(heads) else phrase
        )

    def _bare(self, noun: Concept) -> Phrase:
        return Phrase(noun, plural=noun.row["plural"] != "-" and noun.row["de_plural"] != "-")

    def _phrase(self, classes: str, short: bool = False) -> Phrase:
        """A noun phrase with any of its optional parts."""
        phrase = self._core(classes)
        head = phrase.head
        if head.kind in ("name", "pronoun", "city", "country", "abbr") or (phrase.plural and phrase.cardinal == 0):
            return phrase
        u = self.uniform()
        if u < 0.42:
            phrase = phrase._replace(adjective=self._adjective(head))
        elif u < 0.52 and phrase.determiner == "the" and head.kind not in ("person", "area", "weather", "org"):
            phrase = phrase._replace(owner=self._owner())
        if not short and self.uniform() < 0.14 and phrase.owner is None and phrase.cardinal == 0:
            phrase = phrase._replace(relative=self._relative(phrase))
        return phrase

    def _owner(self) -> Phrase:
        if self.uniform() < 0.4:
            return Phrase(self.cast[int(self.uniform() * 2)])
        return Phrase(self.lexicon.nouns_of("person,org", self.topic).draw(self.uniform()), "the")

    def _relative(self, phrase: Phrase) -> Action | None:
        """A clause in which `phrase` is the subject or the object."""
        kind = phrase.head.kind
        tense: Tense = "past" if self.uniform() < 0.7 else "present"
        as_subject = self.lexicon.verbs_for("subj", kind, self.topic)
        as_object = self.lexicon.verbs_for("obj", kind, self.topic)
        if as_subject.items and (not as_object.items or self.uniform() < 0.6):
            verb = as_subject.draw(self.uniform())
            if "c" in verb.row["flags"]:
                return None
            object_ = None if verb.row["obj"] == "-" else self._core(verb.row["obj"])
            return Action(verb, phrase, object_, tense=tense, gap="subject")
        if not as_object.items:
            return None
        verb = as_object.draw(self.uniform())
        if verb.row["de_frame"] not in ("acc", "dat") or verb.row["zh_pre"] != "-":
            return None
        return Action(verb, self._core(verb.row["subj"]), phrase, tense=tense, gap="object")

    def _core(self, classes: str) -> Phrase:
        """A noun phrase without adjectives and clauses: a name, a pronoun, or a noun with its determiner."""
        u = self.uniform()
        if classes.startswith("person") or ",person" in classes:
            if u < 0.2:
                return Phrase(self.cast[0 if u < 0.12 else 1])
            if u < 0.3:
                return Phrase(self.lexicon.pronouns[_PRONOUNS[int(self.uniform() ** 2 * len(_PRONOUNS))]])
            if u < 0.34:
                return Phrase(compose_name(self.lexicon, self.uniform))
        elif classes.startswith("org") and u < 0.06:
            return Phrase(self._role("abbr"))
        geography = "city" if "city" in classes else "country" if "country" in classes else ""
        if geography and ("," not in classes or u < 0.5 or classes == "city,country"):
            country = "country" in classes and u < 0.3
            return Phrase(self._role("country" if country else geography))
        return self._determined(self._noun(classes))

    def _determined(self, noun: Concept) -> Phrase:
        """A common noun with a suitable determiner or number."""
        if noun.kind == "field" or (noun.kind == "illness" and noun.row["plural"] == "-"):
            return Phrase(noun)
        u = self.uniform()
        if u < 0.07:
            return Phrase(noun, "this" if u < 0.05 else "that")
        if u < 0.15:
            return Phrase(noun, _PRONOUNS[int(self.uniform() * len(_PRONOUNS))])
        if noun.row["plural"] == "-" or noun.row["de_plural"] == "-":
            return Phrase(noun, "the" if u < 0.5 else "")
        if u < 0.26 and noun.kind not in ("idea", "measure", "field", "illness"):
            return self._counted(noun)
        if u < 0.56:
            return Phrase(noun, "the")
        if u < 0.78:
            return Phrase(noun, "a")
        if u < 0.81:
            return Phrase(noun, "every")
        return Phrase(noun, "the" if u < 0.88 else "", plural=True)

    def _counted(self, noun: Concept) -> Phrase:
        if noun.row["plural"] == "-" or noun.row["de_plural"] == "-":
            return Phrase(noun)
        u = self.uniform()
        if u < 0.75:
            return Phrase(noun, plural=True, cardinal=2 + int(self.uniform() ** 2 * 9))
        count = 13 + int(self.uniform() ** 4 * 4000)
        return Phrase(noun, plural=True, cardinal=count, digits=self.uniform() < 0.6)

    def _noun(self, classes: str) -> Concept:
        """A common noun: the last one of these classes again, a compound, or a new one."""
        u = self.uniform()
        if u < 0.15 and classes in self.mentioned:
            return self.mentioned[classes]
        heads = self.lexicon.compound_heads(classes, self.topic) if u > 0.88 else None
        if heads is not None and heads.items:
            head = heads.draw(self.uniform())
            noun = self.lexicon.compound(self.lexicon.modifiers(head, self.topic).draw(self.uniform()), head)
        else:
            noun = self.lexicon.nouns_of(classes, self.topic).draw(self.uniform())
        self.mentioned[classes] = noun
        return noun

    def _adjective(self, noun: Concept) -> Concept | None:
        kind = "person" if noun.kind in _ANIMATE else noun.kind
        adjectives = self.lexicon.adjectives_for(kind, self.topic)
        return adjectives.draw(self.uniform()) if adjectives.items else None

    def _place(self) -> Phrase:
        if self.uniform() < 0.25:
            return Phrase(self._role("city" if self.uniform() < 0.75 else "country"))
        return Phrase(self._noun("place" if self.uniform() < 0.75 else "area"), "the")

    def _time(self, tense: Tense) -> Concept | None:
        if tense == "past":
            return self._role("date" if self.uniform() < 0.35 else "past")
        if tense == "present":
            return self._role("frequency" if self.uniform() < 0.2 else "present")
        if tense == "future":
            return self._role("future")
        return None

    def _role(self, role: str) -> Concept:
        return self.lexicon.roles[role].draw(self.uniform())


def _is_definite(phrase: Phrase | None) -> bool:
    return phrase is not None and phrase.determiner not in ("", "a", "every") and phrase.cardinal == 0
