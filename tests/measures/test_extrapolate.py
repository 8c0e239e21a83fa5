"""When a legal metric may be carried beyond the speakers that there are."""

from dataclasses import replace

import numpy as np
import pytest

from vpeval.measures.base import Resampling
from vpeval.measures.legal import Law, extrapolate, singling_out_law
from vpeval.records.record import Record


def curve(*values, width=0.05):
    sizes = (5, 10, 20, 40)[-len(values) :]
    return [Record("m", v, v - width, v + width, {"N": n, "L": 1}) for n, v in zip(sizes, values, strict=True)]


def law(predicted, beyond=0.2):
    return Law("m", 1, 30, lambda n, most: predicted, lambda weights, n: np.full(len(weights), beyond))


def test_a_law_that_misses_what_was_left_out_says_nothing_beyond():
    (error,) = extrapolate(law(0.3), curve(0.9, 0.8, 0.7, 0.6), 1000, 0.001, Resampling(10))
    assert (error.metric, error.params) == ("m_extrapolation_error", {"N": 40, "L": 1, "from": 20})
    assert error.value == pytest.approx(-0.3)
    assert error.notes["holds"] is False


def test_a_law_that_holds_goes_on_and_says_from_where():
    error, beyond = extrapolate(law(0.62), curve(0.9, 0.8, 0.7, 0.6), 1000, 0.001, Resampling(10))
    assert error.notes["holds"] is True
    assert (beyond.metric, beyond.value, beyond.params) == ("m_extrapolated", 0.2, {"N": 1000, "L": 1, "from": 40})
    assert beyond.notes["held_out_error"] == pytest.approx(0.02)
    assert (beyond.notes["factor"], beyond.notes["held_out_factor"], beyond.notes["chance"]) == (25, 2, 0.001)


def test_without_an_interval_only_one_point_is_forgiven():
    bare = [replace(record, lower=None, upper=None) for record in curve(0.9, 0.8, 0.7, 0.6)]
    assert len(extrapolate(law(0.609), bare, 1000, 0.001, Resampling(0))) == 2
    assert len(extrapolate(law(0.62), bare, 1000, 0.001, Resampling(0))) == 1


def test_what_was_measured_is_not_extrapolated_and_one_number_of_speakers_is_no_curve():
    assert len(extrapolate(law(0.6), curve(0.9, 0.8, 0.7, 0.6), 40, 0.001, Resampling(0))) == 1
    assert extrapolate(law(0.6), curve(0.6), 1000, 0.001, Resampling(0)) == []


def test_singling_out_is_never_carried_below_chance():
    chance = np.array([0.36, 0.355, 0.35, 0.35])
    values = np.repeat(np.array([0.9, 0.7, 0.5, 0.36])[:, None], 30, axis=1)
    found = singling_out_law((5, 10, 20, 40), values, chance)
    assert 0.35 < found.beyond(np.ones((1, 30)), 10**6)[0] < 0.4
    level = np.repeat(chance[:, None], 30, axis=1)
    assert singling_out_law((5, 10, 20, 40), level, chance).beyond(np.ones((1, 30)), 10**6)[0] == pytest.approx(
        0.35, abs=0.02
    )
