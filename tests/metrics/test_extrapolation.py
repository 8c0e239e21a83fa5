from itertools import combinations

import numpy as np
import pytest

import vpeval.metrics.linkability as linkability_module
from vpeval.metrics.linkability import continued, linkability, linkability_at, rank_counts, subsample_ranks
from vpeval.metrics.ranks import Rivals


def test_thinned_ranks_are_those_among_every_smaller_crowd():
    rivals, n_all, n = np.array([0, 2, 5, 5]), 7, 4
    expected = np.zeros(n)
    crowds = list(combinations(range(n_all - 1), n - 1))
    for k in rivals:
        for crowd in crowds:
            expected[sum(who < k for who in crowd)] += 1 / len(crowds)
    assert subsample_ranks(rivals, n_all, n) == pytest.approx(expected)


def test_draws_stand_for_the_expectation_of_large_crowds(monkeypatch):
    rivals = np.random.default_rng(0).binomial(399, 0.05, 3000)
    exact = subsample_ranks(rivals, 400, 100)
    monkeypatch.setattr(linkability_module, "EXACT", 10)
    assert np.abs(subsample_ranks(rivals, 400, 100) - exact).max() < 0.02 * len(rivals)
    assert subsample_ranks(rivals, 400, 100).tolist() == subsample_ranks(rivals, 400, 100).tolist()


def test_voices_of_the_kind_that_the_law_supposes_are_carried_to_fifty_times_as_many():
    rng = np.random.default_rng(1)
    q = rng.beta(0.4, 12, 4000)
    rivals = rng.binomial(199, q)
    truth = ((1 - q) ** 9999).mean()
    found = linkability_at(rank_counts(rivals, 200, np.ones((1, len(rivals)))), 10_000)[0]
    assert found == pytest.approx(truth, abs=0.015)


def test_at_the_measured_number_the_law_gives_what_was_measured():
    rivals = np.array([0, 0, 0, 1, 3, 9])
    measured = linkability(Rivals(rivals, np.zeros(6, int)), 20, [20]).values[0]
    assert linkability_at(rank_counts(rivals, 20, np.ones((1, 6))), 20) == pytest.approx([measured])


def test_who_is_always_found_stays_found():
    assert linkability_at(rank_counts(np.zeros(8, int), 20, np.ones((1, 8))), 10**6).tolist() == [1]


def test_a_line_of_logits_goes_on():
    sizes = np.array([5, 10, 20])
    logit = 1.2 - 0.4 * np.log(sizes)
    far = 1 / (1 + np.exp(-(1.2 - 0.4 * np.log(1000))))
    assert continued(sizes, (1 / (1 + np.exp(-logit)))[None], 100, 1000) == pytest.approx([far])


def test_one_other_who_is_drawn_is_a_rival_as_often_as_others_are(monkeypatch):
    rivals = np.full(4000, 6)
    monkeypatch.setattr(linkability_module, "EXACT", 10)
    found = subsample_ranks(rivals, 25, 2)
    assert len(found) == 2 and found.sum() == pytest.approx(4000)
    assert found[1] / 4000 == pytest.approx(6 / 24, abs=0.01)
    assert subsample_ranks(rivals, 25, 25).tolist() == [0] * 6 + [4000] + [0] * 18, "all others are drawn"


@pytest.mark.parametrize(("rate", "inside"), [(0.0, 0.05), (1.0, 0.95)])
def test_nobody_and_everybody_count_as_half_a_speaker_more_or_less(rate, inside):
    assert continued(np.array([5, 10, 20]), np.full((1, 3), rate), 10, 500) == pytest.approx([inside])


def test_speakers_count_by_their_weights():
    found = rank_counts(np.array([0, 2, 2]), 4, np.array([[1.0, 1, 1], [5, 0.5, 0]]))
    assert found.tolist() == [[1, 0, 2, 0], [5, 0, 0.5, 0]]


def test_drawn_ranks_stay_what_they_were_when_results_were_published():
    rivals = np.random.default_rng(0).binomial(1999, 0.01, 300)
    assert subsample_ranks(rivals, 2000, 1000, 3)[:8] == pytest.approx([0.2, 0.3, 1.4, 1.7, 5.3, 10.0, 16.8, 23.0])
