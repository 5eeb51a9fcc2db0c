"""Grammars as data: rules that express a meaning in the words of one language.

A grammar is a YAML file with three mappings. `rules`: the body of a rule is a template, a list of bodies, of which all
are expressed in order, or a mapping from conditions to bodies, of which the first that holds is expressed ("else"
always holds). `inflections`: tables of regular expressions and replacements, of which the first that is found in a form
is applied; a part of the replacement in <> is inflected by the same table. `adjacent`, optional: two neighbouring words
that change each other, by the first word and an expression over both, such as "in dem" -> "im".

A template is words and expressions in braces, separated by spaces; what is not separated is written as one word:

    {verb.en}               the words of a feature, here of the verb's; nothing where it is missing
    {$case}                 a parameter of the rule
    {'present'}             the word itself
    {subject:phrase case=nom number=@count}
                            another rule for a feature (for {:phrase} the same meaning), with parameters: words, or
                            features after @. Parameters are passed on to the rules below, until they are set again
    {head.en $case|plural}  the words of all items, inflected by a table

A condition is words that must all hold: `feature` (or $parameter) is there, `feature=a,b` is one of these values,
`feature~a` contains the text, `:rule` expresses something, `a|b` either holds; `not` negates the next one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import yaml

Meaning = Mapping[str, Any]
Given = Mapping[str, Any]
"""Parameters of a rule."""
Part = Callable[[Meaning, Given, list[str]], None]
"""Appends the words of a part of a rule to a list."""
Value = Callable[[Meaning, Given], Any]

_WORD = re.compile(r"(?:\{[^}]*\}|[^\s{])+")
_PART = re.compile(r"\{([^}]*)\}|([^{]+)")
_ATOM = re.compile(r"([^=~]+)(?:([=~])(.*))?")
_AGAIN = re.compile("<([^>]*)>")


@cache
def load_grammar(language: str) -> "Grammar":
    """The grammar of a language, read once in a process."""
    return Grammar((resources.files(__package__) / "grammars" / f"{language}.yaml").read_text(encoding="utf-8"))


class Grammar:
    """A grammar; its rules are taken apart once and kept as functions.

    Args:
        text: the grammar in YAML.
    """

    def __init__(self, text: str) -> None:
        grammar = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._inflections = {name: _patterns(table) for name, table in grammar["inflections"].items()}
        self._adjacent = {first: _patterns(table) for first, table in grammar.get("adjacent", {}).items()}
        self.inflect = lru_cache(maxsize=65536)(self._inflect)
        self._rules: dict[str, Part] = {}
        for name, body in grammar["rules"].items():
            self._rules[name] = self._body(body)

    def words(self, meaning: Meaning, rule: str = "sentence") -> list[str]:
        """The words of a meaning, not yet capitalised."""
        words: list[str] = []
        self._rules[rule](meaning, {}, words)
        if not self._adjacent.keys().isdisjoint(words):
            for index in range(len(words) - 2, -1, -1):
                for pattern, replacement in self._adjacent.get(words[index], ()):
                    both, found = pattern.subn(replacement, " ".join(words[index : index + 2]))
                    if found:
                        words[index : index + 2] = both.split()
                        break
        return words

    def _inflect(self, table: str, form: str) -> str:
        """A form, changed by the first entry of the table that is found in it."""
        for pattern, replacement in self._inflections[table]:
            if found := pattern.search(form):
                form = form[: found.start()] + found.expand(replacement) + form[found.end() :]
                return _AGAIN.sub(lambda inner: self.inflect(table, inner[1]), form)
        return form

    def _body(self, body: Any) -> Part:
        """The function of a body: a template, a list of bodies, or a mapping from conditions to bodies."""
        if isinstance(body, str):
            return _in_order([self._word(word) for word in _WORD.findall(body)])
        if isinstance(body, list):
            return _in_order([self._body(part) for part in body])
        cases = [(self._condition(condition), self._body(part)) for condition, part in body.items()]

        def first_that_holds(meaning: Meaning, given: Given, words: list[str]) -> None:
            for holds, part in cases:
                if holds(meaning, given):
                    part(meaning, given, words)
                    return

        return first_that_holds

    def _word(self, template: str) -> Part:
        parts = [
            self._expression(expression) if expression else _literal(literal)
            for expression, literal in _PART.findall(template)
        ]
        if len(parts) == 1:
            return parts[0]
        together = _in_order(parts)

        def as_one(meaning: Meaning, given: Given, words: list[str]) -> None:
            pieces: list[str] = []
            together(meaning, given, pieces)
            words.append("".join(pieces))

        return as_one

    def _expression(self, expression: str) -> Part:
        """What stands in braces: items, parameters for their rules, and tables that inflect their words."""
        items, *tables = expression.split("|")
        set_here = [item.partition("=") for item in items.split() if "=" in item]
        parameters = {name: _parameter(value) for name, _, value in set_here}
        made = [self._item(item, parameters) for item in items.split() if "=" not in item]
        plain = _in_order(made)
        if not tables:
            return plain

        def inflected(meaning: Meaning, given: Given, words: list[str]) -> None:
            forms: list[str] = []
            plain(meaning, given, forms)
            if form := " ".join(forms):
                for table in tables:
                    form = self.inflect(table, form)
                words += form.split()

        return inflected

    def _item(self, item: str, parameters: Mapping[str, Value]) -> Part:
        """A word in quotes, a feature, or a rule for a feature or for the same meaning."""
        if item.startswith("'"):
            return _literal(item.strip("'"))
        path, colon, rule = item.partition(":")
        rules, value = self._rules, _feature(path) if path else _whole
        if not colon:

            def feature(meaning: Meaning, given: Given, words: list[str]) -> None:
                if part := value(meaning, given):
                    words += part.split()

            return feature

        def by_rule(meaning: Meaning, given: Given, words: list[str]) -> None:
            part = value(meaning, given)
            if part or not path:
                inner = {name: one(meaning, given) for name, one in parameters.items()}
                rules[rule](part, {**given, **inner} if inner else given, words)

        return by_rule

    def _condition(self, condition: str) -> Value:
        """Whether all words of a condition hold."""
        if condition == "else":
            return lambda meaning, given: True
        tests, negated = [], False
        for word in condition.split():
            if word != "not":
                tests.append(_either([self._atom(atom) for atom in word.split("|")], negated))
            negated = word == "not"
        if len(tests) == 1:
            return tests[0]
        return lambda meaning, given: all(test(meaning, given) for test in tests)

    def _atom(self, atom: str) -> Value:
        path, colon, rule = atom.partition(":")
        if colon:
            rules, expressed = self._rules, _feature(path) if path else _whole

            def expresses(meaning: Meaning, given: Given) -> bool:
                words: list[str] = []
                rules[rule](expressed(meaning, given), given, words)
                return bool(words)

            return expresses
        path, operator, right = _ATOM.fullmatch(atom).groups()  # type: ignore[union-attr]
        value = _feature(path)
        if operator == "=":
            allowed = frozenset(right.split(","))
            return lambda meaning, given: value(meaning, given) in allowed
        if operator:
            return lambda meaning, given: right in (value(meaning, given) or "")
        return value


def _patterns(table: Mapping[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), replacement) for pattern, replacement in table.items()]


def _in_order(parts: Sequence[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]

    def all_parts(meaning: Meaning, given: Given, words: list[str]) -> None:
        for part in parts:
            part(meaning, given, words)

    return all_parts


def _literal(word: str) -> Part:
    return lambda meaning, given, words: words.append(word)


def _either(tests: Sequence[Value], negated: bool) -> Value:
    if len(tests) == 1 and not negated:
        return tests[0]
    return lambda meaning, given: any(test(meaning, given) for test in tests) != negated


def _parameter(value: str) -> Value:
    """A parameter that a rule is given: a word, or a feature after @."""
    if value.startswith("@"):
        return _feature(value[1:])
    return lambda meaning, given: value


def _whole(meaning: Meaning, given: Given) -> Any:
    return meaning


def _feature(path: str) -> Value:
    """A feature of a meaning, as in subject.head.kind, or a $parameter; None where it is missing."""
    if path.startswith("$"):
        name = path[1:]
        return lambda meaning, given: given.get(name)
    first, *others = path.split(".")
    if not others:
        return lambda meaning, given: meaning.get(first)

    def found(meaning: Meaning, given: Given) -> Any:
        value = meaning.get(first)
        for name in others:
            if not value:
                return None
            value = value.get(name)
        return value

    return found
