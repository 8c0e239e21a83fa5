"""Encoders without what follows the voice: the covariance against a slow oracle, and a network that forgets."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from vpeval.asv.attackers import read_attacker
from vpeval.asv.perturbation import Perturbation
from vpeval.asv.representations import Nuisance, Profile, append, train_nuisance
from vpeval.audio.io import RATE, read_audio
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.directory import DataDir
from vpeval.networks.encoders import load_encoder
from vpeval.networks.neural import trainable_encoder

ROOT = Path(__file__).parents[2]
PROFILE = (
    "voices: 3\nminutes: {minutes}\nshrinkage: 0.3\nperturb: {{formants: 1.3, bend: 1.25, f0: 1.6, equaliser: 10}}\n"
)


@pytest.fixture
def start(small, tmp_path):
    """An encoder with weights, which happen to be random, and a profile beside it."""
    torch.manual_seed(0)
    trainable_encoder(small).save(small, tmp_path / "start")
    (tmp_path / "nuisance.yaml").write_text(PROFILE.format(minutes=1.0))
    return tmp_path / "start/encoder.yaml"


@pytest.fixture
def utts(buzzers):
    return list(DataDir.load(buzzers).wav.items())


def without(start, utts, out, seed=0):
    used = train_nuisance(start, start.parents[1] / "nuisance.yaml", utts, seed, out)
    return load_encoder(out / "encoder.yaml"), used


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_the_covariance_is_that_around_the_means_of_utterances():
    rng = np.random.default_rng(0)
    utterances = [rng.normal(rng.normal(0, 9, 3), 1, (voices, 3)).astype(np.float32) for voices in (2, 5, 1, 4)]
    found = Nuisance.from_voices(iter(utterances))
    expected = sum((len(one) - 1) * np.cov(one.astype(float).T) for one in utterances if len(one) > 1) / (1 + 4 + 3)
    assert found.covariance == pytest.approx(expected)
    assert found.mean == pytest.approx(np.concatenate(utterances).astype(float).mean(axis=0))


def test_whitening_leaves_of_every_direction_what_shrinkage_says():
    spread = np.diag([9.0, 1.0, 0.0, 2.0])
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    nuisance = Nuisance(np.zeros(4), turn @ spread @ turn.T)
    matrix = nuisance.whitening(0.5)
    expected = np.diag(spread) / (np.diag(spread) + 0.5 * 3.0)
    assert turn.T @ (matrix @ nuisance.covariance @ matrix.T) @ turn == pytest.approx(np.diag(expected))
    assert matrix == pytest.approx(matrix.T)


def test_speakers_who_differ_little_beside_the_voice_are_told_apart_after_whitening():
    rng = np.random.default_rng(2)
    people = rng.normal(size=(10, 8)) * ([0] * 4 + [1] * 4)
    spread = np.array([6.0] * 4 + [0.1] * 4)
    utterances = [person + spread * rng.normal(size=(20, 8)) for person in people]
    nuisance = Nuisance.from_voices(utterances)
    first, second = (np.stack([one[i] for one in utterances]) for i in (0, 1))

    def found(matrix):
        a, b = ((side - nuisance.mean) @ matrix for side in (first, second))
        scores = np.array([[cosine(x, y) for y in b] for x in a])
        return (scores.argmax(axis=1) == np.arange(10)).mean()

    assert found(np.eye(8)) < 0.5
    assert found(nuisance.whitening(1e-4)) == 1


@pytest.mark.parametrize(
    ("utterances", "complaint"),
    [([], "no utterance"), ([np.ones((1, 2))], "no utterance"), ([np.ones((3, 2))], "does not change any vector")],
)
def test_without_a_change_there_is_no_nuisance(utterances, complaint):
    with pytest.raises(ValueError, match=complaint):
        Nuisance.from_voices(utterances).whitening(0.3)


@pytest.mark.parametrize("kind", ["ecapa", "xvector"])
def test_the_map_becomes_part_of_the_last_layer(tmp_path, kind):
    channels = "[16, 16, 16, 16, 48]"
    path = tmp_path / "x.yaml"
    path.write_text(f"encoder: {kind}\nmodel: none\nmels: 20\nchannels: {channels}\ndimension: 8\n")
    torch.manual_seed(1)
    encoder = trainable_encoder(path)
    rng = np.random.default_rng(0)
    wave, matrix, mean = rng.normal(0, 0.1, 9000).astype(np.float32), rng.normal(size=(8, 8)), rng.normal(size=8)
    before = encoder.embed(wave)
    append(encoder, matrix, mean)
    assert encoder.embed(wave) == pytest.approx(matrix @ (before - mean), rel=1e-4, abs=1e-4)


class _Positive(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, features, lengths):
        return torch.relu(self.network(features, lengths))


def test_a_network_that_does_not_end_in_a_linear_layer_is_refused(small):
    encoder = trainable_encoder(small)
    encoder.network = _Positive(encoder.network).eval()
    with pytest.raises(ValueError, match="does not end in a linear layer"):
        append(encoder, -np.eye(8), np.ones(8))


def test_the_new_encoder_is_the_old_one_and_the_map_by_hand(start, utts, tmp_path):
    utts = utts[::3]
    after, (count, minutes) = without(start, utts, tmp_path / "out")
    assert count == len(utts) == 8 and minutes == pytest.approx(8 * 0.6 / 60)
    before, perturb = load_encoder(start), Perturbation(1.3, 1.25, 1.6, 10.0)
    rows, residuals = [], []
    for utt, wav in utts:
        wave = read_audio(wav)
        own = [wave, *(perturb(wave, generator(0, "nuisance", utt, voice)) for voice in range(3))]
        vectors = np.array([before.embed(voice) for voice in own], np.float64)
        rows.append(vectors)
        residuals.append(vectors - vectors.mean(axis=0))
    scatter = np.concatenate(residuals)
    covariance = scatter.T @ scatter / (3 * len(utts))
    shrunk = covariance + 0.3 * np.trace(covariance) / 8 * np.eye(8)
    wave = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)
    centred = before.embed(wave) - np.concatenate(rows).mean(axis=0)
    found = after.embed(wave)
    # W is symmetric and W·W the inverse of the shrunk covariance, so that lengths are Mahalanobis distances.
    assert found @ found == pytest.approx(centred @ np.linalg.solve(shrunk, centred), rel=1e-3)


def test_learning_twice_gives_the_same_bytes_and_another_seed_other_ones(start, utts, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        without(start, utts[:4], tmp_path / name, seed)
    first, second, other = (torch.load(tmp_path / name / "model.ckpt", weights_only=True) for name in "abc")
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not torch.equal(first["fc.conv.weight"], other["fc.conv.weight"])


def test_speech_beyond_the_minutes_of_the_profile_is_not_listened_to(start, utts, tmp_path):
    (tmp_path / "nuisance.yaml").write_text(PROFILE.format(minutes=0.025))
    _, (count, minutes) = without(start, utts, tmp_path / "out")
    assert count == 3 and minutes == pytest.approx(0.03)


def test_the_job_learns_the_nuisance_and_skips_what_is_up_to_date(start, buzzers, tmp_path):
    out = tmp_path / "asv/nontimbral"
    command = [str(ROOT / "steps/jobs/train_asv.py"), "nuisance", str(start), str(tmp_path / "nuisance.yaml"), str(out)]
    outputs = [
        subprocess.run([sys.executable, *command, str(buzzers)], cwd=ROOT, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert "nuisance of 24 utterances, 0.2 minutes" in outputs[0].stdout and "up to date, skipped" in outputs[1].stdout
    assert load_encoder(out / "encoder.yaml").embed(np.zeros(RATE, np.float32)).shape == (8,)


def test_an_encoder_without_weights_has_no_nuisance(small, start, utts, tmp_path):
    with pytest.raises(InputError, match="has no weights"):
        train_nuisance(small, tmp_path / "nuisance.yaml", utts, 0, tmp_path / "out")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("voices: 3", "voices: 0", "'voices' must be greater than 0"),
        ("shrinkage: 0.3", "shrinkage: 0", "'shrinkage' must be greater than 0"),
        ("minutes: 1.0", "minutes: -1", "'minutes' must be greater than 0"),
        ("formants: 1.3", "formants: 3.0", "from 1 .* to 2"),
        ("f0: 1.6", "f0: 0.5", "from 1 .* to 2"),
        ("equaliser: 10", "equaliser: -1", "from 0 .* to 40 dB"),
        (", equaliser: 10", "", "'perturb.equaliser' is missing"),
        ("equaliser: 10", "equaliser: 10, noise: 1", "unknown key 'perturb.noise'"),
        ("{formants: 1.3, bend: 1.25, f0: 1.6, equaliser: 10}", "strong", "'perturb' must be of type dict"),
    ],
)
def test_a_profile_says_what_is_wrong_with_it(tmp_path, old, new, complaint):
    path = tmp_path / "x.yaml"
    path.write_text(PROFILE.format(minutes=1.0).replace(old, new))
    with pytest.raises(InputError, match=complaint):
        Profile.read(path)


def test_no_speech_is_a_clear_error(start, tmp_path):
    with pytest.raises(InputError, match="there is no utterance in two voices; check 'perturb'"):
        train_nuisance(start, tmp_path / "nuisance.yaml", [], 0, tmp_path / "out")


def test_attackers_without_timbre_have_conditions_and_names_of_their_own():
    original, informed = (read_attacker(ROOT / f"conf/asv/{name}.yaml") for name in ("nontimbral", "nontimbral_anon"))
    assert original.similarity == informed.similarity == "cosine" and not informed.scores_are_llrs
    assert original.conditions == ("oo", "oa", "aa") and informed.conditions == ("aa",)
    assert informed.embeddings("b2") == informed.instance("b2") == "nontimbral_anon-b2"
    assert original.representation == informed.representation == "nontimbral"
