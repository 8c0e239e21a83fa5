"""The linear emotion recogniser against scikit-learn, and its folds against the speakers they must not know."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from vpeval.asr.decoding import recognise_emotions
from vpeval.asr.linear_emotion import load_linear, train_folds, train_linear
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.embeddings.ark import write_vectors

ROOT = Path(__file__).resolve().parents[2]
CONF = ROOT / "conf/ser/whisper_linear.yaml"
EMOTIONS = ("ang", "hap", "sad")


def cloud(seed: int, count: int) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    labels = [EMOTIONS[i] for i in rng.choice(3, count, p=(0.6, 0.3, 0.1))]
    centres = {emotion: np.eye(3, 6)[i] * 2 for i, emotion in enumerate(EMOTIONS)}
    return np.stack([centres[label] + rng.normal(size=6) for label in labels]) * 7 + 100, labels


def test_the_classifier_is_that_of_scikit_learn() -> None:
    x, y = cloud(0, 300)
    ours = train_linear(x, y, penalty=0.01)
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    # scikit-learn sums the losses of weighted rows, whose weights sum to their number, and halves the penalty as we do.
    theirs = LogisticRegression(C=1 / (0.01 * len(x)), class_weight="balanced", max_iter=10_000, tol=1e-10)
    theirs.fit(standard, y)
    scores = x @ ours.weights.T + ours.bias
    expected = theirs.decision_function(standard)
    # Scores are defined up to a constant for each row.
    assert np.abs((scores - scores.mean(1, keepdims=True)) - (expected - expected.mean(1, keepdims=True))).max() < 1e-2
    assert ours.classify(x) == list(theirs.predict(standard))


def test_a_fold_is_not_trained_on_its_own_speakers() -> None:
    rng = np.random.default_rng(0)
    # Every speaker shows emotions in a way of their own: what a fold knows of its speakers would show as a hit.
    features, utt2emo, utt2spk = {}, {}, {}
    for spk in "abcd":
        offset = rng.normal(size=(2, 40)) * 50
        for n in range(8):
            utt = f"{spk}-{n}"
            utt2spk[utt], utt2emo[utt] = spk, EMOTIONS[n % 2]
            features[utt] = (offset[n % 2] + rng.normal(size=40)).astype(np.float32)
    spk2fold = {"a": "1", "b": "1", "c": "2", "d": "2"}
    models = train_folds(features, utt2emo, utt2spk, spk2fold, 1e-4)
    assert sorted(models) == ["1", "2"]

    def hits(fold: str, spks: str) -> float:
        utts = [utt for utt in utt2emo if utt2spk[utt] in spks]
        rows = np.stack([features[utt] for utt in utts]).astype(float)
        return float(np.mean([a == utt2emo[u] for a, u in zip(models[fold].classify(rows), utts, strict=True)]))

    assert hits("1", "cd") == hits("2", "ab") == 1.0
    assert hits("1", "ab") < 1.0 or hits("2", "cd") < 1.0


def test_too_little_to_train_on_is_told() -> None:
    with pytest.raises(InputError, match="all speakers are in one fold"):
        train_folds({"a-1": np.ones(2)}, {"a-1": "sad"}, {"a-1": "a"}, {"a": "1"}, 0.1)
    with pytest.raises(InputError, match="show only one emotion"):
        train_linear(np.ones((3, 2)), ["sad"] * 3, 0.1)


def make_sets(tmp_path: Path) -> list[Path]:
    """Two data directories, and the features of their utterances."""
    x, y = cloud(1, 120)
    utts = [f"{'abcd'[i % 4]}-{i:03d}" for i in range(120)]
    for name, chosen in (("x_enrolls", utts[:60]), ("x_trials_f", utts[60:])):
        rows = {utt: utts.index(utt) for utt in chosen}
        data = DataDir(
            tmp_path / "data" / name,
            dict(sorted((utt, utt[0]) for utt in chosen)),
            {"wav.scp": dict.fromkeys(chosen, "none.wav"), "utt2emo": {utt: y[i] for utt, i in rows.items()}},
            {"spk2fold": {"a": "1", "b": "2", "c": "3", "d": "1"}},
        )
        data.write(data.path)
        (tmp_path / "features" / name).mkdir(parents=True)
        write_vectors(tmp_path / "features" / name, {utt: x[i] for utt, i in rows.items()})
    return [tmp_path / "data/x_enrolls", tmp_path / "data/x_trials_f"]


def test_emotions_are_recognised_by_models_of_the_original_sets_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("vpeval.asr.decoding.extract_embeddings", lambda *_: None)
    caplog.set_level("INFO")
    original, anonymised = make_sets(tmp_path)
    for again in (False, True):
        caplog.clear()
        recognise_emotions(CONF, tmp_path, [original], [anonymised], "run.pl", 1)
        assert ("3 folds, 4 speakers, 60 utterances" in caplog.text) is not again
    assert len((tmp_path / "x_trials_f/predictions").read_text().splitlines()) == 60


def test_training_classifying_and_scoring_fit_together(tmp_path: Path) -> None:
    sets = make_sets(tmp_path)

    def run(*line: object) -> str:
        done = subprocess.run([ROOT / str(line[0]), *map(str, line[1:])], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    output = run("steps/train_ser.py", CONF, tmp_path / "features", tmp_path / "models", *sets)
    assert "3 folds, 4 speakers, 120 utterances" in output
    run("steps/classify_emotions.py", tmp_path / "models", tmp_path / "features", tmp_path / "out", *sets)
    run("local/score_uar.py", sets[0], tmp_path / "out/x_enrolls/predictions", tmp_path / "uar.jsonl")
    first = (tmp_path / "uar.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["value"] > 60
    assert '"chance": 33.3' in first and '"lower": ' in first and '"lower": null' not in first
    assert load_linear(tmp_path / "models/fold_1").labels == EMOTIONS
