"""Pools for the jobs of a stage: threads for NumPy and Numba, processes for trainings, whose random numbers come from a
generator that threads would share; and a training in several processes of its own."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from tqdm import tqdm

from tokenlab.core.parent_death import die_with_parent
from tokenlab.core.shards import map_shards, processes

Job = TypeVar("Job")
Result = TypeVar("Result")


def pooled(work: Callable[[Job], Result], jobs: Iterable[Job], description: str) -> list[Result]:
    """The results of all jobs in their order, computed on all cores; with a progress bar where stderr is a terminal.

    NumPy and Numba release the interpreter's lock, so threads suffice, and they share one corpus in memory. The first
    exception of a job cancels the jobs that have not started.
    """
    listed = list(jobs)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(work, job) for job in listed]
        try:
            for future in tqdm(as_completed(futures), total=len(futures), desc=description, disable=None):
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def in_processes(work: Callable[[Job], Result], jobs: Sequence[Job], workers: int, description: str) -> list[Result]:
    """The results of all jobs in their order, from `workers` processes at a time; with a progress bar.

    Function, jobs and results are pickled. The first exception of a job cancels the jobs that have not started.
    """

    def shown(results: Iterator[Result]) -> list[Result]:
        return list(tqdm(results, total=len(jobs), desc=description, disable=None))

    with processes(max(1, min(workers, len(jobs)))) as cluster:
        return map_shards(work, jobs, shown, cluster)


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
