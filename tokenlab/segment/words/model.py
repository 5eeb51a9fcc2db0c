"""The word model: a bigram of words with word classes, sampled from a text without spaces (`fitting`).

Memory of fitting, linear in the text: about 80 bytes per unit (cluster of a run), 70 per word of the lexicon,
60 per pair of neighbours that occurred in a collected sweep, and before that what `ngram_statistics` takes, which is
more: the peak for 1.8 million characters of Chinese news is the latter's, 0.95 GB in all. Segmenting takes 0.1 KB per
character of a batch. Runs of more than 4,096 units are cut, so that the sampler's own arrays take at most 2.4 MB, or
5.2 MB with words of up to 10 units.

The sampler uses only + - * / and comparisons of float64 and random numbers of its own (splitmix64), so that a seed
gives the same words on every machine; word classes and the length bonus need `log` and `exp` of the C library.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_file
from tokenlab.segment.segmentation import Segmentation
from tokenlab.segment.words.classes import Classes
from tokenlab.segment.words.context_kernels import SLOTS
from tokenlab.segment.words.encoding import Alphabet, find_runs
from tokenlab.segment.words.fitting import Progress, fit_words
from tokenlab.segment.words.knowledge import Knowledge, Known, Means, base_of, encode, parts_of, symbol_alphabet
from tokenlab.segment.words.lattice_kernels import decode, make_lattice
from tokenlab.segment.words.lexicon import Lexicon
from tokenlab.segment.words.options import WordOptions
from tokenlab.segment.words.sampler_kernels import add_all_posteriors

DEFAULT = WordOptions()
_CHARACTERS_PER_BATCH = 1 << 17
_HEADER = "tokenlab.words"
_FORMAT = 3
_ARRAYS = {
    "prefix": np.int32, "suffix": np.int32, "in_use": np.bool_, "u": np.int32, "w": np.int32, "pairs": np.float32,
    "words": np.float32, "totals": np.float64, "kinds": np.int16, "new_kinds": np.int16, "affinity": np.float64,
    "contexts": np.float32,
}  # fmt: skip


class WordModel:
    """A fitted model of words."""

    options: WordOptions
    """As given, with the length bonuses that were chosen where none were given."""
    training: Segmentation | None
    """The segmentation of the text that the model was fitted to; None for a model that was loaded."""

    def __init__(self, knowledge: Knowledge, options: WordOptions) -> None:
        self.options = options
        self.training = None
        self._knowledge = knowledge
        base = base_of(knowledge.known, knowledge.in_use)
        self._counts = knowledge.means.counts(base, knowledge.classes)
        self._parts = parts_of(base, knowledge.classes, options.longest, options.unseen_bonus or 0.0)

    @classmethod
    def fit(
        cls,
        sentences: Sequence[str],
        options: WordOptions = DEFAULT,
        progress: Progress | None = None,
    ) -> Self:
        """Fit a model. Equal sentences, options and seed give an equal model, to the byte when saved.

        Args:
            progress: called after each sweep with the number of sweeps done and their total.

        Raises:
            InputError: the text has no character of a script written without spaces; a lone surrogate; more text than
                int32 can count.
        """
        runs = find_runs(sentences, options.split_kana)
        knowledge, chosen, collected, posteriors = fit_words(sentences, runs, options, progress)
        model = cls(knowledge, chosen)
        model.training = runs.segmentation(decode(posteriors, collected, options.segment_cost, runs.first))
        return model

    def segment(self, sentences: Iterable[str]) -> Iterator[Segmentation]:
        """Segment sentences, about a hundred thousand characters at a time.

        Posteriors of spans are exact for the model's mean counts and the length bonus for unseen text; segments
        maximise the sum of (posterior - segment_cost). `training` is better for the text that the model was fitted to.
        For other sentences this is better than posteriors summed over the collected sweeps (word F1 of the paper's
        draws 79.0 against 78.6), and it is needed once.

        Raises:
            InputError: a lone surrogate.
        """
        return map(self.segment_batch, self.batches(sentences))

    def batches(self, sentences: Iterable[str]) -> Iterator[list[str]]:
        """The sentences as `segment` takes them at once."""
        return in_batches(sentences, _CHARACTERS_PER_BATCH, size=lambda sentence: len(sentence) + 1)

    @property
    def units(self) -> Sequence[str]:
        """The clusters of the text to which the model was fitted."""
        return self._knowledge.known.units.clusters

    def save(self, path: str | Path) -> None:
        """Write the model to one safetensors file, atomically."""
        write_knowledge(self._knowledge, self.options, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` wrote. Raises InputError where the file is damaged or something else."""
        return cls(*read_knowledge(path))

    def segment_batch(self, sentences: Sequence[str]) -> Segmentation:
        """Segment sentences at once; see `segment`."""
        runs, known = find_runs(sentences, self.options.split_kana), self._knowledge.known
        text = encode(runs, known, self._knowledge.contexts)
        posteriors = np.zeros(text.spans.shape, np.float32)
        lattice = make_lattice(int(np.diff(runs.first).max(initial=0)), self.options.longest)
        add_all_posteriors(text, known.symbol_count, self._counts, self._parts, lattice, posteriors)
        return runs.segmentation(decode(posteriors, 1, self.options.segment_cost, runs.first))


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
