import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, mannwhitneyu

from vpeval.metrics.paired import holm, mann_whitney

integers = st.lists(st.integers(1, 10), min_size=1, max_size=40)
reals = st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=15)


@given(integers, integers)
def test_integers_with_ties_give_the_numbers_of_scipy(x, y):
    ours = mann_whitney(x, y)
    theirs = mannwhitneyu(x, y, method="asymptotic" if len({*x, *y}) < len(x) + len(y) else "auto")
    assert ours.u == theirs.statistic
    expected = 1.0 if np.isnan(theirs.pvalue) else theirs.pvalue  # all values equal
    assert ours.p_value == pytest.approx(expected, rel=1e-9)


@given(reals, reals)
def test_small_samples_give_the_numbers_of_scipy(x, y):
    theirs = mannwhitneyu(x, y)
    if not np.isnan(theirs.pvalue):
        assert mann_whitney(x, y).p_value == pytest.approx(theirs.pvalue, rel=1e-9)


@given(integers, integers)
def test_it_does_not_matter_which_sample_is_first(x, y):
    one, other = mann_whitney(x, y), mann_whitney(y, x)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-12)
    assert one.u + other.u == len(x) * len(y)


def test_an_empty_sample_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        mann_whitney([], [1])


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_lies_between_no_correction_and_bonferroni(p):
    corrected = holm(p)
    values = np.array(p)
    assert (corrected >= values).all() and (corrected <= np.minimum(1, len(p) * values)).all()
    assert len(p) == 0 or corrected.min() == pytest.approx(min(1, len(p) * min(p)))
    order = np.argsort(values, kind="stable")
    assert (np.diff(corrected[order]) >= 0).all()


def test_holm_by_hand_and_above_the_false_discovery_rate():
    p = [0.01, 0.02, 0.03, 0.005]
    assert holm(p) == pytest.approx([0.03, 0.04, 0.04, 0.02])
    assert (holm(p) >= false_discovery_control(p)).all()
