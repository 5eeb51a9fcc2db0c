"""Draws the meanings of sentences, paragraph by paragraph: trees of features that each grammar expresses in words.

A paragraph has a topic, a register and a cast of two people who recur in it. Its random numbers depend on the seed and
its number alone, so the first sentences do not depend on how many are generated.

Features, missing where they do not apply:

sentence: kind (statement, question, exclamation); clause; with a relation, second, the main clause, and main_first, for
    languages that allow either order; frame, the clause of saying or thinking that introduces clause, and quoted;
    opener; polite, the register of Japanese
clause: type; subject; tense (past, present; of actions also progressive, future, perfect); negative; and for
    action: verb, object, place, time (time_first: at the start), companion, purpose (an action without subject),
        manner, passive, modal, percent (the change of a measure), disposal (把 in Chinese); theme, the subject in
        languages with a passive; gap, the role in a relative clause of the noun that it modifies
    property: adjective, degree; comparison: adjective, other; exclamation: adjective
    identity: object, what a named person is; existence: place; measure: dimension, number
phrase: head, a concept; determiner ("the", "a", "this", "that", "every", the id of a possessing pronoun, or "");
    plural; cardinal (digits: in Arabic ones); adjective; owner; relative, an action; next, a further phrase of an
    enumeration; person (and number), with which a verb agrees
"""

import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, TypeVar

from tokenlab.generated.lexicon import Concept, Lexicon

Meaning = dict[str, Any]
_T = TypeVar("_T")

_RELATIONS = ("because", "although", "if", "when", "after", "before", "and", "and", "but", "but")
_EVENTS = {"if": ("present", "future"), "when": ("past", "past"), "after": ("past", "past"), "before": ("past", "past")}
"""Tenses of the subordinate and the main clause."""
_TENSES = ("past",) * 9 + ("present",) * 4 + ("future",) * 3 + ("progressive",) * 3 + ("perfect",) * 2
_MODALS = ("can", "can", "must", "want", "want", "should", "may")
_PRONOUNS = ("he", "she", "I", "we", "they", "you")
_COUNTED = "thing,person,animal,text,vehicle,device,plant"
_DESCRIBED = "person,place,thing,animal,area,food,idea,event,vehicle,text,art,device,cloth,org"
_ENUMERATED = frozenset(("food", "thing", "text", "cloth", "device", "vehicle", "stuff", "animal", "plant", "field"))
_ANIMATE = frozenset(("person", "name", "pronouns"))


def phrase(head: Concept, determiner: str = "", **features: Any) -> Meaning:
    """A noun phrase."""
    many = features.get("plural") or features.get("next")
    person = head["person"] if head["kind"] == "pronouns" else "3p" if many else "3s"
    return {"head": head, "determiner": determiner, "person": person, **features}


def action(verb: Concept, subject: Meaning | None, object: Meaning | None = None, **features: Any) -> Meaning:
    """Somebody does something; no subject in a passive without agent, and in a purpose."""
    theme = object if features.get("passive") else subject
    roles = {"verb": verb, "subject": subject, "object": object, "theme": theme}
    return {"type": "action", "tense": "present", **roles, **features}


def meanings(lexicon: Lexicon, seed: int) -> Iterator[Meaning]:
    """Endless sentences of `seed`."""
    for paragraph in paragraphs(lexicon, seed):
        yield from paragraph.sentences()


def paragraphs(lexicon: Lexicon, seed: int) -> Iterator["Paragraph"]:
    """Endless paragraphs of `seed`, those of `meanings`."""
    return (Paragraph(lexicon, random.Random(f"tokenlab/{seed}/{number}")) for number in count())


class Paragraph:
    """Topic, register and cast of a paragraph; draws its sentences."""

    def __init__(self, lexicon: Lexicon, source: random.Random) -> None:
        self.lexicon = lexicon
        self.uniform = source.random
        self.topic = lexicon.among("topics").draw(self.uniform())["en"]
        self.polite = self.uniform() < 0.6
        self.mentioned: dict[str, Concept] = {}
        self.cast = (self._name(), self._name())

    def sentences(self) -> Iterator[Meaning]:
        """The 3 to 9 sentences of the paragraph."""
        for _ in range(3 + int(self.uniform() * 7)):
            yield {"kind": "statement", "polite": self.polite, **self._sentence()}

    def _draw(self, group: str, classes: str = "", column: str = "kind") -> Concept:
        topic = self.topic if classes or group in ("verbs", "speech") else ""
        return self.lexicon.among(group, topic, classes, column).draw(self.uniform())

    def _of(self, choices: Sequence[_T]) -> _T:
        return choices[int(self.uniform() * len(choices))]

    def _name(self) -> Concept:
        """A Chinese, Japanese or European person: one word in Chinese, two in English and German."""
        gender = "m" if self.uniform() < 0.5 else "f"
        origin = self.uniform()
        if origin < 0.45:
            syllables = [self._draw(f"cn_given_{gender}") for _ in range(1 + int(self.uniform() * 1.7))]
            surname = self._draw("cn_surname")
            zh, ja, given = ("".join(syllable[key] for syllable in syllables) for key in ("zh", "ja", "latin"))
            zh, ja, latin = surname["zh"] + zh, surname["ja"] + ja, f"{surname['latin']} {given.capitalize()}"
        elif origin < 0.65:
            surname, first = self._draw("jp_surname"), self._draw(f"jp_given_{gender}")
            zh, ja = surname["zh"] + first["zh"], f"{surname['ja']} {first['ja']}"
            latin = f"{first['latin']} {surname['latin']}"
        else:
            first, start, end = self._draw(f"eu_given_{gender}"), self._draw("eu_start"), self._draw("eu_end")
            zh, ja, latin = (f"{first[key]}·{start[key]}{end[key]}" for key in ("zh", "ja", "latin"))
            ja, latin = ja.replace("·", "・"), latin.replace("·", " ")
        return Concept(zh=zh, ja=ja, en=latin, de=latin, gender=gender, kind="name")

    def _sentence(self) -> Meaning:
        u = self.uniform()
        time_first = self.uniform() < 0.55
        opener = self._draw("opener") if self.uniform() < 0.1 else None
        if u < 0.40:
            clause = self._clause()
            # Adverbials of frequency do not come first in a sentence.
            time = clause.get("time")
            clause["time_first"] = time_first and time is not None and time["kind"] != "frequency"
            return {"clause": clause, "opener": opener}
        if u < 0.77:
            return self._compound_sentence()
        if u < 0.88:
            tense = "past" if self.uniform() < 0.8 else "present"
            verb = self._draw("speech")
            frame = action(verb, self._core(verb["subj"]), tense=tense)
            said = self._with_pronoun(self._clause(), frame["theme"])
            return {"clause": said, "frame": frame, "quoted": self.uniform() < 0.4}
        if u < 0.93:
            return {"kind": "question", "clause": self._clause()}
        if u < 0.97:
            return {"kind": "question", "clause": self._wh_clause()}
        return {"kind": "exclamation", "clause": self._exclamation()}

    def _compound_sentence(self) -> Meaning:
        relation = self._of(_RELATIONS)
        if relation in _EVENTS:
            first, second = (self._action(tense, event=True) for tense in _EVENTS[relation])
            second = self._with_pronoun(second, first["subject"])
        else:
            tense = self._of(_TENSES)
            first, second = self._clause(tense, short=True), self._clause(tense, short=True)
        return {"clause": first, "second": second, "relation": relation, "main_first": self.uniform() < 0.4}

    def _with_pronoun(self, clause: Meaning, named: Meaning | None) -> Meaning:
        """The clause, with he or she as its subject where this is the person named before."""
        subject = clause["subject"]
        if clause["type"] != "action" or clause["passive"] or not subject or not named:
            return clause
        if subject["head"] is not named["head"] or subject["head"]["kind"] != "name":
            return clause
        pronoun = phrase(self.lexicon.pronouns["he" if subject["head"]["gender"] == "m" else "she"])
        return {**clause, "subject": pronoun, "theme": pronoun}

    def _clause(self, tense: str | None = None, short: bool = False) -> Meaning:
        u = self.uniform()
        tense = tense or self._of(_TENSES)
        if u < 0.70:
            return self._action(tense, short)
        simple = "past" if tense == "past" else "present"
        if u < 0.83:
            return self._property(simple)
        if u < 0.88:
            return self._comparison(simple)
        if u < 0.92:
            return self._identity(simple)
        if u < 0.97:
            place = self._place()
            thing = self._counted(self._noun(_COUNTED))
            return {"type": "existence", "subject": thing, "place": place, "tense": simple}
        return self._measure()

    def _action(self, tense: str, short: bool = False, event: bool = False) -> Meaning:
        """An action; an `event` is placed in time by the other clause of its sentence."""
        verb = self._draw("verbs")
        flags = verb.get("flags", "")
        direct = "obj" in verb and "zh_pre" not in verb
        if tense == "perfect" and (not direct or _any_of("sml", flags)):
            tense = "past"
        if tense == "progressive" and _any_of("smlc", flags):
            tense = "present"
        negative = not event and "c" not in flags and self.uniform() < 0.1
        modal = ""
        if not event and tense in ("present", "future") and verb["subj"].startswith("person") and self.uniform() < 0.3:
            modal, tense = self._of(_MODALS), "present"
            negative = negative and modal in ("can", "want")
        subject = self._phrase(verb["subj"], short)
        object_ = self._object(verb["obj"], short) if "obj" in verb else None
        passive = (
            object_ is not None
            and _is_transitive(verb)
            and verb["ja_p"] == "を"
            and not _any_of("smz", flags)
            and tense in ("past", "future")
            and "pronouns" not in (object_["head"]["kind"], subject["head"]["kind"])
            and self.uniform() < 0.18
        )
        settled = not negative and not modal and not passive
        willed = settled and "s" not in flags and subject["head"]["kind"] in _ANIMATE
        drawn = action(
            verb,
            None if passive and self.uniform() < 0.4 else subject,
            object_,
            place=self._place() if not _any_of("mls", flags) and self.uniform() < (0.2 if short else 0.35) else None,
            time=self._time(tense) if self.uniform() < (0.3 if short else 0.5) else None,
            companion=self._companion() if willed and self.uniform() < 0.14 else None,
            purpose=self._purpose() if willed and not short and self.uniform() < 0.13 else None,
            manner=self._draw("manner") if willed and self.uniform() < 0.14 else None,
            tense=tense,
            negative=negative,
            passive=passive,
            disposal=settled and "zh_ba" in verb and tense == "past" and _is_definite(object_),
            modal=modal,
            percent=self._percentage() if "c" in flags else "",
        )
        return {**drawn, "time": None, "purpose": None} if event else drawn

    def _companion(self) -> Meaning:
        if self.uniform() < 0.5:
            return phrase(self._name())
        return phrase(self._draw("nouns", "person"), self._of(_PRONOUNS))

    def _purpose(self) -> Meaning:
        """An intended action of a person, with a direct object."""
        verb = self._draw("verbs", "person", "subj")
        while "obj" not in verb or "zh_pre" in verb or _any_of("sm", verb.get("flags", "")):
            verb = self._draw("verbs", "person", "subj")
        return action(verb, None, self._determined(self._noun(verb["obj"])))

    def _percentage(self) -> str:
        whole, tenths = int(self.uniform() ** 2 * 40) + 1, int(self.uniform() * 10)
        return f"{whole}.{tenths}" if tenths else f"{whole}"

    def _property(self, tense: str) -> Meaning:
        subject = self._phrase(_DESCRIBED, short=True)
        adjective = self._adjective(subject["head"])
        if adjective is None:
            return self._action(tense)
        gradable = "de_comp" in adjective
        negative = gradable and self.uniform() < 0.15
        degree = self._draw("degree") if gradable and not negative and self.uniform() < 0.7 else None
        described = {"type": "property", "subject": subject, "adjective": adjective, "degree": degree}
        return {**described, "tense": tense, "negative": negative}

    def _comparison(self, tense: str) -> Meaning:
        subject = self._phrase(_DESCRIBED, short=True)
        head = subject["head"]
        adjective = self._adjective(head)
        if adjective is None or "de_comp" not in adjective:
            return self._property(tense)
        other = self._noun("person" if head["kind"] in _ANIMATE else head["kind"])
        if other is head:
            return self._property(tense)
        compared = {"type": "comparison", "subject": subject, "adjective": adjective, "tense": tense}
        return {**compared, "other": phrase(other, "this")}

    def _identity(self, tense: str) -> Meaning:
        name = self._of(self.cast) if self.uniform() < 0.7 else self._name()
        noun = self._draw("nouns", "person")
        while noun.get("fem") == noun["de"]:
            # Skip nouns such as mother, man or girl, which fit only one gender.
            noun = self._draw("nouns", "person")
        adjective = self._adjective(noun) if self.uniform() < 0.6 else None
        role = phrase(noun, "a", adjective=adjective)
        return {"type": "identity", "subject": phrase(name), "object": role, "tense": tense}

    def _measure(self) -> Meaning:
        subject = phrase(self._noun("place,vehicle,animal,plant,person,area"), "this")
        dimension = self._draw("dimensions", subject["head"]["kind"], "for")
        low, high = int(dimension["low"]), int(dimension["high"])
        number = low + int((high - low) * self.uniform() ** 2)
        return {"type": "measure", "subject": subject, "dimension": dimension, "number": str(number)}

    def _exclamation(self) -> Meaning:
        subject = phrase(self._noun(_DESCRIBED), "this")
        adjective = self._adjective(subject["head"])
        while adjective is None or "de_comp" not in adjective:
            adjective = self._adjective(subject["head"])
        return {"type": "exclamation", "subject": subject, "adjective": adjective}

    def _wh_clause(self) -> Meaning:
        """Who did it, or what somebody did it to: an action whose subject or direct object is asked for."""
        drawn = self._action("past" if self.uniform() < 0.6 else "present", short=True)
        verb, subject, object_ = drawn["verb"], drawn["subject"], drawn["object"]
        if _is_transitive(verb) and subject and "person" not in verb["obj"] and self.uniform() < 0.5:
            object_ = phrase(self.lexicon.pronouns["what"])
        else:
            personal = "person" in verb["subj"] or "org" in verb["subj"]
            subject = phrase(self.lexicon.pronouns["who" if personal else "what"])
        return action(verb, subject, object_, place=drawn["place"], time=drawn["time"], tense=drawn["tense"])

    def _object(self, classes: str, short: bool) -> Meaning:
        drawn = self._phrase(classes, short)
        head = drawn["head"]
        if short or head["kind"] not in _ENUMERATED or self.uniform() > 0.16:
            return drawn
        heads = [head, *(self._noun(head["kind"]) for _ in range(1 + int(self.uniform() * 3)))]
        if len(set(heads)) < len(heads):
            return drawn
        listed: Meaning | None = None
        for noun in reversed(heads):
            listed = phrase(noun, plural=_is_countable(noun), next=listed)
        return listed or drawn

    def _phrase(self, classes: str, short: bool = False) -> Meaning:
        """A noun phrase with any of its optional parts."""
        drawn = self._core(classes)
        head = drawn["head"]
        counted = "cardinal" in drawn
        if head["kind"] in ("name", "pronouns", "city", "country", "abbr") or (drawn.get("plural") and not counted):
            return drawn
        u = self.uniform()
        if u < 0.42:
            drawn["adjective"] = self._adjective(head)
        elif u < 0.52 and drawn["determiner"] == "the" and head["kind"] not in ("person", "area", "weather", "org"):
            known = self.uniform() < 0.4
            drawn["owner"] = phrase(self._of(self.cast)) if known else phrase(self._draw("nouns", "person,org"), "the")
        if not short and self.uniform() < 0.14 and "owner" not in drawn and not counted:
            drawn["relative"] = self._relative(head)
        return drawn

    def _relative(self, head: Concept) -> Meaning | None:
        """A clause in which a noun is the subject or the object."""
        tense = "past" if self.uniform() < 0.7 else "present"
        as_subject = self.lexicon.among("verbs", self.topic, head["kind"], "subj")
        as_object = self.lexicon.among("verbs", self.topic, head["kind"], "obj")
        if as_subject.items and (not as_object.items or self.uniform() < 0.6):
            verb = as_subject.draw(self.uniform())
            if "c" in verb.get("flags", ""):
                return None
            object_ = self._core(verb["obj"]) if "obj" in verb else None
            return action(verb, phrase(head), object_, tense=tense, gap="subject")
        if not as_object.items:
            return None
        verb = as_object.draw(self.uniform())
        if "de_prep" in verb or "zh_pre" in verb:
            return None
        return action(verb, self._core(verb["subj"]), phrase(head), tense=tense, gap="object")

    def _core(self, classes: str) -> Meaning:
        """A noun phrase without adjectives and clauses: a name, a pronoun, or a noun with its determiner."""
        u = self.uniform()
        if classes.startswith("person") or ",person" in classes:
            if u < 0.2:
                return phrase(self.cast[0 if u < 0.12 else 1])
            if u < 0.3:
                return phrase(self.lexicon.pronouns[_PRONOUNS[int(self.uniform() ** 2 * len(_PRONOUNS))]])
            if u < 0.34:
                return phrase(self._name())
        elif classes.startswith("org") and u < 0.06:
            return phrase(self._draw("abbr"))
        geography = "city" if "city" in classes else "country" if "country" in classes else ""
        if geography and ("," not in classes or u < 0.5 or classes == "city,country"):
            return phrase(self._draw("country" if "country" in classes and u < 0.3 else geography))
        return self._determined(self._noun(classes))

    def _determined(self, noun: Concept) -> Meaning:
        """A common noun with a suitable determiner or number."""
        if noun["kind"] == "field" or (noun["kind"] == "illness" and "plural" not in noun):
            return phrase(noun)
        u = self.uniform()
        if u < 0.07:
            return phrase(noun, "this" if u < 0.05 else "that")
        if u < 0.15:
            return phrase(noun, self._of(_PRONOUNS))
        if not _is_countable(noun):
            return phrase(noun, "the" if u < 0.5 else "")
        if u < 0.26 and noun["kind"] not in ("idea", "measure", "field", "illness"):
            return self._counted(noun)
        if u < 0.81:
            return phrase(noun, "the" if u < 0.56 else "a" if u < 0.78 else "every")
        return phrase(noun, "the" if u < 0.88 else "", plural=True)

    def _counted(self, noun: Concept) -> Meaning:
        if not _is_countable(noun):
            return phrase(noun)
        if self.uniform() < 0.75:
            return phrase(noun, plural=True, cardinal=str(2 + int(self.uniform() ** 2 * 9)))
        cardinal = str(13 + int(self.uniform() ** 4 * 4000))
        return phrase(noun, plural=True, cardinal=cardinal, digits=self.uniform() < 0.6)

    def _noun(self, classes: str) -> Concept:
        """A common noun: the last one of these classes again, a compound, or a new one."""
        u = self.uniform()
        if u < 0.15 and classes in self.mentioned:
            return self.mentioned[classes]
        if u > 0.88 and self.lexicon.among("heads", self.topic, classes).items:
            head = self._draw("heads", classes)
            noun = self.lexicon.compound(self._draw("linked", head["mods"]), head)
        else:
            noun = self._draw("nouns", classes)
        self.mentioned[classes] = noun
        return noun

    def _adjective(self, noun: Concept) -> Concept | None:
        kind = "person" if noun["kind"] in _ANIMATE else noun["kind"]
        found = self.lexicon.among("adjectives", self.topic, kind, "for")
        return found.draw(self.uniform()) if found.items else None

    def _place(self) -> Meaning:
        if self.uniform() < 0.25:
            return phrase(self._draw("city" if self.uniform() < 0.75 else "country"))
        return phrase(self._noun("place" if self.uniform() < 0.75 else "area"), "the")

    def _time(self, tense: str) -> Concept | None:
        if tense == "past":
            return self._draw("date" if self.uniform() < 0.35 else "past")
        if tense == "present":
            return self._draw("frequency" if self.uniform() < 0.2 else "present")
        return self._draw("future") if tense == "future" else None


def _any_of(letters: str, flags: str) -> bool:
    return bool(flags) and not set(letters).isdisjoint(flags)


def _is_transitive(verb: Concept) -> bool:
    return verb.get("de_case") == "acc" and "de_prep" not in verb and "en_prep" not in verb


def _is_countable(noun: Concept) -> bool:
    return "plural" in noun and "de_plural" in noun


def _is_definite(drawn: Meaning | None) -> bool:
    return drawn is not None and drawn["determiner"] not in ("", "a", "every") and "cardinal" not in drawn
