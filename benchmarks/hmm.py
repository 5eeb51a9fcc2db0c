"""The HMM of Latom: one iteration of EM beside hmmlearn, then whole trainings.

The texts are Bibles, verse by verse (built-in sentences without the mirror); every process reads its own.
"""

from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from benchmarks.corpora import source_of_verses, verses
from benchmarks.measure import Bench, Facts, Task, agree, table_of
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.latom.hmm import Training, expected_counts, train
from tokenlab.codes.latom.hmm_model import PeriodicHmm, draw_hmm, maximise
from tokenlab.codes.latom.hmm_reference import masked_model, periodic_parameters, repeated

TITLE = "HMM of Latom"
TEXTS = ()
_BESIDE_PEERS = (("en", 2, 8), ("en", 3, 4), ("en", 2, 32), ("zh", 3, 15))
_TRAININGS = (("en", 2, 8), ("zh", 2, 56), ("zh", 3, 15), ("ja", 2, 44), ("ja", 3, 13))
_ITERATIONS = 10


class Sequences(NamedTuple):
    """Codes of a text's characters, sorted by code point, where its verses begin, and how many characters there are."""

    codes: np.ndarray
    offsets: np.ndarray
    C: int


def table(bench: Bench) -> list[str]:
    part = bench.texts["part"]["characters"]
    whole = part if bench.quick else 0
    compiling = bench.measure("hmm:tokenlab", "en", "2", "8", str(part), runs=1).warm_up
    beside: list[list[object]] = []
    trainings: list[list[object]] = []
    for text, N, K in _BESIDE_PEERS:
        ours, scaling, log = (
            bench.measure(f"hmm:{name}", text, str(N), str(K), str(part)) for name in ("tokenlab", "scaling", "log")
        )
        agree(ours, scaling, log)
        beside.append([text, ours.facts["C"], N, K, ours.time(1e3, ",.0f")])
        for peer in (scaling, log):
            beside[-1] += [peer.time(1e3, ",.0f"), f"{peer.median / ours.median:.0f} times"]
    for text, N, K in _TRAININGS:
        found = bench.measure("hmm:train", text, str(N), str(K), str(whole))
        characters = found.facts["characters"]
        each = found.median / characters / (_ITERATIONS + 1) * 1e9
        trainings.append([text, f"{characters:,}", found.facts["C"], N, K, found.time(), f"{each:.0f}"])
    peers = ["hmmlearn scaling", "tokenlab is faster", "hmmlearn log", "tokenlab is faster"]
    return [
        f"One iteration of EM on the first {part:,} characters ({source_of_verses()}), hmmlearn {version('hmmlearn')}, "
        "milliseconds:",
        "",
        *table_of(["text", "C", "N", "K", "tokenlab", *peers], beside),
        "",
        f"tokenlab compiles for {compiling:.1f} s once after installing.",
        "",
        f"Training, {_ITERATIONS} iterations ({_ITERATIONS + 1} E-steps) on the whole text, one thread:",
        "",
        *table_of(["text", "characters", "C", "N", "K", "seconds", "ns/character and E-step"], trainings),
    ]


def sequences(text: str, size: int) -> Sequences:
    """The `verses` of a text as an HMM reads them."""
    corpus = character_corpus(verses(text, size))
    return Sequences(corpus.symbols, corpus.offsets, len(corpus.characters))


def iteration(hmm: PeriodicHmm, text: Sequences) -> tuple[float, PeriodicHmm]:
    """Our log-likelihood, and the parameters after one iteration of EM."""
    counts = expected_counts(hmm, text.codes, text.offsets)
    return counts.log_likelihood, maximise(hmm, counts)


def peer_iteration(implementation: str) -> Callable[[PeriodicHmm, Sequences], tuple[float, PeriodicHmm]]:
    """The same by hmmlearn."""

    def run(hmm: PeriodicHmm, text: Sequences) -> tuple[float, PeriodicHmm]:
        model = masked_model(hmm, implementation)
        model.fit(*repeated(hmm, text.codes, text.offsets))
        return model.monitor_.history[-1], periodic_parameters(model, hmm)

    return run


def _iteration_task(run: Callable[[PeriodicHmm, Sequences], tuple[float, PeriodicHmm]]) -> Callable[..., Task]:
    def prepare(text: str, N: str, K: str, size: str) -> Task:
        whole = sequences(text, int(size))
        hmm = draw_hmm(int(N), int(K), whole.C, seed=0)
        return Task(lambda part: run(hmm, part), _sample(whole), whole, facts)

    def facts(result: tuple[float, PeriodicHmm]) -> Facts:
        log_likelihood, hmm = result
        squares = {name: float(np.sum(np.square(getattr(hmm, name)))) for name in ("start", "transitions", "emissions")}
        return {"log_likelihood": float(log_likelihood), "C": hmm.emissions.shape[-1], **squares}

    return prepare


def _train(text: str, N: str, K: str, size: str) -> Task:
    whole = sequences(text, int(size))

    def facts(result: Training) -> Facts:
        return {"characters": whole.codes.size, "C": whole.C, "log_likelihood": result.log_likelihoods[-1]}

    return Task(lambda part: train(*part, int(N), int(K), iterations=_ITERATIONS), _sample(whole), whole, facts)


def _sample(text: Sequences) -> Sequences:
    """A hundred verses."""
    offsets = text.offsets[:101]
    return Sequences(text.codes[: offsets[-1]], offsets, text.C)


TASKS = {
    "tokenlab": _iteration_task(iteration),
    "scaling": _iteration_task(peer_iteration("scaling")),
    "log": _iteration_task(peer_iteration("log")),
    "train": _train,
}
