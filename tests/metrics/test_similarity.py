import math

import numpy as np
import pytest
from oracles import pav_llrs

from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.metrics.intervals import multiplicities, studentised_interval
from vpeval.metrics.similarity import CONDITIONS, PairScores, _d_diag, similarity_matrix, voice_similarity

NAMES = ["a", "b", "c"]
SPEAKER = np.array([0, 0, 1, 1, 1, 2, 2])


def all_pairs(seed, shift=1.0, symmetric=False):
    """A score for every ordered pair of utterances, an utterance with itself included."""
    rng = np.random.default_rng(seed)
    first, second = (index.ravel() for index in np.indices((7, 7)))
    score = rng.normal(size=(7, 7))
    if symmetric:
        score = score + score.T
    return PairScores(first, second, score.ravel() + shift * (SPEAKER[first] == SPEAKER[second]))


def literal_matrix(pairs, keep, mirror):
    """Calibrate the pairs kept, average per pair of speakers, squash; by loops and dictionaries."""
    rows = [
        (SPEAKER[i], SPEAKER[j], s)
        for i, j, s in zip(pairs.first, pairs.second, pairs.score, strict=True)
        if keep(i, j)
    ]
    same, different = [s for a, b, s in rows if a == b], [s for a, b, s in rows if a != b]
    t, n = pav_llrs(same, different, laplace=True)
    llr = dict(zip([*same, *different], [*t, *n], strict=True))
    matrix = np.full((3, 3), np.nan)
    for i in range(3):
        for j in range(3):
            cell = [llr[s] for a, b, s in rows if (a, b) == (i, j) or (mirror and (b, a) == (i, j))]
            if cell:
                matrix[i, j] = 1 / (1 + math.exp(-sum(cell) / len(cell)))
    return matrix


@pytest.mark.parametrize("condition", CONDITIONS)
def test_full_matrices_use_every_pair_but_an_utterance_with_itself(condition):
    pairs = all_pairs(1)
    expected = literal_matrix(pairs, lambda i, j: i != j, mirror=condition != "oa")
    assert similarity_matrix(pairs, SPEAKER, NAMES, condition) == pytest.approx(expected)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_challenge_matrices_use_the_upper_triangle_and_mirror_it(condition):
    pairs = all_pairs(2)
    expected = literal_matrix(pairs, lambda i, j: i < j, mirror=True)
    matrix = similarity_matrix(pairs, SPEAKER, NAMES, condition, "vpc")
    assert matrix == pytest.approx(expected)
    assert (matrix == matrix.T).all()


def test_the_full_oa_matrix_is_not_symmetric():
    matrix = similarity_matrix(all_pairs(3), SPEAKER, NAMES, "oa")
    assert not np.allclose(matrix, matrix.T)


def test_one_direction_of_symmetric_scores_gives_the_same_cells_as_both_up_to_calibration():
    pairs = all_pairs(4, symmetric=True)
    half = pairs.first < pairs.second
    one_way = PairScores(pairs.first[half], pairs.second[half], pairs.score[half])
    assert (
        similarity_matrix(one_way, SPEAKER, NAMES, "oo") == similarity_matrix(one_way, SPEAKER, NAMES, "oo", "vpc")
    ).all()


def test_the_order_of_the_pairs_does_not_matter():
    pairs = all_pairs(5)
    order = np.random.default_rng(0).permutation(49)
    moved = PairScores(pairs.first[order], pairs.second[order], pairs.score[order])
    expected = similarity_matrix(pairs, SPEAKER, NAMES, "oa")
    assert similarity_matrix(moved, SPEAKER, NAMES, "oa") == pytest.approx(expected, rel=1e-14)


def values(matrices, resamples=0):
    return [record.value for record in voice_similarity(matrices, resamples)]


def matrix(diagonal, rest):
    m = np.full((3, 3), float(rest))
    np.fill_diagonal(m, diagonal)
    return m


def test_metrics_by_hand():
    records = voice_similarity({"oo": matrix(0.9, 0.1), "oa": matrix(0.3, 0.5), "aa": matrix(0.6, 0.2)}, 0)
    assert [(record.metric, record.params.get("matrix")) for record in records] == [
        ("d_diag", "oo"),
        ("d_diag", "oa"),
        ("d_diag", "aa"),
        ("g_vd", None),
        ("deid", None),
    ]
    assert [record.value for record in records] == pytest.approx([0.8, 0.2, 0.4, 10 * math.log10(0.5), 0.75])
    assert all(record.counts == {"speakers": 3} and record.interval.lower is None for record in records)


def test_identical_conditions_gain_and_hide_nothing():
    m = matrix([0.9, 0.8, 0.7], 0.3)
    records = voice_similarity({"oo": m, "oa": m, "aa": m}, 100)
    assert [record.value for record in records[3:]] == [0, 0]


@pytest.mark.parametrize("speakers", [2, 3])
def test_few_speakers_have_no_interval_and_a_reason(speakers):
    m = np.full((speakers, speakers), 0.2) + 0.5 * np.eye(speakers)
    for record in voice_similarity({"oo": m, "oa": m, "aa": m}, 100):
        assert (record.interval.lower, record.interval.upper) == (None, None)
        assert f"{speakers} speakers" in record.interval.notes["no_interval"]


def test_indistinct_anonymised_voices_lose_infinitely_much():
    good, flat = matrix(0.9, 0.1), matrix(0.5, 0.5)
    g_vd, deid = voice_similarity({"oo": good, "oa": flat, "aa": flat}, 50)[3:]
    assert (g_vd.value, g_vd.interval.lower, g_vd.interval.upper) == (-math.inf, None, None)
    assert deid.value == 1


def test_indistinct_original_voices_are_an_error():
    flat = matrix(0.5, 0.5)
    with pytest.raises(InputError, match="cannot be told apart"):
        voice_similarity({"oo": flat, "oa": flat, "aa": flat}, 0)


def test_a_speaker_with_one_utterance_is_left_out_of_the_diagonal_only():
    speaker = np.array([0, 0, 1, 1, 2])
    first, second = (index.ravel() for index in np.indices((5, 5)))
    rng = np.random.default_rng(0)
    pairs = PairScores(first, second, rng.normal(size=25) + (speaker[first] == speaker[second]))
    m = similarity_matrix(pairs, speaker, NAMES, "oo")
    assert np.isnan(np.diag(m)).tolist() == [False, False, True]
    assert np.isnan(m).sum() == 1
    off = (m[0, 1] + m[0, 2] + m[1, 2]) / 3
    assert values({"oo": m, "oa": m, "aa": m})[0] == pytest.approx(abs((m[0, 0] + m[1, 1]) / 2 - off))


def test_a_resample_equals_a_matrix_with_repeated_speakers():
    rng = np.random.default_rng(0)
    m = rng.random((4, 4))
    drawn = np.array([2, 0, 1, 1])
    rows = np.repeat(np.arange(4), drawn)
    on = np.mean([m[i, i] for i in rows])
    off = np.mean([m[i, j] for i in rows for j in rows if i != j])
    assert _d_diag(m, drawn[None])[0] == pytest.approx(abs(on - off))


def test_intervals_are_reproducible_and_hold_the_value():
    rng = np.random.default_rng(1)
    matrices = {c: rng.random((5, 5)) / 10 + np.eye(5) * d for c, d in zip(CONDITIONS, (0.8, 0.1, 0.4), strict=True)}
    once, again = voice_similarity(matrices, 300, seed=4), voice_similarity(matrices, 300, seed=4)
    assert once == again
    assert all(record.interval.lower <= record.value <= record.interval.upper for record in once)


def test_missing_pairs_of_speakers_are_named():
    pairs = all_pairs(6)
    kept = ~((SPEAKER[pairs.first] == 0) & (SPEAKER[pairs.second] == 2))
    cut = PairScores(pairs.first[kept], pairs.second[kept], pairs.score[kept])
    with pytest.raises(InputError, match="'a' and 'c'"):
        similarity_matrix(cut, SPEAKER, NAMES, "oa")
    similarity_matrix(cut, SPEAKER, NAMES, "oo")  # the other direction is enough where order means nothing


def test_speakers_with_one_utterance_each_are_an_error():
    first, second = (index.ravel() for index in np.indices((3, 3)))
    with pytest.raises(InputError, match="two utterances of one speaker"):
        similarity_matrix(PairScores(first, second, np.zeros(9)), np.arange(3), NAMES, "oo")


def test_a_single_speaker_is_an_error():
    pairs = PairScores(np.array([0, 1]), np.array([1, 0]), np.array([0.5, 0.6]))
    with pytest.raises(InputError, match="two speakers or more"):
        similarity_matrix(pairs, np.array([0, 0]), ["a"], "oo")


def test_both_directions_of_one_score_are_one_pair_in_the_calibration():
    pairs = all_pairs(7, symmetric=True)
    expected = literal_matrix(pairs, lambda i, j: i < j, mirror=True)
    for condition in ("oo", "aa"):
        assert similarity_matrix(pairs, SPEAKER, NAMES, condition) == pytest.approx(expected, rel=1e-12)
    both = literal_matrix(pairs, lambda i, j: i != j, mirror=False)
    assert similarity_matrix(pairs, SPEAKER, NAMES, "oa") == pytest.approx(both, rel=1e-12)
    assert not np.allclose(both, expected)


def literal_metrics(matrices, rows):
    """D_diag of oo, oa and aa, G_VD and DeID if these speakers had been recorded, by loops."""
    oo, oa, aa = (
        abs(
            np.mean([matrices[c][i, i] for i in rows])
            - np.mean([matrices[c][i, j] for i in rows for j in rows if i != j])
        )
        for c in CONDITIONS
    )
    return [oo, oa, aa, 10 * math.log10(aa / oo), 1 - oa / oo]


def test_intervals_are_those_of_speakers_drawn_again_and_again():
    rng = np.random.default_rng(8)
    matrices = {c: rng.random((5, 5)) / 5 + np.eye(5) * d for c, d in zip(CONDITIONS, (0.7, 0.2, 0.4), strict=True)}
    drawn = multiplicities(5, 60, generator(2, "similarity"))
    whole = [row for row in drawn if np.count_nonzero(row) > 1]
    samples = np.array([literal_metrics(matrices, np.repeat(np.arange(5), row)) for row in whole])
    ends = [(0.0, 1.0)] * 3 + [(-math.inf, math.inf), (-math.inf, 1.0)]
    values = literal_metrics(matrices, range(5))
    assert len(whole) == 60
    for record, value, column, scale in zip(voice_similarity(matrices, 60, 2), values, samples.T, ends, strict=True):
        expected = studentised_interval(value, column, 5, {}, *scale)
        assert record.value == pytest.approx(value)
        assert (record.interval.lower, record.interval.upper) == pytest.approx((expected.lower, expected.upper))
        assert record.interval.notes["redrawn"] == 0


def test_draws_of_one_speaker_alone_are_repeated_and_counted():
    # Four speakers, of whom one has a diagonal: a draw needs this one, and another.
    m = np.full((4, 4), 0.2)
    m[np.diag_indices(4)] = 0.9, np.nan, np.nan, np.nan
    m[0, 1:] = 0.1
    records = voice_similarity({"oo": m, "oa": m, "aa": m}, 200)
    share = 1 - (3 / 4) ** 4 - (1 / 4) ** 4
    redrawn = records[0].interval.notes["redrawn"]
    assert redrawn == pytest.approx(200 / share - 200, rel=0.3)
