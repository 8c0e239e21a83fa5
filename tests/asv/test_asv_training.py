import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vpeval.asv import train_network
from vpeval.asv.epochs import read_epochs
from vpeval.asv.train_network import Profile, crop, hold_out, read_corpus, train
from vpeval.core.errors import InputError
from vpeval.networks import speechbrain
from vpeval.networks.neural import trainable_encoder

PROFILES = Path(__file__).parents[2] / "conf/asv/train"
QUICK = Profile(3, 10, 0.3, 0.2, 30.0, "adam", 0.01, 1e-4, 0.0, 3, 0.2, False, (), 0)


class Stopped(Exception):
    pass


def run(config, data, work, profile=QUICK, warm=False):
    torch.manual_seed(0)
    encoder = trainable_encoder(config)
    train(encoder, profile, read_corpus([data]), 0, work, warm)
    return encoder.network.state_dict()


def test_speakers_are_those_of_utt2spk(buzzers):
    corpus = read_corpus([buzzers])
    assert corpus.speakers == ("spk0", "spk1", "spk2", "spk3")
    assert corpus.labels == tuple(np.repeat(range(4), 6))


def test_every_speaker_has_utterances_in_training_and_validation(buzzers):
    corpus = read_corpus([buzzers])
    chosen, held_out = hold_out(corpus, 0.2, seed=0)
    assert sorted(chosen + held_out) == list(range(24))
    assert [corpus.labels[i] for i in held_out] == [0, 1, 2, 3]
    assert hold_out(corpus, 0.99, seed=0)[0]
    assert hold_out(corpus, 0.0, seed=0)[1] == []


def test_training_learns_and_its_log_has_a_line_for_every_epoch(small, buzzers, tmp_path):
    run(small, buzzers, tmp_path / "work", replace(QUICK, augment=True))
    rows = read_epochs(tmp_path / "work/epochs.jsonl")
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]
    assert {"train_error", "valid_loss", "valid_error", "rate", "seconds"} <= rows[0].keys()


def test_interrupted_training_ends_in_the_weights_of_uninterrupted_training(small, buzzers, tmp_path, monkeypatch):
    straight = run(small, buzzers, tmp_path / "straight")
    with monkeypatch.context() as broken:
        end = train_network._Training._end_epoch

        def stop_in_the_second(self, epoch, loss):
            if epoch == 2:
                raise Stopped
            end(self, epoch, loss)

        broken.setattr(train_network._Training, "_end_epoch", stop_in_the_second)
        with pytest.raises(Stopped):
            run(small, buzzers, tmp_path / "resumed")
    resumed = run(small, buzzers, tmp_path / "resumed")
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)
    logs = [(tmp_path / name / "epochs.jsonl").read_text().splitlines() for name in ("straight", "resumed")]
    first, second = ([{**json.loads(line), "seconds": 0} for line in log] for log in logs)
    assert first == second


def test_a_checkpoint_that_was_being_written_when_the_training_was_killed_does_not_count(small, buzzers, tmp_path):
    straight = run(small, buzzers, tmp_path / "straight")
    with pytest.MonkeyPatch.context() as broken:
        save = speechbrain.Checkpointer.save_checkpoint

        def stop_half_way(self, meta, **options):
            if meta["epoch"] == 2:
                self.recoverables["scheduler"] = lambda: None  # what SpeechBrain cannot save, after what it can
            return save(self, meta, **options)

        broken.setattr(speechbrain.Checkpointer, "save_checkpoint", stop_half_way)
        with pytest.raises(RuntimeError, match="Don't know how to save"):
            run(small, buzzers, tmp_path / "resumed")
    assert len(list((tmp_path / "resumed/checkpoints").glob("*/CKPT.yaml"))) == 2
    resumed = run(small, buzzers, tmp_path / "resumed")
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)


def test_frozen_parts_keep_weights_and_statistics(small, buzzers, tmp_path):
    torch.manual_seed(0)
    before = {name: tensor.clone() for name, tensor in trainable_encoder(small).network.state_dict().items()}
    after = run(small, buzzers, tmp_path / "work", replace(QUICK, epochs=1, freeze=("blocks", "mfa")), warm=True)
    changed = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"asp", "asp_bn", "fc"}


def test_a_part_that_is_not_there_cannot_be_frozen(small, buzzers, tmp_path):
    with pytest.raises(InputError, match="no part 'bolcks' to freeze; it has blocks, mfa, asp"):
        run(small, buzzers, tmp_path / "work", replace(QUICK, freeze=("bolcks",)))


def test_a_crop_has_the_asked_length_wherever_it_starts():
    wave = np.arange(10)
    assert [crop(wave, 4, place).tolist() for place in (0.0, 0.5, 1.0)] == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]


@pytest.mark.parametrize("name", ["vpc2024", "mini", "finetune_mini", "finetune_vpc2026"])
def test_shipped_profiles_are_read(name):
    assert Profile.read(PROFILES / f"{name}.yaml").epochs > 0


def test_the_vpc2024_profile_is_the_challenges():
    profile = Profile.read(PROFILES / "vpc2024.yaml")
    assert (profile.epochs, profile.batch, profile.crop_seconds) == (10, 256, 3.0)
    assert (profile.margin, profile.scale, profile.rate, profile.weight_decay) == (0.2, 30.0, 0.01, 2e-6)


@pytest.mark.parametrize("line", ["epochs: 0", "optimizer: magic", "validation_share: 1.0", "rate: -1.0"])
def test_a_profile_with_a_senseless_value_is_refused(tmp_path, line):
    key = line.split(":")[0]
    text = (PROFILES / "mini.yaml").read_text()
    (tmp_path / "p.yaml").write_text("\n".join(line if row.startswith(f"{key}:") else row for row in text.splitlines()))
    with pytest.raises(InputError, match=key):
        Profile.read(tmp_path / "p.yaml")
