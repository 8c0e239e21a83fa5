"""Phone units: clusters against a slow oracle, histograms by hand, and learning them by the job that does it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from vpeval.asv.attackers import read_attacker
from vpeval.asv.representations import find_centres, train_units
from vpeval.core.errors import InputError
from vpeval.networks.configs import config_files
from vpeval.networks.encoders import load_encoder
from vpeval.networks.units import FrozenFeatures, nearest

ROOT = Path(__file__).parents[2]
START = "encoder: phone_units\nfeatures: mfcc\ncodebook: none\nsimilarity: euclidean\ninputs: segments\n"
PROFILE = "units: 6\nminutes: 1.0\niterations: 20\n"


@pytest.fixture
def start(tmp_path):
    path = tmp_path / "start.yaml"
    path.write_text(START)
    (tmp_path / "units.yaml").write_text(PROFILE)
    return path


def learn(start, utts, out, seed=0):
    train_units(start, start.parent / "units.yaml", utts, seed, out)
    return load_encoder(out / "encoder.yaml")


def utts_of(data):
    return [tuple(line.split(None, 1)) for line in (data / "wav.scp").read_text().splitlines()]


def test_the_nearest_centre_is_found_and_the_first_of_equals():
    rng = np.random.default_rng(0)
    frames, centres = rng.normal(size=(5000, 3)).astype(np.float32), rng.normal(size=(7, 3))
    index, distance = nearest(frames, centres)
    apart = np.square(frames[:, None].astype(float) - centres).sum(axis=2)
    assert (index == apart.argmin(axis=1)).all()
    assert distance == pytest.approx(apart.min(axis=1), abs=1e-9)
    assert nearest(np.zeros((1, 2)), np.array([[1.0, 0], [0, 1]]))[0].tolist() == [0]


def test_clusters_that_are_apart_are_found():
    rng = np.random.default_rng(1)
    truth = 1000 * rng.normal(size=(12, 4))
    frames = np.repeat(truth, 50, axis=0) + rng.normal(size=(600, 4))
    centres = find_centres(frames, 12, 50, np.random.default_rng(0))
    owner, _ = nearest(centres, truth)
    assert sorted(owner.tolist()) == list(range(12))
    assert centres[np.argsort(owner)] == pytest.approx(frames.reshape(12, 50, 4).mean(axis=1))


def test_learning_ends_where_every_centre_is_the_mean_of_its_frames():
    frames = np.random.default_rng(2).normal(size=(400, 5))
    centres = find_centres(frames, 9, 200, np.random.default_rng(3))
    owner, _ = nearest(frames, centres)
    for number, centre in enumerate(centres):
        assert centre == pytest.approx(frames[owner == number].mean(axis=0))


@pytest.mark.parametrize(("count", "complaint"), [(5, "4 frames for 5"), (4, "only 2 different frames for 4")])
def test_more_centres_than_different_frames_are_an_error(count, complaint):
    frames = np.array([[0.0], [1], [0], [1]])
    with pytest.raises(ValueError, match=complaint):
        find_centres(frames, count, 10, np.random.default_rng(0))


def test_pauses_do_not_count(start):
    features = FrozenFeatures(start)
    rng = np.random.default_rng(0)
    speech, pause = rng.normal(0, 0.1, 16000).astype(np.float32), rng.normal(0, 1e-5, 16000).astype(np.float32)
    alone, padded = features(speech), features(np.concatenate([pause, speech, pause]))
    assert abs(len(padded) - len(alone)) <= 6
    assert len(features(np.zeros(16000, np.float32))) == 100


def test_learning_units_twice_gives_the_same_bytes_and_another_seed_other_ones(start, buzzers, tmp_path):
    utts = utts_of(buzzers)
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        learn(start, utts, tmp_path / name, seed)
    first, second, other = ((tmp_path / name / "codebook.npy").read_bytes() for name in "abc")
    assert first == second != other


def test_speech_beyond_the_minutes_of_the_profile_is_not_listened_to(start, buzzers, tmp_path):
    (tmp_path / "units.yaml").write_text(PROFILE.replace("1.0", "0.02"))
    utterances, frames = train_units(start, tmp_path / "units.yaml", utts_of(buzzers), 0, tmp_path / "out")
    assert 120 <= frames < 300 and utterances < len(utts_of(buzzers))


def test_vectors_of_speakers_differ_and_do_not_depend_on_the_order_of_utterances(start, buzzers, tmp_path):
    utts = utts_of(buzzers)
    encoder = learn(start, utts, tmp_path / "out")
    waves = [soundfile.read(wav, dtype="float32")[0] for _, wav in utts]
    forwards = [encoder.embed(wave) for wave in waves]
    backwards = [encoder.embed(wave) for wave in reversed(waves)][::-1]
    assert all((a == b).all() for a, b in zip(forwards, backwards, strict=True))
    assert forwards[0].shape == (6,) and forwards[0].sum() == pytest.approx(1)


@pytest.mark.parametrize("length", [1, 100, 4000, 16001])
def test_short_utterances_have_vectors_too(start, buzzers, tmp_path, length):
    encoder = learn(start, utts_of(buzzers), tmp_path / "out")
    wave = np.random.default_rng(length).normal(0, 0.1, length).astype(np.float32)
    assert encoder.embed(wave).sum() == pytest.approx(1)


def test_the_job_learns_units_and_skips_what_is_up_to_date(start, buzzers, tmp_path):
    out = tmp_path / "asv/units"
    command = [str(ROOT / "steps/jobs/train_asv.py"), "units", str(start), str(tmp_path / "units.yaml"), str(out)]
    outputs = [
        subprocess.run([sys.executable, *command, str(buzzers)], cwd=ROOT, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert "units of" in outputs[0].stdout and "up to date, skipped" in outputs[1].stdout
    assert (out / "codebook.npy") in config_files(out / "encoder.yaml")
    assert load_encoder(out / "encoder.yaml").centres.shape == (6, 20)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (START, "train it"),
        (START.replace("none", "absent.npy"), "no such codebook; run stage 4"),
        (START.replace("none", "start.yaml"), "is no codebook"),
        (START.replace("none", "x.npy").replace("mfcc", "hubert"), "must be whisper or mfcc"),
        (START.replace("none", "x.npy").replace("mfcc", "whisper"), "'model' is missing"),
    ],
)
def test_a_wrong_configuration_is_a_clear_error(tmp_path, content, complaint):
    (tmp_path / "start.yaml").write_text(content)
    with pytest.raises(InputError, match=complaint):
        load_encoder(tmp_path / "start.yaml")


def test_too_little_speech_for_so_many_units_is_a_clear_error(start, buzzers, tmp_path):
    (tmp_path / "units.yaml").write_text(PROFILE.replace("6", "60000"))
    with pytest.raises(InputError, match=r"frames for 60000 centres; ask for fewer"):
        learn(start, utts_of(buzzers)[:1], tmp_path / "out")


def test_attackers_by_units_compare_histograms_by_their_distance():
    units, informed = (read_attacker(ROOT / f"conf/asv/{name}.yaml") for name in ("units", "units_anon"))
    assert units.similarity == informed.similarity == "euclidean"
    assert units.conditions == ("oo", "oa", "aa") and informed.conditions == ("aa",)
    assert informed.instance("b2") == "units_anon-b2"
