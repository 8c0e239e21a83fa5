from pathlib import Path

import numpy as np
import pytest

from vpeval.asv.backend import Settings
from vpeval.asv.backend_training import make_folds
from vpeval.asv.backend_tuning import measure
from vpeval.core.errors import InputError
from vpeval.embeddings.plda import Prior
from vpeval.embeddings.speaker_vectors import group


def embeddings(speakers=8, utts=6, nuisance=0.0):
    """Speakers differ in the first half of the dimensions, utterances also along one direction of the other half."""
    rng = np.random.default_rng(0)
    vectors, owners = {}, {}
    for spk in range(speakers):
        centre = np.concatenate((rng.standard_normal(4), np.zeros(4)))
        for utt in range(utts):
            owners[f"s{spk}-{utt}"] = f"s{spk}"
            noise = np.concatenate((0.3 * rng.standard_normal(4), nuisance * rng.standard_normal(4)))
            vectors[f"s{spk}-{utt}"] = centre + noise
    return group(Path("toy"), vectors, owners)


def test_every_speaker_is_held_out_once_a_repeat_and_never_trained_on():
    folds = make_folds(embeddings(), held_out=3, enroll_utts=2, repeats=2, seed=0)
    assert sorted(spk for fold in folds for spk in fold.trial.speakers) == sorted([f"s{k}" for k in range(8)] * 2)
    for fold in folds:
        assert len(fold.trial.speakers) >= 3
        assert fold.enroll.speakers == fold.trial.speakers
        assert not set(fold.train.speakers) & set(fold.trial.speakers)
        assert not set(fold.enroll.utts) & set(fold.trial.utts)
        assert fold.enroll.counts.tolist() == [2] * len(fold.enroll.speakers)


def test_the_seed_decides_the_folds():
    first, again, other = ([fold.trial.utts for fold in make_folds(embeddings(), 3, 2, 1, seed)] for seed in (1, 1, 2))
    assert first == again != other


def test_a_back_end_learns_to_leave_out_what_does_not_tell_speakers_apart():
    folds = make_folds(embeddings(speakers=20, utts=8, nuisance=2.0), 4, 2, 1, 0)
    by_cosine, by_plda = measure(folds, None), measure(folds, Settings(0, 10, Prior(1, 1)))
    assert by_plda.min_cllr < 0.7 * by_cosine.min_cllr
    assert by_plda.eer < by_cosine.eer


def test_too_few_speakers_or_utterances_are_a_message():
    with pytest.raises(InputError, match="has 4 speakers"):
        make_folds(embeddings(speakers=4), 3, 2, 1, 0)
    with pytest.raises(InputError, match="too few utterances to enrol 6"):
        make_folds(embeddings(), 3, 6, 1, 0)
