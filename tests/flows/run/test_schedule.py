"""Which step of a plan starts next."""

import pytest

from flows.run.plan import Policy, Step
from flows.run.schedule import Schedule


def step(address, after=(), **resources):
    return Step(address, ("changed",), after, Policy(resources=resources))


def started(schedule):
    return [step.address for step in schedule.start()]


def test_steps_start_in_the_order_of_the_plan_once_those_before_them_have_ended():
    steps = [step("a"), step("b", after=("a",)), step("c")]
    schedule = Schedule(steps, workers=3, limits={})
    assert started(schedule) == ["a", "c"]
    assert started(schedule) == []
    schedule.end(steps[0])
    assert started(schedule) == ["b"] and schedule.unfinished
    schedule.end(steps[1])
    schedule.end(steps[2])
    assert not schedule.unfinished


@pytest.mark.parametrize("folder", ["", "presets/cpu/dvc.yaml:"])
def test_another_variant_of_a_running_stage_waits_while_there_is_something_else_to_do(folder):
    names = ["count@en", "count@zh", "counted@en", "fit"]
    steps = [step(folder + name) for name in names]
    schedule = Schedule(steps, workers=2, limits={})
    assert started(schedule) == [folder + "count@en", folder + "counted@en"]
    schedule.end(steps[2])
    assert started(schedule) == [folder + "fit"]
    schedule.end(steps[3])
    assert started(schedule) == [folder + "count@zh"]  # rather than leave a core idle


def test_a_step_that_asks_for_more_than_there_is_runs_alone():
    steps = [step("large", memory_gb=100), step("small", memory_gb=1), step("none")]
    schedule = Schedule(steps, workers=3, limits={"memory_gb": 24})
    assert started(schedule) == ["large", "none"]
    schedule.end(steps[0])
    assert started(schedule) == ["small"]
