"""Inflected forms of German words."""

import re
from collections.abc import Mapping

CASES = {"nom": 0, "acc": 1, "dat": 2, "gen": 3}
# Columns: nominative, accusative, dative, genitive. The rows of the plural are the same for all genders.
DEFINITE = {
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


def noun_form(row: Mapping[str, str], case: str, plural: bool) -> str:
    """A noun in a case: weak masculines take their plural form, genitives -s or -es, plural datives -n."""
    if plural:
        form = row["de_plural"]
        return form + "n" if case == "dat" and form[-1] not in "ns" else form
    noun, gender = row["de"], row["gender"]
    if gender == "w" and case != "nom":
        return row["de_plural"]
    if case != "gen" or gender not in "mn":
        return noun
    return noun + _genitive_ending(noun)


def _genitive_ending(noun: str) -> str:
    if noun.endswith(("ismus", "ennis", "Bambus")):
        return ""
    if noun[-1] in "aeiouéy" or noun.endswith(("Park", "Chip")):
        return "s"
    if noun.endswith(("nis", "bus", "Bus")):
        return "ses"
    one_syllable = len(re.findall("[aeiouyäöü]+", noun.lower())) == 1
    return "es" if one_syllable or noun.endswith(("s", "ß", "x", "z", "sch", "st", "zt", "nd")) else "s"


def adjective_ending(determiner: str, gender: str, case: str) -> str:
    """Ending of an attributive adjective: "weak" after der, "mixed" after ein, "strong" after none."""
    table = {"weak": _WEAK, "mixed": _MIXED, "strong": _STRONG}[determiner]
    return table[gender][CASES[case]]


def present_first(infinitive: str) -> str:
    """First person singular: kaufe, sammle, wandere."""
    if infinitive in _AUXILIARIES:
        return _AUXILIARIES[infinitive][0]
    if infinitive.endswith("eln"):
        return infinitive[:-3] + "le"
    return infinitive[:-1] + "e" if infinitive.endswith("ern") else infinitive[:-2] + "e"


def past_form(third: str, person: str) -> str:
    """Preterite: the first person equals the third; plurals add -en or -n."""
    if person.endswith("s"):
        return third
    return third + "n" if third.endswith("e") else third + "en"


def auxiliary(verb: str, tense: str, person: str) -> str:
    """A form of sein, haben, werden or a modal verb; person is 1s, 1p, 2p, 3s or 3p."""
    first, third, many, past = _AUXILIARIES[verb]
    if tense == "past":
        return past_form(past, person)
    return many if person.endswith("p") else first if person == "1s" else third


def finite(base: str, third: str, past: str, tense: str, person: str) -> str:
    """Present or past of a full verb, from its infinitive without prefix and its third persons."""
    if tense == "past":
        return past_form(past, person)
    if person == "1s":
        return present_first(base)
    return third if person == "3s" else base


def determiner_form(determiner: str, gender: str, case: str) -> tuple[str, str]:
    """A determiner and the declension of the adjective after it."""
    column = CASES[case]
    if determiner == "" or (determiner == "a" and gender == "p"):
        return "", "strong"
    if determiner == "the":
        return DEFINITE[gender][column], "weak"
    if determiner in ("this", "that", "every"):
        stem = {"this": "dies", "that": "jen", "every": "jed"}[determiner]
        return stem + _DETERMINER[gender][column], "weak"
    stem = {"a": "ein", "no": "kein"}.get(determiner) or _POSSESSIVE[determiner]
    endingless = (gender in "mn" and case == "nom") or (gender == "n" and case == "acc")
    ending = "" if endingless else _DETERMINER[gender][column]
    return stem + ending, "mixed"
