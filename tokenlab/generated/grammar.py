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
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import yaml

Meaning = Mapping[str, Any]

_WORD = re.compile(r"(?:\{[^}]*\}|[^\s{])+")
_PART = re.compile(r"\{([^}]*)\}|([^{]+)")
_ATOM = re.compile(r"([^=~]+)(?:([=~])(.*))?")
_AGAIN = re.compile("<([^>]*)>")


@cache
def load_grammar(language: str) -> "Grammar":
    """The grammar of a language, read once in a process."""
    return Grammar((resources.files(__package__) / "grammars" / f"{language}.yaml").read_text(encoding="utf-8"))


class Grammar:
    """A grammar, its rules compiled to Python functions: interpreted, they take four times as long.

    Args:
        text: the grammar in YAML. Its rules become code, so it must come from this package.
    """

    def __init__(self, text: str) -> None:
        grammar = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._inflections = {name: _patterns(table) for name, table in grammar["inflections"].items()}
        self._adjacent = {first: _patterns(table) for first, table in grammar.get("adjacent", {}).items()}
        self.inflect = lru_cache(maxsize=65536)(self._inflect)
        self._code: dict[str, Any] = {"inflect": self.inflect, "says": _says, "NONE": {}}
        for name, body in grammar["rules"].items():
            source = "\n".join([f"def rule_{name}(meaning, given, words):", *_indented(_body(body))])
            exec(compile(source, f"<rule {name}>", "exec"), self._code)

    def words(self, meaning: Meaning, rule: str = "sentence") -> list[str]:
        """The words of a meaning, not yet capitalised."""
        words: list[str] = []
        self._code[f"rule_{rule}"](meaning, {}, words)
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


def _patterns(table: Mapping[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), replacement) for pattern, replacement in table.items()]


def _says(rule: Any, meaning: Meaning, given: Mapping[str, str]) -> bool:
    """Whether a rule expresses something."""
    words: list[str] = []
    rule(meaning, given, words)
    return bool(words)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines or ["pass"]]


def _body(body: Any) -> list[str]:
    """The statements that append the words of a body to `words`."""
    if isinstance(body, list):
        return [line for part in body for line in _body(part)]
    if isinstance(body, dict):
        lines: list[str] = []
        for condition, part in body.items():
            test = "else:" if condition == "else" else f"{'elif' if lines else 'if'} {_condition(condition)}:"
            lines += [test, *_indented(_body(part))]
        return lines
    return [line for word in _WORD.findall(body) for line in _word(word)]


def _word(template: str) -> list[str]:
    parts = _PART.findall(template)
    target = "words" if len(parts) == 1 else "parts"
    lines = []
    for expression, literal in parts:
        lines += _expression(expression, target) if expression else [f"{target}.append({literal!r})"]
    return lines if len(parts) == 1 else ["parts = []", *lines, "words.append(''.join(parts))"]


def _expression(expression: str, target: str) -> list[str]:
    items, *tables = expression.split("|")
    given = [item.split("=") for item in items.split() if "=" in item]
    values = [f"{name!r}: {_feature(value[1:]) if value.startswith('@') else repr(value)}" for name, value in given]
    lines = [f"inner = {{**given, {', '.join(values)}}}"] if given else []
    for item in items.split():
        if "=" not in item:
            lines += _item(item, "inner" if given else "given", "forms" if tables else target)
    if not tables:
        return lines
    steps = [f"form = inflect({table!r}, form)" for table in tables]
    return ["forms = []", *lines, "form = ' '.join(forms)", "if form:", *_indented(steps), f"{target} += form.split()"]


def _item(item: str, given: str, target: str) -> list[str]:
    if item.startswith("'"):
        return [f"{target}.append({item})"]
    path, colon, rule = item.partition(":")
    if colon and not path:
        return [f"rule_{rule}(meaning, {given}, {target})"]
    use = f"rule_{rule}(part, {given}, {target})" if colon else f"{target} += part.split()"
    return [f"part = {_feature(path)}", "if part:", f"    {use}"]


def _condition(condition: str) -> str:
    tests, negated = [], False
    for word in condition.split():
        if word != "not":
            either = " or ".join(_atom(atom) for atom in word.split("|"))
            tests.append(f"not ({either})" if negated else f"({either})")
        negated = word == "not"
    return " and ".join(tests)


def _atom(atom: str) -> str:
    path, colon, rule = atom.partition(":")
    if colon:
        return f"says(rule_{rule}, {_feature(path) if path else 'meaning'}, given)"
    path, operator, right = _ATOM.fullmatch(atom).groups()  # type: ignore[union-attr]
    if operator == "=":
        return f"{_feature(path)} in {tuple(right.split(','))}"
    return f"{right!r} in ({_feature(path)} or '')" if operator else _feature(path)


def _feature(path: str) -> str:
    """A feature of a meaning, as in subject.head.kind, or a $parameter; None where it is missing."""
    if path.startswith("$"):
        return f"given.get({path[1:]!r})"
    code = "meaning"
    for name in path.split("."):
        code = f"{code}.get({name!r})" if code == "meaning" else f"({code} or NONE).get({name!r})"
    return code
