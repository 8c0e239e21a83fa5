from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.metrics.linkability import linkability, picked
from vpeval.metrics.ranks import Rivals, count_rivals, count_rivals_within


def rivals(counts):
    return Rivals(np.array(counts), np.zeros(len(counts), np.int64))


def test_with_all_enrolment_speakers_only_those_without_a_rival_are_linked():
    link = linkability(rivals([0, 1, 0, 4]), 5, [5])
    assert link.per_speaker.tolist() == [[1, 0, 1, 0]]
    assert link.values.tolist() == [0.5]


@pytest.mark.parametrize("n_all", [2, 7, 40, 22024])
def test_uniform_ranks_give_one_over_n(n_all):
    sizes = sorted({n for n in (1, 2, 5, 20, 10000, n_all) if n <= n_all})
    link = linkability(rivals(np.arange(n_all)), n_all, sizes)
    assert link.values == pytest.approx(1 / np.array(sizes), rel=1e-12)
    assert link.chance == pytest.approx(1 / np.array(sizes))


@given(st.integers(2, 300), st.data())
def test_the_product_is_the_ratio_of_binomial_coefficients(n_all, data):
    k = data.draw(st.integers(0, n_all - 1))
    n = data.draw(st.integers(1, n_all))
    link = linkability(rivals([k]), n_all, [n])
    assert link.values[0] == pytest.approx(comb(n_all - 1 - k, n - 1) / comb(n_all - 1, n - 1), rel=1e-12)


def test_the_exact_value_is_the_mean_over_every_subset_of_enrolment_speakers():
    rng = np.random.default_rng(4)
    enroll, test = rng.integers(-2, 3, (7, 3)) + 0.5, rng.integers(-2, 3, (5, 3)) + 0.5
    owner = np.array([0, 2, 3, 5, 6])
    scores = test @ (enroll / np.linalg.norm(enroll, axis=1, keepdims=True)).T
    for n in range(2, 8):
        expected = []
        for i, own in enumerate(owner):
            others = [j for j in range(7) if j != own]
            subsets = list(combinations(others, n - 1))
            linked = [all(scores[i, own] > scores[i, j] + 1e-9 for j in subset) for subset in subsets]
            expected.append(sum(linked) / len(subsets))
        counted = count_rivals(enroll.astype(np.float32), test.astype(np.float32), owner)
        assert linkability(counted, 7, [n]).per_speaker[0] == pytest.approx(expected, abs=1e-12)


def test_a_tie_is_a_failure():
    assert linkability(Rivals(np.array([0]), np.array([1])), 3, [2, 3]).values.tolist() == [0.5, 0]


def test_the_drawn_protocol_converges_to_the_exact_value():
    counted = rivals([0, 1, 3, 10, 30])
    exact = linkability(counted, 50, [2, 10, 25, 50])
    drawn = linkability(counted, 50, [2, 10, 25, 50], draws=4000)
    assert drawn.per_speaker == pytest.approx(exact.per_speaker, abs=0.03)
    assert drawn.per_speaker[-1].tolist() == [1, 0, 0, 0, 0]


def test_draws_are_nested_and_depend_on_the_seed_only():
    counted = rivals(np.arange(40))
    sizes = [2, 5, 10, 40]
    drawn = linkability(counted, 41, sizes, draws=1, seed=3).per_speaker
    assert (np.diff(drawn, axis=0) <= 0).all()
    assert np.array_equal(drawn, linkability(counted, 41, sizes, draws=1, seed=3).per_speaker)
    assert np.array_equal(drawn[1], linkability(counted, 41, [5], draws=1, seed=3).per_speaker[0])
    assert not np.array_equal(drawn, linkability(counted, 41, sizes, draws=1, seed=4).per_speaker)


@given(st.lists(st.integers(0, 19), min_size=1, max_size=20))
def test_more_enrolment_speakers_never_help_the_attacker(counts):
    values = linkability(rivals(counts), 20, range(1, 21)).values
    assert values[0] == 1
    assert (np.diff(values) <= 1e-15).all()


def test_more_enrolment_speakers_than_there_are_is_an_error():
    with pytest.raises(ValueError, match="between 1 and 5"):
        linkability(rivals([0]), 5, [6])


def grouped(seed=4):
    rng = np.random.default_rng(seed)
    enroll, test = rng.integers(-2, 3, (9, 3)) + 0.5, rng.integers(-2, 3, (6, 3)) + 0.5
    return enroll.astype(np.float32), test.astype(np.float32), np.array([0, 2, 3, 5, 6, 8])


def test_with_side_information_only_those_who_share_it_are_rivals():
    enroll, test, owner = grouped()
    groups = np.array([1, 1, 2, 2, 2, 1, 3, 2, 1])
    scores = test @ (enroll / np.linalg.norm(enroll, axis=1, keepdims=True)).T
    counted = count_rivals_within(enroll, test, owner, groups)
    for n in range(2, 10):
        expected, guessed = [], []
        for i, own in enumerate(owner):
            subsets = list(combinations([j for j in range(9) if j != own], n - 1))
            shared = [[j for j in subset if groups[j] == groups[own]] for subset in subsets]
            linked = [all(scores[i, own] > scores[i, j] + 1e-6 for j in some) for some in shared]
            expected.append(sum(linked) / len(subsets))
            guessed.append(np.mean([1 / (1 + len(some)) for some in shared]))
        assert linkability(counted, 9, [n]).per_speaker[0] == pytest.approx(expected, abs=1e-12)
        assert picked(9, n)[np.bincount(groups)[groups[owner]] - 1] == pytest.approx(guessed)


def test_one_group_is_the_plain_metric_and_groups_of_one_are_always_linked():
    enroll, test, owner = grouped(5)
    plain, one = count_rivals(enroll, test, owner), count_rivals_within(enroll, test, owner, np.ones(9, int))
    assert (one.above.tolist(), one.tied.tolist()) == (plain.above.tolist(), plain.tied.tolist())
    alone = count_rivals_within(enroll, test, owner, np.arange(9))
    assert linkability(alone, 9, range(2, 10)).values.tolist() == [1] * 8
