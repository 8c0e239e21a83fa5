from pathlib import Path

import numpy as np
import pytest

from vpeval.asv import backend
from vpeval.asv.backend import Settings
from vpeval.core.errors import InputError
from vpeval.embeddings.plda import Prior
from vpeval.embeddings.speaker_vectors import group, group_rows


def embeddings(speakers, utts, dimension=8, seed=0, name="train"):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((speakers, dimension)) * ([3, 3, 3] + [0.1] * (dimension - 3))
    vectors, owners = {}, {}
    for spk in range(speakers):
        for utt in range(utts):
            owners[f"s{spk}-{utt}"] = f"s{spk}"
            vectors[f"s{spk}-{utt}"] = centres[spk] + rng.standard_normal(dimension) + 5
    return group(Path(name), vectors, owners)


def test_scores_tell_speakers_apart():
    model = backend.estimate(embeddings(20, 10), Settings(lda=5)).backend
    scores = model.scores(embeddings(20, 4, seed=1), embeddings(20, 3, seed=2))
    same = np.repeat(np.arange(20), 3)[None] == np.arange(20)[:, None]
    assert scores.shape == (20, 60)
    assert scores[same].mean() > 0 > scores[~same].mean()
    assert (scores[same][:, None] > scores[~same]).mean() > 0.95


def test_lda_is_cut_to_the_number_of_speakers_less_one_and_to_the_dimension():
    assert backend.estimate(embeddings(4, 6), Settings(lda=200)).dimension == 3
    assert backend.estimate(embeddings(20, 6), Settings(lda=200)).dimension == 8
    assert backend.estimate(embeddings(20, 6), Settings(lda=0)).dimension == 8


def test_lda_finds_the_directions_in_which_speakers_differ():
    projection = backend.estimate(embeddings(40, 10), Settings(lda=3)).backend.projection
    assert np.linalg.norm(projection[:3]) > 10 * np.linalg.norm(projection[3:])


def test_processed_vectors_have_the_length_of_a_standard_normal_vector():
    model = backend.estimate(embeddings(10, 5), Settings(lda=4)).backend
    lengths = np.linalg.norm(model.process(embeddings(10, 5, seed=1).vectors), axis=1)
    assert lengths == pytest.approx(np.full(50, 2.0))


def test_a_saved_back_end_scores_the_same(tmp_path):
    model = backend.estimate(embeddings(10, 5), Settings(lda=0, prior=Prior(8, 8))).backend
    backend.save(tmp_path / "backend.npz", model)
    enroll, trial = embeddings(5, 2, seed=1), embeddings(5, 2, seed=2)
    assert (backend.load(tmp_path / "backend.npz").scores(enroll, trial) == model.scores(enroll, trial)).all()


def test_the_same_back_end_is_the_same_bytes(tmp_path):
    for name in "ab":
        backend.save(tmp_path / name, backend.estimate(embeddings(10, 5), Settings()).backend)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_back_end_of_another_version_is_refused(tmp_path):
    np.savez(tmp_path / "backend.npz", version=1)
    with pytest.raises(InputError, match=r"backend.npz: is a back end of version 1, this program reads 2"):
        backend.load(tmp_path / "backend.npz")


def test_what_is_no_back_end_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "pickle.npz", version=np.array([{}], dtype=object))
    for name in ("text.npz", "pickle.npz"):
        with pytest.raises(InputError, match="holds no back end"):
            backend.load(tmp_path / name)
    with pytest.raises(InputError, match="no such file; estimate it again"):
        backend.load(tmp_path / "none.npz")


def test_embeddings_of_another_encoder_are_refused():
    model = backend.estimate(embeddings(10, 5), Settings()).backend
    with pytest.raises(InputError, match="dimension 9, the back end was estimated on 8"):
        model.scores(embeddings(3, 2, 9, name="other"), embeddings(3, 2, 9))


def test_one_speaker_is_too_few():
    with pytest.raises(InputError, match="at least two speakers"):
        backend.estimate(embeddings(1, 5), Settings())


def test_vectors_that_are_all_the_same_are_refused_in_words() -> None:
    utts = [f"s{spk}-{utt}" for spk in range(6) for utt in range(4)]
    owners = [utt.partition("-")[0] for utt in utts]
    same = group_rows(Path("exp/x"), utts, owners, np.ones((24, 8), np.float32))
    for lda in (0, 3):
        with pytest.raises(InputError, match=r"exp/x: all 24 vectors are the same"):
            backend.estimate(same, Settings(lda=lda))
    voices = np.repeat(np.random.default_rng(0).normal(size=(6, 8)), 4, axis=0)
    for lda, words in ((0, "cannot be estimated"), (3, "LDA cannot be estimated")):
        with pytest.raises(InputError, match=words):
            backend.estimate(group_rows(Path("exp/x"), utts, owners, voices), Settings(lda=lda))
