import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.metrics.one_minus_eer import Levels

NUMBERS = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e3, 1e3, allow_subnormal=False))


@given(st.lists(NUMBERS, min_size=1), st.lists(NUMBERS, min_size=1), st.sampled_from([0.0, 1e-6, 0.5]))
def test_a_gap_is_what_a_search_would_find_and_unclear_only_near_a_level(levels, scores, margin):
    level, score = np.unique(levels), np.array(scores)
    found = Levels.from_scores(level, margin)
    gaps = found.gaps(found.cells(score))
    clear = gaps >= 0
    assert np.array_equal(gaps[clear], np.searchsorted(level, score)[clear])
    distance = np.abs(score[:, None] - level).min(axis=1)
    assert (distance[clear] > margin).all()
    low, high = found.near(score[~clear], gaps[~clear])
    assert np.array_equal(low, np.searchsorted(level, score[~clear] - margin, side="left"))
    assert np.array_equal(high, np.searchsorted(level, score[~clear] + margin, side="right"))


def test_few_scores_need_a_closer_look():
    rng = np.random.default_rng(0)
    found = Levels.from_scores(np.sort(rng.normal(1, 1, 5000)), 1e-9)
    gaps = found.gaps(found.cells(rng.normal(0, 1, 100_000)))
    assert np.count_nonzero(gaps < 0) < 6000


@pytest.mark.parametrize("levels", [[2.0], [1.0, np.nextafter(1, 2)], [-1e300, 1e300], [0.0, 5e-324]])
def test_levels_that_are_one_or_apart_by_next_to_nothing_or_by_everything_are_exact(levels):
    level = np.array(levels)
    found = Levels.from_scores(level)
    scores = np.concatenate((level, np.nextafter(level, -np.inf), np.nextafter(level, np.inf), [-1e307, 0, 1e307]))
    gaps = found.gaps(found.cells(scores))
    expected, clear = np.searchsorted(level, scores), gaps >= 0
    low, high = found.near(scores[~clear], gaps[~clear])
    assert np.array_equal(gaps[clear], expected[clear]) and not np.isin(scores[clear], level).any()
    assert np.array_equal(low, expected[~clear]) and np.array_equal(high > low, np.isin(scores[~clear], level))
