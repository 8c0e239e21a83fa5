import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.metrics.intervals import (
    Interval,
    bootstrap_mean,
    bootstrap_means,
    generator,
    interval_notes,
    multiplicities,
    percentile_interval,
)


def test_every_resample_draws_as_many_speakers_as_there_are():
    drawn = multiplicities(7, 50, generator(0, "x"))
    assert drawn.shape == (50, 7)
    assert (drawn.sum(axis=1) == 7).all()
    assert drawn.min() == 0


def test_each_speaker_is_drawn_once_on_average():
    drawn = multiplicities(10, 20_000, generator(0, "x"))
    assert np.allclose(drawn.mean(axis=0), 1, atol=0.03)
    assert np.allclose(drawn.var(axis=0), 0.9, atol=0.05)  # binomial(10, 1/10)


def test_generators_depend_on_seed_and_label_only():
    def first(seed, label):
        return generator(seed, label).integers(2**62)

    assert first(3, "a") == first(3, "a")
    assert len({first(3, "a"), first(4, "a"), first(3, "b"), first(34, "")}) == 4


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide():
    values = np.random.default_rng(1).normal(size=400)
    interval = bootstrap_mean(values, resamples=4000)
    error = values.std() / 20
    assert interval.lower == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert interval.upper == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)


def test_a_matrix_gives_the_intervals_of_its_columns():
    values = np.random.default_rng(2).random((30, 4))
    together = bootstrap_means(values, 200, seed=5)
    alone = [bootstrap_mean(column, 200, seed=5) for column in values.T]
    assert [i.lower for i in together] == pytest.approx([i.lower for i in alone])
    assert [i.upper for i in together] == pytest.approx([i.upper for i in alone])


def test_blocks_of_resamples_do_not_change_the_result(monkeypatch):
    values = np.random.default_rng(3).random(20)
    whole = bootstrap_mean(values, 100)
    monkeypatch.setattr("vpeval.metrics.intervals._BLOCK", 140)
    blocked = bootstrap_mean(values, 100)
    assert (blocked.lower, blocked.upper) == pytest.approx((whole.lower, whole.upper), rel=1e-14)


def test_infinite_samples_do_not_become_nan():
    assert percentile_interval([-np.inf] * 30 + [1.0] * 970) == Interval(-np.inf, 1.0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_interval_ends_are_samples_that_leave_a_fortieth_out_on_either_side(samples):
    interval = percentile_interval(samples)
    assert interval.lower in samples
    assert interval.upper in samples
    assert sum(x < interval.lower for x in samples) <= 0.025 * len(samples)
    assert sum(x > interval.upper for x in samples) <= 0.025 * len(samples)


def test_shapes_other_than_one_value_per_speaker_are_refused():
    with pytest.raises(ValueError, match="one value per speaker"):
        bootstrap_mean([[1.0, 2.0]])
    with pytest.raises(ValueError, match="matrix"):
        bootstrap_means(np.empty((0, 3)))


def test_a_record_without_interval_says_nothing_about_one():
    assert interval_notes(0, 7) == {}
    assert interval_notes(10, 7, 2) == {"interval": "speaker bootstrap", "resamples": 10, "redrawn": 2, "seed": 7}


def test_a_percentile_interval_ends_at_the_outer_neighbours():
    # The 5 % point of 0 … 99 lies at 4.95, the 95 % point at 94.05.
    assert percentile_interval(np.arange(100.0), level=0.9) == Interval(4.0, 95.0)
    assert percentile_interval(np.arange(100.0)) == Interval(2.0, 97.0)


def test_the_means_are_those_of_the_speakers_drawn():
    values = np.array([1.0, 10.0, 100.0])
    drawn = multiplicities(3, 500, generator(7, "mean"))
    expected = percentile_interval([sum(m * v for m, v in zip(row, values, strict=True)) / 3 for row in drawn])
    found = bootstrap_mean(values, 500, seed=7)
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper))
