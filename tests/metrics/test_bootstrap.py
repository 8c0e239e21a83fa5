import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vpeval.metrics.intervals import Interval, generator, multiplicities, percentile_interval


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


def test_infinite_samples_do_not_become_nan():
    assert percentile_interval([-np.inf] * 30 + [1.0] * 970) == Interval(-np.inf, 1.0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_interval_ends_are_samples_that_leave_a_fortieth_out_on_either_side(samples):
    interval = percentile_interval(samples)
    assert interval.lower in samples
    assert interval.upper in samples
    assert sum(x < interval.lower for x in samples) <= 0.025 * len(samples)
    assert sum(x > interval.upper for x in samples) <= 0.025 * len(samples)


def test_a_percentile_interval_ends_at_the_outer_neighbours():
    # The 5 % point of 0 … 99 lies at 4.95, the 95 % point at 94.05.
    assert percentile_interval(np.arange(100.0), level=0.9) == Interval(4.0, 95.0)
    assert percentile_interval(np.arange(100.0)) == Interval(2.0, 97.0)
