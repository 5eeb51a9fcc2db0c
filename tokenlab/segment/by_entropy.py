"""Segments of sentences from predictive entropies, and boundary scores from entropies for other methods."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokenlab.core.errors import InputError
from tokenlab.ngrams.clusters import cluster_starts
from tokenlab.segment.boundaries import RULES
from tokenlab.segment.isolation import ALONE, SPACE, WHOLE, CharacterClasses
from tokenlab.segment.options import BoundaryOptions, Isolate, check_isolation
from tokenlab.segment.segmentation import Segmentation
from tokenlab.text.code_points import code_points


def entropy_boundaries(entropy: ArrayLike, options: BoundaryOptions) -> NDArray[np.int64]:
    """The positions before which boundaries stand, ascending.

    Args:
        entropy: H(x_t | x_<t) in nats for each character (or byte) t, NaN where there is none: inside a token, at
            dropped whitespace, at the start of a text without a prefix. Positions without a value are skipped:
            neighbours are the nearest values on either side, and no boundary stands where there is no value.
    """
    values = np.asarray(entropy, np.float32)
    places = np.flatnonzero(~np.isnan(values))
    return places[RULES[options.rule](values[places], float(options.threshold or 0.0))]


def segment_by_entropy(
    sentences: Sequence[str],
    entropies: Sequence[NDArray[np.float32]],
    options: BoundaryOptions,
    isolate: Isolate = "none",
    split_kana: bool = False,
) -> Segmentation:
    """Segment sentences at the boundaries that a rule finds in their entropies.

    Whitespace inside a sentence is a boundary and belongs to no segment. `isolate` adds boundaries, and removes those
    inside clusters; `script` also removes those inside runs of letters and digits; see `SegmentOptions`.

    Args:
        entropies: for each sentence a value per character in nats, float32[characters], NaN where there is none.

    Raises:
        InputError: the numbers of values and characters of a sentence differ, or those of sentences; a lone surrogate.
        ParameterError: an unknown kind of isolation, or `split_kana` without isolation of scripts.
    """
    check_isolation(isolate, split_kana)
    if len(sentences) != len(entropies):
        raise InputError(f"{len(sentences)} sentences but entropies of {len(entropies)}; score this text again")
    points = code_points("".join(sentence + "\n" for sentence in sentences))
    origin = np.cumsum([0, *(len(sentence) + 1 for sentence in sentences)], dtype=np.int64)
    is_boundary = np.zeros(len(points), bool)
    for number, (sentence, values) in enumerate(zip(sentences, entropies, strict=True)):
        if len(sentence) != len(values):
            raise InputError(
                f"sentence {number + 1}: {len(sentence)} characters but {len(values)} entropies; score this text again"
            )
        is_boundary[origin[number] + entropy_boundaries(values, options)] = True
    starts = cluster_starts(points)
    classes = CharacterClasses(isolate, split_kana)(points, starts)
    before = np.concatenate(([SPACE], classes[:-1]))
    is_boundary |= (classes != before) | (classes == ALONE)
    is_boundary[(classes == WHOLE) & (before == WHOLE)] = False
    if isolate != "none":
        is_boundary &= starts
    return Segmentation(points, classes == SPACE, is_boundary & (classes != SPACE), origin)


def boundary_scores(entropy: NDArray[np.float32], weight: float, threshold: float) -> NDArray[np.float64]:
    """nu (H_t - theta) for each character t: what a boundary before t adds to the sum that `Segmenter` maximises.

    Our own combination of both signals of the paper. It rewards a boundary where the entropy is above `threshold`
    (theta, in nats) and penalises it below. NaN stays NaN.

    Args:
        weight: nu, in units of the utility per nat; 0 leaves the statistics alone.
    """
    return weight * (entropy.astype(np.float64) - threshold)
