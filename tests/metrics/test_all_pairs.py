import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.metrics import all_pairs
from vpeval.metrics.all_pairs import AllScores, similarity_of_all
from vpeval.metrics.similarity import PairScores, similarity_matrix


def both(seed, sizes, condition, mode, digits):
    """The matrix of all pairs, and that of a list of them."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    speaker = np.repeat(np.arange(len(sizes)), sizes)
    score = rng.normal(size=(len(speaker),) * 2) + 0.8 * (speaker[:, None] == speaker)
    if condition != "oa":
        score = score + score.T
    score = np.round(score, digits)
    names = [f"s{i}" for i in range(len(sizes))]
    first, second = np.nonzero(~np.eye(len(speaker), dtype=bool))
    expected = similarity_matrix(PairScores(first, second, score[first, second]), speaker, names, condition, mode)
    if condition != "oa":
        score[np.tril_indices(len(score))] = 7.0  # does not count
    return similarity_of_all(AllScores(score, starts, condition != "oa"), names, mode), expected


@pytest.mark.parametrize("mode", ["full", "vpc"])
@pytest.mark.parametrize("condition", ["oo", "oa", "aa"])
@settings(max_examples=12)
@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 7), min_size=2, max_size=5).filter(lambda sizes: max(sizes) > 1),
    st.integers(0, 3),
)
def test_all_pairs_give_the_matrix_of_a_list_of_them(condition, mode, seed, sizes, digits):
    found, expected = both(seed, sizes, condition, mode, digits)
    assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("cells", [2, 16, 4096])
@pytest.mark.parametrize(("condition", "mode"), [("oo", "full"), ("oa", "full"), ("oa", "vpc")])
def test_however_coarse_the_cells_are_the_matrix_is_the_same(monkeypatch, cells, condition, mode):
    monkeypatch.setattr(all_pairs, "_CELLS", cells)
    monkeypatch.setattr(all_pairs, "_ROWS", 50)
    found, expected = both(1, [60, 1, 45, 80], condition, mode, 4)
    assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_cells_that_cannot_bend_the_hull_are_not_looked_into():
    rng = np.random.default_rng(0)
    targets, nontargets = (
        np.bincount(rng.normal(centre, 3000, size).astype(int), minlength=40000)
        for centre, size in ((23000, 20000), (20000, 200000))
    )
    is_open = all_pairs._may_bend(targets, nontargets)
    assert is_open.any()
    assert (targets + nontargets)[is_open].sum() < 0.1 * (targets + nontargets).sum()


@pytest.mark.parametrize("far", [-50.0, 1e300])
def test_an_utterance_like_no_other_does_not_put_all_others_into_a_few_cells(far):
    rng = np.random.default_rng(3)
    starts, speaker = np.arange(0, 601, 40), np.repeat(np.arange(15), 40)
    score = rng.normal(size=(600, 600)) + 0.8 * (speaker[:, None] == speaker)
    score[7], score[:, 7] = far, far
    scores, names = AllScores(score, starts, False), [f"s{i}" for i in range(15)]
    first, second = np.nonzero(~np.eye(600, dtype=bool))
    expected = similarity_matrix(PairScores(first, second, score[first, second]), speaker, names, "oa", "full")
    assert similarity_of_all(scores, names) == pytest.approx(expected, rel=1e-12)
    assert np.bincount(scores.cell.ravel()).max() < 0.01 * score.size


def test_the_number_of_rows_at_a_time_changes_nothing_that_can_be_seen(monkeypatch):
    monkeypatch.setattr(all_pairs, "_ROWS", 3)
    found, expected = both(0, [10, 4, 25], "oa", "full", 9)
    assert found == pytest.approx(expected, rel=1e-12)


def test_scores_that_are_all_equal_say_nothing():
    scores = AllScores(np.ones((6, 6)), np.array([0, 2, 4, 6]), True)
    assert np.ptp(similarity_of_all(scores, ["a", "b", "c"])) == 0


def test_one_speaker_or_one_utterance_each_is_an_error():
    with pytest.raises(InputError, match="no pair of two speakers, only 'a'"):
        similarity_of_all(AllScores(np.eye(2), np.array([0, 2]), False), ["a"])
    with pytest.raises(InputError, match="no pair of two utterances of one speaker"):
        similarity_of_all(AllScores(np.eye(2), np.array([0, 1, 2]), True), ["a", "b"])
