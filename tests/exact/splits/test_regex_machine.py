"""Splits with look-ahead: one sequence of hypotheses survives a text, and its boundaries are the tokenizer's."""

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_tokenizers import DEEPSEEK, EXPRESSIONS
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from unicode_text import text as unicode_text

from tokenlab.core.errors import InputError
from tokenlab.exact.splits import regex_machine
from tokenlab.exact.splits.character_classes import CharacterClasses
from tokenlab.exact.splits.reading import read_splits
from tokenlab.exact.splits.regex_machine import KINDS, Level, SplitMachine, compile_expression
from tokenlab.exact.splits.regex_syntax import parse, sets_of

OTHERS = {
    "gaps": r"a+b|b{2,3}(?=\s)|\s\s|'",
    "lazy": r"[a-z]+?s|\s+?(?=\S)|[^ab\s]+",
    "look-ahead": r"(?i:'ll|s)|\p{L}{2}|\s(?!\n|b)",
    "ends": r"\s+$|\d{2,3}|\w+\z|[^\w]",
    "possessive": r"a?+a|b++[ab]?|\s*+\n|(?:a|[^a])",
    "interval-plus": r"\p{N}{1,3}+|\p{L}{2}+|(?:\s){2,}+|[\s\S]",
    "count-lazy": r"\d{2}?[a-z]+|\d{1,2}?|[\s\S]",
    "flag": r"(?i)'s|'t|[a-z]+|[^a-z]",
    "flag inside": r"\s|a(?i)b|c|[\s\S]",
    "groups": r"(a|ab)(c|bcd)?|(?-i:B)|\x{4e2d}|\u00e9|\x31",
}

BEHAVIORS = ("isolated", "contiguous", "merged_with_previous", "merged_with_next")


class Pieces:
    """A machine and the pre-tokenizer of the library, for the same expressions."""

    def __init__(self, *expressions, nodes=None, reference=None):
        nodes = nodes or [parse(expression) for expression in expressions]
        self.classes = CharacterClasses(source for node in nodes for source in sets_of(node))
        levels = [Level(compile_expression(node, self.classes), self.classes.end) for node in nodes]
        self.machine = SplitMachine(levels, self.classes.count)
        self._reference = reference or pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(expression), "isolated") for expression in expressions]
        )

    def boundaries(self, text):
        """The boundaries of every sequence of hypotheses that survives the text."""
        alive = {(self.machine.start, ())}
        for place, c in enumerate(self.classes.of(text)):
            alive = {
                (after, (*boundaries, place) if kind else boundaries)
                for state, boundaries in alive
                for kind in KINDS
                for after in self.machine.next(state, c, kind)
            }
            assert alive
        return [boundaries for state, boundaries in alive if self.machine.can_end(state)]

    def reference(self, text):
        return tuple(start for _, (start, _) in self._reference.pre_tokenize_str(text))


ALL = {name: (expression,) for name, expression in (EXPRESSIONS | OTHERS).items()} | {
    "deepseek": DEEPSEEK,
    "gpt2 in gaps": (OTHERS["gaps"], EXPRESSIONS["gpt2"]),
}
_machines: dict[str, Pieces] = {}


def pieces(name):
    if name not in _machines:
        _machines[name] = Pieces(*ALL[name])
    return _machines[name]


@pytest.mark.parametrize("name", ALL)
def test_pieces_of_all_short_texts(name):
    here = pieces(name)
    for length in range(5):
        for characters in product("aBs \n'1中", repeat=length):
            text = "".join(characters)
            assert here.boundaries(text) == [here.reference(text)], text


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40, deadline=None)
@given(text=st.one_of(unicode_text, st.text("abcdlsSLrevtTEm \t\r\n'!/12中éſ日\u0301ǅ", max_size=20)))
def test_pieces_of_any_text(name, text):
    here = pieces(name)
    assert here.boundaries(text) == [here.reference(text)]


@pytest.mark.parametrize(
    "reference",
    [
        pre_tokenizers.Metaspace(prepend_scheme="never"),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        *(pre_tokenizers.Punctuation(behavior) for behavior in BEHAVIORS),
        *(pre_tokenizers.Split(" ", behavior) for behavior in BEHAVIORS),
        pre_tokenizers.Split("ab", "isolated"),
        pre_tokenizers.Split("ab", "isolated", invert=True),
    ],
    ids=str,
)
def test_pieces_of_other_pre_tokenizers(reference):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = reference
    content = json.loads(tokenizer.to_str())
    here = Pieces(nodes=read_splits(content["pre_tokenizer"]), reference=reference)
    for length in range(6):
        for characters in product("ab !1", repeat=length):
            text = "".join(characters)
            assert here.boundaries(text) == [here.reference(text)], text


def test_too_many_states_are_refused(monkeypatch):
    """The machine remembers at which of the last 20 places there was an a."""
    monkeypatch.setattr(regex_machine, "_MOST_STATES", 1000)
    with pytest.raises(InputError, match="more than 1,000 states"):
        Pieces(r"[ab]*a[ab]{20}|.|\n").boundaries("ab")
