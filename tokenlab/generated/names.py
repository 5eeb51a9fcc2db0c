"""Names of people, composed from parts: an open vocabulary."""

from collections.abc import Callable, Mapping

from tokenlab.generated.concepts import Concept, Lexicon

Row = Mapping[str, str]


def compose_name(lexicon: Lexicon, uniform: Callable[[], float]) -> Concept:
    """A Chinese, Japanese or European person: one word in Chinese, two in English and German."""
    gender = "m" if uniform() < 0.5 else "f"

    def part(role: str) -> Row:
        return lexicon.roles[role].draw(uniform()).row

    origin = uniform()
    if origin < 0.45:
        syllables = [part(f"cn_given_{gender}") for _ in range(1 + int(uniform() * 1.7))]
        zh, ja, latin = _chinese(part("cn_surname"), syllables)
    elif origin < 0.65:
        zh, ja, latin = _japanese(part("jp_surname"), part(f"jp_given_{gender}"))
    else:
        zh, ja, latin = _european(part(f"eu_given_{gender}"), part("eu_start"), part("eu_end"))
    return Concept("name", "any", {"zh": zh, "ja": ja, "en": latin, "de": latin, "gender": gender})


def _chinese(surname: Row, syllables: list[Row]) -> tuple[str, str, str]:
    zh, ja, given = ("".join(syllable[key] for syllable in syllables) for key in ("zh", "ja", "latin"))
    return surname["zh"] + zh, surname["ja"] + ja, f"{surname['latin']} {given.capitalize()}"


def _japanese(surname: Row, given: Row) -> tuple[str, str, str]:
    return surname["zh"] + given["zh"], f"{surname['ja']} {given['ja']}", f"{given['latin']} {surname['latin']}"


def _european(given: Row, start: Row, end: Row) -> tuple[str, str, str]:
    zh, ja, latin = (f"{given[key]}·{start[key]}{end[key]}" for key in ("zh", "ja", "latin"))
    return zh, ja.replace("·", "・"), latin.replace("·", " ")
