"""Whole trainings through the scripts, on speakers that hum."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from profiles import BACKEND, PROFILE

from vpeval.asv import backend
from vpeval.asv.choice import read_choice
from vpeval.asv.train_attackers import Training, train_backend
from vpeval.embeddings.speaker_vectors import read_embeddings, write_embeddings

ROOT = Path(__file__).parents[2]


def run(*command, **environment):
    return subprocess.run(
        list(map(str, command)), cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.yaml"
    path.write_text(PROFILE.format(augment="false", epochs=2) + "backend: plda\n")
    (tmp_path / "plda.yaml").write_text(BACKEND)
    return path


@pytest.mark.e2e
def test_a_trained_encoder_extracts_embeddings_and_a_second_call_is_skipped(small, choir, profile, tmp_path):
    out = tmp_path / "asv/small"
    command = (ROOT / "steps/jobs/train_asv.py", "scratch", small, profile, out, choir)
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in out.iterdir()} == {
        "encoder.yaml",
        "model.ckpt",
        "epochs.jsonl",
        "epochs.png",
        ".made",
        ".stamp.json",
    }
    assert "up to date, skipped" in run(*command).stdout

    done = run(ROOT / "steps/extract_embeddings.py", "--nj", 1, out / "encoder.yaml", tmp_path / "emb", choir)
    assert done.returncode == 0, done.stderr
    assert read_embeddings(tmp_path / "emb/data").vectors.shape == (42, 8)

    tuned, vectors = tmp_path / "asv/tuned", ("--vectors", tmp_path / "emb/data")
    done = run(ROOT / "steps/jobs/train_asv.py", *vectors, "finetune", out / "encoder.yaml", profile, tuned, choir)
    assert done.returncode == 0, done.stderr
    assert str(read_choice(tuned / "choice.json")) in done.stdout and (tuned / "epochs.png").is_file()
    first, second = (json.loads((path / "epochs.jsonl").read_text().splitlines()[0]) for path in (out, tuned))
    assert second["train_loss"] < first["train_loss"]


@pytest.mark.e2e
def test_two_processes_train_one_network(small, buzzers, profile, tmp_path):
    out = tmp_path / "asv/small"
    launch = (
        *("bash", "-c", '. ./path.sh && exec torchrun --standalone --nproc_per_node=2 "$@"', "torchrun"),
        *("steps/jobs/train_asv.py", "scratch", small, profile, out, buzzers),
    )
    done = run(*launch, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["epoch"] for line in (out / "epochs.jsonl").read_text().splitlines()] == [1, 2]
    assert done.stdout.count("scratch on 24 utterances of 4 speakers") == 1


@pytest.mark.e2e
def test_a_back_end_is_estimated_on_embeddings_and_scores_trials(tmp_path, caplog):
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((5, 6))
    for name in ("train", "enroll", "trial"):
        utts = {f"s{spk}-{name}-{utt}": spk for spk in range(5) for utt in range(8)}
        vectors = {utt: centres[spk] + 0.3 * rng.standard_normal(6) for utt, spk in utts.items()}
        write_embeddings(tmp_path / name, vectors, {utt: f"s{spk}" for utt, spk in utts.items()})
    conf = ROOT / "conf/asv"
    training = Training(
        *("backend", conf / "encoders/ecapa.yaml", conf / "train/plda_vpc2020.yaml"),
        *((), tmp_path / "asv/plda", 0, (tmp_path / "train",)),
    )
    train_backend(training)
    assert "LDA to 4 instead of 200 dimensions: there are 5 training speakers" in caplog.text
    assert backend.load(tmp_path / "asv/plda/backend.npz").projection.shape == (6, 4)

    trials = [f"s{spk} s{other}-trial-0" for spk in range(5) for other in range(5)]
    (tmp_path / "trials").write_text("".join(f"{t} {'target' if t[1] == t[4] else 'nontarget'}\n" for t in trials))
    dirs = [tmp_path / name for name in ("enroll", "trial", "trials", "scores")]
    done = run(ROOT / "steps/score_trials.py", "--backend", tmp_path / "asv/plda/backend.npz", *dirs)
    assert done.returncode == 0, done.stderr
    llr = {tuple(line.split()[:2]): float(line.split()[2]) for line in (tmp_path / "scores").read_text().splitlines()}
    own = [score for (spk, utt), score in llr.items() if utt.startswith(spk)]
    other = [score for (spk, utt), score in llr.items() if not utt.startswith(spk)]
    assert np.mean(own) > 0 > np.mean(other)
    assert min(own) > np.quantile(other, 0.8)

    train = ("--train", tmp_path / "trials", tmp_path / "scores")
    done = run(ROOT / "local/calibrate_scores.py", *train, tmp_path / "scores", tmp_path / "calibrated")
    assert done.returncode == 0, done.stderr
    assert "LLR = " in done.stdout
