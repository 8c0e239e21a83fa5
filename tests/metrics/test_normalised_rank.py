import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from vpeval.metrics.paired import normalised_ranks, ranks_within

integers = st.lists(st.integers(1, 10), min_size=1, max_size=40)


def test_the_example_of_the_supplement_to_the_digit():
    scores = [2, 1, 2, 10, 4, 5, 6, 4, 5, 7]
    assert normalised_ranks(scores).tolist() == [0.15, 0, 0.15, 0.9, 0.35, 0.55, 0.7, 0.35, 0.55, 0.8]


@given(integers)
def test_equal_scores_share_a_rank_as_in_scipy(scores):
    assert normalised_ranks(scores) == pytest.approx((rankdata(scores) - 1) / len(scores), abs=1e-15)


@given(integers, st.integers(1, 5), st.integers(-20, 20))
def test_another_use_of_the_scale_changes_nothing(scores, factor, shift):
    assert (normalised_ranks(scores) == normalised_ranks(factor * np.array(scores) + shift)).all()


@given(integers, st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_every_listener_is_ranked_alone(scores, listeners, seed):
    owner = np.random.default_rng(seed).integers(listeners, size=len(scores))
    ranks = ranks_within(scores, owner)
    for each in set(owner.tolist()):
        assert (ranks[owner == each] == normalised_ranks(np.array(scores)[owner == each])).all()
    assert len(ranks_within([], np.empty(0, np.intp))) == 0
