"""Work on shards: in this process, in processes of this machine, or on a Dask cluster, with the same bytes everywhere.

`map_shards` computes a function of every shard and reduces the results as they come, in the order of the shards. So the
result does not depend on where the shards were computed, and memory holds a few shards for each worker, however many
there are. How work is shared out, tried again and sent between machines is left to `concurrent.futures` and to Dask.
"""

import logging
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tokenlab.core.errors import ClusterError, ParameterError
from tokenlab.core.options import check_least, option
from tokenlab.core.parent_death import die_with_parent

if TYPE_CHECKING:
    from distributed import Client

Shard = TypeVar("Shard")
Result = TypeVar("Result")
Total = TypeVar("Total")

VARIABLE = "TOKENLAB_CLUSTER"
"""Environment variable: `cluster` of `ClusterOptions`, where it is not given."""

LOCAL = "local"
_RETRIES = 2
"""How often Dask computes a shard again after an error, such as one of a network file system. Shards of workers that
were killed do not count."""
_IN_FLIGHT = 2
"""Shards on the way for each worker: one computed, and one ready for when it is done."""
_CONNECTING = 30
"""Seconds after which a scheduler that does not answer is an error."""
_NO_WORKER = "60s"
"""After which a local cluster without workers is an error."""
_KILLED = "that computed a shard was killed, perhaps for want of memory"


@dataclass(frozen=True)
class ClusterOptions:
    """Where shards are computed. The result does not depend on it."""

    workers: int = option("processes of this machine that share the work", 1, metavar="N")
    cluster: str | None = option(
        f"Dask cluster that shares the work: the address of its scheduler, or `{LOCAL}` for one of --workers processes "
        f"(default: ${VARIABLE}, if set)",
        None,
        metavar="tcp://HOST:PORT",
    )

    def __post_init__(self) -> None:
        check_least("workers", self.workers, 1)


class Cluster(NamedTuple):
    """Workers in other processes."""

    executor: Executor
    size: Callable[[], int]
    """The number of shards that they compute at a time; it may change."""


def map_shards(
    function: Callable[[Shard], Result],
    shards: Iterable[Shard],
    reduce: Callable[[Iterator[Result]], Total],
    cluster: Cluster | None = None,
) -> Total:
    """Reduce the results of all shards.

    Args:
        function: computes the result of one shard; called again for the same shard where a worker was lost, so files
            that it writes must be atomic. Elsewhere it must be importable, and it, shards and results are sent to and
            from the workers: name files rather than passing on what they hold.
        shards: read as a stream.
        reduce: takes the results, in the order of the shards, as they come: `list`, `sum`, a function that writes them.
        cluster: from `open_cluster`; None computes here.

    Raises:
        Exception: whatever function or reduce raises; what has not started then is cancelled. For lost workers see
            `open_cluster`.
    """
    if cluster is None:
        return reduce(map(function, shards))
    in_flight: deque[Future[Result]] = deque()
    try:
        return reduce(_in_order(function, iter(shards), cluster, in_flight))
    finally:
        for future in in_flight:
            future.cancel()


def _in_order(
    function: Callable[[Shard], Result], shards: Iterator[Shard], cluster: Cluster, in_flight: deque[Future[Result]]
) -> Iterator[Result]:
    """The results in order, with few shards in flight. An error of any of them is raised at once."""
    while True:
        room = _IN_FLIGHT * cluster.size() - len(in_flight)
        in_flight.extend(cluster.executor.submit(function, shard) for shard in islice(shards, max(room, 0)))
        if not in_flight:
            return
        while not in_flight[0].done():
            running = [future for future in in_flight if not future.done()]
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                future.result()
        yield in_flight.popleft().result()


@contextmanager
def open_cluster(options: ClusterOptions) -> Iterator[Cluster | None]:
    """The workers of these options; None where shards are computed in this process.

    Processes are spawned, since a fork would copy the locks of Arrow's threads, and end with this one.

    Raises:
        ClusterError: no scheduler answers; and from inside the block, a process was killed, workers of Dask were
            killed by the same shard again and again, or the scheduler has gone.
        ParameterError: `distributed` is not installed.
    """
    address = options.cluster or os.environ.get(VARIABLE)
    if address:
        with _dask_client(address, options.workers) as client:
            yield Cluster(client.get_executor(retries=_RETRIES), lambda: max(1, sum(client.nthreads().values())))
    elif options.workers == 1:
        yield None
    else:
        with _processes(options.workers) as pool:
            yield Cluster(pool, lambda: options.workers)


@contextmanager
def _processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        yield pool
    except BrokenExecutor:
        raise ClusterError(f"a process {_KILLED}; use fewer workers, and run again") from None
    except (KeyboardInterrupt, SystemExit):  # What is computed is not waited for.
        for process in list(pool._processes.values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches all processes, and the first of them says so.


@contextmanager
def _dask_client(address: str, workers: int) -> "Iterator[Client]":
    try:
        import dask
        from distributed import Client, KilledWorker, LocalCluster
        from distributed.scheduler import NoWorkerError
    except ImportError as error:
        raise ParameterError(
            f"cluster needs {error.name}, which is not installed; pip install tokenlab[dask]"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # It logs what it raises.
    with ExitStack() as stack:
        if address == LOCAL:
            # A worker that is killed while it starts is not started again.
            stack.enter_context(dask.config.set({"distributed.scheduler.no-workers-timeout": _NO_WORKER}))
            address = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    memory_limit=None,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    security=True,  # Whoever may connect to a scheduler may run anything.
                )
            )
        try:
            client = stack.enter_context(Client(address, timeout=_CONNECTING))
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ClusterError(
                f"cluster is {address!r}, where no Dask scheduler answers ({reason}); check it"
            ) from None
        try:
            yield client
        except (KilledWorker, NoWorkerError):
            raise ClusterError(f"workers of Dask {_KILLED}, again and again; give them more, and run again") from None
        except CancelledError:
            raise ClusterError(
                f"the Dask scheduler at {address} has gone; start it again, or leave the cluster out, and run again"
            ) from None
