"""The share of targets that are found where false alarms are rare."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import score_sets

from vpeval.metrics.resampling import Draws, ScoredTrials, SortedTrials, resample, resampled_tpr
from vpeval.metrics.score_metrics import tpr_at_fpr
from vpeval.metrics.scores import pool
from vpeval.metrics.verification import verification


def literal(targets, nontargets, fpr):
    """Thresholds one after the other; where the share lies between two, the share between their TPRs."""
    t, n = np.asarray(targets, float), np.asarray(nontargets, float)
    points = [(np.mean(n > x), np.mean(t > x)) for x in [-np.inf, *np.unique(np.concatenate((t, n)))]]
    fprs, tprs = (np.array(side)[::-1] for side in zip(*points, strict=True))
    # The highest TPR of each FPR: the upper end of a vertical step of the ROC.
    corner = [i for i in range(len(fprs)) if i + 1 == len(fprs) or fprs[i + 1] > fprs[i]]
    after = next(i for i in range(len(fprs)) if fprs[i] > fpr + 1e-12)
    before = max(i for i in corner if fprs[i] <= fpr + 1e-12)
    return tprs[before] + (fpr - fprs[before]) / (fprs[after] - fprs[before]) * (tprs[after] - tprs[before])


@given(score_sets, st.sampled_from([0.001, 0.01, 0.25, 0.5]))
def test_ties_are_accepted_at_random(scores, fpr):
    assert tpr_at_fpr(pool(*scores), fpr) == pytest.approx(literal(*scores, fpr), abs=1e-12)


def test_by_hand():
    # One of four false alarms allowed: the threshold is 2, which three targets exceed.
    assert tpr_at_fpr(pool([1, 3, 4, 5], [0, 1, 2, 2.5]), 0.25) == 0.75
    # Half of the tie of two nontargets and two targets may be accepted: one of two, and the target above it.
    assert tpr_at_fpr(pool([1, 1, 2, 0], [1, 1, 0, 0]), 0.25) == 0.5
    assert tpr_at_fpr(pool([1, 1], [0] * 1000), 0.001) == 1
    assert tpr_at_fpr(pool([0] * 5, [0] * 7), 0.01) == pytest.approx(0.01), "scores that say nothing give chance"


@pytest.mark.parametrize("digits", [1, 8])
def test_resamples_give_what_trials_written_out_as_often_as_they_count_give(digits):
    rng = np.random.default_rng(3)
    enroll, utt = np.divmod(np.arange(5 * 6 * 8), 6 * 8)
    own = enroll == utt // 8
    trials = ScoredTrials(np.round(rng.normal(size=len(own)) + own, digits), own, enroll, utt // 8)
    drawn = Draws(6, 0)(40)
    found, whole = resample(SortedTrials.from_trials(trials), drawn, [lambda some: resampled_tpr(some, 0.03)])
    for row, times in enumerate(drawn):
        if whole[row]:
            count = np.where(own, times[enroll], times[enroll] * times[utt // 8])
            targets, nontargets = (np.repeat(trials.score[own == kind], count[own == kind]) for kind in (True, False))
            assert found[row, 0] == pytest.approx(tpr_at_fpr(pool(targets, nontargets), 0.03))


def test_it_is_given_only_where_ten_false_alarms_are_allowed():
    def names(speakers):
        enroll, speaker = np.divmod(np.arange(speakers**2), speakers)
        score = np.random.default_rng(0).normal(size=speakers**2)
        found = verification(ScoredTrials(score, enroll == speaker, enroll, speaker), 10)
        return {one.metric: one for one in found}

    assert not {"tpr_at_1_percent", "tpr_at_0.1_percent"} & names(32).keys(), "992 nontarget trials"
    assert "tpr_at_0.1_percent" not in names(33)
    value = names(33)["tpr_at_1_percent"]
    assert value.interval.lower <= value.value <= value.interval.upper <= 1
