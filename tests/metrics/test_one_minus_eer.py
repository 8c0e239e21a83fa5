import numpy as np
import pytest

from vpeval.metrics.eer import eer_rocch
from vpeval.metrics.one_minus_eer import one_minus_eer
from vpeval.metrics.scores import pool


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
    assert found.interval is None


def test_the_interval_holds_the_value_and_a_run_repeats_to_the_bit(vectors):
    results = one_minus_eer(*vectors, [2, 10, 30], resamples=200, seed=1)
    for found in results:
        assert found.interval.lower <= found.value <= found.interval.upper
    assert results == one_minus_eer(*vectors, [2, 10, 30], resamples=200, seed=1)
    assert results[1:2] == one_minus_eer(*vectors, [10], resamples=200, seed=1)


def test_an_anonymiser_that_gives_everybody_the_same_voice_is_at_chance():
    same = np.tile(np.random.default_rng(6).standard_normal(192).astype(np.float32), (40, 1))
    assert [found.value for found in one_minus_eer(same, same[:20], np.arange(20), [2, 20, 40], 10)] == [0.5] * 3


def test_separated_speakers_give_one():
    assert (
        one_minus_eer(np.eye(5, dtype=np.float32), np.eye(5, dtype=np.float32), np.arange(5), [2, 5], 10)[1].value == 1
    )
