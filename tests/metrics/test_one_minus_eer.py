import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from vpeval.core.seeds import generator
from vpeval.metrics import one_minus_eer as module
from vpeval.metrics.intervals import multiplicities, rate_interval
from vpeval.metrics.one_minus_eer import compare_all
from vpeval.metrics.ranks import count_rivals
from vpeval.metrics.scores import eer_rocch, pool
from vpeval.metrics.vectors import angles as vector_angles


def one_minus_eer(enroll, test, *arguments, **options):
    return compare_all(enroll, [test], *arguments, **options).eers


@pytest.fixture
def vectors():
    rng = np.random.default_rng(5)
    enroll = rng.standard_normal((30, 12)).astype(np.float32)
    owner = rng.permutation(30)[:20]
    return enroll, (enroll[owner] + 1.5 * rng.standard_normal((20, 12))).astype(np.float32), owner


def test_with_all_speakers_it_is_the_eer_of_the_whole_score_matrix(vectors):
    enroll, test, owner = vectors
    scores = test / np.linalg.norm(test, axis=1, keepdims=True) @ (enroll / np.linalg.norm(enroll, axis=1)[:, None]).T
    target = np.arange(30) == owner[:, None]
    (found,) = one_minus_eer(enroll, test, owner, [30], resamples=0)
    assert found.value == pytest.approx(1 - eer_rocch(pool(scores[target], scores[~target])).value)
    assert found.interval.lower is None


def test_the_interval_holds_the_value_and_a_run_repeats_to_the_bit(vectors):
    results = one_minus_eer(*vectors, [2, 10, 30], resamples=200, seed=1)
    for found in results:
        assert found.interval.lower <= found.value <= found.interval.upper
    assert results == one_minus_eer(*vectors, [2, 10, 30], resamples=200, seed=1)
    assert results[1:2] == one_minus_eer(*vectors, [10], resamples=200, seed=1)


def test_an_anonymiser_that_gives_everybody_the_same_voice_is_at_chance():
    same = np.tile(np.random.default_rng(6).standard_normal(192).astype(np.float32), (40, 1))
    assert [found.value for found in one_minus_eer(same, same[:20], np.arange(20), [2, 20, 40], 10)] == [0.5] * 3


@given(
    st.integers(0, 2**32),
    st.sampled_from(["cosine", "product"]),
    st.sampled_from([0, 1, 6]),
    st.sampled_from([1.0, 1e-4, 1e-9]),
)
def test_the_pass_tells_the_rivals_that_a_count_of_ranks_tells(seed, similarity, digits, spread):
    rng = np.random.default_rng(seed)
    common, centres = rng.standard_normal(4), np.round(rng.standard_normal((12, 4)), digits)
    owner = rng.integers(0, 12, 9)
    enroll = common + spread * centres
    test = common + spread * (centres[owner] + np.round(rng.standard_normal((9, 4)), digits))
    test[0] = test[1]
    (found,) = compare_all(enroll, [test], owner, [2, 5], resamples=0, similarity=similarity).rivals
    expected = count_rivals(enroll, test, owner, similarity)
    assert np.array_equal(found.above, expected.above) and np.array_equal(found.tied, expected.tied)


def test_separated_speakers_give_one():
    assert (
        one_minus_eer(np.eye(5, dtype=np.float32), np.eye(5, dtype=np.float32), np.arange(5), [2, 5], 10)[1].value == 1
    )


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-5])
@pytest.mark.parametrize("scale", [1.0, 1e-25, 1e25])
def test_crowded_voices_of_any_length_have_the_eer_of_their_exact_cosines(spread, scale):
    rng = np.random.default_rng(7)
    common, centres = rng.standard_normal(8), rng.standard_normal((12, 8))
    owner = np.array([0, 3, 4, 5, 9, 11])
    enroll = ((common + spread * centres) * scale).astype(np.float32)
    enroll[1] = enroll[3]
    test = ((common + spread * (centres[owner] + rng.standard_normal((6, 8)))) * scale).astype(np.float32)
    with mp.workdps(50):
        rows = [[[mp.mpf(float(v)) for v in row] for row in side] for side in (test, enroll)]
        units = [[[v / mp.norm(row) for v in row] for row in side] for side in rows]
        scores = [[mp.fdot(x, y) for y in units[1]] for x in units[0]]
    order = sorted({score for row in scores for score in row})
    rank = np.array([[order.index(score) for score in row] for row in scores])
    target = np.arange(12) == owner[:, None]
    (found,) = one_minus_eer(enroll, test, owner, [12], resamples=0)
    assert found.value == pytest.approx(1 - eer_rocch(pool(rank[target], rank[~target])).value, abs=1e-12)


def test_every_size_is_the_eer_of_the_first_others_in_one_order():
    rng = np.random.default_rng(8)
    enroll = rng.integers(-1, 2, (300, 5)).astype(np.float32) + 2  # many equal vectors and cosines
    owner = rng.integers(300, size=700)
    test = enroll[owner] + rng.integers(-1, 2, (700, 5)).astype(np.float32)
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (test.astype(float), enroll.astype(float))]
    order = generator(3, "one minus eer").permutation(300)
    scores = np.round(unit[0] @ unit[1][order].T, 12)
    place = np.argsort(order)[owner]
    found = one_minus_eer(enroll, test, owner, [299, 2, 40, 300], resamples=0, seed=3)
    assert [one.n_enroll for one in found] == [299, 2, 40, 300]
    for one in found:
        others = np.array([np.delete(row, own)[: one.n_enroll - 1] for row, own in zip(scores, place, strict=True)])
        expected = 1 - eer_rocch(pool(scores[np.arange(700), place], others.ravel())).value
        assert one.value == pytest.approx(expected, abs=1e-12)


def test_bins_move_the_ends_of_an_interval_by_less_than_its_fiftieth(monkeypatch):
    rng = np.random.default_rng(9)
    enroll = rng.standard_normal((600, 16)).astype(np.float32)
    test = (enroll[:500] + 3 * rng.standard_normal((500, 16))).astype(np.float32)
    arguments = enroll, test, np.arange(500), [20, 600], 200
    binned = one_minus_eer(*arguments)
    monkeypatch.setattr("vpeval.metrics.one_minus_eer.BINS", 10_000)
    exact = one_minus_eer(*arguments)
    for one, other in zip(binned, exact, strict=True):
        assert one.value == other.value
        width = other.interval.upper - other.interval.lower
        assert one.interval.lower == pytest.approx(other.interval.lower, abs=width / 50)
        assert one.interval.upper == pytest.approx(other.interval.upper, abs=width / 50)


@given(st.integers(0, 2**32), st.floats(-30, 30))
def test_it_depends_neither_on_scale_nor_on_the_precision_of_storage(seed, exponent):
    rng = np.random.default_rng(seed)
    enroll = (3 + rng.integers(-2, 3, (9, 4))).astype(np.float32)
    test = (3 + rng.integers(-2, 3, (6, 4))).astype(np.float32)
    arguments = rng.integers(9, size=6), [2, 5, 9], 0
    plain = one_minus_eer(enroll, test, *arguments)
    assert plain == one_minus_eer(enroll.astype(float), test.astype(float), *arguments)
    scale = 10.0**exponent
    assert plain == one_minus_eer(scale * enroll.astype(float), scale * test.astype(float), *arguments)


def test_many_continuous_scores_are_sorted_exactly_between_the_target_scores():
    rng = np.random.default_rng(10)
    enroll = rng.standard_normal((400, 6))
    test = enroll + rng.standard_normal((400, 6))
    scores = test / np.linalg.norm(test, axis=1, keepdims=True) @ (enroll / np.linalg.norm(enroll, axis=1)[:, None]).T
    target = np.eye(400, dtype=bool)
    found = compare_all(enroll, [test], np.arange(400), [400], resamples=0)
    expected = 1 - eer_rocch(pool(scores[target], scores[~target])).value
    assert found.eers[0].value == pytest.approx(expected, abs=1e-12)
    assert found.rivals[0].above.tolist() == (scores > scores[target][:, None]).sum(axis=1).tolist()


@pytest.mark.parametrize("n", [5, 30])
def test_the_interval_is_that_of_test_speakers_written_out_as_often_as_they_are_drawn(vectors, n):
    enroll, test, owner = vectors
    order = generator(1, "one minus eer").permutation(30)
    scores = test / np.linalg.norm(test, axis=1, keepdims=True) @ (enroll / np.linalg.norm(enroll, axis=1)[:, None]).T
    place = np.argsort(order)[owner]
    targets = scores[np.arange(20), owner]
    others = np.array([np.delete(row, own)[: n - 1] for row, own in zip(scores[:, order], place, strict=True)])
    samples = [
        eer_rocch(pool(np.repeat(targets, drawn), np.repeat(others, drawn, axis=0).ravel())).value
        for drawn in multiplicities(20, 50, generator(1, "one minus eer resamples"))
    ]
    (found,) = one_minus_eer(enroll, test, owner, [n], resamples=50, seed=1)
    expected = rate_interval(1 - found.value, np.array(samples), 20, 20, {}, highest=0.5, weight=0.5, bias=2)
    limits = 1 - expected.upper, 1 - expected.lower
    assert (found.interval.lower, found.interval.upper) == pytest.approx(limits, abs=1e-9)
    assert (found.interval.notes["resamples"], found.interval.notes["seed"]) == (50, 1)


def test_of_several_draws_of_test_utterances_it_is_the_mean_and_so_is_every_resample(vectors):
    enroll, test, owner = vectors
    # In the second draw, everybody sounds like the right one: 1 - EER is 1, and so it is in every resample.
    drawn = [test, enroll[owner]]
    alone, both = (compare_all(enroll, tests, owner, [30], 50, 1) for tests in (drawn[:1], drawn))
    assert both.eers[0].value == pytest.approx((alone.eers[0].value + 1) / 2)
    assert [rivals.above.tolist() for rivals in both.rivals] == [alone.rivals[0].above.tolist(), [0] * 20]
    widths = [found.eers[0].interval.upper - found.eers[0].interval.lower for found in (both, alone)]
    assert widths[0] < widths[1]


def test_equal_vectors_take_no_more_exact_scores_than_others_and_have_the_eer_of_their_cosines(monkeypatch):
    """Anonymisers with few pseudo-speakers, and padding by zeros in tests, give thousands of them."""
    exact = []

    def angles(x, y):
        exact.append(len(x))
        return vector_angles(x, y)

    monkeypatch.setattr(module, "angles", angles)
    rng = np.random.default_rng(3)
    enroll = rng.standard_normal((600, 24))
    test = enroll[:300] + rng.standard_normal((300, 24))
    enroll[100:500], test[50:200] = enroll[100], test[50]
    (found,) = one_minus_eer(enroll, test, np.arange(300), [600], resamples=0)
    lengths = [np.linalg.norm(each, axis=1, keepdims=True) for each in (test, enroll)]
    scores = np.round((test / lengths[0]) @ (enroll / lengths[1]).T, 12)
    target = np.eye(300, 600, dtype=bool)
    assert found.value == pytest.approx(1 - eer_rocch(pool(scores[target], scores[~target])).value, abs=1e-12)
    assert sum(exact) < 600 * 300 / 10, "most pairs of equal vectors were looked at once"
