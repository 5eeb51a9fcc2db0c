"""Write docs/api.md, the public names of the library, from the code: `make api`.

A name is public if a package of `tokenlab` offers it: it stands in the `__init__.pyi` of the package. Its entry has the
signature, the first sentence of its docstring and a link to its module. The code is read and not imported, so that none
of the packages of the library is needed.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "api.md"

HEAD = """# The Python library

The public names of every package, their signatures and the modules that define them. `make api` writes this page from
the code. [commands.md](commands.md) has examples, and the docstrings say which shapes and units are meant, and what is
raised. `*` stands before arguments that are named in a call, and `**TrainingOptions` for those of that class as well.
A name is loaded when it is first used, with the packages that it needs.

```python
import tokenlab

segmenter = tokenlab.Segmenter(tokenlab.ngram_statistics(sentences), tokenlab.SegmentOptions())
```
"""


class Definition(NamedTuple):
    """A name, the file that defines it, its signature without the name, and the first sentence of its docstring."""

    name: str
    path: Path
    signature: str
    sentence: str


def page(root: Path = ROOT) -> str:
    """The text of docs/api.md for the project in `root`."""
    parts = [HEAD]
    for package in _packages(root):
        entries = sorted(_definitions(root, package), key=lambda found: found.name.lower())
        name = ".".join(package.relative_to(root).parts)
        about = _first_paragraph(_parsed(package / "__init__.py"))
        parts.append(f"\n## {name}\n\n{about}\n\n{''.join(map(_entry, entries))}")
    return "".join(parts)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _packages(root: Path) -> list[Path]:
    """The folders of packages that offer names; the command has none."""
    return [stub.parent for stub in sorted((root / "tokenlab").rglob("__init__.pyi"))]


def _definitions(root: Path, package: Path) -> Iterator[Definition]:
    for node in _parsed(package / "__init__.pyi").body:
        assert isinstance(node, ast.ImportFrom)
        yield from (_define(root, str(node.module), alias.name) for alias in node.names)


def _define(root: Path, module: str, name: str) -> Definition:
    """Find a name in a module, or where the module has it from."""
    folder = root.joinpath(*module.split("."))
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    tree = _parsed(path)
    for number, node in enumerate(tree.body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            signature = _of_class(node) if isinstance(node, ast.ClassDef) else _of_function(node)
            return Definition(name, path.relative_to(root), signature, _sentence(ast.get_docstring(node), module, name))
        if name in _assigned(node):
            below = tree.body[number + 1] if number + 1 < len(tree.body) else None
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
            return Definition(name, path.relative_to(root), "", _sentence(text, module, name))
        if isinstance(node, ast.ImportFrom) and name in {alias.asname or alias.name for alias in node.names}:
            return _define(root, str(node.module), name)
    if (folder / "__init__.pyi").exists():  # a package that offers it in turn
        for offered in _definitions(root, folder):
            if offered.name == name:
                return offered
    raise LookupError(f"{path}: no definition of {name}")


def _assigned(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _of_function(node: ast.FunctionDef, method: bool = False) -> str:
    arguments = ast.unparse(node.args)
    if method:
        arguments = arguments.removeprefix("self").removeprefix(", ")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and not method else ""
    return f"({arguments}){returns}"


def _of_class(node: ast.ClassDef) -> str:
    """The arguments of a class: those of `__init__`, else the fields of a dataclass or a named tuple."""
    if any(ast.unparse(base) == "Protocol" for base in node.bases):
        return ""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return _of_function(part, method=True)
    fields = [part for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]
    made = [ast.unparse(decorator) for decorator in node.decorator_list if "dataclass" in ast.unparse(decorator)]
    if not made and "NamedTuple" not in map(ast.unparse, node.bases):
        return ""
    keywords = ["*"] if any("kw_only=True" in decorator for decorator in made) else []
    inherited = [f"**{ast.unparse(base)}" for base in node.bases if made]
    return f"({', '.join([*keywords, *map(_field, fields), *inherited])})"


def _field(field: ast.AnnAssign) -> str:
    declared = f"{ast.unparse(field.target)}: {ast.unparse(field.annotation)}"
    default = field.value
    if isinstance(default, ast.Call) and ast.unparse(default.func) in ("option", "field"):
        named = {keyword.arg: keyword.value for keyword in default.keywords}
        second = default.args[1] if len(default.args) > 1 else None
        default = named.get("default", second or named.get("default_factory"))
    return declared if default is None else f"{declared} = {ast.unparse(default)}"


def _first_paragraph(tree: ast.Module) -> str:
    return " ".join(str(ast.get_docstring(tree)).split("\n\n")[0].split())


def _sentence(docstring: str | None, module: str, name: str) -> str:
    if not docstring:
        raise LookupError(f"{module}.{name} is public and has no docstring")
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0]


def _entry(found: Definition) -> str:
    signature = f"{found.name}{found.signature}"
    return f"- [`{found.name}`](../{found.path}): {found.sentence}\n" + (
        f"  `{signature}`\n" if found.signature else ""
    )


if __name__ == "__main__":
    try:
        PAGE.write_text(page(), encoding="utf-8")
    except LookupError as error:
        sys.exit(f"api: {error}")
