"""Japanese.

Words are segmented as by morphological analysers with the IPA dictionary: particles and auxiliaries are words
(読み/まし/た, 読ん/で/い/ます), as is する after a verbal noun. Clauses end in polite or plain forms with the register
of the sentence; relative and most subordinate clauses are plain.
"""

from functools import lru_cache
from typing import cast

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

# Stems of verbs in -u by their last kana: before ない, before ます, before た, た, て, before ば.
_GODAN = {
    "う": ("わ", "い", "っ", "た", "て", "え"),
    "く": ("か", "き", "い", "た", "て", "け"),
    "ぐ": ("が", "ぎ", "い", "だ", "で", "げ"),
    "す": ("さ", "し", "し", "た", "て", "せ"),
    "つ": ("た", "ち", "っ", "た", "て", "て"),
    "ぬ": ("な", "に", "ん", "だ", "で", "ね"),
    "ぶ": ("ば", "び", "ん", "だ", "で", "べ"),
    "む": ("ま", "み", "ん", "だ", "で", "め"),
    "る": ("ら", "り", "っ", "た", "て", "れ"),
}
_JOINTS = {
    "because": ("ので", "、"),
    "although": ("けれども", "、"),
    "if": ("ら", "、"),
    "when": ("とき", "、"),
    "after": ("あと", "、"),
    "before": ("前", "に", "、"),
    "and": ("し", "、"),
    "but": ("が", "、"),
}


def conjugate(verb: Words, group: str, form: str) -> Words:
    """Morphemes of a verb in the dictionary form.

    Args:
        verb: the words of the dictionary form, such as ("研究", "する").
        group: "1" (食べる), "5" (書く) or "s" (する).
        form: "plain", "past", "negative", "negative past", the same after "polite ", "te", "stem", "ba" or "passive"
            (itself a verb of group "1").
    """
    *head, last = verb
    dictionary: Words = verb
    past, te = "た", "て"
    if group == "s":
        body = last[:-2]
        negative, stem, euphonic, ba, passive = (
            body + "し",
            body + "し",
            body + "し",
            body + "すれ",
            (body + "さ", "れる"),
        )
    elif group == "1":
        body = last[:-1]
        negative, stem, euphonic, ba, passive = body, body, body, body + "れ", (body, "られる")
    else:
        body = last[:-1]
        a, i, onbin, past, te, e = _GODAN[last[-1]]
        # 行く is the only verb in く with っ instead of い.
        onbin = "っ" if last == "行く" else onbin
        negative, stem, euphonic, ba, passive = body + a, body + i, body + onbin, body + e, (body + a, "れる")
    endings: dict[str, Words] = {
        "plain": (),
        "past": (euphonic, past),
        "negative": (negative, "ない"),
        "negative past": (negative, "なかっ", "た"),
        "polite plain": (stem, "ます"),
        "polite past": (stem, "まし", "た"),
        "polite negative": (stem, "ませ", "ん"),
        "polite negative past": (stem, "ませ", "ん", "でし", "た"),
        "te": (euphonic, te),
        "stem": (stem,),
        "ba": (ba, "ば"),
        "passive": passive,
    }
    return dictionary if form == "plain" else (*head, *endings[form])


def describe(adjective: Words, group: str, form: str) -> Words:
    """Morphemes of an adjective as a predicate.

    Args:
        adjective: the words of its dictionary form.
        group: "i" (高い), or "na" and "no" (有名), which take the copula.
        form: as in `conjugate`, up to "polite negative past".
    """
    polite, form = form.startswith("polite "), form.removeprefix("polite ")
    if group == "i":
        *head, last = adjective
        # 良い has the older stem よ only in kana; written with its character it is regular.
        stem = last[:-1]
        endings: dict[str, Words] = {
            "plain": (last,),
            "past": (stem + "かっ", "た"),
            "negative": (stem + "く", "ない"),
            "negative past": (stem + "く", "なかっ", "た"),
        }
        return (*head, *endings[form], *(("です",) if polite else ()))
    copula: dict[str, Words] = {
        "plain": ("です",) if polite else ("だ",),
        "past": ("でし", "た") if polite else ("だっ", "た"),
        "negative": ("で", "は", "あり", "ませ", "ん") if polite else ("で", "は", "ない"),
        "negative past": ("で", "は", "あり", "ませ", "ん", "でし", "た") if polite else ("で", "は", "なかっ", "た"),
    }
    return (*adjective, *copula[form])


def realise(sentence: Sentence) -> list[str]:
    """The words of a sentence."""
    style = "polite " if sentence.polite else ""
    words: list[str] = []
    if sentence.opener is not None:
        words += (*split(sentence.opener, "ja"), "、")
    if sentence.frame is not None:
        return words + _speech(sentence, sentence.frame, style)
    if sentence.relation is not None:
        return words + _joined(sentence, style)
    main = sentence.clauses[0]
    words += clause(main, style, "は", sentence.time_first)
    if sentence.kind == "exclamation":
        return [*words, "！"]
    if sentence.kind == "statement":
        return [*words, "。"]
    if not sentence.polite and _ends_in_copula(main):
        words.pop()
    return [*words, "か", "。" if sentence.polite else "？"]


def _speech(sentence: Sentence, frame: Action, style: str) -> list[str]:
    said = sentence.clauses[0]
    words = [*_phrase(frame.theme), "は"]
    if sentence.quoted:
        words += ("「", *clause(said, "polite ", "は"), "。", "」")
    else:
        words += clause(said, "", "が" if isinstance(said, Action) else "は")
    form = style + ("past" if frame.tense == "past" else "plain")
    return [*words, "と", *conjugate(split(frame.verb, "ja"), frame.verb.row["ja_class"], form), "。"]


def _joined(sentence: Sentence, style: str) -> list[str]:
    first, second = sentence.clauses
    relation = cast(Relation, sentence.relation)
    words: list[str] = []
    if isinstance(first, Action) and relation in ("if", "after", "before"):
        words += ["もし"] if relation == "if" else []
        words += clause(first._replace(tense="present" if relation == "before" else "past"), "", "が")
    elif relation == "but":
        words += clause(first, style, "は")
    else:
        words += clause(first, "", "が" if relation in ("because", "when") else "は")
        if relation == "because" and _ends_in_copula(first):
            words[-1] = "な"
    return [*words, *_JOINTS[relation], *clause(second, style, "は"), "。"]


def _ends_in_copula(meaning: Clause) -> bool:
    """Whether the plain form ends in だ, the copula (and not in the だ of 読んだ)."""
    if isinstance(meaning, Action):
        return meaning.modal == "should"
    if isinstance(meaning, Measure):
        return True
    if isinstance(meaning, Existence | Exclamation) or meaning.tense == "past":
        return False
    if isinstance(meaning, Identity):
        return True
    negative = isinstance(meaning, Property) and meaning.negative
    return not negative and meaning.adjective.row["ja_class"] != "i"


def clause(meaning: Clause, style: str, subject_particle: str, time_first: bool = False) -> list[str]:
    """The words of a clause, without punctuation, ending in the `style` "polite " or ""."""
    if isinstance(meaning, Action):
        return _action(meaning, style, subject_particle, time_first)
    subject = _phrase(meaning.subject)
    words = [*subject, subject_particle]
    if isinstance(meaning, Measure):
        row = meaning.dimension.row
        return [
            *subject,
            "の",
            row["ja"],
            subject_particle,
            *describe((meaning.number, row["ja_unit"]), "na", style + "plain"),
        ]
    if isinstance(meaning, Exclamation):
        return [*words, "なんて", *split(meaning.adjective, "ja"), "でしょ" if style else "だろ", "う"]
    past = "past" if meaning.tense == "past" else "plain"
    if isinstance(meaning, Existence):
        animate = meaning.subject.head.kind in ("person", "animal")
        return [*_phrase(meaning.place), "に", "は", *subject, "が", *_EXISTS[animate, style + past]]
    if isinstance(meaning, Identity):
        return [*words, *describe(tuple(_phrase(meaning.object._replace(determiner=""))), "na", style + past)]
    form = past
    if isinstance(meaning, Comparison):
        words += (*_phrase(meaning.other), "より")
    else:
        words += split(meaning.degree, "ja") if meaning.degree is not None else ()
        if meaning.negative:
            form = "negative past" if past == "past" else "negative"
    return [*words, *describe(split(meaning.adjective, "ja"), meaning.adjective.row["ja_class"], style + form)]


_EXISTS = {
    (animate, style + form): conjugate(verb, group, style + form)
    for animate, verb, group in ((True, ("いる",), "1"), (False, ("ある",), "5"))
    for style in ("", "polite ")
    for form in ("plain", "past")
}


def _action(meaning: Action, style: str, subject_particle: str, time_first: bool) -> list[str]:
    verb = meaning.verb.row
    words: list[str] = []
    agent = None if meaning.gap == "subject" else meaning.subject
    patient = None if meaning.gap == "object" else meaning.object
    time = () if meaning.time is None else split(meaning.time, "ja")
    if time_first:
        words += (*time, "、") if time else ()
    leading = patient if meaning.passive else agent
    if leading is not None:
        words += (*_phrase(leading), "が" if asked(leading) else subject_particle)
    if not time_first:
        words += time
    if meaning.companion is not None:
        words += (*_phrase(meaning.companion), "と", "一緒", "に")
    if meaning.purpose is not None:
        words += (*clause(meaning.purpose, "", "が"), "ため", "に", "、")
    if meaning.place is not None:
        words += (*_phrase(meaning.place), "で")
    if meaning.passive and agent is not None:
        words += (*_phrase(agent), "に", "よっ", "て") if agent.head.kind == "org" else (*_phrase(agent), "に")
    if not meaning.passive and patient is not None:
        words += (*_phrase(patient), *_PARTICLES[verb["ja_p"]])
    if meaning.manner is not None:
        words += split(meaning.manner, "ja")
    if meaning.percent:
        words.append(f"{meaning.percent}%")
    words += _predicate(meaning.verb, meaning.tense, meaning.negative, meaning.modal, meaning.passive, style)
    return words


_PARTICLES = {"を": ("を",), "に": ("に",), "と": ("と",), "へ": ("へ",), "について": ("に", "つい", "て")}


@lru_cache(maxsize=8192)
def _predicate(verb: Concept, tense: str, negative: bool, modal: str, passive: bool, style: str) -> Words:
    dictionary, group = split(verb, "ja"), verb.row["ja_class"]
    if passive:
        dictionary, group = conjugate(dictionary, group, "passive"), "1"
    no = "negative" if negative else ""
    if modal:
        return _modal(dictionary, group, modal, no, style)
    form = ("negative past" if negative else "past") if tense == "past" else no or "plain"
    if tense == "progressive" or ("s" in verb.row["flags"] and tense != "future"):
        return (*conjugate(dictionary, group, "te"), *conjugate(("いる",), "1", style + form))
    if tense == "perfect":
        existing = conjugate(("ある",), "5", style + "plain") if not negative else _NO_SUCH[style]
        return (*conjugate(dictionary, group, "past"), "こと", "が", *existing)
    return conjugate(dictionary, group, style + form)


_NO_SUCH = {"": ("ない",), "polite ": ("あり", "ませ", "ん")}


def _modal(dictionary: Words, group: str, modal: str, no: str, style: str) -> Words:
    polite = bool(style)
    if modal == "can":
        return (*dictionary, "こと", "が", *conjugate(("できる",), "1", style + (no or "plain")))
    if modal == "want":
        wish = (*conjugate(dictionary, group, "stem"), "たい", "と", *(("は",) if no else ()))
        return (*wish, "思っ", "て", *conjugate(("いる",), "1", style + (no or "plain")))
    if modal == "must":
        obligation = (*conjugate(dictionary, group, "negative")[:-1], "なけれ", "ば")
        return (*obligation, *conjugate(("なる",), "5", style + "negative"))
    if modal == "should":
        return (*dictionary, "べき", "です" if polite else "だ")
    return (*conjugate(dictionary, group, "te"), "も", "いい", *(("です",) if polite else ()))


def _phrase(phrase: Phrase) -> list[str]:
    """A noun phrase: relative clause, owner, determiner, number and counter, adjective, noun."""
    words: list[str] = []
    if phrase.relative is not None:
        words += clause(phrase.relative, "", "が")
    if phrase.owner is not None:
        words += (*_phrase(phrase.owner), "の")
    if phrase.cardinal:
        words += _count(phrase)
    if phrase.head.kind == "name":
        words += phrase.head.row["ja"].split()
    else:
        words += _nominal(phrase.head, phrase.determiner, phrase.plural and not phrase.cardinal, phrase.adjective)
    for index, other in enumerate(phrase.more):
        words.append("と" if index == len(phrase.more) - 1 else "、")
        words += _phrase(other)
    return words


def _count(phrase: Phrase) -> Words:
    counter = phrase.head.row["ctr"]
    number = str(phrase.cardinal) if phrase.digits else numerals.japanese(phrase.cardinal)
    # The native counter つ ends at nine.
    return (number, "の") if counter == "つ" and phrase.cardinal > 9 else (number, counter, "の")


@lru_cache(maxsize=32768)
def _nominal(head: Concept, determiner: str, plural: bool, adjective: Concept | None) -> Words:
    words: list[str] = []
    if determiner in ("this", "that"):
        words.append("この" if determiner == "this" else "その")
    elif determiner == "every":
        words += ("全て", "の")
    elif determiner in _POSSESSIVE:
        words += _POSSESSIVE[determiner]
    elif determiner == "a" and head.kind == "person" and adjective is None:
        words.append("ある")
    if adjective is not None:
        words += split(adjective, "ja")
        if adjective.row["ja_class"] != "i":
            words.append("な" if adjective.row["ja_class"] == "na" else "の")
    words += split(head, "ja")
    if plural and determiner == "the" and head.kind == "person":
        words.append("たち")
    return tuple(words)


_POSSESSIVE = {
    "I": ("私", "の"),
    "we": ("私", "たち", "の"),
    "you": ("あなた", "の"),
    "he": ("彼", "の"),
    "she": ("彼女", "の"),
    "they": ("彼ら", "の"),
}


@lru_cache(maxsize=8192)
def split(concept: Concept, column: str) -> Words:
    """The words of one cell."""
    return tuple(concept.row[column].split())
