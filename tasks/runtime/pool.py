"""Pools for the jobs of a stage: threads for NumPy and Numba, processes for trainings, whose random numbers come from a
generator that threads would share; and a training in several processes of its own."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from tqdm import tqdm

from tokenlab.core.parent_death import die_with_parent

Job = TypeVar("Job")
Result = TypeVar("Result")


def pooled(work: Callable[[Job], Result], jobs: Iterable[Job], description: str) -> list[Result]:
    """The results of all jobs in their order, computed on all cores; with a progress bar where stderr is a terminal.

    NumPy and Numba release the interpreter's lock, so threads suffice, and they share one corpus in memory. The first
    exception of a job cancels the jobs that have not started.
    """
    listed = list(jobs)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return _results(pool, [pool.submit(work, job) for job in listed], description)


def in_processes(work: Callable[[Job], Result], jobs: Sequence[Job], workers: int, description: str) -> list[Result]:
    """The results of all jobs in their order, from `workers` processes at a time; with a progress bar.

    One worker is this process itself: another takes seconds to start. Function, jobs and results are pickled. The first
    exception of a job cancels the jobs that have not started.
    """
    workers = min(workers, len(jobs))
    if workers <= 1:
        return [work(job) for job in jobs]
    # Workers are spawned: a fork would copy the locks of Arrow's threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=die_with_parent) as pool:
        return _results(pool, [pool.submit(work, job) for job in jobs], description)


def _results(
    pool: ThreadPoolExecutor | ProcessPoolExecutor, futures: list[Future[Result]], description: str
) -> list[Result]:
    try:
        for future in tqdm(as_completed(futures), total=len(futures), desc=description, disable=None):
            future.result()
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    return [future.result() for future in futures]


def in_processes_of_training(train: Callable[[Job], Result], job: Job, processes: int, device: str) -> Result:
    """train(job), here or in so many processes that divide each batch; returns what the first of them returns."""
    from tokenlab.training.processes import launch

    if processes == 1:
        return train(job)
    result: Result = launch(_joined, train, job, device, processes=processes)
    return result


def _joined(train: Callable[[Any], Any], job: Any, device: str) -> Any:
    from tokenlab.training.processes import group

    die_with_parent()
    with group(device):
        return train(job)
