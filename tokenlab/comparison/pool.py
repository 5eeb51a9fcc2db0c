"""Trials in processes of their own, two of them for instance on two cores, with their progress in one."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from tokenlab.comparison.candidates import Recipe, train_candidates
from tokenlab.comparison.trials import Score, Speed, Trial, measured_speed, run_trial
from tokenlab.core.parent_death import die_with_parent
from tokenlab.core.shards import lost_processes_named

_SECONDS = 0.5
"""Between two looks at the progress."""


_done: Any = None
"""In a process of the pool: float64[jobs], the operations done of each."""


def run_trials(
    trials: Sequence[Trial], folder: Path, workers: int, progress: Callable[[float], None] | None = None
) -> list[Score]:
    """The scores of trials, in their order.

    Args:
        trials: the longest ones first keep all processes busy.
        folder: as of `run_trial`.
        workers: processes; they end with this one.
        progress: called from time to time with the operations that all trials have done so far.

    Raises as `run_trial`; the trials that have not begun are not begun then. Raises ClusterError, as the others here,
    where a process was killed.
    """
    jobs = [(trial, folder, number) for number, trial in enumerate(trials)]
    return _in_processes(_run, jobs, workers, progress)


def trained_candidates(
    recipes: Sequence[Recipe], documents: Sequence[str], folder: Path, progress: Callable[[float], None]
) -> None:
    """`train_candidates` in a process of its own, whose memory is free again after it.

    progress: called from time to time with the number of those that have begun.
    """
    _in_processes(_train_candidates, [(recipes, documents, folder)], 1, progress)


def measured_speeds(trials: Sequence[Trial], seconds: float, workers: int) -> list[Speed]:
    """The speed of each trial beside others, in as many processes as will run them."""
    return _in_processes(measured_speed, [(trial, seconds) for trial in trials], workers, None)


def _in_processes(
    work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], workers: int, progress: Callable[[float], None] | None
) -> list[Any]:
    if not jobs:
        return []
    # Workers are spawned: a fork would copy the locks of threads.
    context = multiprocessing.get_context("spawn")
    done = context.Array("d", len(jobs))
    with (
        lost_processes_named("a process"),
        ProcessPoolExecutor(min(workers, len(jobs)), context, initializer=_begin, initargs=(done,)) as pool,
    ):
        futures: list[Future[Any]] = [pool.submit(work, *job) for job in jobs]
        try:
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, _SECONDS)
                for future in finished:
                    future.result()
                if progress is not None:
                    progress(sum(done[:]))
        except BaseException:
            for process in list(pool._processes.values()):
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _begin(done: Any) -> None:
    """A process of the pool: silent, since there is one bar for all, and gone when its parent is."""
    global _done
    _done = done
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # Cores are busy with processes.
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    die_with_parent()


def _run(trial: Trial, folder: Path, number: int) -> Score:
    def add(flops: float) -> None:
        _done[number] += flops

    # In a thread of its own: `tokenizers` keeps what BPE has cached until the thread ends, not the tokenizer.
    with ThreadPoolExecutor(1) as thread:
        score = thread.submit(run_trial, trial, folder, add).result()
    _done[number] = score.training_flops
    return score


def _train_candidates(recipes: Sequence[Recipe], documents: Sequence[str], folder: Path) -> None:
    def begun(name: str) -> None:
        _done[0] += 1

    train_candidates(recipes, documents, folder, begun)
