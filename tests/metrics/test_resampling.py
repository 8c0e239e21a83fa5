"""Metrics of resampled speakers against trials that are written out as often as they count."""

from dataclasses import replace

import numpy as np
import pytest

from vpeval.metrics import resampling as module
from vpeval.metrics import verification
from vpeval.metrics.intervals import multiplicities
from vpeval.metrics.resampling import Draws, ScoredTrials, SortedTrials, resample
from vpeval.metrics.scores import pool

METRICS = (*verification._METRICS, verification._calibrated(0.07))


def cross_product(speakers, utts, decimals, shift=1.0, seed=0, enrolled=None):
    """Enrolled speakers against all utterances; few decimals make scores tie."""
    rng = np.random.default_rng(seed)
    enroll, utt = np.divmod(np.arange((enrolled or speakers) * speakers * utts), speakers * utts)
    is_target = enroll == utt // utts
    score = np.round(rng.normal(size=len(utt)) + shift * is_target, decimals)
    return ScoredTrials(score, is_target, enroll, utt // utts)


def repeated(trials, drawn):
    """The scores of a resample with every trial written out as often as it counts."""
    weight = drawn[trials.enroll] * np.where(trials.is_target, 1, drawn[trials.speaker])
    return tuple(np.repeat(trials.score, weight * (trials.is_target == kind)) for kind in (True, False))


@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("shift", [-3, 0, 1, 100])
@pytest.mark.parametrize(("speakers", "utts", "enrolled"), [(2, 1, 2), (3, 2, 2), (7, 5, 7), (12, 30, 6)])
def test_metrics_of_resamples_are_those_of_trials_repeated_by_hand(speakers, utts, enrolled, shift, decimals):
    trials = cross_product(speakers, utts, decimals, shift, enrolled=enrolled)
    drawn = multiplicities(speakers, 25, np.random.default_rng(speakers))
    values, whole = resample(SortedTrials.from_trials(trials), drawn, [metric.statistic for metric in METRICS])
    for found, have, counts in zip(values, whole, drawn, strict=True):
        targets, nontargets = repeated(trials, counts)
        assert have == bool(len(targets) and len(nontargets))
        if not have:
            assert np.isnan(found).all()
            continue
        pooled = pool(targets, nontargets)
        expected = [metric.function(pooled) for metric in METRICS]
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), [metric.name for metric in METRICS]


def test_a_metric_without_a_fast_way_is_computed_one_resample_after_the_other():
    trials = SortedTrials.from_trials(cross_product(7, 5, 1))
    drawn = multiplicities(7, 25, np.random.default_rng(0))
    fast, _ = resample(trials, drawn, [metric.statistic for metric in METRICS])
    slow, _ = resample(trials, drawn, [replace(metric, of_resamples=None).statistic for metric in METRICS])
    assert slow == pytest.approx(fast, rel=1e-12, abs=1e-12, nan_ok=True)


def test_scores_that_are_far_apart_or_all_equal_are_resampled_as_others():
    trials = cross_product(6, 40, 12)
    drawn = multiplicities(6, 10, np.random.default_rng(0))
    for score in (trials.score * 4e307, np.full(len(trials.score), 0.5)):
        moved = ScoredTrials(score, trials.is_target, trials.enroll, trials.speaker)
        values, _ = resample(
            SortedTrials.from_trials(moved), drawn, [module.resampled_dsys, module.resampled_eer_threshold]
        )
        pooled = [pool(*repeated(moved, counts)) for counts in drawn]
        assert values[:, 0] == pytest.approx([verification.dsys(one) for one in pooled], abs=1e-12)
        assert values[:, 1] == pytest.approx([verification.EERS["eer_threshold"](one) for one in pooled], abs=1e-12)


def test_the_number_of_resamples_looked_at_together_does_not_matter(monkeypatch):
    trials = cross_product(7, 5, 1)
    together = verification._resample(trials, 40, 0)
    monkeypatch.setattr(module, "_CELLS", 3 * len(trials.score))
    apart = verification._resample(trials, 40, 0)
    assert together[0].tolist() == apart[0].tolist() and together[1] == apart[1]
    one, other = Draws(5, 1), Draws(5, 1)
    assert np.concatenate([one(3), one(4)]).tolist() == other(7).tolist()


def test_weights_beyond_32_bits_do_not_overflow():
    weights = np.array([[2**20, 1]])
    assert module._cumulated(weights, np.zeros(5000, np.int64))[0, -1] == 5000 * 2**20
