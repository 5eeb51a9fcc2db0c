"""Which step of a plan may start: the steps before it are done, and a worker and its resources are free."""

from collections.abc import Iterable, Iterator, Mapping

import psutil

from flows.run.plan import Step

_DOWNLOADS_AT_ONCE = 2


def local_limits() -> dict[str, float]:
    """The amount of each resource that stages share on this machine."""
    return {"memory_gb": psutil.virtual_memory().total / 2**30, "net": _DOWNLOADS_AT_ONCE}


class Schedule:
    """The steps of a plan by what became of them: waiting, running, or ended.

    Args:
        workers: the number of steps that run at once.
        limits: the amount of each resource; a step that asks for more than there is runs alone.
    """

    def __init__(self, steps: Iterable[Step], workers: int, limits: Mapping[str, float]) -> None:
        self.running: list[Step] = []
        self._waiting = list(steps)
        self._ended: set[str] = set()
        self._workers = workers
        self._limits = limits

    @property
    def unended(self) -> list[Step]:
        """The steps that are running or waiting."""
        return [*self.running, *self._waiting]

    def start(self) -> Iterator[Step]:
        """The steps that may start now; each counts as running.

        In the order of the plan, but a stage waits for another variant of its loop while there is something else to do:
        in a fresh clone each of them would compile the same kernels, which then are in numba's cache.
        """
        while ready := [step for step in self._waiting if self._ended.issuperset(step.after) and self._fits(step)]:
            loops = {step.address.rpartition("@")[0] for step in self.running} - {""}
            step = min(ready, key=lambda step: step.address.rpartition("@")[0] in loops)
            self._waiting.remove(step)
            self.running.append(step)
            yield step

    def end(self, step: Step) -> None:
        """Record that a step ended, in whatever way."""
        self.running.remove(step)
        self._ended.add(step.address)

    def seconds_left(self, durations: Mapping[str, float], elapsed: Mapping[str, float]) -> float:
        """How long the steps that run or wait will still take at least, if each takes as long as last time: the longest
        way through them, or their sum shared by all workers.

        durations: address -> seconds of the last time; a step without takes no time here. elapsed: of running steps.
        """
        ways: dict[str, float] = {}
        total = 0.0
        for step in self.unended:  # in the order of the plan, the running ones first
            own = max(durations.get(step.address, 0.0) - elapsed.get(step.address, 0.0), 0.0)
            ways[step.address] = own + max((ways.get(other, 0.0) for other in step.after), default=0.0)
            total += own
        return max([*ways.values(), total / self._workers])

    def _fits(self, step: Step) -> bool:
        if len(self.running) >= self._workers:
            return False
        return all(
            not (used := sum(other.policy.resources.get(name, 0) for other in self.running))
            or used + amount <= self._limits[name]
            for name, amount in step.policy.resources.items()
        )


def time_left(schedule: Schedule, durations: Mapping[str, float], elapsed: Mapping[str, float]) -> str:
    """How long the rest takes, by the last time that each of its stages ran; empty where none was ever timed."""
    rest = schedule.unended
    untimed = len([step for step in rest if step.address not in durations])
    if untimed == len(rest):
        return ""
    about = f"about {in_words(schedule.seconds_left(durations, elapsed))} left"
    return f", {about}" + (f" and {untimed} stages not timed yet" if untimed else "")


def in_words(seconds: float) -> str:
    """A duration as people say it: `50 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
