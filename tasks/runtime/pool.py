"""A pool of threads for jobs that are NumPy and Numba."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from tqdm import tqdm

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
