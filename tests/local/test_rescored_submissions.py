"""Scores that are made again from the audio: the only answer to scores and results that were made up together."""

from pathlib import Path

import numpy as np
import pytest
from in_process import call
from toy_submission import ORIGINAL_SCORES, ORIGINALS, SCORES, SETS, forge, make, members

from vpeval.asv.attackers import read_attacker
from vpeval.asv.backend import Backend, save, score_trials
from vpeval.asv.choice import Choice, write_choice
from vpeval.audio.io import RATE, read_audio, write_wave
from vpeval.core.files import read_table
from vpeval.data.trials import read_trials, write_scores
from vpeval.embeddings.plda import Plda
from vpeval.embeddings.speaker_vectors import group_rows
from vpeval.metrics.scores import pool
from vpeval.metrics.verification import POINT_ESTIMATES
from vpeval.networks.encoders import load_encoder
from vpeval.records.record import read_records, write_records
from vpeval.submission.demands import Rescoring
from vpeval.submission.rescore import _model


def hum(pitch: float) -> np.ndarray:
    """A voice that glides up from `pitch`, so that all have some pitches in common."""
    time = np.arange(RATE // 2) / RATE
    phase = 2 * np.pi * pitch * (time + time**2)
    return 0.2 * sum(np.sin(k * phase) / k for k in range(1, 6))


def embedded(data: Path):
    encoder = load_encoder(Path("attackers/ecapa.yaml"))
    sources, owners = read_table(data / "wav.scp"), read_table(data / "utt2spk")
    vectors = np.stack([encoder.embed(read_audio(sources[utt])) for utt in owners])
    return group_rows(data, list(owners), list(owners.values()), vectors)


@pytest.fixture
def honest(submission_dir):
    """A submission whose scores are those of an attacker who listens to the melody."""
    for name, text in (
        ("attackers/ecapa", "encoder: f0_histogram\nsimilarity: cosine\n"),
        ("recognisers/whisper_base", "recognizer: none\n"),
    ):
        Path(name).parent.mkdir()
        Path(f"{name}.yaml").write_text(text)
    for suffix, shift in (("", 1.0), ("_mine", 1.3)):
        for name in SETS:
            for number, utt in enumerate(read_table(Path(f"data/{name}{suffix}/utt2spk"))):
                pitch = shift * (100 + 12 * (number // 2) + 3 * (number % 2) + 2 * (name == SETS[1]))
                write_wave(Path(f"data/{name}{suffix}/wav/{utt}.wav"), hum(pitch))
    values = {}
    trials = read_trials("data/toy_dev_trials_f/trials")
    for condition, folder, suffix in (("oo", f"original/{ORIGINAL_SCORES}", ""), ("aa", f"mine/{SCORES}", "_mine")):
        sides = (embedded(Path(f"data/{name}{suffix}")) for name in SETS)
        scores = np.array(score_trials(*sides, trials.rows))
        write_scores(f"runs/{folder}/scores", trials, scores)
        pooled = pool(scores[trials.is_target], scores[~trials.is_target])
        values |= {(condition, metric): function(pooled) for metric, function in POINT_ESTIMATES.items()}
    records = read_records("runs/mine/results.jsonl")
    noted = [
        r if r.metric == "wer" else r.__class__(**{**vars(r), "value": values[r.condition, r.metric]}) for r in records
    ]
    write_records("runs/mine/results.jsonl", noted)
    assert make().returncode == 0
    return submission_dir


def check(*options):
    """Transcripts are made up in these packages."""
    common = ("--attackers", "attackers", "--recognisers", "recognisers", "--recompute", "9")
    return call("check_submission.py", *common, *options, "s.tar.gz", *map(str, ORIGINALS))


def test_honest_scores_are_those_of_the_audio(honest):
    done = check()
    assert done.returncode == 3
    assert f"made again: 9 scores of {SCORES}, from the audio\n" in done.stdout
    assert f"made again: 9 scores of {ORIGINAL_SCORES}, from the audio\n" in done.stdout


def test_scores_that_suit_the_results_but_not_the_audio_are_found_out(honest):
    made_up = members()
    name = f"mine/scores/{SCORES}/scores"
    rows = [line.rsplit(" ", 1) for line in made_up[name].decode().splitlines()]
    scores, is_target = (
        np.array([float(score) for _, score in rows]),
        read_trials("data/toy_dev_trials_f/trials").is_target,
    )
    scores[is_target], scores[~is_target] = scores[is_target][::-1], scores[~is_target][::-1]

    def change(files):
        files[name] = "".join(f"{pair} {score}\n" for (pair, _), score in zip(rows, scores, strict=True)).encode()

    forge(change)
    assert check("--recompute", "0").returncode == 3
    done = check("--seed", "1")
    assert done.returncode == 1
    assert "of 9 scores are not those of the audio" in done.stderr


def test_audio_that_was_exchanged_is_found_out(honest):
    def change(files):
        waves = sorted(name for name in files if "toy_dev_trials_f_mine/wav/" in name)
        contents = [files[name] for name in waves]
        files.update(zip(waves, contents[3:] + contents[:3], strict=True))

    forge(change)
    done = check()
    assert done.returncode == 1
    assert "scores are not those of the audio" in done.stderr


def test_what_cannot_be_scored_again_is_listed(honest):
    Path("attackers/plda.yaml").write_text("encoder: f0_histogram\nsimilarity: cosine\n")
    Path("attackers/ecapa.yaml").write_text("mode: backend\nstart: plda\nprofile: plda\ntrained_on: same\n")
    done = check()
    assert done.returncode == 3
    assert "not made again from the audio (attacker 'ecapa' was trained; say where your own models are" in done.stdout
    done = check("--models", "nowhere")
    assert "nowhere/ecapa-mine/backend.npz: no such file" in done.stdout


@pytest.mark.parametrize(
    ("chosen", "encoder", "backend"),
    [
        ("backend", "attackers/start.yaml", True),
        ("unchanged", "attackers/start.yaml", False),
        ("fine-tuned", "models/tuned-mine/encoder.yaml", False),
    ],
)
def test_an_attacker_that_fine_tunes_is_scored_again_by_what_it_has_chosen(
    tmp_path, monkeypatch, chosen, encoder, backend
):
    monkeypatch.chdir(tmp_path)
    Path("attackers").mkdir()
    Path("attackers/start.yaml").write_text("encoder: f0_histogram\n")
    Path("attackers/tuned.yaml").write_text("mode: finetune\nstart: start\nprofile: p\ntrained_on: same\n")
    model = Path("models/tuned-mine")
    eers = {"backend": 0.1, "fine-tuned": 0.1, "unchanged": 0.1}
    write_choice(model / "choice.json", Choice(chosen, 12, 12, 1, eers))
    unit = np.eye(2)
    save(model / "backend.npz", Backend(np.zeros(2), unit, Plda(np.zeros(2), unit, unit)))
    how = Rescoring(9, 0, Path("attackers"), Path("models"))
    found, scoring = _model(read_attacker(Path("attackers/tuned.yaml")), "mine", how)
    assert (str(found), scoring is not None) == (encoder, backend)
