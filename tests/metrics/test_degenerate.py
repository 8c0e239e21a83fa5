"""Anonymisers that destroy the voice: one constant output for everybody, or noise. Every number says what is true."""

import math

import numpy as np
import pytest

from vpeval.metrics.linkability import linkability
from vpeval.metrics.one_minus_eer import compare_all
from vpeval.metrics.pitch import correlate_pitch
from vpeval.metrics.ranks import Ranks, count_rivals
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.similarity import PairScores, similarity_matrix, voice_similarity
from vpeval.metrics.singling_out import singling_out
from vpeval.metrics.srd import disclosure
from vpeval.metrics.verification import paired_difference, verification

N, UTTS = 12, 6


def trials(score):
    enroll, utt = np.divmod(np.arange(N * N), N)
    return ScoredTrials(np.full(N * N, score), enroll == utt, enroll, utt)


@pytest.mark.parametrize("score", [1.0, 0.0, -3.5, 1.7e308])
def test_one_voice_for_all_is_at_chance_in_every_verification_number(score):
    records = {(r.metric, r.params.get("p")): r for r in verification(trials(score), 50)}
    values = {key: record.value for key, record in records.items()}
    assert not any(math.isnan(value) for value in values.values())
    for eer in ("eer_kaldi", "eer_threshold", "eer_rocch"):
        assert values[eer, None] == 0.5
    assert values["min_cllr", None] == values["min_dcf", 0.01] == values["min_dcf", 0.001] == 1
    assert values["zebra_population", None] == 0
    assert values["zebra_individual", None] < 0.04  # its two virtual trials of each class are not as unequal as ours
    assert values["dsys", None] == values["dsys_null", None] == values["dsys_calibrated", None] == 0
    for record in records.values():
        assert not math.isnan(record.value)
        assert record.interval.lower is None or record.interval.lower <= record.value <= record.interval.upper


def test_scores_at_the_ends_of_the_range_of_numbers_give_records():
    rng = np.random.default_rng(0)
    score = rng.choice([-1.7e308, -1e300, 0, 1e300, 1.7e308], 40 * 40)
    enroll, utt = np.divmod(np.arange(1600), 40)
    wide = ScoredTrials(score, enroll == utt, enroll, utt)
    for record in [*verification(wide, 10), *paired_difference(wide, -score, 10)]:
        assert not math.isnan(record.value)


def test_nobody_is_linked_or_singled_out_among_equal_voices_and_ranks_disclose_nothing():
    same = np.tile(np.random.default_rng(1).standard_normal(32).astype(np.float32), (N, 1))
    rivals = count_rivals(same, same, np.arange(N))
    assert linkability(rivals, N, [2, 5, N]).values.tolist() == [0, 0, 0]
    assert [found.value for found in compare_all(same, [same], np.arange(N), [2, N], 20).eers] == [0.5, 0.5]
    folds = np.tile(same[None], (UTTS, 1, 1))
    assert singling_out(same, np.arange(N), folds, np.full(N, UTTS), [5, N]).values.tolist() == [0, 0]
    for estimator in ("empirical", "beta-binomial"):
        found = disclosure(Ranks.from_rivals(rivals, np.arange(N), N, N).histograms(np.ones((1, N))), estimator)
        assert [float(x[0]) for x in (found.max_d, found.mean_d)] == pytest.approx([0, 0], abs=1e-6)
        assert float(found.idr[0]) == pytest.approx(1 / N)
        assert float(found.rank_spread[0]) == 0


@pytest.mark.parametrize(("n", "inputs"), [(2, 10), (12, 1), (40, 20), (200, 3)])
def test_the_rank_spread_of_a_fitted_uniform_histogram_is_zero(n, inputs):
    assert disclosure(np.full((1, n), float(inputs)), "beta-binomial").rank_spread.tolist() == [0]


def test_equal_voices_have_lost_all_distinctiveness():
    speaker = np.repeat(np.arange(N), 2)
    first, second = (index.ravel() for index in np.indices((2 * N, 2 * N)))
    names = [f"s{k}" for k in range(N)]
    rng = np.random.default_rng(2)
    own = PairScores(first, second, rng.normal(size=len(first)) + 3 * (speaker[first] == speaker[second]))
    flat = PairScores(first, second, np.ones(len(first)))
    matrices = {"oo": similarity_matrix(own, speaker, names, "oo")}
    matrices |= {condition: similarity_matrix(flat, speaker, names, condition) for condition in ("oa", "aa")}
    records = {(r.metric, r.params.get("matrix")): r for r in voice_similarity(matrices, 50)}
    assert records["g_vd", None].value == -math.inf
    assert records["deid", None].value == 1
    assert records["d_diag", "aa"].value == 0
    for record in records.values():
        assert not math.isnan(record.value)


@pytest.mark.parametrize("output", [np.zeros(80), np.full(80, 120.0)])
def test_silence_and_one_tone_keep_no_melody(output):
    melody = np.where(np.arange(80) % 20 < 12, 100 + 10 * np.sin(np.arange(80)), 0.0)
    found = correlate_pitch(melody, output)
    assert found.vpc == 0
    assert found.voiced is None
