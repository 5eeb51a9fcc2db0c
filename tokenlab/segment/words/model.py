"""The word model: a bigram of words with word classes, sampled from a text without spaces (`fitting`).

Memory of fitting, linear in the text: about 80 bytes per unit (grapheme cluster of a run), 70 per word of the lexicon,
60 per pair of neighbours that occurred in a collected sweep, and before that what `ngram_statistics` takes, which is
more: the peak for 1.8 million characters of Chinese news is the latter's, 0.95 GB in all. Segmenting takes 0.1 KB per
character of a batch. Runs of more than 4,096 units are cut, so that the sampler's own arrays stay below 3 MB.

The sampler uses only + - * / and comparisons of float64 and random numbers of its own (splitmix64), so that a seed
gives the same words on every machine; word classes and the length bonus need `log` and `exp` of the C library.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from tokenlab.segment.segmentation import Segmentation, batches
from tokenlab.segment.words.encoding import find_runs
from tokenlab.segment.words.fitting import Progress, fit_words
from tokenlab.segment.words.knowledge import Knowledge, base_of, encode, parts_of
from tokenlab.segment.words.lattice_kernels import decode, make_lattice
from tokenlab.segment.words.options import WordOptions
from tokenlab.segment.words.sampler_kernels import add_all_posteriors
from tokenlab.segment.words.stored import read_knowledge, write_knowledge

DEFAULT = WordOptions()
_CHARACTERS_PER_BATCH = 1 << 17


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
        fitted = fit_words(sentences, runs, options, progress)
        model = cls(fitted.knowledge, fitted.options)
        model.training = runs.segmentation(
            decode(fitted.posteriors, fitted.collected, options.segment_cost, runs.first)
        )
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
        return map(self._segment_batch, batches(sentences, _CHARACTERS_PER_BATCH))

    def save(self, path: str | Path) -> None:
        """Write the model to one safetensors file, atomically."""
        write_knowledge(self._knowledge, self.options, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` wrote. Raises InputError where the file is damaged or something else."""
        return cls(*read_knowledge(path))

    def _segment_batch(self, sentences: list[str]) -> Segmentation:
        runs, known = find_runs(sentences, self.options.split_kana), self._knowledge.known
        text = encode(runs, known, self._knowledge.contexts)
        posteriors = np.zeros(text.spans.shape, np.float32)
        lattice = make_lattice(int(np.diff(runs.first).max(initial=0)), self.options.longest)
        add_all_posteriors(text, known.symbol_count, self._counts, self._parts, lattice, posteriors)
        return runs.segmentation(decode(posteriors, 1, self.options.segment_cost, runs.first))
