"""The helper `layout` must find what it is for."""

import pytest
from layout import faults
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D


@pytest.fixture
def figure():
    figure = Figure(figsize=(4, 3))
    FigureCanvasAgg(figure)
    axis = figure.add_axes((0.2, 0.2, 0.6, 0.5))
    axis.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
    axis.plot([0.5], [0.5], "o")
    return figure


def test_a_sound_figure_has_no_faults(figure):
    figure.legend(handles=[Line2D([], [], label="one")], loc="upper center")
    for x in (0.3, 0.4):
        figure.axes[0].text(x, 0.1, "turned", rotation=45, ha="right", va="bottom")
    assert faults(figure) == []


def test_texts_that_overlap_are_found(figure):
    figure.axes[0].text(0.1, 0.1, "one")
    figure.axes[0].text(0.12, 0.12, "two")
    assert faults(figure) == ["'one' and 'two' overlap"]


def test_ticks_that_overlap_are_found_and_those_beyond_the_axis_are_not(figure):
    figure.axes[0].set_xticks([0.4, 0.45, 3], ["system", "other", "system"])
    assert faults(figure) == ["'system' and 'other' overlap"]


def test_a_text_that_leaves_the_figure_is_found(figure):
    figure.text(0.95, 0.95, "too long for this")
    assert faults(figure) == ["'too long for this' is cut"]


def test_small_letters_are_found_at_the_size_in_print(figure):
    figure.text(0.5, 0.9, "small", fontsize=6)
    assert faults(figure) == ["'small' has 6.0 pt"]
    figure.texts[0].set_fontsize(8)
    figure.set_figwidth(14.4)
    assert "'small' has 4.0 pt" in faults(figure)


def test_a_legend_on_a_panel_is_found(figure):
    figure.axes[0].set_title("points", loc="left")
    figure.axes[0].legend(handles=[Line2D([], [], label="one")])
    assert faults(figure) == ["a legend covers the panel 'points'"]


def test_a_label_on_a_point_is_found(figure):
    figure.axes[0].text(0.5, 0.5, "label", ha="center", va="center")
    assert faults(figure) == ["'label' hides a point"]
