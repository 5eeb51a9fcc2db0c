"""Paths in the parameters: each must be there, or be made by a stage."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from tasks.parameters.sections import Sections


def not_made(sections: Sections, made: set[str]) -> dict[str, str]:
    """Place in the parameters -> a path there that no stage makes. made: the outputs of all stages."""
    outputs = {PurePath(path) for path in made}
    found = {}
    for place, text in paths_of(sections):
        path = PurePath(os.path.normpath(text))
        if not any(output in (path, *path.parents) for output in outputs):
            found[place] = text
    return found


def check_paths(root: Path, preset: str, paths: Mapping[str, str]) -> Iterator[str]:
    """A line for each of these paths that is not there, or lies among the outputs, where a former run left it."""
    places = [PurePath(folder, preset) for folder in ("data", "models", "reports")]
    for place, text in paths.items():
        if not text or any(output in PurePath(os.path.normpath(text)).parents for output in places):
            yield f"{place}: no stage makes {text!r}; correct the path, or add what makes it"
        elif not (root / text).exists():
            yield f"{place}: {text} does not exist, and no stage makes it; correct the path"


def paths_of(sections: Sections) -> Iterator[tuple[str, str]]:
    """All paths, and their places in the parameters."""
    for name, corpus in sections.corpora.items():
        yield f"corpora.{name}.path", corpus.path
    for name, scored in sections.entropy.scored.items():
        yield f"entropy.scored.{name}.model", scored.model
    for name, evaluated in sections.exact.evaluated.items():
        yield f"exact.evaluated.{name}.model", evaluated.model
    for name, measured in sections.bits.corpora.items():
        yield f"bits.corpora.{name}.tokenizer", measured.tokenizer
    for name, tokenizers in sections.patches.tokenizers.items():
        yield f"patches.tokenizers.{name}.source", tokenizers.source
    for name, tasks in sections.patches.zero_shot.items():
        yield f"patches.zero_shot.{name}.files", tasks.files
    comparison = sections.compare
    if comparison.measured:
        yield "compare.reference", comparison.reference
    for name, entry in comparison.measured.items():
        yield f"compare.measured.{name}.tokenizers", entry.tokenizers
        yield f"compare.measured.{name}.also", entry.also
