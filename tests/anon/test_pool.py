"""The rules of pseudo-speakers, on a pool of vectors in a plane whose angles are easy to see."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.anon.xvector import pool
from vpeval.anon.xvector.pool import Pool, Rule
from vpeval.core import seeds
from vpeval.core.errors import InputError


def plane(degrees: list[float], genders: str = "") -> Pool:
    angles = np.radians(degrees)
    vectors = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    names = tuple(f"p{degree:g}" for degree in degrees)
    return Pool(names, vectors, tuple(genders or "f" * len(degrees)), np.log(np.linspace(100, 200, len(degrees))))


EAST = np.array([1.0, 0.0])
CROWD = plane([0, 10, 20, 90, 100, 170, 180, 190])


def members(rule: Rule, people: Pool = CROWD, gender: str | None = "f", draws: int = 40) -> set[str]:
    drawn = (pool.choose(people, EAST, gender, rule, np.random.default_rng(seed)) for seed in range(draws))
    return {name for pseudo in drawn for name in pseudo.members}


def test_farthest_is_really_farthest_and_nearest_nearest() -> None:
    assert members(Rule("farthest")) == {"p170", "p180", "p190"}
    assert members(Rule("nearest")) == {"p0", "p10", "p20"}


def test_dense_takes_where_the_pool_is_densest_and_random_takes_anybody() -> None:
    people = plane([0, 60, 120, 180, 181, 182, 183, 250, 300, 330, 20, 40, 80, 100])
    assert {"p180", "p181", "p182", "p183"} < members(Rule("dense"), people)
    assert len(members(Rule("dense"), people)) == 5
    assert members(Rule("random")) == set(CROWD.speakers)


@given(st.integers(0, 2**64 - 1), st.integers(5, 60))
def test_farthest_takes_no_speaker_who_is_nearer_than_one_left_out(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((size, 8))
    people = Pool(tuple(map(str, range(size))), vectors, ("f",) * size, np.zeros(size))
    source = rng.standard_normal(8)
    world, region = Rule().sizes(size)
    pseudo = pool.choose(people, source, "f", Rule(), rng)
    closeness = pool.cosine(source, vectors)
    assert len(pseudo.members) == region
    assert max(closeness[int(name)] for name in pseudo.members) <= np.sort(closeness)[world - 1]


def test_the_gender_rule_takes_the_same_the_other_or_any() -> None:
    people = plane([0, 10, 20, 30, 40, 50, 60, 70], "ffffmmmm")
    women, men = set(people.speakers[:4]), set(people.speakers[4:])
    for gender, same, other in (("f", women, men), ("m", men, women)):
        assert members(Rule("random", "same"), people, gender) == same
        assert members(Rule("random", "cross"), people, gender) == other
        assert members(Rule("random", "any"), people, gender) == women | men
    assert members(Rule("random", "same"), people, None) == women | men


def test_a_gender_that_the_pool_lacks_is_an_error() -> None:
    with pytest.raises(InputError, match="no speaker for gender rule 'cross'"):
        pool.choose(CROWD, EAST, "f", Rule(gender="cross"), np.random.default_rng(0))


def test_the_pseudo_speaker_is_the_mean_of_its_members() -> None:
    pseudo = pool.choose(CROWD, EAST, "f", Rule(), np.random.default_rng(1))
    rows = [CROWD.speakers.index(name) for name in pseudo.members]
    mean = CROWD.vectors[rows].mean(axis=0)
    np.testing.assert_allclose(pseudo.vector, mean / np.linalg.norm(mean))
    assert pseudo.log_f0 == pytest.approx(CROWD.log_f0[rows].mean())


def test_enrolment_and_trial_get_different_pseudo_speakers_even_from_a_small_pool() -> None:
    people = plane([0, 40, 80, 120])
    rule = Rule(weights="random")
    for speaker in map(str, range(30)):
        trial, enroll = (
            pool.choose(people, EAST, "f", rule, seeds.generator(0, role, "spk", speaker))
            for role in ("trial", "enroll")
        )
        assert np.abs(trial.vector - enroll.vector).max() > 1e-3


def test_numbers_are_those_of_the_challenge_scaled_to_the_pool() -> None:
    assert Rule().sizes(1000) == (200, 100)
    assert Rule().sizes(580) == (200, 100)
    assert Rule().sizes(58) == (20, 10)
    assert Rule().sizes(4) == (3, 2)
    assert Rule().sizes(1) == (1, 1)


def test_a_pool_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    CROWD.save(tmp_path / "pool.npz")
    back = Pool.load(tmp_path / "pool.npz")
    assert (back.speakers, back.genders) == (CROWD.speakers, CROWD.genders)
    np.testing.assert_array_equal(back.vectors, CROWD.vectors)
    np.testing.assert_array_equal(back.log_f0, CROWD.log_f0)
