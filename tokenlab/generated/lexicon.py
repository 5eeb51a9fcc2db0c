"""The lexicon of the built-in corpora: concepts, one per row of a table, with their forms in all four languages.

Tables are tab-separated with a header; `-` means "has none". Rows are ordered by frequency: a concept's weight is
Zipf-Mandelbrot in its rank in the class, and higher in paragraphs on its topic.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from itertools import accumulate, chain
from typing import NamedTuple

TOPIC_WEIGHT = 8.0
"""Factor of a concept's weight in a paragraph on its topic."""


class Concept(dict[str, str]):
    """The cells of a row, without those that are "-"; its `kind` is its class. It is equal only to itself."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__


class Ranked(NamedTuple):
    """Concepts with their cumulative weights."""

    items: tuple[Concept, ...]
    cumulative: tuple[float, ...]

    def draw(self, uniform: float) -> Concept:
        """The concept at `uniform`, a number in [0, 1)."""
        return self.items[bisect_right(self.cumulative, uniform * self.cumulative[-1])]


@cache
def zipf_mandelbrot(rank: int) -> float:
    """Weight of the concept at `rank` (from 0) of its class, not normalised (Mandelbrot 1953).

    Rounded, because the last bit of a power differs between platforms and the corpora must not.
    """
    return round((rank + 2.7) ** -1.15, 6)


def read_table(name: str) -> list[Concept]:
    """The concepts of one of the tables in this package; without a column `kind`, theirs is the name of the table."""
    header, *lines = (resources.files(__package__) / "tables" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = (zip(header.split("\t"), line.split("\t"), strict=True) for line in lines)
    return [Concept({"kind": name} | {column: cell for column, cell in row if cell != "-"}) for row in rows]


class Lexicon:
    """All concepts in groups, and their probabilities given a class and a topic.

    Args:
        groups: nouns, linked (nouns that can modify another), heads (of compounds); and by their kind topics, verbs (of
            actions), speech (verbs with a clause as object), adjectives, dimensions, pronouns, and those without topic:
            adverbs, times, dates, cities, countries, abbreviations and the parts of names.
    """

    def __init__(self, groups: Mapping[str, list[Concept]]) -> None:
        self.groups = groups
        self.pronouns = {pronoun["id"]: pronoun for pronoun in groups["pronouns"]}
        self.among = cache(self._among)
        self.of_classes = cache(self._of_classes)
        self.compound = cache(_compound)

    def _of_classes(self, group: str, classes: str, column: str) -> tuple[Concept, ...]:
        """Concepts of a group with one of the comma-separated `classes` in a column."""
        wanted = set(classes.split(","))
        found = (concept for concept in self.groups[group] if not wanted.isdisjoint(concept.get(column, "").split(",")))
        return tuple(found)

    def _among(self, group: str, topic: str = "", classes: str = "", column: str = "kind") -> Ranked:
        """Concepts of a group, or of classes in it, weighted by their rank in their kind and by topic.

        Apart from topics, all kinds have equal shares.
        """
        items = self.of_classes(group, classes, column) if classes else tuple(self.groups[group])
        places: Counter[str] = Counter()
        weights = []
        for concept in items:
            factor = TOPIC_WEIGHT if concept.get("topic") == topic else 1.0
            weights.append(zipf_mandelbrot(places[concept["kind"]]) * factor)
            places[concept["kind"]] += 1
        return Ranked(items, tuple(accumulate(weights)))


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


def _dates() -> Iterator[Concept]:
    """Years, months, days and hours as adverbials of past sentences. Digits are the same in all languages."""

    def date(zh: str, ja: str, en: str, de: str) -> Concept:
        return Concept(kind="date", zh=zh, ja=f"{ja} に", en=en, de=de)

    calendar = read_table("calendar")
    for row in calendar:
        en, de = ("on", "am") if row["kind"] == "weekday" else ("in", "im")
        yield date(row["zh"], row["ja"], f"{en} {row['en']}", f"{de} {row['de']}")
    for year in range(2024, 1924, -1):
        yield date(f"{year}年", f"{year} 年", f"in {year}", f"im Jahr {year}")
    for day in range(1, 29):
        for month in (row for row in calendar if row["kind"] == "month"):
            zh, ja, en, de = (month[language] for language in ("zh", "ja", "en", "de"))
            yield date(f"{zh} {day}日", f"{ja} {day} 日", f"on {day} {en}", f"am {day}. {de}")
    for hour in range(1, 13):
        yield date(f"{hour}点", f"{hour} 時", f"at {hour} o'clock", f"um {hour} Uhr")


@cache
def load_lexicon() -> Lexicon:
    """Read all tables, once in a process."""
    nouns = [noun for table in ("persons", "nouns", "places") for noun in read_table(table)]
    groups = {"nouns": nouns, "linked": [noun for noun in nouns if "link" in noun], "heads": read_table("heads")}
    on_topics = ("topics", "verbs", "speech", "adjectives", "dimensions", "pronouns")
    others = ("adverbs", "times", "geography", "names")
    for concept in chain(*map(read_table, on_topics + others), _dates()):
        groups.setdefault(concept["kind"], []).append(concept)
    return Lexicon(groups)
