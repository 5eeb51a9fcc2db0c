"""Segments of sentences from the boundaries between their characters, and boundaries as evidence for other methods."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokenlab.entropy.boundaries import BoundaryOptions, entropy_boundaries
from tokenlab.errors import InputError
from tokenlab.segment.isolation import ALONE, SPACE, WHOLE, CharacterClasses
from tokenlab.segment.segmenter import Segmentation
from tokenlab.segment.utility import Isolate
from tokenlab.text.points import code_points


def segment_by_entropy(
    sentences: Sequence[str],
    entropies: Sequence[NDArray[np.float32]],
    options: BoundaryOptions,
    isolate: Isolate = "none",
) -> Segmentation:
    """Cut sentences before the characters at which boundaries stand.

    Whitespace inside a sentence is a boundary and belongs to no segment. `isolate` adds boundaries, and with `script`
    takes away those inside a run of Latin letters and digits; see `SegmentOptions`.

    Args:
        entropies: of each sentence a value per character, float32[characters], NaN where there is none.

    Raises:
        InputError: a sentence with fewer or more values than characters, or with a lone surrogate.
    """
    points = code_points("".join(sentence + "\n" for sentence in sentences))
    lengths = np.array([len(sentence) + 1 for sentence in sentences], np.int64)
    origin = np.concatenate(([0], np.cumsum(lengths)))
    is_boundary = np.zeros(len(points), bool)
    for number, (sentence, values) in enumerate(zip(sentences, entropies, strict=True)):
        if len(sentence) != len(values):
            raise InputError(
                f"sentence {number + 1}: {len(sentence)} characters but {len(values)} entropies; score this text again"
            )
        is_boundary[origin[number] + entropy_boundaries(values, options)] = True
    classes = CharacterClasses(isolate)(points)
    before = np.concatenate(([SPACE], classes[:-1]))
    is_boundary |= (classes != before) | (classes == ALONE)
    is_boundary[(classes == WHOLE) & (before == WHOLE)] = False
    return Segmentation(points, classes == SPACE, is_boundary & (classes != SPACE), origin)


def boundary_evidence(entropy: NDArray[np.float32], weight: float, threshold: float) -> NDArray[np.float64]:
    """nu (H_t - theta) for each character: what a boundary before it adds to the sum that `Segmenter` maximises.

    Our own combination of both signals of the paper. A boundary is rewarded where the model is less sure than
    `threshold` (theta, in nats) and costs something where it is surer; NaN stays NaN.

    Args:
        weight: nu, in units of the utility per nat; 0 leaves the statistics alone.
    """
    return weight * (entropy.astype(np.float64) - threshold)
