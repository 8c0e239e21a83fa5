import math

import numpy as np
import pytest
from hypothesis import given
from oracles import pav_llrs, score_sets

from vpeval.metrics.score_metrics import cllr, min_cllr
from vpeval.metrics.scores import pool


def literal(targets, nontargets):
    miss = np.mean([math.log2(1 + math.exp(-s)) for s in targets])
    return (miss + np.mean([math.log2(1 + math.exp(s)) for s in nontargets])) / 2


@given(score_sets)
def test_cllr_is_the_literal_mean(scores):
    assert cllr(pool(*scores)) == pytest.approx(literal(*scores), rel=1e-12)


@given(score_sets)
def test_min_cllr_is_the_cllr_of_calibrated_scores(scores):
    assert min_cllr(pool(*scores)) == pytest.approx(literal(*pav_llrs(*scores)), abs=1e-9)


@given(score_sets)
def test_min_cllr_lies_between_0_and_1_and_never_above_cllr(scores):
    pooled = pool(*scores)
    assert 0 <= min_cllr(pooled) <= min(1, cllr(pooled)) + 1e-12


@given(score_sets)
def test_min_cllr_is_invariant_under_increasing_maps(scores):
    ranks = {s: i for i, s in enumerate(sorted({*scores[0], *scores[1]}))}
    moved = [[math.exp(ranks[s] / 8) for s in own] for own in scores]
    assert min_cllr(pool(*moved)) == min_cllr(pool(*scores))


def test_huge_scores_do_not_overflow():
    assert cllr(pool([-1e4], [1e4])) == pytest.approx(1e4 / math.log(2))
    assert cllr(pool([1e4], [-1e4])) == 0


def test_equal_scores_carry_no_information():
    assert min_cllr(pool(np.full(30, 2.5), np.full(700, 2.5))) == pytest.approx(1)


def test_separated_scores_cost_nothing_after_calibration():
    assert min_cllr(pool([3, 4], [1, 2])) == 0
