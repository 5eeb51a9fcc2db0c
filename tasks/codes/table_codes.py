"""Stage `table_codes`: the codes of a corpus from published tables of components, strokes or morphemes."""

from collections.abc import Iterable
from pathlib import Path

from tasks.codes.splits import read_characters
from tasks.runtime.stage import Stage, run, write_json
from tokenlab.codes.interface import write_code
from tokenlab.codes.registry import KINDS, learn_code
from tokenlab.core.errors import ParameterError
from tokenlab.core.files import atomic_folder

_TABLES = Path("data", "raw", "tables")


def make_table_codes(stage: Stage) -> None:
    """Write the code of every table that was downloaded, and notes on the others."""
    section = f"codes.corpora.{stage.variant}.baselines"
    files = table_files(stage.parameters(section, tuple[str, ...]))
    if not files:
        raise ParameterError(
            f"{stage.params_file}: codes.table_codes lists {stage.variant}, but {section} names no kind made from a"
            " table; add one, or take the corpus off the list"
        )
    corpus = read_characters(stage.data("corpora", stage.variant))
    there = [kind for kind, path in files.items() if path.exists()]
    notes = [f"{kind}: left out, {path} could not be had" for kind, path in files.items() if kind not in there]
    with atomic_folder(stage.models("codebooks", stage.variant, "tables")) as folder:
        for kind in there:
            write_code(learn_code(kind, corpus, tables=files[kind].parent), folder / f"{kind}.json")
        write_json(folder / "variants.json", {"learned": there, "refused": notes})


def table_files(kinds: Iterable[str]) -> dict[str, Path]:
    """The file of each kind that is made from a table."""
    return {name: _TABLES / table for name in kinds if name in KINDS and (table := KINDS[name].table)}


if __name__ == "__main__":
    run(make_table_codes)
