"""What a module imports, read from its text."""

import ast
from collections.abc import Iterator


def imported_names(code: ast.AST) -> Iterator[str]:
    """Every module that code imports, at any place, and every name that it takes from one, such as `os.path.join`."""
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative: {ast.unparse(node)}"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
