"""One task in a process of its own: seconds of each run, and memory above what imports and input take.

`Bench.measure` starts `python -m benchmarks.measure RUNS MODULE:TASK ARGUMENT...`; that process prepares the task,
warms it up on a sample (numba loads or compiles, allocators start), runs it on the whole, and prints JSON.
"""

import gc
import importlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import psutil

Facts = dict[str, Any]
CORES = os.cpu_count() or 1
_PROJECT = Path(__file__).resolve().parent.parent
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes
_STATUS = Path("/proc/self/status")
_POLL = 0.05  # seconds
_SPARE = 2 << 30  # bytes


class Task(NamedTuple):
    """`run(whole)` is timed after a warm-up, `run(sample)`; in `facts` of its result ours and a peer's must agree."""

    run: Callable[[Any], Any]
    sample: Any
    whole: Any
    facts: Callable[[Any], Facts]


@dataclass(frozen=True)
class Measurement:
    """Seconds, also of CPU, of each run, and of the warm-up; `peak`: bytes of run 1 above imports and input."""

    seconds: list[float]
    cpu_seconds: list[float]
    warm_up: float
    peak: int
    facts: Facts

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.seconds)

    @property
    def cpu(self) -> float:
        """The median seconds of CPU."""
        return statistics.median(self.cpu_seconds)

    def rate(self, amount: float) -> str:
        """`amount` a second: median (slowest to fastest)."""
        low, high = amount / max(self.seconds), amount / min(self.seconds)
        return f"{amount / self.median:.3g} ({low:.3g} to {high:.3g})"

    def time(self, per_second: float = 1.0, form: str = ".2f") -> str:
        """Seconds times `per_second`: median (slowest to fastest)."""
        shown = (f"{per_second * s:{form}}" for s in (self.median, max(self.seconds), min(self.seconds)))
        return "{} ({} to {})".format(*shown)


@dataclass(frozen=True)
class Limits:
    """The bytes of memory and the seconds that a process may take."""

    memory: int
    seconds: float

    @classmethod
    def of_this_machine(cls, seconds: float) -> "Limits":
        """The memory that is free now, less 2 GiB for everything else."""
        return cls(psutil.virtual_memory().available - _SPARE, seconds)


class Stopped(NamedTuple):
    """A process that was stopped at a limit; `peak`: bytes of all of it until then."""

    reason: str
    peak: int


@dataclass(frozen=True)
class Bench:
    """The folder and the facts of the texts, and how often a task is run."""

    folder: Path
    texts: dict[str, Facts]
    runs: int
    numba_cache: Path | None  # None: the usual one
    cpu_shares: list[float] = field(default_factory=list)  # CPU time / time of every measurement on one thread
    preset: str = "sample"  # whose trained models are measured

    @property
    def quick(self) -> bool:
        """Whether this run only shows that the benchmarks work."""
        return self.runs == 1

    def text(self, name: str) -> str:
        """The path of a text of `corpora`."""
        return str(self.folder / f"{name}.txt")

    def millions(self, name: str) -> float:
        """Millions of characters of a text, whitespace not counted."""
        return self.texts[name]["characters"] / 1e6

    def measure(self, task: str, *arguments: str, threads: int = 1, runs: int | None = None) -> Measurement:
        """Run a task, "module:name" in this package, in its own process with `threads` threads."""
        command = self._command(task, arguments, runs or self.runs)
        done = subprocess.run(command, cwd=_PROJECT, env=self._environment(threads), stdout=subprocess.PIPE, check=True)
        return self._found(done.stdout, threads)

    def measure_within(self, limits: Limits, task: str, *arguments: str, threads: int = 1) -> Measurement | Stopped:
        """Run a task once as `measure` does, but stop its process when it exceeds a limit."""
        command, environment = self._command(task, arguments, 1), self._environment(threads)
        with subprocess.Popen(command, cwd=_PROJECT, env=environment, stdout=subprocess.PIPE) as process:
            try:
                reason, peak = _watch(process, limits)
            finally:
                process.kill()  # without effect where it has ended
            output = process.communicate()[0]
        if reason:
            return Stopped(reason, peak)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return self._found(output, threads)

    def _command(self, task: str, arguments: Sequence[str], runs: int) -> list[str]:
        return [sys.executable, "-m", "benchmarks.measure", str(runs), task, *arguments]

    def _found(self, output: bytes, threads: int) -> Measurement:
        found = Measurement(**json.loads(output))
        if threads == 1:
            self.cpu_shares.append(sum(found.cpu_seconds) / sum(found.seconds))
        return found

    def measure_command(
        self, arguments: Sequence[str], source: Sequence[str] = (), *, once: bool = False
    ) -> Measurement:
        """Run the `tokenlab` command; its peak is all of the process, and the first of its runs is the warm-up.

        source: a command whose output it reads. once: one run, without a warm-up.
        """
        program = [sys.executable, "-c", "import sys; from tokenlab.cli import main; sys.exit(main())", *arguments]
        seconds, cpu_seconds, peak = [], [], 0
        for _ in range(1 if once else self.runs + 1):
            with (
                (self.folder / "output.txt").open("wb") as output,
                output_of(source) if source else nullcontext() as text,
            ):
                start = time.perf_counter()
                process = subprocess.Popen(program, cwd=_PROJECT, env=self._environment(1), stdin=text, stdout=output)
                _, status, usage = os.wait4(process.pid, 0)
                seconds.append(time.perf_counter() - start)
            if status:
                raise RuntimeError(f"tokenlab {' '.join(arguments)}: status {status}")
            cpu_seconds.append(usage.ru_utime + usage.ru_stime)
            peak = usage.ru_maxrss * _MAXRSS_UNIT
        if once:
            return Measurement(seconds, cpu_seconds, 0.0, peak, {})
        return Measurement(seconds[1:], cpu_seconds[1:], seconds[0], peak, {})

    def measure_peer(self, python: str, program: str, *arguments: str) -> tuple[Measurement, Facts]:
        """Run a file of this folder in another interpreter, on one thread; what it prints holds its times.

        Raises RuntimeError with its last line where it fails.
        """
        command = [python, str(Path(__file__).with_name(program)), *arguments]
        done = subprocess.run(command, env=self._environment(1), capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace").strip().splitlines()[-1][:200])
        found = json.loads(done.stdout.splitlines()[-1])
        facts = found.pop("facts", {})
        times = {name: found.pop(name) for name in ("seconds", "cpu_seconds")}
        return Measurement(**times, warm_up=0.0, peak=0, facts=facts), found

    def _environment(self, threads: int) -> dict[str, str]:
        libraries = ("OMP_NUM", "OPENBLAS_NUM", "NUMBA_NUM", "RAYON_NUM", "POLARS_MAX")
        limits = {f"{library}_THREADS": str(threads) for library in libraries}
        cache = {"NUMBA_CACHE_DIR": str(self.numba_cache)} if self.numba_cache else {}
        return {**os.environ, **limits, "TOKENIZERS_PARALLELISM": str(threads > 1).lower(), **cache}


@contextmanager
def output_of(command: Sequence[str]) -> Iterator[IO[bytes]]:
    """What a command writes. Raises CalledProcessError where it fails."""
    with subprocess.Popen(command, cwd=_PROJECT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def lines_of(path: str) -> list[str]:
    """The lines of a text of `corpora`."""
    return Path(path).read_text(encoding="utf-8").splitlines()


def on_lines(run: Callable[[list[str]], Any], path: str, facts: Callable[[Any], Facts] = lambda _: {}) -> Task:
    """A task on the lines of a text; twenty of them are the sample."""
    lines = lines_of(path)
    return Task(run, lines[:20], lines, facts)


def seconds_of(work: Callable[..., Any], *given: Any) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    work(*given)
    return time.perf_counter() - start


def digest(content: str | Any) -> str:
    """A hash of a text, or of whole numbers as int32, for `agree`."""
    content = content.encode() if isinstance(content, str) else np.asarray(content, np.int32).tobytes()
    return sha256(content).hexdigest()


def merge_facts(learned: Any) -> Facts:
    """Number and hash of merges, for `agree`. learned: pairs of ids, or a tokenizer of Hugging Face."""
    if not isinstance(learned, np.ndarray):
        learned = [learned.token_to_id(side) for merge in merges_of(learned) for side in merge]
    return {"merges": np.size(learned) // 2, "digest": digest(learned)}


def merges_of(tokenizer: Any) -> list[list[str]]:
    """The merges of a tokenizer of Hugging Face."""
    return json.loads(tokenizer.to_str())["model"]["merges"]


def table_of(heads: Sequence[str], rows: Iterable[Iterable[object]], left: int = 1) -> list[str]:
    """A table in Markdown; all columns but the first `left` are set to the right."""
    rule = ["---"] * left + ["--:"] * (len(heads) - left)
    return [f"| {' | '.join(map(str, row))} |" for row in (heads, rule, *rows)]


def agree(*measurements: Measurement) -> None:
    """Stop the benchmark where the facts that measurements share differ (numbers by 1e-9 of their size)."""
    for other in measurements[1:]:
        first = measurements[0].facts
        for name in [fact for fact in first if fact in other.facts]:
            ours, theirs = first[name], other.facts[name]
            equal = ours == theirs if isinstance(ours, str) else abs(ours - theirs) <= 1e-9 * max(1.0, abs(ours))
            if not equal:
                raise RuntimeError(f"the results differ, so no time is printed: {name} is {ours} and {theirs}")


def _watch(process: subprocess.Popen[bytes], limits: Limits) -> tuple[str, int]:
    """Wait for the end or a limit: why it must be stopped ("" where it ended), and the largest memory that was seen."""
    start, peak, facts = time.perf_counter(), 0, psutil.Process(process.pid)
    while process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            peak = max(peak, facts.memory_info().rss)
        if peak > limits.memory or psutil.virtual_memory().available < _SPARE / 2:
            return f"out of memory at {peak / 1e9:.0f} GB", peak
        if time.perf_counter() - start > limits.seconds:
            return f"more than {limits.seconds / 60:.0f} minutes", peak
        time.sleep(_POLL)
    if process.returncode == -signal.SIGKILL:  # by the system
        return f"out of memory at {peak / 1e9:.0f} GB", peak
    return "", peak


def peak_memory() -> int:
    """Bytes. Where there is Linux's own figure it is better: `ru_maxrss` begins with the memory of the parent."""
    if _STATUS.exists():
        return next(int(line.split()[1]) for line in _STATUS.open(encoding="utf-8") if line[:6] == "VmHWM:") * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


def _main(runs: int, name: str, *arguments: str) -> None:
    module, _, prepare = name.partition(":")
    task: Task = importlib.import_module(f"benchmarks.{module}").TASKS[prepare](*arguments)
    start = time.perf_counter()
    task.run(task.sample)
    warm_up = time.perf_counter() - start
    baseline, peak, facts = peak_memory(), 0, {}
    seconds, cpu_seconds = [], []
    for number in range(runs):
        gc.collect()
        start, cpu_start = time.perf_counter(), time.process_time()
        result = task.run(task.whole)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
        if number == 0:
            peak, facts = peak_memory() - baseline, task.facts(result)
        del result
    found = Measurement(seconds, cpu_seconds, warm_up, peak, facts)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    _main(int(sys.argv[1]), *sys.argv[2:])
