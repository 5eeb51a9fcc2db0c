"""Paths in the parameters: each must be there, or be made by a stage. Texts to segment must have words to find."""

import os
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path, PurePath

import regex
from dvc.dvcfile import ProjectFile
from dvc.exceptions import DvcException
from dvc.parsing import DataResolver
from dvc.repo import Repo

from tasks.parameters.sections import Sections
from tokenlab.core.errors import InputError, one_line
from tokenlab.segment.isolation import run_sets

_PATHS = (
    ("corpora", "path"),
    ("entropy.scored", "model"),
    ("exact.evaluated", "model"),
    ("bits.corpora", "tokenizer"),
    ("patches.tokenizers", "source"),
    ("patches.zero_shot", "files"),
    ("downstream.classified", "tokenizers"),
    ("compare.measured", "tokenizers"),
    ("compare.measured", "also"),
)
"""A section of entries, and the field of an entry that is a path."""

_OUTPUTS = ("outs", "metrics", "plots")
"""The keys of a stage that list its outputs."""


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
    for section, field in _PATHS:
        for name, entry in attrgetter(section)(sections).items():
            yield f"{section}.{name}.{field}", getattr(entry, field)
    for name, labelled in sections.downstream.corpora.items():
        # Topics come from the package itself, which is not in the folder of a user.
        files = {} if labelled.format == "topics" else labelled.languages
        for language, file in files.items():
            yield f"downstream.corpora.{name}.languages.{language}", str(PurePath(labelled.path, file))
    if sections.compare.measured:
        yield "compare.reference", sections.compare.reference


def outputs_of(root: Path, pipeline: Path, folder: Path) -> set[str]:
    """The paths of all outputs of a dvc.yaml, as DVC resolves it with the parameters in `folder`, from the root.

    Raises InputError where DVC cannot read it.
    """
    try:
        with Repo(str(root)) as repo:
            definition = ProjectFile(repo, str(root / pipeline)).contents
            stages = DataResolver(repo, str(root / folder), definition).resolve()["stages"]
    except DvcException as error:
        raise InputError(f"{pipeline}: not a pipeline ({one_line(error)}); `dvc status` says more") from None
    entries = [entry for stage in stages.values() for kind in _OUTPUTS for entry in stage.get(kind, [])]
    return {next(iter(entry)) if isinstance(entry, dict) else entry for entry in entries}


def check_scripts(root: Path, sections: Sections, not_made: Mapping[str, str]) -> Iterator[str]:
    """A line for each text in `segmentation` without a character of a script that is written without spaces, and for
    each that cannot be read. not_made: place in the parameters -> a path that is there before any stage runs."""
    family = sections.segmentation
    segmented = regex.compile(f"[{''.join(run_sets())}]").search
    for name in family.corpora:
        corpus = sections.corpora.get(name)
        if corpus is None or f"corpora.{name}.path" not in not_made or not family.word_models:
            continue
        try:
            if not any(segmented(document.text) for document in corpus.documents(root)):
                yield (
                    f"segmentation.corpora.{name}: {corpus.path} has no character of a script written without spaces "
                    "(Chinese, kana, Thai, Lao, Khmer, Burmese, Tibetan), and word models find no words in others; "
                    f"take {name} out of segmentation, the other families take every script"
                )
        except InputError as error:
            yield f"corpora.{name}.path: {error}"
