"""Options of the word model."""

import math
from dataclasses import dataclass

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import option

LARGEST_SEED = 2**63 - 1
LARGEST_LENGTH = 10
_MOST_CLASSES = 1000
_LARGEST_BONUS = 20.0


@dataclass(frozen=True)
class WordOptions:
    """How a word model is fitted, and how segments are chosen by it.

    sweeps: passes of the sampler over the text. None: as many as the size of the text asks for (`fitting.schedule`).

    length_bonus: beta, in nats: the probability of every word is multiplied by exp(beta), so that words are longer
    below 0. None: by the scripts of the text (`fitting.length_bonus`).

    unseen_bonus: beta for sentences that the model was not fitted to. More of their words are new, and a new word is
    worth less to the model than the known single characters in it, so that too many are cut. None: the less known the
    language, the further below `length_bonus` (`fitting.unseen_bonus`).

    segment_cost: what each segment costs: they maximise the sum of (posterior of the segment - segment_cost). The
    higher, the fewer and surer segments are.
    """

    seed: int = option("seed of the sampler", 0, metavar="N")
    sweeps: int | None = option(
        "passes of the sampler over the text; auto: from 24 to 200, the smaller the text the more",
        None,
        metavar="N",
        none="auto",
    )
    classes: int = option("number of word classes; 0 for none", 50, metavar="K")
    length_bonus: float | None = option(
        "added to the log-probability of every word: below 0, words are longer; auto: -2 for Thai and the like, else 0",
        None,
        metavar="NATS",
        none="auto",
    )
    unseen_bonus: float | None = option(
        "the same for text that the model was not fitted to; auto: the smaller the text it was fitted to, the lower",
        None,
        metavar="NATS",
        none="auto",
    )
    segment_cost: float = option(
        "subtracted from the probability of each segment, from 0 to 1: the higher, the longer segments are",
        0.4,
        metavar="X",
    )
    longest: int = option("longest word, in characters (a letter with its vowels and marks is one)", 6, metavar="N")
    split_kana: bool = option("a change between Han characters and kana is a boundary", False)

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ParameterError(f"seed is {self.seed}; it must be from 0 to {LARGEST_SEED}")
        if self.sweeps is not None and self.sweeps < 2:
            raise ParameterError(f"sweeps is {self.sweeps}; it must be at least 2, the second half of which is counted")
        if not 0 <= self.classes <= _MOST_CLASSES:
            raise ParameterError(f"classes is {self.classes}; it must be from 0 to {_MOST_CLASSES}")
        for name, bonus in (("length_bonus", self.length_bonus), ("unseen_bonus", self.unseen_bonus)):
            if bonus is not None and not (math.isfinite(bonus) and abs(bonus) <= _LARGEST_BONUS):
                raise ParameterError(f"{name} is {bonus}; it must be within ±{_LARGEST_BONUS:g}")
        if not 0 <= self.segment_cost <= 1:
            raise ParameterError(f"segment_cost is {self.segment_cost}; it must be from 0 to 1")
        if not 2 <= self.longest <= LARGEST_LENGTH:
            raise ParameterError(f"longest is {self.longest}; it must be from 2 to {LARGEST_LENGTH}")
