"""The control without order or depth: multinomial logistic regression on the counts of a text's tokens (seconds).

Features are log(1 + count), each text scaled to length 1. The strength of the L2 penalty is the one that is best on the
validation texts.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from tokenlab.core.errors import InputError
from tokenlab.metrics.classification import confusion_counts, weighted_f1
from tokenlab.translation.pairs import Pairs

_STRENGTHS = (1.0, 10.0, 100.0)
"""Of the penalty, inverse: scikit-learn's C."""
_ITERATIONS = 1000


def linear_control(training: Pairs, validation: Pairs, test: Pairs, classes: int) -> NDArray[np.int64]:
    """int64[test texts]: the classes that the control predicts, which depend on its arguments alone.

    Args:
        training, validation, test: texts in one cut, made by `encode_labelled`.
        classes: their number; the training texts have all of them.

    Raises InputError for a part without texts, and where a class has no training text.
    """
    for name, part in (("training", training), ("validation", validation), ("test", test)):
        if not len(part):
            raise InputError(f"there is no {name} text")
    if missing := set(range(classes)) - set(training.target.ids.tolist()):
        raise InputError(f"no training text is of class {min(missing)}; draw another split, or leave the class out")
    features = [_features(part) for part in (training, validation, test)]

    def fitted(strength: float) -> tuple[float, LogisticRegression]:
        model = LogisticRegression(C=strength, max_iter=_ITERATIONS).fit(features[0], training.target.ids)
        counts = confusion_counts(validation.target.ids.astype(np.int64), model.predict(features[1]), classes)
        return float(weighted_f1(counts)), model

    _, best = max(map(fitted, _STRENGTHS), key=lambda found: found[0])
    return best.predict(features[2]).astype(np.int64)


def _features(texts: Pairs) -> csr_array:
    """float64[texts, vocabulary], sparse."""
    source = texts.source
    counts = csr_array(
        (np.ones(len(source.ids)), source.ids, source.starts), (len(texts), texts.padding + 1), copy=True
    )
    counts.sum_duplicates()
    counts.data = np.log1p(counts.data)
    return normalize(counts)
