import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import reproducible

from vpeval.metrics.dsys import dsys, dsys_null
from vpeval.metrics.scores import pool


def reference(targets, nontargets):
    """The published estimator, written with numpy's histogram and trapezoid."""
    pooled = np.r_[targets, nontargets]
    edges = np.linspace(pooled.min(), pooled.max(), min(len(targets) // 10, 100) + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    y1 = np.histogram(targets, edges, density=True)[0]
    y2 = np.histogram(nontargets, edges, density=True)[0]
    d = [max(0, (a - b) / (a + b)) if a + b else 0 for a, b in zip(y1, y2, strict=True)]
    return np.trapezoid(d * y1, centres)


@reproducible
@given(st.integers(0, 10**6), st.integers(20, 1200), st.integers(1, 400), st.sampled_from([1, 2, 6]))
def test_dsys_is_the_reference_estimator(seed, n_targets, n_nontargets, digits):
    rng = np.random.default_rng(seed)
    targets = rng.normal(1, 1, n_targets).round(digits)
    nontargets = rng.normal(size=n_nontargets).round(digits)
    assert dsys(pool(targets, nontargets)) == pytest.approx(reference(targets, nontargets), abs=1e-9)


def test_half_of_the_end_bin_is_lost():
    # Ten targets in each of the 20 bins of [0, 20], one nontarget below: only the last bin is halved.
    targets = np.repeat(np.arange(1, 20) + 0.5, 10)
    pooled = pool(np.r_[targets, np.full(10, 20.0)], [0.0])
    assert dsys(pooled) == pytest.approx(1 - 0.1 / 2)


@pytest.mark.parametrize("n_targets", [1, 9, 10, 19])
def test_fewer_than_twenty_targets_give_zero(n_targets):
    pooled = pool(np.arange(n_targets) + 10.0, np.arange(10.0))
    assert dsys(pooled) == 0
    assert dsys_null(pooled).mean == 0


def test_equal_scores_give_zero_instead_of_nan():
    pooled = pool(np.ones(100), np.ones(100))
    assert dsys(pooled) == 0
    assert dsys_null(pooled).interval.upper == 0


def test_the_null_level_is_that_of_shuffled_labels():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=3000)
    null = dsys_null(pool(scores[:500], scores[500:]), permutations=2000)
    shuffled = []
    for _ in range(300):
        rng.shuffle(scores)
        shuffled.append(dsys(pool(scores[:500], scores[500:])))
    assert null.mean == pytest.approx(np.mean(shuffled), abs=4 * np.std(shuffled) / np.sqrt(300))
    assert null.interval.lower == pytest.approx(np.quantile(shuffled, 0.025), abs=0.01)
    assert null.interval.upper == pytest.approx(np.quantile(shuffled, 0.975), abs=0.01)
    assert 0.05 < null.mean < 0.11  # what scores without information give at 500 targets


def test_the_null_level_is_reproducible():
    pooled = pool(np.arange(100.0), np.arange(50.0, 400.0))
    assert dsys_null(pooled, seed=1) == dsys_null(pooled, seed=1)
    assert dsys_null(pooled, seed=1) != dsys_null(pooled, seed=2)
