"""A word model as a file: arrays in safetensors, alphabets and options as JSON in the header, with a checksum."""

import json
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_file
from tokenlab.segment.context_kernels import SLOTS
from tokenlab.segment.words.classes import Classes
from tokenlab.segment.words.encoding import Alphabet
from tokenlab.segment.words.knowledge import Knowledge, Known, Means, symbol_alphabet
from tokenlab.segment.words.lexicon import Lexicon
from tokenlab.segment.words.options import WordOptions

_HEADER = "tokenlab.words"
_FORMAT = 2
_ARRAYS = {
    "prefix": np.int32, "suffix": np.int32, "in_use": np.bool_, "u": np.int32, "w": np.int32, "pairs": np.float32,
    "words": np.float32, "totals": np.float64, "kinds": np.int16, "new_kinds": np.int16, "affinity": np.float64,
    "contexts": np.float32,
}  # fmt: skip


def write_knowledge(knowledge: Knowledge, options: WordOptions, path: str | Path) -> None:
    """Write what a model holds, atomically; equal models give equal bytes."""
    known, means, in_use, classes, contexts = knowledge
    arrays = {
        "prefix": known.lexicon.prefix, "suffix": known.lexicon.suffix, "in_use": in_use,
        "u": means.u, "w": means.w, "pairs": means.pairs, "words": means.words, "totals": means.totals,
        "kinds": classes.kinds, "new_kinds": classes.new_kinds, "affinity": classes.affinity,
        "contexts": contexts,
    }  # fmt: skip
    arrays = {name: np.ascontiguousarray(array, _ARRAYS[name]) for name, array in arrays.items()}
    header = {
        "format": _FORMAT,
        "options": asdict(options),
        "units": known.units.clusters,
        "symbols": known.symbols.clusters,
        "level": known.lexicon.level.tolist(),
        "sha256": _checksum(arrays),
    }
    with atomic_file(path) as temporary:
        save_file(arrays, temporary, {_HEADER: json.dumps(header, sort_keys=True)})


def read_knowledge(path: str | Path) -> tuple[Knowledge, WordOptions]:
    """Read what `write_knowledge` wrote; every index is checked, so a foreign file cannot reach outside an array.

    Raises:
        InputError: the file is damaged, or not a word model.
    """
    path = Path(path)
    with path.open("rb"):
        pass  # safetensors reports a missing file without its name.
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})[_HEADER])
            arrays = {name: file.get_tensor(name) for name in _ARRAYS}
        if header["format"] != _FORMAT:
            raise InputError(f"{path}: a word model of format {header['format']}, not {_FORMAT}; fit it again")
        if header["sha256"] != _checksum(arrays):
            raise InputError(f"{path}: the word model is damaged (its checksum is wrong); fit it again")
        options, knowledge = WordOptions(**header["options"]), _assemble(header, arrays)
    except (SafetensorError, LookupError, TypeError, ValueError, ParameterError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(f"{path}: not a word model ({reason}); fit one with `--method words`") from None
    if options.longest != knowledge.known.lexicon.longest:
        raise InputError(f"{path}: not a word model (its lexicon is of another length); fit one with `--method words`")
    return knowledge, options


def _assemble(header: dict[str, Any], arrays: dict[str, NDArray]) -> Knowledge:
    """The parts of a model. Raises ValueError where they do not fit together."""
    units, symbols = Alphabet(_clusters(header["units"])), symbol_alphabet(_clusters(header["symbols"]))
    level = np.array(header["level"], np.int64)
    lexicon = Lexicon(level, arrays["prefix"], arrays["suffix"])
    known = Known(units, symbols, lexicon)
    contexts = known.symbol_count + len(lexicon)
    pairs, kinds = len(arrays["u"]), len(arrays["affinity"])
    shapes = {
        "prefix": (int(level[-1]),), "suffix": (int(level[-1]),), "in_use": (len(lexicon),),
        "u": (pairs,), "w": (pairs,), "pairs": (pairs,), "words": (contexts, 3), "totals": (2,),
        "kinds": (contexts,), "new_kinds": (lexicon.longest,), "affinity": (kinds, kinds),
        "contexts": (SLOTS,),
    }  # fmt: skip
    for name, array in arrays.items():
        if array.dtype != _ARRAYS[name] or array.shape != shapes[name]:
            raise ValueError(f"array {name} is {array.dtype}{list(array.shape)}")
        if array.dtype.kind == "f" and not (np.isfinite(array).all() and (name == "contexts" or (array >= 0).all())):
            raise ValueError(f"array {name} holds numbers out of range")
    if level[0] != 0 or level[1] != len(units.clusters) or (np.diff(level) < 0).any():
        raise ValueError("levels of the lexicon do not fit the alphabet")
    _check_lexicon(lexicon)
    for name in ("u", "w"):
        _check_range(name, arrays[name], 0, contexts)
    for name in ("kinds", "new_kinds"):
        _check_range(name, arrays[name], 0, kinds)
    means = Means(*(arrays[name] for name in ("u", "w", "pairs", "words", "totals")))
    classes = Classes(arrays["kinds"], arrays["new_kinds"], arrays["affinity"])
    return Knowledge(known, means, arrays["in_use"], classes, arrays["contexts"])


def _check_lexicon(lexicon: Lexicon) -> None:
    """Both parts of a word have one unit less."""
    level = lexicon.level.tolist()
    for length in range(2, len(level)):
        words = slice(level[length - 1], level[length])
        for name, parts in (("prefix", lexicon.prefix[words]), ("suffix", lexicon.suffix[words])):
            _check_range(name, parts, level[length - 2], level[length - 1])


def _check_range(name: str, array: NDArray, least: int, end: int) -> None:
    if len(array) and not (array.min() >= least and array.max() < end):
        raise ValueError(f"array {name} points outside")


def _clusters(names: Any) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ValueError("an alphabet is no list of strings")
    if len(set(names)) < len(names):
        raise ValueError("an alphabet names a cluster twice")
    return names


def _checksum(arrays: dict[str, NDArray]) -> str:
    digest = sha256()
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
