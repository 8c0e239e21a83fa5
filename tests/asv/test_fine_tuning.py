"""Fine-tuning of a small network on few speakers who hum, and what becomes of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from profiles import BACKEND, PROFILE

from vpeval.asv import fine_tuning
from vpeval.asv.backend import load
from vpeval.asv.choice import FINE_TUNED, UNCHANGED, Choice, read_choice
from vpeval.asv.epochs import read_epochs
from vpeval.asv.fine_tuning import fine_tune
from vpeval.asv.train_attackers import Machine, Training, train_attacker
from vpeval.asv.train_network import Corpus, read_corpus
from vpeval.audio.io import read_audio
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.embeddings.speaker_vectors import write_embeddings
from vpeval.networks.encoders import load_encoder
from vpeval.networks.neural import trainable_encoder


@pytest.fixture
def training(small, tmp_path):
    """The training of a network with weights; `data` and `vectors` are missing."""
    torch.manual_seed(0)
    (tmp_path / "start").mkdir()
    trainable_encoder(small).save(small, tmp_path / "start")
    (tmp_path / "profile.yaml").write_text(PROFILE.format(augment="false", epochs=2) + "backend: plda\n")
    (tmp_path / "plda.yaml").write_text(BACKEND)
    start, profile = tmp_path / "start/encoder.yaml", tmp_path / "profile.yaml"
    return Training("finetune", start, profile, (), tmp_path / "asv/tuned", 0)


def on(training, data):
    """The same training with data, and their vectors by the original encoder."""
    encoder, speech = load_encoder(training.encoder), DataDir.load(data)
    vectors = {utt: encoder.embed(read_audio(wav)) for utt, wav in speech.wav.items()}
    write_embeddings(data.parent / "vectors", vectors, speech.utt2spk)
    return replace(training, data=(data,), vectors=(data.parent / "vectors",))


def weights(path):
    return torch.load(path, weights_only=True)


def test_fine_tuning_is_compared_by_speakers_it_has_not_seen(training, choir, tmp_path, monkeypatch):
    heard = []
    train = fine_tuning.train

    def listen(encoder, profile, corpus, *more, **options):
        heard.append(set(corpus.speakers))
        train(encoder, profile, corpus, *more, **options)

    monkeypatch.setattr(fine_tuning, "train", listen)
    words = fine_tune(on(training, choir), tmp_path / "work")
    choice = read_choice(tmp_path / "work/out/choice.json")
    assert (choice.speakers, choice.held_out) == (7, 7) and len(choice.eers) == 3
    assert str(choice) in words
    everybody = set(read_corpus([choir]).speakers)
    unheard = [spk for group in heard[:3] for spk in everybody - group]
    assert sorted(unheard) == sorted(everybody)
    rows = read_epochs(tmp_path / "work/out/epochs.jsonl")
    assert [row["epoch"] for row in rows] == [1, 2]
    assert "valid_loss" not in rows[0] and 0 <= rows[0]["held_out_eer"] <= 1
    best = min(rows, key=lambda row: (row["held_out_eer"], row["held_out_min_cllr"]))
    assert choice.eers[FINE_TUNED] == pytest.approx(best["held_out_eer"]) and choice.epochs == best["epoch"]


def test_the_same_seed_makes_the_same_choice(training, choir, tmp_path):
    training = on(training, choir)
    for name in ("one", "two"):
        fine_tune(training, tmp_path / name)
    first, second = ((tmp_path / name / "out/choice.json").read_bytes() for name in ("one", "two"))
    assert first == second


def test_a_fine_tuned_encoder_that_is_chosen_is_trained_on_all_speakers(training, choir, tmp_path, monkeypatch):
    chosen = Choice(FINE_TUNED, 7, 7, 1, {"backend": 0.2, FINE_TUNED: 0.1, UNCHANGED: 0.3})
    monkeypatch.setattr(fine_tuning, "choose", lambda *_: chosen)
    training = on(training, choir)
    fine_tune(training, tmp_path / "work")
    assert len(read_epochs(tmp_path / "work/all/epochs.jsonl")) == 1  # the best one, of two
    assert read_choice(tmp_path / "work/out/choice.json") == chosen
    before, after = (weights(place / "model.ckpt") for place in (training.encoder.parent, tmp_path / "work/out"))
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert not (tmp_path / "work/out/backend.npz").exists()
    assert np.isfinite(load_encoder(tmp_path / "work/out/encoder.yaml").embed(np.zeros(16000, np.float32))).all()


def test_of_many_speakers_the_encoder_that_was_compared_is_used(training, choir, tmp_path, monkeypatch):
    monkeypatch.setattr(fine_tuning, "MANY", 7)
    chosen = Choice(FINE_TUNED, 7, 4, 1, {"backend": 0.2, FINE_TUNED: 0.1, UNCHANGED: 0.3})
    monkeypatch.setattr(fine_tuning, "choose", lambda *_: chosen)
    fine_tune(on(training, choir), tmp_path / "work")
    assert not (tmp_path / "work/all").exists() and (tmp_path / "work/out/encoder.yaml").is_file()


def test_an_unchanged_encoder_leaves_the_choice_only(training, choir, tmp_path, monkeypatch):
    chosen = Choice(UNCHANGED, 7, 7, 1, {"backend": 0.2, FINE_TUNED: 0.3, UNCHANGED: 0.1})
    monkeypatch.setattr(fine_tuning, "choose", lambda *_: chosen)
    fine_tune(on(training, choir), tmp_path / "work")
    assert {path.name for path in (tmp_path / "work/out").iterdir()} == {"choice.json", "epochs.jsonl"}


def test_with_too_few_speakers_there_is_a_back_end_and_no_fine_tuning(training, buzzers, tmp_path):
    words = fine_tune(on(training, buzzers), tmp_path / "work")
    assert "4 training speakers are too few to hold some out" in words
    assert {path.name for path in (tmp_path / "work/out").iterdir()} == {"choice.json", "backend.npz", "objective"}
    assert load(tmp_path / "work/out/backend.npz").projection.shape == (8, 8)


def test_a_corpus_without_some_speakers_numbers_the_others():
    corpus = Corpus(("a", "b", "c", "d"), (0, 1, 2, 1), ("x", "y", "z"))
    assert corpus.with_speakers({"y", "z"}) == Corpus(("b", "c", "d"), (0, 1, 0), ("y", "z"))


def test_fine_tuning_without_weights_is_refused(training, small, choir, tmp_path):
    with pytest.raises(InputError, match="has no weights to start from; train from scratch"):
        train_attacker(replace(training, encoder=small, data=(choir,)), tmp_path / "vectors", Machine())


def test_a_profile_that_names_no_back_end_is_refused(training):
    training.profile.write_text(PROFILE.format(augment="false", epochs=2))
    with pytest.raises(InputError, match="must name the profile of a back end"):
        training.inputs  # noqa: B018
