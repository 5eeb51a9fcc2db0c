"""Work on shards: in this process, in processes of this machine, or on a Dask cluster, with the same bytes everywhere.

`map_shards` computes a function of every shard and reduces the results as they come, in the order of the shards. So the
result does not depend on where the shards were computed, and memory holds a few shards for each worker, however many
there are. How work is shared out, tried again and sent between machines is left to `concurrent.futures` and to Dask.
"""

import ctypes
import logging
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tokenlab.core.errors import ClusterError, ParameterError, of_rust
from tokenlab.core.options import check_least, option
from tokenlab.core.parent_death import die_with_parent

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

Result = TypeVar("Result")
Total = TypeVar("Total")

VARIABLE = "TOKENLAB_CLUSTER"
"""Environment variable: `cluster` of `ClusterOptions`, where it is not given."""

LOCAL = "local"
_RETRIES = 2
"""How often Dask computes a shard again after an error, such as one of a network file system. Shards of workers that
were killed do not count."""
_RUNNING = 2
"""Shards sent to each worker: one is computed, and one is ready for when it is done."""
_IN_FLIGHT = 16
"""The same, and results that wait for those of slower shards before them."""
_CONNECTING = 30
"""Seconds after which a scheduler that does not answer is an error."""
_MOST_WORKERS = 10_000
"""More than a machine has processors; pools of processes fail on far larger numbers."""
_NO_WORKER = "10m"
"""After which a local cluster without workers is an error."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_ARRAY, _KEPT = 1 << 25, 1 << 27
"""Bytes: arrays up to this size, the most that glibc allows, stay in the heap when they are freed; the end of the heap
is given back where so much of it is free."""


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
        check_workers(self.workers)

    @property
    def address(self) -> str | None:
        """That of the Dask cluster; None where there is none."""
        return self.cluster or os.environ.get(VARIABLE) or None

    @property
    def shared(self) -> bool:
        """Whether other processes than this one compute."""
        return self.address is not None or self.workers > 1


def check_workers(workers: int) -> None:
    """Raises ParameterError for a number of processes below 1, or more than a pool takes."""
    check_least("workers", workers, 1)
    if workers > _MOST_WORKERS:
        raise ParameterError(f"workers is {workers}; it must be at most {_MOST_WORKERS:,}")


class Cluster(NamedTuple):
    """Where shards are computed, and what is there already."""

    state: tuple[Any, ...] = ()
    """The first arguments of all functions."""
    submit: Callable[..., Future[Any]] | None = None
    """Has a function called elsewhere; None: shards are computed in this process."""
    size: Callable[[], int] = lambda: 1
    """The number of shards computed at a time; it may change."""


def map_shards(
    function: Callable[..., Result],
    shards: Iterable[Any],
    reduce: Callable[[Iterator[Result]], Total],
    cluster: Cluster | None = None,
) -> Total:
    """Reduce the results of all shards.

    Args:
        function: of the state of the cluster, if it has one, and of a shard. It is called again for the same shard
            where a worker was lost, so files that it writes must be atomic. It must be importable by the workers.
        shards: read as a stream, and sent to the workers: name files rather than passing on what they hold.
        reduce: takes the results, in the order of the shards, as they come: `list`, `sum`, a function that writes them.
        cluster: from `open_cluster`; None computes here.

    Raises:
        Exception: whatever function or reduce raises; what has not started then is cancelled. For lost workers see
            `open_cluster`.
    """
    if cluster is None or cluster.submit is None:
        return reduce(map(partial(function, *(cluster.state if cluster else ())), shards))
    in_flight: deque[Future[Result]] = deque()
    submit = partial(cluster.submit, function, *cluster.state)
    try:
        return reduce(_in_order(submit, iter(shards), cluster.size, in_flight))
    finally:
        for future in in_flight:
            future.cancel()


def _in_order(
    submit: Callable[[Any], Future[Result]],
    shards: Iterator[Any],
    size: Callable[[], int],
    in_flight: deque[Future[Result]],
) -> Iterator[Result]:
    """The results in order. An error of any shard in flight is raised at once."""
    while True:
        workers, running = size(), sum(not future.done() for future in in_flight)
        room = min(_RUNNING * workers - running, _IN_FLIGHT * workers - len(in_flight))
        in_flight.extend(map(submit, islice(shards, max(room, 0))))
        if not in_flight:
            return
        if in_flight[0].done():
            yield in_flight.popleft().result()
        else:
            unfinished = [future for future in in_flight if not future.done()]
            for future in wait(unfinished, return_when=FIRST_COMPLETED).done:
                future.result()


@contextmanager
def open_cluster(options: ClusterOptions, *state: Any) -> Iterator[Cluster]:
    """The workers of these options.

    Args:
        state: the first arguments of all functions, sent to each worker once: a model, a tokenizer.

    Raises:
        ClusterError: no scheduler answers; and from inside the block, a process was killed, workers of Dask were
            killed by the same shard again and again, or the scheduler has gone.
        ParameterError: `distributed` is not installed.
    """
    if options.address is not None:
        with _dask_client(options.address, options.workers) as client:
            submit = client.get_executor(pure=False, retries=_RETRIES).submit
            # Results of tasks, not scattered data: Dask makes them again where all that had them were killed.
            sent = [client.submit(_given, value, pure=False) for value in state]
            yield Cluster(tuple(sent), submit, partial(_threads, client))
    else:
        with processes(options.workers, *state) as cluster:
            yield cluster


@contextmanager
def processes(workers: int, *state: Any) -> Iterator[Cluster]:
    """Processes of this machine, whatever the environment says; this one where they would be one, since another takes
    seconds to start. They are spawned, since a fork would copy the locks of Arrow's threads, and end with this one.

    Args:
        state: as of `open_cluster`.

    Raises ClusterError from inside the block where a process was killed.
    """
    if workers == 1:
        yield Cluster(state)
        return
    from concurrent.futures import ProcessPoolExecutor  # Here, since every command imports this module.

    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, state)
    try:
        with lost_processes_named("a process that computed a shard"):
            yield Cluster(
                submit=lambda function, shard: pool.submit(_with_state, function, shard), size=lambda: workers
            )
    except (KeyboardInterrupt, SystemExit):  # What is computed is not waited for.
        for process in list(pool._processes.values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def lost_processes_named(what: str) -> Iterator[None]:
    """Raises ClusterError where a process of a pool of `concurrent.futures` was killed."""
    try:
        yield
    except BrokenExecutor:
        raise ClusterError(f"{what} was killed, perhaps for want of memory; use fewer workers, and run again") from None


_state: tuple[Any, ...] = ()
"""Of a process of `processes`."""


def _begin(*state: Any) -> None:
    global _state
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches all processes, and the first of them says so.
    _keep_freed_memory()
    _state = state


def _keep_freed_memory() -> None:
    """Have glibc keep what a shard frees for the next one: page faults took a tenth of the time of segmenting."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # Other C libraries have none.
        library.mallopt(_M_MMAP_THRESHOLD, _LARGEST_ARRAY)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT)


def _given(value: Any) -> Any:
    return value


def _with_state(function: Callable[..., Any], shard: Any) -> Any:
    try:
        return function(*_state, shard)
    except BaseException as error:
        if not of_rust(error):
            raise
        raise Exception(str(error)) from None  # A panic cannot be pickled; Rust raises plain exceptions, too.


def _close(cluster: "LocalCluster") -> None:
    with suppress(AssertionError):  # Of Dask, where a worker that was killed is just being started again.
        cluster.close()


def _threads(client: "Client") -> int:
    try:
        return max(1, sum(client.nthreads().values()))
    except OSError:  # Of the connection to the scheduler, whose loss cancels futures, too.
        raise CancelledError from None


@contextmanager
def _dask_client(address: str, workers: int) -> "Iterator[Client]":
    try:
        import dask
        from distributed import Client, KilledWorker, LocalCluster
        from distributed.scheduler import NoWorkerError
        from distributed.utils import silence_logging_cmgr
    except ImportError as error:
        raise ParameterError(
            f"cluster needs {error.name}, which is not installed; install tokenlab with its extra `dask`"
        ) from None
    with ExitStack() as stack:
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))  # Dask logs what it raises.
        # A state is sent once, however large.
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}))
        place: Any = address
        if address == LOCAL:
            # A worker that is killed while it starts is not started again.
            stack.enter_context(dask.config.set({"distributed.scheduler.no-workers-timeout": _NO_WORKER}))
            place = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=None,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
                security=True,  # Whoever may connect to a scheduler may run anything.
            )
            stack.callback(_close, place)
        try:
            client = stack.enter_context(Client(place, timeout=_CONNECTING))
        except TypeError as error:  # no keys for tls://
            raise ClusterError(f"{address!r}: {error}; set DASK_DISTRIBUTED__COMM__TLS__CA_FILE and others") from None
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ClusterError(
                f"no Dask scheduler answers at {address!r} ({reason}); check --cluster, or else ${VARIABLE}"
            ) from None
        try:
            yield client
        except (KilledWorker, NoWorkerError):
            raise ClusterError(
                "workers of Dask that computed a shard were killed again and again, perhaps for want of memory; give "
                "them more, and run again"
            ) from None
        except CancelledError:
            raise ClusterError(
                f"the Dask scheduler at {address} has gone; start it again, or leave the cluster out, and run again"
            ) from None
