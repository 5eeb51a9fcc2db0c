"""The lexicon of the built-in corpora: concepts, one per row of a table, with their forms in all four languages.

Tables are tab-separated with a header; cells of several words are split at spaces. `-` means "has none" and `+` means
"follows the rule of the language". Rows are ordered by frequency: a concept's weight is Zipf-Mandelbrot in its rank in
the class, and higher in paragraphs on its topic.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import accumulate
from typing import NamedTuple

from tokenlab.core.errors import InputError

TOPICS = (
    "economy",
    "politics",
    "science",
    "culture",
    "home",
    "nature",
    "travel",
    "school",
    "work",
    "food",
    "sport",
    "health",
)
TOPIC_WEIGHT = 8.0
"""Factor of a concept's weight in a paragraph on its topic."""

_NOUN_TABLES = ("persons", "nouns", "places")
_KEYS = {
    "persons": ("en",),
    "nouns": ("en",),
    "places": ("en",),
    "verbs": ("en", "zh"),
    "adjectives": ("en",),
    "adverbs": ("role", "en"),
    "times": ("en",),
    "geography": ("en",),
    "heads": ("class", "en"),
    "names": ("kind", "gender", "latin"),
    "pronouns": ("id",),
    "dimensions": ("for", "en"),
    "calendar": ("en",),
}
"""Each table, with the columns that form a unique key."""


@dataclass(frozen=True, eq=False, slots=True)
class Concept:
    """A concept: `kind` is its class and `row` has its forms; it is equal only to itself."""

    kind: str
    topic: str
    row: Mapping[str, str]


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


def parse_table(name: str, text: str, key: tuple[str, ...]) -> list[dict[str, str]]:
    """Rows of a tab-separated table with a header.

    Raises:
        InputError: a row that is incomplete, or whose `key` columns occurred before.
    """
    header, *lines = text.splitlines()
    columns = header.split("\t")
    seen: dict[tuple[str, ...], int] = {}
    rows = []
    for number, line in enumerate(lines, start=2):
        cells = line.split("\t")
        if len(cells) != len(columns) or not all(cell and cell == cell.strip() for cell in cells):
            raise InputError(f"{name}, line {number}: every one of the {len(columns)} cells must be filled: {line!r}")
        row = dict(zip(columns, cells, strict=True))
        identity = tuple(row[column] for column in key)
        if identity in seen:
            raise InputError(f"{name}, line {number}: {' '.join(identity)} stands in line {seen[identity]} already")
        seen[identity] = number
        rows.append(row)
    return rows


def read_table(name: str) -> list[dict[str, str]]:
    """Rows of one of the tables in this package."""
    text = (resources.files(__package__) / "tables" / f"{name}.tsv").read_text(encoding="utf-8")
    return parse_table(f"{name}.tsv", text, _KEYS[name])


@dataclass(frozen=True, eq=False)
class Lexicon:
    """All concepts, and their probabilities given a class and a topic."""

    nouns: tuple[Concept, ...]
    verbs: tuple[Concept, ...]
    adjectives: tuple[Concept, ...]
    dimensions: tuple[Concept, ...]
    heads: tuple[Concept, ...]
    roles: Mapping[str, Ranked]
    """Concepts without topic: adverbs, times, cities, countries, abbreviations and the parts of names."""
    pronouns: Mapping[str, Concept]
    _ranked: dict[tuple[str, ...], Ranked] = field(default_factory=dict)
    _compounds: dict[tuple[Concept, Concept], Concept] = field(default_factory=dict)

    def nouns_of(self, classes: str, topic: str) -> Ranked:
        """Common nouns of the comma-separated classes."""
        return self._lookup(("nouns", classes, topic), (noun for noun in self.nouns if noun.kind in classes.split(",")))

    def adjectives_for(self, kind: str, topic: str) -> Ranked:
        """Adjectives for nouns of a class; none for a few classes."""
        return self._lookup(
            ("adjectives", kind, topic), (item for item in self.adjectives if kind in item.row["for"].split(","))
        )

    def verbs_for(self, role: str, kind: str, topic: str) -> Ranked:
        """Verbs of actions whose `role` ("subj" or "obj") a noun of class `kind` can fill; `kind` "*" is any."""
        return self._lookup(
            ("verbs", role, kind, topic),
            (
                verb
                for verb in self.verbs
                if verb.row["obj"] != "clause" and (kind == "*" or kind in verb.row[role].split(","))
            ),
        )

    def speech_verbs(self, topic: str) -> Ranked:
        """Verbs with a clause as object: to say, to think ..."""
        return self._lookup(("speech", topic), (verb for verb in self.verbs if verb.row["obj"] == "clause"))

    def dimensions_for(self, kind: str) -> Ranked:
        """Measurable dimensions of a class; none for most."""
        return self._lookup(
            ("dimensions", kind), (item for item in self.dimensions if kind in item.row["for"].split(","))
        )

    def compound_heads(self, classes: str, topic: str) -> Ranked:
        """Heads that form compounds of the comma-separated classes."""
        return self._lookup(("heads", classes, topic), (head for head in self.heads if head.kind in classes.split(",")))

    def modifiers(self, head: Concept, topic: str) -> Ranked:
        """Nouns that can modify `head` in a compound."""
        classes = head.row["mods"]
        linkable = (noun for noun in self.nouns if noun.kind in classes.split(",") and noun.row.get("link", "-") != "-")
        return self._lookup(("modifiers", classes, topic), linkable)

    def compound(self, modifier: Concept, head: Concept) -> Concept:
        """The compound noun: written together in German, and in Chinese where the head is a suffix."""
        key = (modifier, head)
        if key not in self._compounds:
            self._compounds[key] = Concept(head.kind, modifier.topic, _compound_row(modifier.row, head.row))
        return self._compounds[key]

    def _lookup(self, key: tuple[str, ...], concepts: Iterable[Concept]) -> Ranked:
        found = self._ranked.get(key)
        if found is None:
            found = self._ranked[key] = rank(concepts, topic=key[-1])
        return found


def rank(concepts: Iterable[Concept], topic: str = "") -> Ranked:
    """Weight concepts by their rank in their class and by topic. Apart from topics, all classes have equal shares."""
    places: dict[str, int] = {}
    weights, items = [], []
    for concept in concepts:
        place = places[concept.kind] = places.get(concept.kind, -1) + 1
        weights.append(zipf_mandelbrot(place) * (TOPIC_WEIGHT if concept.topic == topic else 1.0))
        items.append(concept)
    return Ranked(tuple(items), tuple(accumulate(weights)))


def _compound_row(modifier: Mapping[str, str], head: Mapping[str, str]) -> dict[str, str]:
    row = dict(head)
    separator = "" if head["join"] == "join" else " "
    row["zh"] = modifier["zh"].replace(" ", "") + separator + head["zh"]
    row["ja"] = f"{modifier['ja']} {head['ja']}"
    row["en"] = f"{modifier['en']} {head['en']}"
    row["plural"] = head["plural"] if head["plural"] in "+-" else f"{modifier['en']} {head['plural']}"
    row["de"] = modifier["link"] + head["de"]
    row["de_plural"] = head["de_plural"] if head["de_plural"] == "-" else modifier["link"] + head["de_plural"]
    # Compound places are buildings, which take "in".
    row |= {"loc": "里", "en_prep": "in", "de_prep": "in", "link": "-", "fem": "-"}
    return row


def _dates() -> Iterator[dict[str, str]]:
    """Years, months, days and hours as adverbials of past sentences. Digits are the same in all languages."""
    calendar = read_table("calendar")
    months = [row for row in calendar if row["class"] == "month"]
    for row in calendar:
        if row["class"] == "weekday":
            yield {"zh": row["zh"], "ja": f"{row['ja']} に", "en": f"on {row['en']}", "de": f"am {row['de']}"}
        else:
            yield {"zh": row["zh"], "ja": f"{row['ja']} に", "en": f"in {row['en']}", "de": f"im {row['de']}"}
    for year in range(2024, 1924, -1):
        yield {"zh": f"{year}年", "ja": f"{year} 年 に", "en": f"in {year}", "de": f"im Jahr {year}"}
    for day in range(1, 29):
        for month in months:
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
    nouns = tuple(Concept(row["class"], row["topic"], row) for name in _NOUN_TABLES for row in read_table(name))
    roles: dict[str, list[Concept]] = {}
    for table, column in (("adverbs", "role"), ("times", "tense"), ("geography", "class")):
        for row in read_table(table):
            roles.setdefault(row[column], []).append(Concept(row[column], "any", row))
    for row in read_table("names"):
        role = row["kind"] if row["gender"] == "-" else f"{row['kind']}_{row['gender']}"
        roles.setdefault(role, []).append(Concept(role, "any", row))
    roles["date"] = [Concept("date", "any", row) for row in _dates()]
    return Lexicon(
        nouns=nouns,
        verbs=tuple(Concept("verb", row["topic"], row) for row in read_table("verbs")),
        adjectives=tuple(Concept("adjective", row["topic"], row) for row in read_table("adjectives")),
        dimensions=tuple(Concept("dimension", "any", row) for row in read_table("dimensions")),
        heads=tuple(Concept(row["class"], row["topic"], row) for row in read_table("heads")),
        roles={role: rank(concepts) for role, concepts in roles.items()},
        pronouns={row["id"]: Concept("pronoun", "any", row) for row in read_table("pronouns")},
    )
