from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from mpmath import mp

from vpeval.core.seeds import generator
from vpeval.metrics import singling_out as module
from vpeval.metrics.singling_out import singling_out, singling_out_within


def brute_force(x, folds, counts, names):
    """Share of the folds in which one test vector alone is above the threshold, by loops and sorting."""
    unit = [[v / np.linalg.norm(v) for v in folds[: counts[s], s].astype(float)] for s in names]
    scores = [[float(v @ x) / np.linalg.norm(x) for v in vectors] for vectors in unit]
    n_folds = max(len(row) for row in scores)
    q = int(sum(len(row) - 1 for row in scores) / len(scores))
    wins = 0
    for fold in range(n_folds):
        tests, calibration = [], []
        for row in scores:
            tests.append(row[fold % len(row)])
            calibration += [score for k, score in enumerate(row) if k != fold % len(row)]
        calibration.sort(reverse=True)
        threshold = (calibration[q - 1] + calibration[q]) / 2
        wins += sum(score > threshold + 1e-12 for score in tests) == 1
    return wins / n_folds


def make(rng, n, counts, noise=1.0, dimension=6):
    centres = rng.standard_normal((n, dimension))
    folds = np.zeros((max(counts), n, dimension), np.float32)
    for s, count in enumerate(counts):
        folds[:count, s] = centres[s] + noise * rng.standard_normal((count, dimension))
    return centres.astype(np.float32), folds, np.array(counts)


@pytest.mark.parametrize("counts", [[10] * 25, [4] * 25, [2] * 25, [2, 3, 5, 7, 10] * 5])
@pytest.mark.parametrize("keep", [3, 64])
def test_all_speakers_agree_with_a_plain_loop(counts, keep, monkeypatch):
    monkeypatch.setattr(module, "_KEEP", keep)
    monkeypatch.setattr(module, "_GROUP", 2)
    monkeypatch.setattr(module, "_BLOCK", 700)
    centres, folds, counts = make(np.random.default_rng(1), 25, counts)
    found = singling_out(centres, np.arange(25), folds, counts, [25])
    expected = [brute_force(x.astype(float), folds, counts, range(25)) for x in centres]
    assert found.per_speaker[0].tolist() == expected


def test_drawn_speakers_agree_with_a_plain_loop(monkeypatch):
    seen = []
    draw = module._order

    def spy(*arguments):
        seen.append(draw(*arguments))
        return seen[-1]

    monkeypatch.setattr(module, "_order", spy)
    rng = np.random.default_rng(2)
    centres, folds, counts = make(rng, 30, rng.integers(2, 11, 30).tolist())
    owner = np.array([3, 17, 29])
    found = singling_out(centres[owner], owner, folds, counts, [2, 8, 30], seed=5)
    assert [order[0] for order in seen] == owner.tolist()
    for row, n in zip(found.per_speaker, [2, 8, 30], strict=True):
        names = [order[:n] for order in seen]
        expected = [
            brute_force(centres[e].astype(float), folds, counts, who) for e, who in zip(owner, names, strict=True)
        ]
        assert row.tolist() == expected


def test_the_threshold_lies_between_the_ninth_and_tenth_calibration_score():
    # Along x, speaker i scores i-th highest; 1 - 1e-3·i stands for the angle.
    n = 12
    counts = np.full(n, 10)
    cosine = np.array([[1 - 1e-3 * (k * n + s + 1) for s in range(n)] for k in range(10)])
    folds = np.stack([cosine, np.sqrt(1 - cosine**2)], axis=-1).astype(np.float32)
    x = np.array([[1, 0]], np.float32)
    # Fold 0: the twelve highest scores are the test vectors, so all are above the threshold. Other folds: none is.
    assert singling_out(x, np.array([0]), folds, counts, [n]).per_speaker.tolist() == [[0]]
    # One test vector changes places with a lower one, in fold 1 it alone is above the threshold.
    folds[[1, 9], 4] = folds[[9, 1], 4]
    folds[[0, 1], 3] = folds[[1, 0], 3]
    expected = brute_force(np.array([1.0, 0]), folds, counts, range(n))
    assert expected == 0.1
    assert singling_out(x, np.array([0]), folds, counts, [n]).per_speaker.tolist() == [[expected]]


def test_nobody_is_singled_out_where_all_vectors_are_equal():
    folds = np.tile(np.random.default_rng(3).standard_normal(192).astype(np.float32), (10, 30, 1))
    found = singling_out(folds[0, :4], np.arange(4), folds, np.full(30, 10), [20, 30])
    assert found.values.tolist() == [0, 0]


def chance_by_enumeration(n, calibration):
    """Success over all orders of test and calibration scores that lie at 1, 2, 3 …, in halves of the gaps, exactly.

    Between two calibration scores the test scores are even in number above and below the mean, on average over where
    they lie: each is above with probability one half.
    """
    q, ways, total = calibration // n, Fraction(0), 0
    for tests in combinations(range(n + calibration), n):
        total += 1
        others = [place for place in range(n + calibration) if place not in tests]
        upper, lower = others[q - 1], others[q]
        above, between = sum(t < upper for t in tests), sum(upper < t < lower for t in tests)
        ways += Fraction(comb(between, 1 - above), 2**between) if above <= 1 else 0
    return ways / total


@pytest.mark.parametrize(("n", "calibration"), [(2, 2), (5, 5), (6, 6), (3, 9), (4, 11), (5, 8)])
def test_the_chance_level_is_the_share_of_all_orders_in_which_the_attack_succeeds(n, calibration):
    assert module._chance(n, calibration) == pytest.approx(float(chance_by_enumeration(n, calibration)), rel=1e-12)


def test_the_chance_level_is_that_of_the_protocol_and_not_one_over_e():
    assert module._chance(20, 180) == pytest.approx(0.3587, abs=5e-5)
    assert module._chance(22024, 9 * 22024) == pytest.approx(0.3497, abs=1e-4)
    assert module._chance(10**6, 10**6) == pytest.approx(0.2778, abs=1e-4)


@pytest.mark.parametrize(("n", "vectors"), [(20, 2), (20, 3), (20, 10), (60, 2)])
def test_chance_is_what_scores_without_information_measure(n, vectors):
    rng = np.random.default_rng(n + vectors)
    calibration = np.sort(rng.normal(size=(40_000, n * (vectors - 1))), axis=1)
    q = vectors - 1
    threshold = calibration[:, [-q, -q - 1]].mean(axis=1)
    wins = (rng.normal(size=(40_000, n)) > threshold[:, None]).sum(axis=1) == 1
    assert module._chance(n, n * q) == pytest.approx(wins.mean(), abs=0.01)


def test_exchangeable_scores_measure_the_chance_level():
    rng = np.random.default_rng(7)
    folds = rng.standard_normal((10, 20, 8)).astype(np.float32)
    found = singling_out(
        rng.standard_normal((600, 8)).astype(np.float32), np.zeros(600, int), folds, np.full(20, 10), [20]
    )
    assert found.chance[0] == pytest.approx(0.3587, abs=5e-5)
    # The vectors are shared by all attacks, so the tolerance is wider than 6000 independent folds would need.
    assert found.values[0] == pytest.approx(found.chance[0], abs=0.03)


def test_separable_speakers_are_singled_out():
    eye = np.eye(30, dtype=np.float32)
    found = singling_out(eye, np.arange(30), np.tile(eye, (10, 1, 1)) + np.float32(0.01), np.full(30, 10), [20, 30])
    # The nine calibration vectors of the speaker fill the places above the threshold; the test vector stands out, too.
    assert found.values.tolist() == [1, 1]


def test_the_seed_and_the_draw_decide_who_is_drawn():
    rng = np.random.default_rng(8)
    centres, folds, counts = make(rng, 40, [3] * 40, noise=3)
    arguments = (centres, np.arange(40), folds, counts, [5, 10])
    first = singling_out(*arguments, seed=1)
    assert np.array_equal(first.per_speaker, singling_out(*arguments, seed=1).per_speaker)
    assert not np.array_equal(first.per_speaker, singling_out(*arguments, seed=1, draw=1).per_speaker)
    assert not np.array_equal(first.per_speaker, singling_out(*arguments, seed=2).per_speaker)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-5])
def test_crowded_voices_of_any_length_are_singled_out_as_exact_cosines_say(spread, scale, monkeypatch):
    monkeypatch.setattr(module, "_KEEP", 8)
    rng = np.random.default_rng(9)
    common = rng.standard_normal(5)
    centres, folds, counts = make(rng, 12, [3] * 12, dimension=5)
    folds, centres = common + spread * folds.astype(float), common + spread * centres.astype(float)
    folds[1, 4] = folds[2, 7]
    found = singling_out(scale * centres, np.arange(12), scale * folds, counts, [12])
    assert found.per_speaker[0].tolist() == [exact_share(x, folds) for x in centres]


def exact_share(x, folds):
    """`brute_force` with cosines of 40 digits, for equal numbers of vectors."""
    with mp.workdps(40):
        x = mp.matrix([mp.mpf(v) for v in x])
        vectors = [[mp.matrix([mp.mpf(v) for v in row]) for row in fold] for fold in folds]
        scores = [[mp.fdot(v, x) / mp.norm(v) / mp.norm(x) for v in fold] for fold in vectors]
        wins = 0
        for number, tests in enumerate(scores):
            rest = sorted((s for k, fold in enumerate(scores) if k != number for s in fold), reverse=True)
            q = len(scores) - 1
            wins += sum(s > (rest[q - 1] + rest[q]) / 2 + mp.mpf(10) ** -30 for s in tests) == 1
    return wins / len(scores)


def test_a_single_vector_of_a_speaker_is_an_error():
    with pytest.raises(ValueError, match="two vectors"):
        singling_out(np.ones((1, 2), np.float32), np.array([0]), np.ones((2, 2, 2), np.float32), np.array([2, 1]), [2])


def test_with_side_information_only_those_who_share_it_are_looked_at():
    centres, folds, counts = make(np.random.default_rng(6), 20, [5] * 20)
    groups = np.arange(20) % 3
    whole = np.zeros(20, np.int64)
    found = singling_out_within(centres, np.arange(20), folds, counts, [20], [whole, groups, np.arange(20)])
    shared = [[s for s in range(20) if groups[s] == groups[e]] for e in range(20)]
    expected = [brute_force(x.astype(float), folds, counts, some) for x, some in zip(centres, shared, strict=True)]
    assert found[1].per_speaker[0].tolist() == expected
    assert (
        found[0].per_speaker.tolist() == singling_out(centres, np.arange(20), folds, counts, [20]).per_speaker.tolist()
    )
    assert found[2].values.tolist() == found[2].chance.tolist() == [1]


def test_side_information_cuts_the_crowd_that_is_drawn_without_it():
    centres, folds, counts = make(np.random.default_rng(7), 20, [5] * 20)
    whole, groups = np.zeros(20, np.int64), np.arange(20) % 2
    plain, side = singling_out_within(centres, np.arange(20), folds, counts, [4, 12], [whole, groups], seed=3)
    again = singling_out(centres, np.arange(20), folds, counts, [4, 12], seed=3)
    assert plain.per_speaker.tolist() == again.per_speaker.tolist()
    rng = generator(3, "singling out draw 0")
    for e, x in enumerate(centres):
        order = rng.permutation(20)
        crowd = [e, *order[order != e]][:12]
        some = [s for s in crowd if s % 2 == e % 2]
        expected = brute_force(x.astype(float), folds, counts, some) if len(some) > 1 else 1
        assert side.per_speaker[1, e] == expected


def test_exact_similarities_are_cosines_less_one_and_a_vector_of_zeros_is_at_a_right_angle():
    rng = np.random.default_rng(10)
    y = rng.standard_normal((6, 4))
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    y[5] = 0
    assert module._similarity(y[0], y, "cosine") == pytest.approx(y @ y[0] - 1)
    assert module._similarity(y[5], y[:5], "cosine") == pytest.approx(-np.ones(5))
    assert module._similarity(y[0], 3 * y, "product") == pytest.approx(3 * y @ y[0])


@pytest.mark.parametrize("size", [1, 5, 40, 400])
@pytest.mark.parametrize("keep", [1, 5, 40])
def test_at_least_as_many_scores_as_asked_for_reach_the_cut(size, keep, monkeypatch):
    monkeypatch.setattr(module, "_GROUP", 3)
    scores = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    cut = module._cut(scores[None], keep)
    assert (scores >= cut).sum() >= min(keep, size)
    if keep < size:
        assert cut <= np.sort(scores)[-keep]


def test_every_partition_is_judged_by_itself():
    centres, folds, counts = make(np.random.default_rng(11), 12, [4] * 12)
    alone, whole = np.arange(12), np.zeros(12, np.int64)
    one = singling_out_within(centres, np.arange(12), folds, counts, [12], [alone, whole])
    other = singling_out_within(centres, np.arange(12), folds, counts, [12], [whole, alone])
    assert [found.per_speaker.tolist() for found in one] == [found.per_speaker.tolist() for found in other[::-1]]
