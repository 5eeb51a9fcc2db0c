"""Run a notebook without Jupyter: its code cells in order, in one namespace, with what they print and return.

`make tour` writes the outputs of docs/tour.ipynb anew.
"""

import ast
import contextlib
import io
import json
import linecache
from pathlib import Path
from typing import Any

TOUR = Path(__file__).with_name("tour.ipynb")


def outputs(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell, in the notebook's own format: printed text, and the value of a last expression.

    An exception of a cell is raised, with the cell in its traceback.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_run("".join(cell["source"]), names, number) for number, cell in enumerate(_code(notebook), 1)]


def _code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _run(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    file = f"<cell {number}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    statements = ast.parse(source, file).body
    last = statements.pop() if statements and isinstance(statements[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(statements, []), file, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        found.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return found


if __name__ == "__main__":
    tour = json.loads(TOUR.read_text(encoding="utf-8"))
    for number, (cell, found) in enumerate(zip(_code(tour), outputs(tour), strict=True), 1):
        cell |= {"execution_count": number, "outputs": found}
    TOUR.write_text(json.dumps(tour, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
