"""The lexicon of the built-in corpora: concepts, one per row of a table, with their forms in all four languages.

Tables are tab-separated with a header; `-` means "has none". Rows are ordered by frequency: a concept's weight is
Zipf-Mandelbrot in its rank in the class, and higher in paragraphs on its topic.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from itertools import accumulate
from typing import NamedTuple

TOPIC_WEIGHT = 8.0
"""Factor of a concept's weight in a paragraph on its topic."""


class Concept(dict[str, str]):
    """The cells of a row, without those that are "-", and `kind`, its class; it is equal only to itself."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__


class Ranked(NamedTuple):
    """Concepts with their cumulative weights."""

    items: tuple[Concept, ...]
    cumulative: tuple[float, ...]

    def draw(self, uniform: float) -> Concept:
        """The concept at `uniform`, a number in [0, 1)."""
        return self.items[bisect_right(self.cumulative, uniform * self.cumulative[-1])]


def zipf_mandelbrot(rank: int) -> float:
    """Weight of the concept at `rank` (from 0) of its class, not normalised (Mandelbrot 1953).

    Rounded, because the last bit of a power differs between platforms and the corpora must not.
    """
    return round((rank + 2.7) ** -1.15, 6)


def read_table(name: str) -> list[dict[str, str]]:
    """Rows of one of the tables in this package, without the cells that are "-"."""
    header, *lines = (resources.files(__package__) / "tables" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = (zip(header.split("\t"), line.split("\t"), strict=True) for line in lines)
    return [{column: cell for column, cell in row if cell != "-"} for row in rows]


class Lexicon:
    """All concepts in groups, and their probabilities given a class and a topic.

    Args:
        groups: nouns, linked (nouns that can modify another), heads (of compounds), verbs (with their objects), speech
            (verbs with a clause as object), adjectives, dimensions, pronouns, and those without topic, by their role:
            adverbs, times, cities, countries, abbreviations and the parts of names.
    """

    def __init__(self, groups: Mapping[str, tuple[Concept, ...]]) -> None:
        self.groups = groups
        self.pronouns = {pronoun["id"]: pronoun for pronoun in groups["pronouns"]}
        self.among = cache(self._among)
        self.compound = cache(_compound)

    def _among(self, group: str, topic: str = "", classes: str = "", column: str = "kind") -> Ranked:
        """Concepts of a group with one of the comma-separated `classes` in a column; all, if none are given."""
        wanted = set(classes.split(","))
        found = self.groups[group]
        if classes:
            found = tuple(concept for concept in found if not wanted.isdisjoint(concept.get(column, "").split(",")))
        return rank(found, topic)


def rank(concepts: Iterable[Concept], topic: str = "") -> Ranked:
    """Weight concepts by their rank in their class and by topic. Apart from topics, all classes have equal shares."""
    places: dict[str, int] = {}
    weights, items = [], []
    for concept in concepts:
        place = places[concept["kind"]] = places.get(concept["kind"], -1) + 1
        weights.append(zipf_mandelbrot(place) * (TOPIC_WEIGHT if concept.get("topic") == topic else 1.0))
        items.append(concept)
    return Ranked(tuple(items), tuple(accumulate(weights)))


def _compound(modifier: Concept, head: Concept) -> Concept:
    """The compound noun: written together in German, and in Chinese where the head is a suffix."""
    row = Concept(head)
    separator = "" if head["join"] == "join" else " "
    row["zh"] = modifier["zh"].replace(" ", "") + separator + head["zh"]
    for column in ("ja", "en", "plural"):
        if column in head:
            row[column] = f"{modifier['ja' if column == 'ja' else 'en']} {head[column]}"
    for column in ("de", "de_gen", "de_plural"):
        if column in head:
            row[column] = modifier["link"] + head[column]
    # Compound places are buildings, which take "in".
    row |= {"loc": "里", "en_prep": "in", "de_prep": "in"}
    return row


def _dates() -> Iterator[dict[str, str]]:
    """Years, months, days and hours as adverbials of past sentences. Digits are the same in all languages."""
    calendar = read_table("calendar")
    for row in calendar:
        en, de = ("on", "am") if row["class"] == "weekday" else ("in", "im")
        yield {"zh": row["zh"], "ja": f"{row['ja']} に", "en": f"{en} {row['en']}", "de": f"{de} {row['de']}"}
    for year in range(2024, 1924, -1):
        yield {"zh": f"{year}年", "ja": f"{year} 年 に", "en": f"in {year}", "de": f"im Jahr {year}"}
    for day in range(1, 29):
        for month in (row for row in calendar if row["class"] == "month"):
            yield {
                "zh": f"{month['zh']} {day}日",
                "ja": f"{month['ja']} {day} 日 に",
                "en": f"on {day} {month['en']}",
                "de": f"am {day}. {month['de']}",
            }
    for hour in range(1, 13):
        yield {"zh": f"{hour}点", "ja": f"{hour} 時 に", "en": f"at {hour} o'clock", "de": f"um {hour} Uhr"}


@cache
def load_lexicon() -> Lexicon:
    """Read and check all tables, once in a process."""
    groups: dict[str, list[Concept]] = {}

    def add(group: str, row: Mapping[str, str], kind: str) -> None:
        groups.setdefault(group, []).append(Concept(row, kind=kind))

    for table in ("persons", "nouns", "places"):
        for row in read_table(table):
            add("nouns", row, row["class"])
            if "link" in row:
                add("linked", row, row["class"])
    for row in read_table("heads"):
        add("heads", row, row["class"])
    for row in read_table("verbs"):
        add("speech" if row.get("obj") == "clause" else "verbs", row, "verb")
    for table, kind in (("adjectives", "adjective"), ("dimensions", "dimension"), ("pronouns", "pronoun")):
        for row in read_table(table):
            add(table, row, kind)
    for table, column in (("adverbs", "role"), ("times", "tense"), ("geography", "class")):
        for row in read_table(table):
            add(row[column], row, row[column])
    for row in read_table("names"):
        role = f"{row['kind']}_{row['gender']}" if "gender" in row else row["kind"]
        add(role, row, role)
    for row in _dates():
        add("date", row, "date")
    return Lexicon({group: tuple(concepts) for group, concepts in groups.items()})
