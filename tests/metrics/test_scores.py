import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import pav_llrs, score_sets
from sklearn.isotonic import IsotonicRegression

from vpeval.metrics.scores import pool


@given(score_sets)
def test_pooling_keeps_each_distinct_score_once_with_its_counts(scores):
    targets, nontargets = scores
    pooled = pool(targets, nontargets)
    assert pooled.score.tolist() == sorted({*targets, *nontargets})
    assert pooled.targets.tolist() == [targets.count(s) for s in pooled.score]
    assert pooled.nontargets.tolist() == [nontargets.count(s) for s in pooled.score]
    assert (pooled.n_targets, pooled.n_nontargets) == (len(targets), len(nontargets))


@given(score_sets)
def test_calibration_agrees_with_the_max_min_formula(scores):
    targets, nontargets = scores
    pooled = pool(targets, nontargets)
    blocks = pooled.blocks
    llr = np.repeat(blocks.llr(pooled.prior_log_odds), blocks.size)
    expected, _ = pav_llrs(targets, nontargets)
    assert llr[np.searchsorted(pooled.score, targets)] == pytest.approx(expected, abs=1e-9)


@given(score_sets)
def test_laplace_calibration_agrees_with_four_virtual_trials_in_the_sequence(scores):
    targets, nontargets = scores
    pooled = pool(targets, nontargets)
    for own, expected in zip(scores, pav_llrs(targets, nontargets, laplace=True), strict=True):
        assert pooled.laplace_llr[np.searchsorted(pooled.score, own)] == pytest.approx(expected, abs=1e-9)


def test_calibration_agrees_with_scikit_learn_on_many_scores():
    rng = np.random.default_rng(0)
    targets, nontargets = rng.normal(1, 1, 300).round(2), rng.normal(size=2000).round(2)
    pooled = pool(targets, nontargets)
    labels = np.r_[np.ones(300), np.zeros(2000)]
    fitted = IsotonicRegression().fit(np.r_[targets, nontargets], labels).predict(pooled.score)
    blocks = pooled.blocks
    posterior = blocks.targets / (blocks.targets + blocks.nontargets)
    assert np.repeat(posterior, blocks.size) == pytest.approx(fitted)


@given(score_sets, st.data())
def test_reweighting_equals_literally_repeating_trials(scores, data):
    targets, nontargets = map(np.array, scores)
    w_t = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(targets), max_size=len(targets))))
    w_n = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(nontargets), max_size=len(nontargets))))
    w_t[0], w_n[0] = w_t[0] + 1, w_n[0] + 1
    pooled = pool(targets, nontargets)
    counts = [
        np.bincount(np.searchsorted(pooled.score, own), w, len(pooled.score)).astype(np.int64)
        for own, w in ((targets, w_t), (nontargets, w_n))
    ]
    ours, literal = pooled.reweighted(*counts), pool(np.repeat(targets, w_t), np.repeat(nontargets, w_n))
    for name in ("score", "targets", "nontargets"):
        assert getattr(ours, name).tolist() == getattr(literal, name).tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        pool([1.0, bad], [0.0])


@pytest.mark.parametrize("scores", [([], [1.0]), ([1.0], []), ([], [])])
def test_both_classes_are_needed(scores):
    with pytest.raises(ValueError, match="at least one"):
        pool(*scores)


def test_negative_zero_ties_with_zero():
    assert len(pool([0.0], [-0.0]).score) == 1
