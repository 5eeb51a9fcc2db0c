"""Classification: weighted F1, and the difference between two classifiers on the same test items."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError


class PairedDifference(NamedTuple):
    """The difference between the mean weighted F1 of two classifiers, over seeds and the same test items."""

    mean: float
    """One minus the other."""
    deviation: float
    """Of the difference, by the seeds and by the draw of the test items together."""

    @property
    def separable(self) -> bool:
        """Whether the difference exceeds its deviation; otherwise the two are not separable."""
        return abs(self.mean) > self.deviation


def confusion_counts(gold: NDArray[np.int64], predicted: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """int64[..., classes, classes]: items by their class (rows) and the predicted one (columns).

    Args:
        gold: int64[items].
        predicted: int64[..., items], such as a row for each seed.
        classes: their number.

    Raises InputError for a label outside the classes, and without items.
    """
    if not gold.size:
        raise InputError("there is no test item to score")
    for labels in (gold, predicted):
        if labels.min() < 0 or labels.max() >= classes:
            wrong = labels[(labels < 0) | (labels >= classes)][0]
            raise InputError(f"the label {wrong} is outside the {classes} classes, 0 to {classes - 1}")
    runs = predicted.reshape(-1, len(gold))
    cells = (np.arange(len(runs))[:, None] * classes + gold) * classes + runs
    counts = np.bincount(cells.ravel(), minlength=len(runs) * classes**2)
    return counts.reshape(*predicted.shape[:-1], classes, classes)


def weighted_f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """F1 of each class, averaged by its number of items, 0..1: float64[...] of counts [..., classes, classes].

    As scikit-learn's `f1_score` with average="weighted": a class that no item has and none is predicted to have counts
    nothing, one that is never found has F1 0.
    """
    hits, support = np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(-1)
    f1 = 2 * hits / np.maximum(support + counts.sum(-2), 1)
    return (f1 * support).sum(-1) / support.sum(-1)


def paired_difference(
    gold: NDArray[np.int64],
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    classes: int,
    resamples: int = 1000,
    seed: int = 0,
) -> PairedDifference:
    """Compare two classifiers on the same test items.

    The variance of the difference is the sum of two: over seeds, of the differences between runs with equal seeds, and
    over bootstrap samples of the test items (Efron 1979), of the difference between the means. Items that both
    classifiers get right, or wrong in the same way, cancel out.

    Args:
        gold: int64[items].
        one: int64[seeds, items], the predictions of a run in each row.
        other: the same of the other one, with the same seeds.
        classes: their number.
        resamples: bootstrap samples.
        seed: of the samples.

    Raises InputError for a label outside the classes, without items, and for other numbers of seeds or items.
    """
    if one.shape != other.shape or one.shape[1:] != gold.shape:
        raise InputError(
            f"predictions {one.shape} and {other.shape} of {gold.shape} items; compare runs on equal items"
        )
    both = np.stack((one, other))

    def differences(items: NDArray[np.int64] | slice) -> NDArray[np.float64]:
        f1 = weighted_f1(confusion_counts(gold[items], both[..., items], classes))
        return f1[0] - f1[1]

    of_seeds = differences(slice(None))
    generator = np.random.default_rng(seed)
    of_samples = [differences(generator.integers(len(gold), size=len(gold))).mean() for _ in range(resamples)]
    variance = np.var(of_samples, ddof=1) + (np.var(of_seeds, ddof=1) if len(of_seeds) > 1 else 0.0)
    return PairedDifference(float(of_seeds.mean()), float(np.sqrt(variance)))
