import numpy as np
import pytest

from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.strongest import strongest, strongest_by
from vpeval.metrics.verification import EERS, verification


def scored(seed, separation, speakers=8, utts=3, first=0):
    """All speakers, numbered from `first`, against all utterances."""
    enroll = np.repeat(np.arange(speakers), speakers * utts)
    speaker = np.tile(np.repeat(np.arange(speakers), utts), speakers)
    is_target = enroll == speaker
    score = separation * is_target + np.random.default_rng(seed).standard_normal(len(enroll))
    return ScoredTrials(score, is_target, enroll + first, speaker + first)


def test_the_strongest_attack_is_the_one_with_the_least_eer():
    attacks = {"weak": [scored(0, 1.0)], "strong": [scored(1, 3.0)], "none": [scored(2, 0.0)]}
    found = strongest(attacks, resamples=100)
    assert (found.attack, found.attacks) == ("strong", 3)
    assert found.interval.lower <= found.eer <= found.interval.upper
    assert found.interval.notes["chosen_of"] == 3


def test_who_tries_more_attackers_does_not_claim_more_privacy():
    alone = strongest({0: [scored(0, 1.0)]}, resamples=200)
    several = strongest({seed: [scored(seed, 1.0)] for seed in range(6)}, resamples=200)
    assert several.eer <= alone.eer
    assert several.interval.lower < alone.interval.lower
    assert several.interval.upper <= alone.interval.upper


@pytest.mark.parametrize("metric", EERS)
def test_one_attack_alone_has_the_interval_of_its_eer(metric):
    trials = scored(3, 1.5)
    found = strongest({"a": [trials]}, metric, resamples=50, seed=4)
    record = next(one for one in verification(trials, 50, 4) if one.metric == metric)
    assert (found.eer, found.interval.lower, found.interval.upper) == (
        record.value,
        record.interval.lower,
        record.interval.upper,
    )


def test_an_attack_on_two_sets_has_their_mean_eer_and_a_narrower_interval():
    sets = [scored(5, 1.5), scored(6, 1.5, first=8)]
    both = strongest({"a": sets}, resamples=200)
    single = [strongest({"a": [one]}, resamples=200) for one in sets]
    assert both.eer == pytest.approx(np.mean([one.eer for one in single]))
    width = both.interval.upper - both.interval.lower
    assert width < min(one.interval.upper - one.interval.lower for one in single)


def test_sets_count_by_their_shares():
    sets = [scored(7, 1.0), scored(8, 2.0, first=8)]
    single = [strongest({"a": [one]}, resamples=0).eer for one in sets]
    assert strongest({"a": sets}, resamples=0, shares=[3, 1]).eer == pytest.approx(0.75 * single[0] + 0.25 * single[1])
    assert strongest({"a": sets}, resamples=50, shares=[1, 1]) == strongest({"a": sets}, resamples=50)


def test_other_speakers_are_more_evidence_than_other_trials_of_the_same():
    same = strongest({"a": [scored(7, 1.0), scored(7, 1.0)]}, resamples=200)
    others = strongest({"a": [scored(7, 1.0), scored(7, 1.0, first=8)]}, resamples=200)
    assert same.eer == others.eer
    assert others.interval.upper - others.interval.lower < 0.95 * (same.interval.upper - same.interval.lower)


def test_without_resamples_there_is_no_interval():
    found = strongest({"a": [scored(0, 1.0)]}, resamples=0)
    assert (found.interval.lower, found.interval.upper) == (None, None)


@pytest.mark.parametrize("attacks", [{}, {"a": []}, {"a": [scored(0, 1.0)], "b": []}])
def test_attacks_on_other_sets_are_not_compared(attacks):
    with pytest.raises(ValueError, match="all attacks on the same sets"):
        strongest(attacks)


def test_an_interval_says_how_it_was_drawn():
    found = strongest({"a": [scored(0, 1.0)], "b": [scored(1, 1.0)]}, resamples=60, seed=5)
    drawn = {key: found.interval.notes[key] for key in ("resamples", "seed", "chosen_of")}
    assert drawn == {"resamples": 60, "seed": 5, "chosen_of": 2}


def test_several_eers_of_one_choice_are_those_of_each():
    attacks = {"a": [scored(0, 1.0)], "b": [scored(1, 1.2)]}
    found = strongest_by(attacks, list(EERS), resamples=40, seed=2)
    assert found == {metric: strongest(attacks, metric, 40, 2) for metric in EERS}
    assert found["eer_rocch"].interval.upper <= 0.5


def test_the_first_of_equally_strong_attacks_is_named():
    assert strongest({"b": [scored(0, 1.0)], "a": [scored(0, 1.0)]}, resamples=0).attack == "b"


def test_speakers_without_a_target_in_a_set_are_drawn_again():
    # Speaker 2 is only ever compared with; of two target speakers, every resample has one.
    enroll, speaker = np.divmod(np.arange(2 * 3 * 2), 6)
    speaker //= 2
    score = np.random.default_rng(9).standard_normal(12) + (enroll == speaker)
    found = strongest({"a": [ScoredTrials(score, enroll == speaker, enroll, speaker)]}, resamples=50)
    assert "2 speakers" in found.interval.notes["no_interval"]


@pytest.mark.parametrize("metric", EERS)
def test_the_upper_limit_of_a_weak_attack_is_the_end_of_its_scale(metric):
    trials = scored(3, -1.0)
    found = strongest({"a": [trials]}, metric, resamples=50)
    record = next(one for one in verification(trials, 50) if one.metric == metric)
    assert found.interval.upper == record.interval.upper
    assert (found.interval.upper > 0.5) == (metric != "eer_rocch")
