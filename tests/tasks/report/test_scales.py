"""Scales: linear, or broken where a few values hide the others; the break is seen."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from tasks.report.figures.scales import break_where_needed, find_break, legend_above, whole_numbers

NEAR = np.linspace(-5, 5, 40)


def test_values_of_one_size_keep_a_linear_scale():
    assert find_break(NEAR) is None
    assert find_break(np.linspace(-20, 120, 20)) is None
    assert find_break(np.array([])) is None and find_break(np.zeros(5)) is None


@pytest.mark.parametrize("far", [1000.0, -1000.0])
def test_a_few_far_values_are_compressed(far):
    found = find_break(np.append(NEAR, [far, far / 2]))
    assert found is not None and (found.above < 1) == (far > 0) and (found.below < 1) == (far < 0)
    near = found.forward(NEAR)
    assert np.allclose(near, NEAR), "most values are not compressed"
    assert abs(found.forward(np.array([far]))[0]) < 20


def test_a_broken_scale_can_be_inverted():
    found = find_break(np.append(NEAR, [1000.0, -500.0]))
    assert found is not None
    values = np.array([-500.0, -7, 0, 3, 400, 1000])
    assert np.allclose(found.inverse(found.forward(values)), values)
    assert (np.diff(found.forward(values)) > 0).all()


def test_a_break_is_shown_and_every_tick_lies_in_its_part():
    axes = Figure().subplots()
    values = np.append(NEAR, 1000.0)
    axes.plot(values)
    break_where_needed([axes], values)
    assert [text.get_text()[:14] for text in axes.texts] == ["grey: scale 1 "]
    assert max(axes.get_yticks()) >= 500 and 0 in axes.get_yticks()
    plain = Figure().subplots()
    break_where_needed([plain], NEAR)
    assert not plain.texts and plain.get_yscale() == "linear"


def test_ticks_are_whole_numbers():
    axes = Figure().subplots()
    axes.set_xlim(0, 2)
    whole_numbers(axes)
    assert all(tick == int(tick) for tick in axes.get_xticks())


def test_a_legend_has_every_curve_once():
    figure = Figure(layout="constrained")
    for axes in figure.subplots(1, 2):
        axes.plot([1, 2], label="both")
    axes.plot([2, 1], label="one")
    legend_above(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["both", "one"]
