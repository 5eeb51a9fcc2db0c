"""Shards give the same result in this process, in others and on Dask, and lost workers are one line."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import shard_work
from killing import wait_until

from tokenlab.core.errors import ClusterError, InputError, ParameterError, one_line
from tokenlab.core.shards import VARIABLE, Cluster, ClusterOptions, map_shards, open_cluster

SUPPORT = str(Path(shard_work.__file__).parent)


@pytest.fixture(scope="module")
def pool() -> Iterator[Cluster]:
    with open_cluster(ClusterOptions(workers=2), 7) as cluster:
        yield cluster


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def dask_processes() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of a scheduler, and its process; two workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    commands = [
        [*dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"],
        [*dask, "worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard"],
    ]
    environment = os.environ | {"PYTHONPATH": SUPPORT}
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    try:
        wait_until(lambda: running[0].poll() is not None or _listens(port))
        assert running[0].poll() is None
        yield address, running[0]
    finally:
        for process in running:
            family = [*psutil.Process(process.pid).children(recursive=True), process]
            for one in family:
                one.kill()
            process.wait()


@pytest.mark.parametrize("shards", [0, 1, 2, 7, 50])
def test_results_come_in_order_and_state_is_the_first_argument(pool: Cluster, shards: int) -> None:
    expected = [7 * number for number in range(shards)]
    with open_cluster(ClusterOptions(), 7) as here:
        assert map_shards(shard_work.scaled, range(shards), list, here) == expected
    assert map_shards(shard_work.scaled, range(shards), list, pool) == expected
    assert map_shards(shard_work.square, range(shards), sum) == sum(number * number for number in range(shards))


def test_few_shards_are_in_flight_and_a_slow_one_holds_up_no_others(tmp_path: Path) -> None:
    drawn = []

    def shards() -> Iterator[int]:
        for number in range(1000):
            drawn.append(number)
            yield number

    with open_cluster(ClusterOptions(workers=2), str(tmp_path)) as cluster:

        def release() -> None:
            wait_until((tmp_path / "runs-9").exists)
            (tmp_path / "go").touch()

        threading.Thread(target=release, daemon=True).start()  # Never, if shards 1 to 9 waited for shard 0.
        assert map_shards(shard_work.held, shards(), shard_work.kept, cluster) == 0
    assert 10 <= len(drawn) <= 40


def test_an_error_of_a_shard_is_raised_as_it_is() -> None:
    for workers in (1, 2):
        with pytest.raises(InputError, match="shard 3 is damaged"), open_cluster(ClusterOptions(workers)) as cluster:
            map_shards(shard_work.refused, range(10), list, cluster)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, open_cluster(ClusterOptions(2)) as cluster:
        map_shards(shard_work.read_bytes, [str(tmp_path / "part-1")], list, cluster)
    assert "part-1" in one_line(caught.value)


def test_a_killed_process_is_one_line_and_the_next_run_completes(tmp_path: Path) -> None:
    def run() -> list[int]:
        with open_cluster(ClusterOptions(workers=2), str(tmp_path)) as cluster:
            return map_shards(shard_work.killed_once, range(10), list, cluster)

    with pytest.raises(ClusterError, match=r"killed, .* use fewer workers"):
        run()
    assert run() == [number * number for number in range(10)]


def test_bad_options() -> None:
    with pytest.raises(ParameterError, match="workers is 0"):
        ClusterOptions(workers=0)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_dask_gives_the_same_although_a_worker_is_killed(workers: int, tmp_path: Path) -> None:
    with open_cluster(ClusterOptions(workers, "local"), str(tmp_path)) as cluster:
        for shards in (1, 2, 7):
            expected = [number * number for number in range(shards)]
            assert map_shards(shard_work.killed_once, range(shards), list, cluster) == expected
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
def test_a_shard_that_kills_every_worker_of_dask_is_one_line() -> None:
    with (
        pytest.raises(ClusterError, match=r"workers of Dask .* killed"),
        open_cluster(ClusterOptions(2, "local")) as cluster,
    ):
        map_shards(shard_work.killed, [0], list, cluster)


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_one_line_and_the_next_run_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dask_processes() as (address, scheduler):

        def kill() -> None:
            wait_until((tmp_path / "runs-0").exists)
            scheduler.kill()

        with (
            pytest.raises(ClusterError, match=f"{address} has gone"),
            open_cluster(ClusterOptions(cluster=address), str(tmp_path)) as cluster,
        ):
            threading.Thread(target=kill, daemon=True).start()
            map_shards(shard_work.held, range(10), list, cluster)
    with dask_processes() as (address, _):
        monkeypatch.setenv(VARIABLE, address)
        with open_cluster(ClusterOptions()) as cluster:
            assert map_shards(shard_work.square, range(10), list, cluster) == [n * n for n in range(10)]


@pytest.mark.slow
def test_a_scheduler_that_goes_away_while_it_is_asked_is_one_line() -> None:
    with (
        dask_processes() as (address, scheduler),
        pytest.raises(ClusterError, match=f"{address} has gone"),
        open_cluster(ClusterOptions(cluster=address)) as cluster,
    ):
        scheduler.send_signal(signal.SIGSTOP)
        threading.Timer(1, scheduler.kill).start()
        map_shards(shard_work.square, range(10), list, cluster)


def test_an_address_without_a_scheduler() -> None:
    pytest.importorskip("distributed")
    for address, message in (
        ("nowhere", "answers at 'nowhere'"),
        ("tls://127.0.0.1:9", "DASK_DISTRIBUTED__COMM__TLS__CA_FILE"),
    ):
        with pytest.raises(ClusterError, match=message), open_cluster(ClusterOptions(cluster=address)):
            pass
