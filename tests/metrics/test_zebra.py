import math

import numpy as np
import pytest
from hypothesis import given
from oracles import pav_llrs, score_sets
from scipy.integrate import quad

from vpeval.metrics.score_metrics import (
    _z,
    cross_entropy,
    min_cllr,
    zebra,
    zebra_individual,
    zebra_population,
    zebra_tag,
)
from vpeval.metrics.scores import pool

LN4 = math.log(4)


def binary_entropy(p):
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))


def test_population_is_the_area_between_default_and_minimum_cross_entropy():
    rng = np.random.default_rng(0)
    pooled = pool(rng.normal(1, 1, 60), rng.normal(size=300))
    blocks = pooled.blocks
    llr = blocks.llr(pooled.prior_log_odds)

    def gap(p):
        return binary_entropy(p) - float(
            cross_entropy(llr, blocks.targets, blocks.nontargets, np.array([math.log(p / (1 - p))]))[0]
        )

    assert zebra_population(pooled) == pytest.approx(quad(gap, 0, 1)[0], abs=1e-7)


@given(score_sets)
def test_population_lies_just_below_the_information_gain_of_min_cllr(scores):
    pooled = pool(*scores)
    difference = (1 - min_cllr(pooled)) / LN4 - zebra_population(pooled)
    assert -1e-12 <= difference <= 0.01863


def test_an_erasure_channel_discloses_exactly_the_information_gain_of_min_cllr():
    # A share of both classes is separated, the rest is erased: one tie in the middle.
    pooled = pool([2] * 30 + [1] * 70, [0] * 300 + [1] * 700)
    assert zebra_population(pooled) == pytest.approx((1 - min_cllr(pooled)) / LN4, abs=1e-14)
    assert zebra_population(pooled) == pytest.approx(0.3 / LN4)


@given(score_sets)
def test_population_stays_between_zero_and_its_maximum(scores):
    assert -1e-12 <= zebra_population(pool(*scores)) <= 1 / LN4 + 1e-12


def test_separated_scores_reach_both_maxima():
    profile = zebra(pool(np.arange(200) + 5000, np.arange(3000)))
    assert profile.population == 1 / LN4
    assert profile.individual == pytest.approx(math.log10(3000 * 201 / 200), rel=1e-14)
    assert f"{profile.individual:.4f}" == "3.4793"
    assert profile.tag == "C"


def test_equal_scores_disclose_nothing():
    profile = zebra(pool(np.zeros(50), np.zeros(50)))
    assert profile.population == pytest.approx(0, abs=1e-15)
    assert profile.individual == pytest.approx(0, abs=1e-15)


@given(score_sets)
def test_individual_is_the_strongest_smoothed_likelihood_ratio_within_its_bound(scores):
    nt, nn = map(len, scores)
    individual = zebra_individual(pool(*scores))
    expected = max(np.abs(llr).max() for llr in pav_llrs(*scores, laplace=True)) / math.log(10)
    assert individual == pytest.approx(expected, abs=1e-9)
    assert individual <= max(math.log10(nn * (nt + 1) / nt), math.log10(nt * (nn + 1) / nn)) + 1e-12


def test_z_is_smooth_where_the_series_takes_over():
    a = np.array([0.029999999, 0.030000001, -0.029999999, -0.030000001])
    assert np.diff(_z(a))[[0, 2]] == pytest.approx([2e-9 / 6, -2e-9 / 6], rel=0.02)


def test_z_of_zero_and_of_certainty():
    assert _z(np.array([0.0, np.inf, 800.0])).tolist() == [0, 0.25, 0.25]


@pytest.mark.parametrize("a", [-3.0, -0.02, 0.02, 1.0, 12.0])
def test_z_is_the_gain_of_one_trial_integrated_over_the_prior(a):
    gain = quad(lambda p: -p * math.log(p + (1 - p) * math.exp(-a)), 0, 1, points=[1e-4], epsabs=0, epsrel=1e-12)[0]
    assert _z(np.array([a]))[0] == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize(
    ("value", "tag"),
    [(0, "0"), (1e-9, "A"), (1, "A"), (1.0001, "B"), (2, "B"), (4, "C"), (4.01, "D"), (5, "D"), (6, "E"), (6.01, "F")],
)
def test_tags_include_their_upper_bound(value, tag):
    assert zebra_tag(value) == tag
