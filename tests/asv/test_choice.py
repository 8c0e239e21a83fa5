"""What an attacker that fine-tunes chooses, by made-up vectors of training speakers."""

from pathlib import Path

import numpy as np
import pytest

from vpeval.asv.attackers import Attacker, with_choice
from vpeval.asv.backend import Settings
from vpeval.asv.backend_tuning import Quality, measure
from vpeval.asv.choice import BACKEND, FILE, FINE_TUNED, UNCHANGED, Choice, read_choice, write_choice
from vpeval.asv.fine_tuning import LEAST, MANY, choose, hold_out_speakers, mean_log
from vpeval.core.errors import InputError
from vpeval.embeddings.plda import Prior
from vpeval.embeddings.speaker_vectors import group_rows

SETTINGS = Settings(0, 10, Prior(20.0, 20.0))
TUNED = Attacker("x", "finetune", "ecapa", "p", "same")


def speakers(n, utts=8, noise=0.3, nuisance=0.0, seed=0):
    """Vectors whose first half tells speakers apart; the second half is loud and says nothing."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(n), utts)
    known = rng.standard_normal((n, 6))[owners] + noise * rng.standard_normal((len(owners), 6))
    vectors = np.hstack([known, nuisance * rng.standard_normal((len(owners), 6))])
    names = [f"s{owner:03d}-{row:05d}" for row, owner in enumerate(owners)]
    return group_rows(Path("made-up"), names, [f"s{owner:03d}" for owner in owners], vectors)


def log(*eers):
    return [
        {"epoch": epoch, "held_out_eer": eer, "held_out_min_cllr": eer, "train_loss": 1.0}
        for epoch, eer in enumerate(eers, start=1)
    ]


@pytest.mark.parametrize("n", [LEAST, 12, MANY - 1])
def test_each_of_few_speakers_is_held_out_once(n):
    vectors = speakers(n)
    folds = hold_out_speakers(vectors, 0.1, seed=0)
    assert len(folds) == 3
    assert sorted(spk for fold in folds for spk in fold.enroll.speakers) == sorted(vectors.speakers)
    for fold in folds:
        assert fold.enroll.speakers == fold.trial.speakers
        assert not set(fold.train.speakers) & set(fold.trial.speakers)
        assert not set(fold.enroll.utts) & set(fold.trial.utts)
        assert len(fold.train.speakers) + len(fold.trial.speakers) == n


def test_some_of_many_speakers_are_held_out():
    (fold,) = hold_out_speakers(speakers(100, utts=40), 0.1, seed=0)
    assert (len(fold.train.speakers), len(fold.trial.speakers)) == (90, 10)
    assert set(fold.enroll.counts) == {5} and set(fold.trial.counts) == {20}
    (fold,) = hold_out_speakers(speakers(MANY, utts=2), 0.0, seed=0)
    assert len(fold.trial.speakers) == 4 and set(fold.trial.counts) == {1}


def test_who_is_held_out_depends_on_the_seed_only():
    first, again, other = (
        [fold.enroll.utts for fold in hold_out_speakers(speakers(12), 0.1, seed)] for seed in (0, 0, 1)
    )
    assert first == again != other


def test_of_too_few_speakers_nobody_is_held_out():
    assert hold_out_speakers(speakers(LEAST - 1), 0.1, seed=0) == []
    assert hold_out_speakers(speakers(12, utts=1), 0.1, seed=0) == []


def test_a_speaker_with_one_utterance_is_never_held_out():
    vectors = speakers(12)
    alone = vectors.select(np.flatnonzero((vectors.owners > 0) | (np.arange(len(vectors.utts)) == 0)))
    folds = hold_out_speakers(alone, 0.1, seed=0)
    assert all("s000" in fold.train.speakers and "s000" not in fold.trial.speakers for fold in folds)


def test_the_back_end_is_chosen_where_it_alone_ignores_what_says_nothing():
    folds = hold_out_speakers(speakers(30, nuisance=3.0), 0.1, seed=0)
    found = choose(folds, SETTINGS, 30, [log(0.3, 0.25, 0.4)] * 3)
    assert (found.chosen, found.epochs, found.held_out, found.speakers) == (BACKEND, 2, 30, 30)
    assert found.eers[FINE_TUNED] == pytest.approx(0.25)
    assert found.eers[BACKEND] < 0.15 < found.eers[UNCHANGED]


def test_the_fine_tuned_encoder_is_chosen_where_it_is_the_best_and_its_epoch_by_all_groups():
    folds = hold_out_speakers(speakers(12, noise=2.0), 0.1, seed=0)
    found = choose(folds, SETTINGS, 12, [log(0.03, 0.02), log(0.03, 0.02), log(0.0, 0.03)])
    assert (found.chosen, found.epochs) == (FINE_TUNED, 1)
    assert found.eers[FINE_TUNED] == pytest.approx(0.02)


def test_the_original_encoder_stays_where_training_does_harm():
    vectors = speakers(12, noise=0.5)
    folds = hold_out_speakers(vectors, 0.1, seed=0)
    unsuitable = Settings(2, 10, Prior(20.0, 20.0))  # two dimensions are too few
    assert choose(folds, unsuitable, 12, [log(0.5)] * 3).chosen == UNCHANGED


def test_of_equal_eers_the_lesser_min_cllr_counts_and_then_the_back_end():
    folds = hold_out_speakers(speakers(12, noise=0.01), 0.1, seed=0)
    perfect = choose(folds, SETTINGS, 12, [log(0.0, 0.0)] * 3)
    assert set(perfect.eers.values()) == {0.0}
    assert (perfect.chosen, perfect.epochs) == (BACKEND, 1)
    assert Quality(0.1, 0.2).cost < Quality(0.1, 0.3).cost < Quality(0.11, 0.1).cost


def test_the_eer_of_a_candidate_is_that_of_speakers_it_has_not_seen():
    """A back end that is estimated on the held-out speakers as well would look better than it is."""
    vectors = speakers(12, utts=6, noise=1.5, nuisance=3.0)
    folds = hold_out_speakers(vectors, 0.1, seed=0)
    found = choose(folds, Settings(0, 10), 12, [log(0.9)] * 3)
    cheating = [type(fold)(vectors, fold.enroll, fold.trial) for fold in folds]
    assert found.eers[BACKEND] > np.mean([measure([fold], Settings(0, 10)).eer for fold in cheating])


def test_the_log_has_the_means_of_all_groups():
    rows = mean_log([log(0.1, 0.2), log(0.3, 0.4)])
    assert [row["held_out_eer"] for row in rows] == pytest.approx([0.2, 0.3])
    assert [row["epoch"] for row in rows] == [1, 2]
    assert mean_log([]) == []


@pytest.mark.parametrize(
    ("chosen", "encoder", "llrs", "backend"),
    [
        (BACKEND, "ecapa", True, True),
        (FINE_TUNED, "x-mine", False, False),
        (UNCHANGED, "ecapa", False, False),
    ],
)
def test_the_choice_decides_encoder_and_scores(tmp_path, chosen, encoder, llrs, backend):
    assert with_choice(TUNED, tmp_path) == TUNED
    write_choice(tmp_path / FILE, Choice(chosen, 12, 12, 3, {BACKEND: 0.1, FINE_TUNED: 0.2, UNCHANGED: 0.3}))
    found = with_choice(TUNED, tmp_path)
    assert (found.embeddings("mine"), found.scores_are_llrs, found.trains_backend) == (encoder, llrs, backend)
    assert found.attack("aa", "mine")[0] == "semi-informed"
    other = Attacker("x", "scratch", "ecapa", "p", "same")
    assert with_choice(other, tmp_path) == other


def test_a_choice_tells_all_eers_or_why_there_are_none(tmp_path):
    choice = Choice(BACKEND, 12, 12, 3, {BACKEND: 0.094, FINE_TUNED: 0.218, UNCHANGED: 0.147})
    assert str(choice) == (
        "back end on the original encoder: EER 9.4 % of 12 held-out training speakers (fine-tuned encoder 21.8 %, "
        "original encoder 14.7 %)"
    )
    assert "5 training speakers are too few to hold some out" in str(Choice(BACKEND, 5))
    write_choice(tmp_path / FILE, choice)
    assert read_choice(tmp_path / FILE) == choice


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"chosen": "magic", "speakers": 3}', '{"chosen": "backend", "speakers": 9, "eers": {"a": 1}}'],
)
def test_a_damaged_choice_is_an_error(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError, match=r"choice\.json.*holds no choice of an attacker.*stage 4"):
        read_choice(tmp_path / FILE)
