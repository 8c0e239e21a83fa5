from itertools import combinations, product

import numpy as np
import pytest

from vpeval.metrics.inference import uniqueness


def brute_force(inferred, person, true, n):
    """Means over every crowd of n with the person: how many are left, whether alone, whether picked."""
    others = [s for s in range(len(true)) if s != person]
    rows = []
    for crowd in combinations(others, n - 1):
        left = [s for s in (person, *crowd) if true[s] == inferred]
        is_there = person in left
        rows.append((len(left), left == [person], is_there / len(left) if left else 0))
    return np.mean(rows, axis=0)


TRUE = np.array([0, 0, 0, 1, 1, 2, 3])


def test_every_expectation_is_the_mean_over_every_crowd():
    cases = list(product(range(5), range(len(TRUE))))
    inferred, owner = (np.array(side) for side in zip(*cases, strict=True))
    sizes = range(2, len(TRUE) + 1)
    found = uniqueness(inferred, owner, TRUE, sizes)
    for row, n in enumerate(sizes):
        for place, (guess, person) in enumerate(cases):
            expected = brute_force(guess, person, TRUE, n)
            got = [found.left[row, place], found.alone[row, place], found.found[row, place]]
            assert got == pytest.approx(expected, abs=1e-12)


def test_chance_is_a_combination_drawn_as_often_as_it_is_had():
    n_all = len(TRUE)
    for row, n in enumerate((2, 4, 7)):
        drawn = [brute_force(TRUE[other], person, TRUE, n) for person in range(n_all) for other in range(n_all)]
        found = uniqueness(TRUE, np.arange(n_all), TRUE, (2, 4, 7)).chance
        assert [found[name][row] for name in ("left", "alone", "found")] == pytest.approx(np.mean(drawn, axis=0))
    assert found["found"][-1] == pytest.approx(1 / n_all)


def test_a_perfect_inference_of_unique_people_finds_everybody():
    found = uniqueness(np.arange(5), np.arange(5), np.arange(5), [2, 5])
    assert (found.left == 1).all()
    assert (found.alone == 1).all()
    assert (found.found == 1).all()


def test_one_value_for_all_leaves_everybody():
    found = uniqueness(np.zeros(6, int), np.arange(6), np.zeros(6, int), [2, 6])
    assert found.left[:, 0] == pytest.approx([2, 6])
    assert found.found[:, 0] == pytest.approx([1 / 2, 1 / 6])
    assert found.alone[:, 0].tolist() == [0, 0]


def test_a_crowd_beyond_the_speakers_has_their_frequencies():
    rng = np.random.default_rng(3)
    person, guess, n = 3, 1, 40
    found = uniqueness(np.array([guess]), np.array([person]), TRUE, [n])
    others = np.delete(TRUE, person)
    rivals = (rng.choice(others, (200_000, n - 1)) == guess).sum(axis=1)
    assert found.left[0, 0] == pytest.approx(1 + rivals.mean(), rel=0.01)
    assert found.found[0, 0] == pytest.approx((1 / (1 + rivals)).mean(), rel=0.01)
    assert found.alone[0, 0] == pytest.approx((rivals == 0).mean(), abs=2e-3)


def test_in_a_larger_population_each_other_shares_the_attributes_independently():
    # One of two others has the combination, so each of three more has it with probability 1/2.
    found = uniqueness(np.array([0]), np.array([0]), np.array([0, 0, 1]), [4])
    assert found.left[0, 0] == pytest.approx(1 + 3 / 2)
    assert found.alone[0, 0] == pytest.approx(1 / 8)
    assert found.found[0, 0] == pytest.approx((1 - 1 / 16) / 2)  # mean of 1/(1+H): 1/8 + 3/16 + 3/24 + 1/32
    sure = uniqueness(np.array([1]), np.array([2]), np.array([0, 0, 1]), [9])
    assert (sure.left[0, 0], sure.alone[0, 0], sure.found[0, 0]) == (1, 1, 1)


@pytest.mark.parametrize(("true", "sizes"), [([0], [2]), ([0, 1], [1]), ([0, 1], [2, 1])])
def test_fewer_than_two_speakers_are_refused(true, sizes):
    with pytest.raises(ValueError, match="two or more speakers"):
        uniqueness(np.array([0]), np.array([0]), np.array(true), sizes)


def test_two_speakers_are_enough():
    found = uniqueness(np.array([0, 1]), np.array([0, 1]), np.array([0, 1]), [2])
    assert (found.left.tolist(), found.alone.tolist()) == ([[1, 1]], [[1, 1]])
    assert found.chance["found"].tolist() == [0.5]
