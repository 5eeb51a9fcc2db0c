"""Jobs in processes of their own: training draws random numbers from a generator that threads would share."""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from tqdm import tqdm

from tasks.runtime.parent_death import die_with_parent

Job = TypeVar("Job")
Result = TypeVar("Result")


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
        futures = [pool.submit(work, job) for job in jobs]
        try:
            for future in tqdm(as_completed(futures), total=len(futures), desc=description, disable=None):
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]
