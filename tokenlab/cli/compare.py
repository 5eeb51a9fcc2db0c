"""`tokenlab compare`: how a text should be cut, by small language models over each way of cutting it."""

import argparse
import hashlib
import json
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenlab.cli.corpus import Corpus, add_corpus, add_json, open_corpus
from tokenlab.cli.options import (
    Commands,
    add_command,
    add_options,
    check_meaning,
    check_utf8,
    flags_of,
    named_as_flags,
    options_from,
)
from tokenlab.cli.output import bar, check_folder, json_line, named_errors, note, write, written
from tokenlab.comparison.options import CompareOptions
from tokenlab.core.batches import in_batches
from tokenlab.core.devices import all_devices
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_folder, write_text
from tokenlab.networks.options import SIZES
from tokenlab.text.options import LineOptions

if TYPE_CHECKING:
    from tokenlab.comparison.candidates import Recipe
    from tokenlab.comparison.texts import Parts
    from tokenlab.comparison.trials import Body, Score, Trial
    from tokenlab.language.coding import Coder

_FILES = ("index.html", "table.tsv", "result.json", "candidates")
_UNFINISHED = ".unfinished"
"""End of the name of the folder from which an interrupted comparison goes on, beside the output."""
_DOCUMENT = 1000
"""Bytes of a document, at least, where a corpus has lines: consecutive lines are joined."""
_BYTES_PER_ENTRY = 40
_CALIBRATION = 2.0
"""Seconds of the training that measures the speed of a candidate."""
_IN_FOLDERS = ("tokenizer.json", "code.json")
"""Files that their folder names."""
_FREE = ("minutes", "flops", "workers")
"""Options that candidates do not depend on."""
_OPERATIONS: dict[str, Any] = {"unit": " operations", "unit_scale": True}
"""What a progress bar counts."""
_USED = 0.85
"""Share of the time that trainings may take: processes end at different moments."""


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, _compare, "find out how a text should be cut", argument_default=argparse.SUPPRESS)
    add_corpus(parser, name="TEXT")
    candidates = (
        "candidates, by their files or folders: tokenizers of any format of `tokenlab measure`, codes of `tokenlab "
        "codes`, patchers and other candidates of an earlier comparison (FOLDER/candidates/NAME); without any, some "
        "that suit the script of the text are trained on it"
    )
    parser.add_argument("candidates", nargs="*", metavar="FOLDER", default=[], help=candidates)
    written_there = "write table, page and candidates into this folder"
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help=written_there)
    add_options(parser, CompareOptions)
    add_json(parser, "print the result as one object")


@dataclass(frozen=True)
class _Work:
    """The folder of an unfinished comparison, and what is in it."""

    folder: Path
    text: str
    parts: "Parts"
    coders: "Mapping[str, Coder]"
    """The candidates that were named."""
    recipes: "Mapping[str, Recipe]"
    """Those that are trained where none were named."""
    options: CompareOptions
    seeds: int
    body: "Body"

    @property
    def candidates(self) -> dict[str, Path]:
        """The folder of each candidate."""
        return {name: self.folder / "candidates" / name for name in self.coders or self.recipes}

    @property
    def training(self) -> Path:
        return self.folder / "training"

    @property
    def held_out(self) -> Path:
        return self.folder / "held-out"


def _compare(arguments: argparse.Namespace) -> None:
    """Find out how TEXT should be cut. A small language model is trained over each candidate, all with the same number
    of operations, on the same text in the same order, with several seeds; a twentieth of the text is held out, and the
    fewest bits per byte of it win, if that is more than chance. Leaves a table, a page and the candidates in a folder,
    and prints one line of advice. Repeat the command to continue an interrupted comparison.
    """
    began = time.monotonic()
    check_utf8(arguments)
    options, output = options_from(arguments, CompareOptions), Path(arguments.output)
    if options.flops is not None:
        check_meaning(arguments, "with --flops", (), minutes="--minutes")
    if arguments.candidates:
        check_meaning(arguments, "where candidates are named", (), vocabulary="--vocabulary")
    inputs = [arguments.input, *arguments.candidates]
    check_folder("--output", arguments.output, inputs, lambda path: path.name in _FILES)
    if len(arguments.candidates) == 1:
        only = arguments.candidates[0]
        if not Path(only).exists():
            raise InputError(f"{only}: no such file or folder; name two candidates or more, or none")
        raise ParameterError(f"{only} is the only candidate; name two or more, or none")
    import tokenlab.comparison.pool  # noqa: F401  Here, so that a missing package is said before any work.

    with open_corpus(arguments) as text, named_as_flags(CompareOptions):
        work = _begun(text, arguments.candidates, options, output)
        try:
            with written(str(work.folder)):
                _make_candidates(work)
                flops = options.flops or _flops(work, began)
                scores = _scores(work, flops)
        except KeyboardInterrupt:
            note(f"{work.folder.parent} holds what is done; the same command goes on from there")
            raise
        result = _result(work, flops, scores, arguments)
    with written(arguments.output):
        _write(result, work, output)
    shutil.rmtree(work.folder)
    with suppress(OSError):  # Other comparisons of the same output may be under way.
        work.folder.parent.rmdir()
    from tokenlab.comparison.result import text_of

    load = next(row["load"] for row in result["candidates"] if row["name"] == result["use"])
    said = f"{text_of(result)}In {output}: {load}\n"
    write(json_line(result) if arguments.json else said)


def _begun(text: Corpus, names: Sequence[str], options: CompareOptions, output: Path) -> _Work:
    """Everything that can be wrong is found here, before any training."""
    from tokenlab.comparison.candidates import read_candidate, suited_recipes
    from tokenlab.comparison.texts import check_spelled, divide, write_documents
    from tokenlab.comparison.trials import Body
    from tokenlab.comparison.verdict import enough_seeds
    from tokenlab.language.coding import identity

    all_devices(options.device)
    coders = {name: read_candidate(path) for name, path in _named(names).items()}
    joined = in_batches(text.texts(), _DOCUMENT, size=lambda line: len(line.encode()) + 1)
    documents = ["\n".join(lines) for lines in joined if any(lines)]
    body = Body(*SIZES[options.size], batch=options.batch, device=options.device)
    with named_errors(text.name):
        parts = divide(documents, options.seed)
    for name, coder in coders.items():
        check_spelled(coder, [*parts.training, *parts.held_out], body.context, name)
    recipes = [] if coders else suited_recipes(parts.training, options.vocabulary or _vocabulary(parts.training))
    about = {name: value for name, value in asdict(options).items() if name not in _FREE}
    used = [about, [*coders], [identity(coder) for coder in coders.values()]]
    digest = hashlib.sha256(json.dumps([used, documents]).encode()).hexdigest()[:16]
    folder = output.with_name(output.name + _UNFINISHED) / digest
    trained = {recipe.name: recipe for recipe in recipes}
    seeds = options.seeds or enough_seeds(len(coders or trained))
    work = _Work(folder, Path(text.name).name, parts, coders, trained, options, seeds, body)
    with written(str(folder)):
        for part, place in ((parts.training, work.training), (parts.held_out, work.held_out)):
            if not place.exists():
                write_documents(part, body.context, place)
    return work


def _named(paths: Sequence[str]) -> dict[str, Path]:
    """Candidates by short names: of the folder, or of the file; a number tells equal ones apart."""
    found: dict[str, Path] = {}
    for given in paths:
        path = Path(given)
        inside = path.name in _IN_FOLDERS
        plain = path.resolve().parent.name if inside else path.name if path.is_dir() else path.stem
        plain = plain or path.resolve().name
        names = [plain, *(f"{plain}-{number}" for number in range(2, len(paths) + 1))]
        found[next(name for name in names if name not in found)] = path
    return found


def _make_candidates(work: _Work) -> None:
    """Save the candidates that were named, or train some."""
    from tokenlab.comparison.pool import trained_candidates

    for name, coder in work.coders.items():
        if not work.candidates[name].exists():
            with atomic_folder(work.candidates[name]) as place:
                coder.save(place)
    if work.coders:
        return
    with bar("training candidates", total=len(work.recipes)) as shown:

        def progress(begun: float) -> None:
            shown.update(begun - shown.n)

        with named_errors(work.text):
            trained_candidates([*work.recipes.values()], work.parts.training, work.folder / "candidates", progress)


def _how_made(recipe: "Recipe") -> str:
    from tokenlab.comparison.candidates import CodeRecipe, PatchRecipe

    if isinstance(recipe, PatchRecipe):
        tokens = f"the tokens of {recipe.tokens.name}"
        return f"patches: {tokens}, spelled by a second BPE in at most {recipe.longest} symbols"
    if isinstance(recipe, CodeRecipe):
        return f"a code of characters ({recipe.kind}), and BPE of {recipe.vocabulary:,} entries over its atoms"
    size, *_ = recipe.options.vocabulary
    fallback = " --bytes fallback" if recipe.options.byte_tokens == "fallback" else ""
    trained = f"tokenlab train --cut {recipe.cut} --model {recipe.options.model}{fallback} --vocabulary {size}"
    return f"{trained} --special-tokens"


def _how_to_load(name: str, folder: Path) -> str:
    of_transformers = (folder / "tokenizer_config.json").is_file()
    load = "transformers.AutoTokenizer.from_pretrained" if of_transformers else "tokenlab.comparison.read_candidate"
    return f'{load}("candidates/{name}")'


def _vocabulary(documents: Sequence[str]) -> int:
    """Room for as many merges as there are characters, and 4,000 entries at least; in whole thousands. A short text
    repeats too little for that: one entry for 40 bytes, and room for its characters."""
    characters = len(set().union(*documents))
    size = sum(len(document.encode()) for document in documents)
    return min(max(4000, -(-2 * characters // 1000) * 1000), max(size // _BYTES_PER_ENTRY, 512 + characters))


def _trials(work: _Work, flops: float) -> "list[Trial]":
    from tokenlab.comparison.trials import Budget, Trial

    budget, first = Budget("flops", flops), work.options.seed
    return [
        Trial(name, path, seed, work.body, budget, work.training, work.held_out)
        for name, path in work.candidates.items()
        for seed in range(first, first + work.seeds)
    ]


def _flops(work: _Work, began: float) -> float:
    """The operations of a training such that all end in --minutes, to two digits; once chosen, they stay."""
    from tokenlab.comparison.pool import measured_speeds

    options, seeds, file = work.options, work.seeds, _file_of_flops(work)
    if file.exists():
        return float(json.loads(file.read_text()))
    with bar("measuring speeds", **_OPERATIONS):
        one_each = _trials(work, 1.0)[::seeds]
        speeds = measured_speeds(one_each, _CALIBRATION, options.workers)
    # A forward pass over held-out text, and as much again for the evaluations in between.
    held_out = 2 / 3 * sum(len(document.encode()) for document in work.parts.held_out)
    left = max(60 * options.minutes - (time.monotonic() - began), 30 * options.minutes)
    of_seed = _USED * left * min(options.workers, len(work.candidates) * seeds) / seeds
    scoring = sum(held_out * speed.flops_per_byte / speed.flops_per_second for speed in speeds)
    if scoring > of_seed / 2:
        raise _too_few_minutes(work, "to score the models", 1.1 * 2 * scoring / of_seed)
    flops = float(f"{(of_seed - scoring) / sum(1 / speed.flops_per_second for speed in speeds):.1e}")
    write_text(file, json.dumps(flops) + "\n")
    return flops


def _too_few_minutes(work: _Work, what: str, times: float) -> ParameterError:
    minutes = work.options.minutes
    return ParameterError(f"minutes is {minutes:g}, too few {what}; {_enough(work, times * minutes)}")


def _enough(work: _Work, least: float) -> str:
    return f"use at least {least:.2g}; the work in {work.folder.parent} is kept"


def _file_of_flops(work: _Work) -> Path:
    return work.folder / f"flops-in-{work.options.minutes:g}-minutes.json"


def _scores(work: _Work, flops: float) -> "dict[str, list[Score]]":
    from tokenlab.comparison.pool import run_trials

    _check_budget(work, flops)
    trials = _trials(work, flops)
    with bar("training models", total=len(trials) * flops, **_OPERATIONS) as shown:

        def progress(done: float) -> None:
            shown.update(done - shown.n)

        found = run_trials(trials, work.folder / f"scores-{_exactly(flops)}", work.options.workers, progress)
    scores: dict[str, list[Score]] = {name: [] for name in work.candidates}
    for trial, score in zip(trials, found, strict=True):
        scores[trial.name].append(score)
    return scores


def _check_budget(work: _Work, flops: float) -> None:
    from tokenlab.comparison.candidates import read_candidate
    from tokenlab.comparison.trials import fewest_flops
    from tokenlab.language.passages import open_passages

    passages, coders = open_passages(work.training), map(read_candidate, work.candidates.values())
    seeds = range(work.options.seed, work.options.seed + work.seeds)
    needed = max(fewest_flops(coder, passages, work.body, seed) for coder in coders for seed in seeds)
    if flops >= needed:
        return
    if work.options.flops is not None:
        raise ParameterError(f"flops is {flops:.3g}, too few to train the models; {_enough(work, 1.06 * needed)}")
    _file_of_flops(work).unlink()  # On a machine with less to do they may be enough.
    raise _too_few_minutes(work, "to train the models", 1.06 * needed / flops)


def _result(
    work: _Work, flops: float, scores: "Mapping[str, Sequence[Score]]", arguments: argparse.Namespace
) -> dict[str, Any]:
    from tokenlab.comparison.candidates import read_candidate
    from tokenlab.comparison.result import result_of

    options, body, parts = work.options, work.body, work.parts
    training, held_out = (sum(len(text.encode()) for text in part) for part in parts)
    settings = {
        "text": work.text,
        "again": _command(arguments, flops),
        "training_bytes": training,
        "held_out_bytes": held_out,
        "held_out_documents": len(parts.held_out),
        "flops": flops,
        "seeds": work.seeds,
        "seed": options.seed,
        "body": f"{body.latent.layers} layers of width {body.latent.width}",
        "context_bytes": body.context,
        "learning_rate": body.learning_rate,
    }
    made = work.candidates
    coders = {name: read_candidate(path) for name, path in made.items()}
    how = {name: _how_made(recipe) for name, recipe in work.recipes.items()}
    about = {name: {"made": how.get(name, ""), "load": _how_to_load(name, path)} for name, path in made.items()}
    return result_of(scores, coders, parts, settings, about)


def _command(arguments: argparse.Namespace, flops: float) -> str:
    """The command that gives the same bytes, without folders of this machine."""
    options = flags_of(LineOptions, CompareOptions, format="--format", text_key="--text-key")
    given = [
        str(part)
        for name, flag in options.items()
        if name not in _FREE and getattr(arguments, name, None) not in (None, "auto")
        for part in (flag, getattr(arguments, name))
    ]
    paths = [Path(name) for name in (arguments.input, *arguments.candidates)]
    names = [path.name for path in paths]
    told_apart = [
        f"{path.resolve().parent.name}/{name}" if name in _IN_FOLDERS or names.count(name) > 1 else name
        for path, name in zip(paths, names, strict=True)
    ]
    return shlex.join(["tokenlab", "compare", *told_apart, "--flops", _exactly(flops), *given, "-o", "FOLDER"])


def _exactly(flops: float) -> str:
    """The number as short as it can be."""
    return f"{flops:g}" if float(f"{flops:g}") == flops else repr(flops)


def _write(result: dict[str, Any], work: _Work, output: Path) -> None:
    from tokenlab.comparison.page import page_of
    from tokenlab.comparison.result import table_of

    with atomic_folder(output) as folder:
        for name, path in work.candidates.items():
            shutil.copytree(path, folder / "candidates" / name)
        write_text(folder / "table.tsv", table_of(result))
        write_text(folder / "result.json", json.dumps(result, ensure_ascii=False, indent=1) + "\n")
        write_text(folder / "index.html", page_of(result))
