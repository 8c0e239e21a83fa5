from pathlib import Path

import numpy as np
import pytest

from vpeval.asv import backend
from vpeval.asv.backend import Cosine, LogLikelihoodRatio, read_comparison
from vpeval.core.errors import InputError
from vpeval.embeddings.speaker_vectors import group
from vpeval.metrics.one_minus_eer import compare_all
from vpeval.metrics.ranks import count_rivals
from vpeval.metrics.scores import eer_rocch, pool
from vpeval.metrics.singling_out import singling_out

SPEAKERS, DIMENSION = 12, 8


def embeddings(utts, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((SPEAKERS, DIMENSION)) * np.linspace(2, 0.1, DIMENSION)
    vectors, owners = {}, {}
    for spk in range(SPEAKERS):
        for utt in range(utts + spk % 3):
            owners[f"s{spk:02d}-{utt}"] = f"s{spk:02d}"
            vectors[f"s{spk:02d}-{utt}"] = centres[spk] + rng.standard_normal(DIMENSION) + shift
    return group(Path("toy"), vectors, owners)


@pytest.fixture(scope="module")
def model():
    settings = backend.Settings(lda=5, prior=backend.Prior(2, 2))
    return backend.estimate(embeddings(20, seed=2, shift=3.0), settings).backend


@pytest.fixture
def sides(model):
    enroll, test = embeddings(3, seed=3, shift=3.0), embeddings(4, seed=4, shift=3.0)
    compare = LogLikelihoodRatio(model)
    return compare.enroll(enroll, np.arange(SPEAKERS)), compare.test(test.vectors), model.scores(enroll, test), test


def test_products_are_the_log_likelihood_ratios_of_the_back_end(sides):
    enroll, test, llr, _ = sides
    assert enroll @ test.T == pytest.approx(llr, abs=1e-4)


def test_rivals_by_products_are_those_of_the_llr_matrix(sides):
    enroll, test, _, utts = sides
    llr = enroll @ test.T
    found = count_rivals(enroll, test, utts.owners, "product")
    own = llr[utts.owners, np.arange(len(utts.utts))]
    assert found.above.tolist() == (llr > own + 1e-9).sum(axis=0).tolist()
    assert found.tied.sum() == 0


def test_one_minus_eer_by_products_is_that_of_the_llr_matrix(sides):
    enroll, test, _, utts = sides
    llr = enroll @ test.T
    target = np.arange(SPEAKERS)[:, None] == utts.owners
    (found,) = compare_all(enroll, [test], utts.owners, [SPEAKERS], resamples=0, similarity="product").eers
    assert found.value == pytest.approx(1 - eer_rocch(pool(llr[target], llr[~target])).value)


def test_equal_speakers_tie_in_products_too(model):
    same = np.tile(LogLikelihoodRatio(model).enroll(embeddings(3, seed=3), np.arange(1)), (9, 1))
    test = LogLikelihoodRatio(model).test(embeddings(1, seed=5).vectors)
    found = count_rivals(same, test, np.zeros(len(test), int), "product")
    assert (found.above.tolist(), found.tied.tolist()) == ([0] * len(test), [8] * len(test))


def test_lengths_matter_to_products_and_not_to_cosines():
    references, inputs = np.array([[1.0, 0], [4.0, 4.0]]), np.array([[1.0, 0.1]])
    assert count_rivals(references, inputs, np.array([0]), "cosine").above.tolist() == [0]
    assert count_rivals(references, inputs, np.array([0]), "product").above.tolist() == [1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singling_out_by_products_of_unit_vectors_is_that_by_cosines(dtype):
    rng = np.random.default_rng(6)
    centres = rng.standard_normal((20, 6))
    folds = centres + rng.standard_normal((5, 20, 6))
    units = [v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (centres, folds)]
    who, counts = np.arange(20), np.full(20, 5)
    by_product = singling_out(
        *(units[0].astype(dtype), who), units[1].astype(dtype), counts, [20], similarity="product"
    )
    assert by_product.per_speaker.tolist() == singling_out(centres, who, folds, counts, [20]).per_speaker.tolist()


def test_singling_out_by_products_agrees_with_a_plain_loop():
    rng = np.random.default_rng(7)
    enroll = 50 * rng.standard_normal((15, 6))
    folds = enroll + 300 * rng.random((4, 15, 1)) * rng.standard_normal((4, 15, 6))
    found = singling_out(enroll, np.arange(15), folds, np.full(15, 4), [15], similarity="product")
    for x, value in zip(enroll, found.per_speaker[0], strict=True):
        scores = folds @ x
        wins = 0
        for fold in range(4):
            calibration = np.sort(np.delete(scores, fold, axis=0).ravel())[::-1]
            wins += np.count_nonzero(scores[fold] > (calibration[2] + calibration[3]) / 2) == 1
        assert value == wins / 4


def test_an_enrolment_of_few_utterances_is_worth_less(model):
    speakers = embeddings(6, seed=8)
    few, many = (LogLikelihoodRatio(model).enroll(speakers, np.arange(SPEAKERS), n) for n in (1, None))
    assert np.abs(few[:, : len(model.projection[0])]).mean() < np.abs(many[:, : len(model.projection[0])]).mean()


def test_without_a_back_end_cosines_are_compared():
    speakers = embeddings(3, seed=9)
    assert isinstance(read_comparison(None), Cosine)
    assert (Cosine().enroll(speakers, np.arange(3)) == speakers.means(np.arange(3))).all()
    assert Cosine().test(speakers.vectors) is speakers.vectors


def test_vectors_of_another_encoder_are_refused(model):
    other = group(Path("other"), {"a-1": np.ones(3), "b-1": np.ones(3)}, {"a-1": "a", "b-1": "b"})
    with pytest.raises(InputError, match="dimension 3"):
        LogLikelihoodRatio(model).enroll(other, np.arange(2))
