from pathlib import Path

import numpy as np
import pytest
from kaldi_files import write_array, write_plda

from vpeval.asv import backend
from vpeval.asv.backend import read_comparison, read_plda
from vpeval.core.errors import InputError
from vpeval.embeddings.kaldi_stream import read_array
from vpeval.embeddings.plda import Plda
from vpeval.embeddings.speaker_vectors import group


@pytest.fixture
def stored():
    """Mean, matrix and variances of a PLDA file: W is the inverse of AᵀA, B has variances in the space of A."""
    rng = np.random.default_rng(0)
    return rng.standard_normal(4), np.eye(4) + 0.3 * rng.standard_normal((4, 4)), np.array([3.0, 1.5, 0.5, 0.1])


def embeddings(counts, dimension=6, seed=0):
    rng = np.random.default_rng(seed)
    owner = {f"s{speaker}-{utt}": f"s{speaker}" for speaker, count in enumerate(counts) for utt in range(count)}
    return group(Path("somewhere"), {utt: rng.standard_normal(dimension).astype(np.float32) for utt in owner}, owner)


def write_backend(folder, stored, binary=True, offset=None):
    rng = np.random.default_rng(1)
    mean, lda = rng.standard_normal(6), rng.standard_normal((4, 6))
    folder.mkdir(parents=True)
    write_array(folder / "mean.vec", mean, binary)
    write_array(folder / "transform.mat", lda if offset is None else np.hstack((lda, offset[:, None])), binary)
    write_plda(folder / "plda", *stored, binary=binary)
    return mean.astype(np.float32), lda.astype(np.float32)


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
def test_a_plda_file_gives_the_llrs_of_its_covariances(tmp_path, stored, binary):
    mean, matrix, variances = stored
    write_plda(tmp_path / "plda", *stored, binary=binary)
    within = np.linalg.inv(matrix.T @ matrix)
    known = Plda(mean, np.linalg.inv(matrix) @ np.diag(variances) @ np.linalg.inv(matrix).T, within)
    enroll, trial = np.random.default_rng(2).standard_normal((2, 5, 4))
    counts = np.array([1, 2, 3, 7, 9])
    assert read_plda(tmp_path / "plda").llr(enroll, counts, trial) == pytest.approx(
        known.llr(enroll, counts, trial), abs=1e-6
    )


def plda_scoring(mean, lda, stored, enroll, trial, offset=0.0):
    """ivector-plda-scoring, step by step: one number at a time."""
    centre, matrix, variances = stored

    def transformed(vector, count):
        vector = lda @ (vector - mean) + offset
        vector = vector * np.sqrt(len(vector)) / np.linalg.norm(vector)
        space = matrix @ (vector - centre)
        return space * np.sqrt(len(space) / (space**2 / (variances + 1 / count)).sum())

    def log_normal(value, centre, variance):
        return -0.5 * (np.log(2 * np.pi * variance) + (value - centre) ** 2 / variance).sum()

    scores = np.empty((len(enroll.speakers), len(trial.utts)))
    for row, speaker in enumerate(enroll.speakers):
        vectors = enroll.vectors[[utt.startswith(speaker + "-") for utt in enroll.utts]]
        known = transformed(vectors.mean(axis=0), len(vectors))
        shrink = len(vectors) * variances / (len(vectors) * variances + 1)
        for column, vector in enumerate(trial.vectors):
            trial_vector = transformed(vector, 1)
            given = log_normal(trial_vector, shrink * known, 1 + variances / (len(vectors) * variances + 1))
            scores[row, column] = given - log_normal(trial_vector, 0, 1 + variances)
    return scores


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
@pytest.mark.parametrize("shifted", [True, False], ids=["with offset", "linear"])
def test_a_directory_is_scored_as_ivector_plda_scoring_does(tmp_path, stored, binary, shifted):
    offset = np.array([0.5, -1.0, 0.25, 2.0]) if shifted else None
    mean, lda = write_backend(tmp_path / "asv_eval/xvect_01709_1/xvect_train_clean_360", stored, binary, offset)
    enroll, trial = embeddings([1, 2, 5]), embeddings([3, 4], seed=3)
    wanted = plda_scoring(mean, lda, stored, enroll, trial, 0.0 if offset is None else offset)
    loaded = backend.load(tmp_path / "asv_eval")
    assert loaded.scores(enroll, trial) == pytest.approx(wanted, abs=1e-4)
    comparison = read_comparison(str(tmp_path / "asv_eval"))
    product = comparison.enroll(enroll, np.arange(3)) @ comparison.test(trial.vectors).T
    assert product == pytest.approx(wanted, abs=1e-4)


def test_vectors_of_another_dimension_are_refused(tmp_path, stored):
    write_backend(tmp_path / "m", stored)
    with pytest.raises(InputError, match="dimension 5, the back end was estimated on 6"):
        backend.load(tmp_path / "m").scores(embeddings([2, 2], 5), embeddings([2, 2], 5))


@pytest.mark.parametrize("name", ["mean.vec", "transform.mat", "plda"])
def test_a_missing_file_is_named(tmp_path, stored, name):
    write_backend(tmp_path / "m", stored)
    (tmp_path / "m" / name).unlink()
    with pytest.raises(InputError, match=rf"(has|holds) no {name}"):
        backend.load(tmp_path / "m")


@pytest.mark.parametrize("name", ["mean.vec", "transform.mat", "plda"])
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
def test_a_cut_or_foreign_file_is_refused_in_one_line(tmp_path, stored, name, binary):
    write_backend(tmp_path / "m", stored, binary)
    path = tmp_path / "m" / name
    whole = path.read_bytes()
    for content in (whole[:-20], whole[:9], b"", b"RIFF", b"\0BXX ", b"[ one two ]"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=name) as found:
            backend.load(tmp_path / "m")
        assert "\n" not in str(found.value)


def test_files_that_do_not_fit_each_other_are_refused(tmp_path, stored):
    write_backend(tmp_path / "m", stored)
    write_array(tmp_path / "m/transform.mat", np.ones((4, 9)))
    with pytest.raises(InputError, match=r"transform.mat: has 9 columns for vectors of dimension 6"):
        backend.load(tmp_path / "m")
    write_array(tmp_path / "m/transform.mat", np.ones((3, 6)))
    with pytest.raises(InputError, match=r"plda: is of dimension 4, but transform.mat makes 3"):
        backend.load(tmp_path / "m")


def test_a_matrix_is_no_vector(tmp_path):
    write_array(tmp_path / "x", np.ones((2, 2)))
    with pytest.raises(InputError, match="is no vector of Kaldi's"):
        read_array(tmp_path / "x", 1)
