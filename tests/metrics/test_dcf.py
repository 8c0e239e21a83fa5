import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import error_rates, score_sets

from vpeval.metrics.score_metrics import min_dcf
from vpeval.metrics.scores import pool


@given(score_sets, st.sampled_from([0.001, 0.01, 0.5, 0.9]))
def test_min_dcf_is_the_least_cost_over_all_thresholds(scores, p):
    expected = min(p * miss + (1 - p) * fa for fa, miss in error_rates(*scores)) / min(p, 1 - p)
    assert min_dcf(pool(*scores), p) == pytest.approx(expected, abs=1e-12)


def test_min_dcf_by_hand():
    # Threshold between 2 and 3: one of four targets missed, no false alarm.
    assert min_dcf(pool([1.5, 3, 4, 5], [0, 1, 2]), 0.01) == pytest.approx(0.25)
