from fractions import Fraction

import numpy as np
import pytest
from eer import eer_tnt
from hypothesis import given
from hypothesis import strategies as st
from oracles import error_rates, score_sets
from sklearn.metrics import roc_curve

from vpeval.metrics.scores import (
    Eer,
    PooledScores,
    bengio_mariethoz,
    eer_kaldi,
    eer_kaldi_fair,
    eer_rocch,
    eer_threshold,
    eers_rocch,
    pool,
)

# Target and nontarget trials of the VoicePrivacy 2020 sets (evaluation plan, Tables 5 and 6).
VPC_COUNTS = [(704, 14566), (644, 12796), (548, 11196), (449, 9457), (1781, 13219), (2015, 12985), (344, 4810)]


def literal_kaldi(targets, nontargets):
    t, n = np.sort(np.float32(targets)), np.sort(np.float32(nontargets))
    for k in range(len(t) - 1):
        if n[len(n) - 1 - int(np.floor(len(n) * k / len(t)))] < t[k]:
            return k / len(t)
    return (len(t) - 1) / len(t)


def literal_threshold(targets, nontargets):
    values = np.array(sorted({*targets, *nontargets}))
    thresholds = np.sort(np.concatenate((values, (values[1:] + values[:-1]) / 2)))
    t, n = np.array(targets), np.array(nontargets)
    gaps = [abs(int(np.sum(n > x)) * len(t) - int(np.sum(t <= x)) * len(n)) for x in thresholds]
    best = thresholds[int(np.argmin(gaps))]
    return (np.mean(n > best) + np.mean(t <= best)) / 2


def literal_rocch(targets, nontargets):
    """The EER of the hull is the least crossing of Pmiss = Pfa by a chord between two ROC points."""
    points = error_rates(targets, nontargets)
    crossings = [1.0]
    for fa0, miss0 in points:
        for fa1, miss1 in points:
            d0, d1 = miss0 - fa0, miss1 - fa1
            if d0 <= 0 <= d1 and d1 > d0:
                crossings.append(miss0 + (miss1 - miss0) * d0 / (d0 - d1))
    return min(crossings)


@given(score_sets)
def test_kaldi_eer_is_the_literal_loop(scores):
    assert eer_kaldi(pool(*scores)).value == literal_kaldi(*scores)


def literal_with_ties_decided(targets, nontargets, side):
    """Kaldi's loop in rational numbers, nontargets moved by less than any difference to `side`; Nt if it finds nothing."""
    t = sorted(Fraction(x) for x in targets)
    gaps = [abs(Fraction(x) - Fraction(y)) for x in targets for y in nontargets if x != y]
    step = side * min(gaps, default=Fraction(1)) / 3
    n = sorted(Fraction(x) + step for x in nontargets)
    found = (k for k in range(len(t) - 1) if n[len(n) - 1 - len(n) * k // len(t)] < t[k])
    return next(found, None)


@given(score_sets)
def test_the_fair_kaldi_eer_is_the_mean_over_both_ways_to_decide_ties(scores):
    size = len(scores[0])
    lenient, strict = (literal_with_ties_decided(*scores, side) for side in (-1, +1))
    if lenient is None:
        lenient = strict = size - 1
    expected = Fraction(lenient + (size if strict is None else strict), 2 * size)
    if size == 1:  # Kaldi's loop is empty
        expected = Fraction(1, 2) if scores[0][0] == max(scores[1]) else 0
    assert eer_kaldi_fair(pool(*scores)).value == pytest.approx(float(expected), abs=1e-15)


@pytest.mark.parametrize(("targets", "nontargets"), [(12, 132), (1, 1), (500, 20), (56, 336)])
def test_scores_that_say_nothing_have_an_eer_of_one_half(targets, nontargets):
    pooled = pool([0.25] * targets, [0.25] * nontargets)
    assert {eer_kaldi_fair(pooled).value, eer_threshold(pooled).value, eer_rocch(pooled).value} == {0.5}


def test_the_fair_kaldi_eer_is_kaldis_where_nothing_ties():
    rng = np.random.default_rng(3)
    for _ in range(20):
        pooled = pool(rng.normal(1, 1, 60), rng.normal(size=300))
        assert eer_kaldi_fair(pooled) == eer_kaldi(pooled)


def test_scores_that_float32_makes_equal_are_told_apart():
    close = np.linspace(0.9999999, 0.99999990001, 200)
    assert eer_kaldi_fair(pool(close[100:], close[:100])).value == 0
    assert eer_kaldi(pool(close[100:], close[:100])).value == 0.99


@given(score_sets)
def test_threshold_eer_is_the_literal_quadratic_search(scores):
    assert eer_threshold(pool(*scores)).value == pytest.approx(literal_threshold(*scores), abs=1e-12)


@given(score_sets)
def test_rocch_eer_is_the_least_chord_crossing(scores):
    assert eer_rocch(pool(*scores)).value == pytest.approx(literal_rocch(*scores), abs=1e-9)


@given(score_sets)
def test_rocch_eer_agrees_with_the_eer_package(scores):
    targets, nontargets = ([np.float64(s) for s in own] for own in scores)
    if len({*targets, *nontargets}) > 1:
        # The package finds the EER by numerical search, to about 1e-6.
        assert eer_rocch(pool(targets, nontargets)).value == pytest.approx(eer_tnt(targets, nontargets), abs=1e-5)


def test_threshold_eer_lies_at_the_crossing_of_scikit_learns_roc():
    rng = np.random.default_rng(0)
    targets, nontargets = rng.normal(2, 1, 500), rng.normal(size=5000)
    fa, hit, _ = roc_curve(np.r_[np.ones(500), np.zeros(5000)], np.r_[targets, nontargets], drop_intermediate=False)
    best = np.argmin(np.abs(fa - (1 - hit)))
    assert eer_threshold(pool(targets, nontargets)).value == pytest.approx((fa[best] + 1 - hit[best]) / 2)


@given(score_sets)
def test_rocch_eer_is_at_most_a_half_and_at_most_the_larger_error_at_any_threshold(scores):
    closest = eer_threshold(pool(*scores))
    assert eer_rocch(pool(*scores)).value <= min(0.5, max(closest.p_fa, closest.p_miss)) + 1e-12


def test_rocch_eer_can_exceed_the_threshold_eer_where_no_threshold_balances_the_errors():
    # The closest threshold has no miss and one false alarm of two, mean 1/4; the hull from there to (0, 1) crosses at 1/3.
    pooled = pool([0.5], [0.0, 1.0])
    assert eer_threshold(pooled) == Eer(0.25, 0.5, 0.0)
    assert eer_rocch(pooled).value == pytest.approx(1 / 3)


@given(score_sets, st.randoms())
def test_eers_depend_on_the_order_of_the_scores_only(scores, random):
    targets, nontargets = scores
    ranks = {s: float(i) for i, s in enumerate(sorted({*targets, *nontargets}))}
    moved = [[2 ** (ranks[s] / 4) - 7 for s in own] for own in scores]
    for own in moved:
        random.shuffle(own)
    for function in (eer_threshold, eer_rocch):
        assert function(pool(*moved)) == function(pool(*scores))


@pytest.mark.parametrize(("n_targets", "n_nontargets"), VPC_COUNTS)
def test_kaldi_eers_of_challenge_sets_are_multiples_of_one_trial(n_targets, n_nontargets):
    rng = np.random.default_rng(n_targets)
    pooled = pool(rng.normal(1.5, 1, n_targets), rng.normal(size=n_nontargets))
    k = eer_kaldi(pooled).value * n_targets
    assert k == pytest.approx(round(k), abs=1e-9)
    assert eer_rocch(pooled).value <= eer_kaldi(pooled).value


def test_the_published_eer_of_the_original_female_test_set_comes_out_of_its_counts():
    # 42 of 548 targets below, 42/548 of the nontargets above: 7.664 %, as in the challenge's results.
    n_above = 11196 * 42 // 548
    targets = np.r_[np.arange(42) - 100, np.arange(506) + 100]
    nontargets = np.r_[np.full(11196 - n_above, -1), np.full(n_above, 1)]
    assert f"{100 * eer_kaldi(pool(targets, nontargets)).value:.4g}" == "7.664"


def test_equal_scores_give_the_documented_values():
    pooled = pool(np.zeros(5), np.zeros(9))
    assert eer_kaldi(pooled).value == 4 / 5
    assert eer_threshold(pooled).value == 0.5
    assert eer_rocch(pooled).value == 0.5


def test_separated_scores_give_no_errors_and_swapped_classes_only_errors():
    right, wrong = pool([5, 6, 7], [1, 2]), pool([1, 2, 3], [5, 6])
    assert [f(right).value for f in (eer_kaldi, eer_threshold, eer_rocch)] == [0, 0, 0]
    assert [f(wrong).value for f in (eer_kaldi, eer_threshold, eer_rocch)] == [pytest.approx(2 / 3), 1, 0.5]


def test_kaldi_compares_in_single_precision():
    # 1 + 1e-9 is 1 in float32, so the target is not above the nontarget.
    assert eer_kaldi(pool([1 + 1e-9, 2.0], [1.0, 1.0])).value == 0.5
    assert eer_threshold(pool([1 + 1e-9, 2.0], [1.0, 1.0])).value == 0


def test_bengio_mariethoz_interval_by_hand():
    # 1.96·sqrt(0.1·0.9/(4·100) + 0.1·0.9/(4·25)) = 1.96·sqrt(0.000225 + 0.0009)
    interval = bengio_mariethoz(Eer(0.1, 0.1, 0.1), n_targets=25, n_nontargets=100)
    assert interval.lower == pytest.approx(0.1 - 0.06574040)
    assert interval.upper == pytest.approx(0.1 + 0.06574040)


def test_bengio_mariethoz_interval_stays_between_0_and_1():
    interval = bengio_mariethoz(Eer(0.01, 0.01, 0.01), 5, 5)
    assert interval.lower == 0


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 5))
def test_the_eers_of_many_samples_are_those_of_each(seed, width, most):
    rng = np.random.default_rng(seed)
    targets, nontargets = rng.integers(0, most + 1, (2, 20, width))
    targets[:, 0] += 1
    nontargets[:, -1] += 1
    expected = [
        eer_rocch(PooledScores(np.arange(width, dtype=float), t, n).reweighted(t, n)).value
        for t, n in zip(targets, nontargets, strict=True)
    ]
    assert eers_rocch(targets, nontargets) == pytest.approx(expected, abs=1e-12)
