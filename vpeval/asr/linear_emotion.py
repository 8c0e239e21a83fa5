"""A linear emotion recogniser on fixed features, trained once for each fold without the speakers of the fold.

Multinomial logistic regression with a penalty on the squared weights; emotions count the same however often they
occur, as in the unweighted average recall that is measured. Features are standardised on the training speakers; they
are extracted once for every utterance, and training and classifying them takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from vpeval.core.arrays import Floats, Floats32
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, read_lines, write_table, write_text
from vpeval.core.publish import refuse_target, staged_directory
from vpeval.data.cut import combine
from vpeval.data.directory import DataDir
from vpeval.embeddings.ark import read_vectors

KEYS: dict[str, type] = {"encoder": str, "model": str, "compute": str, "classifier": str, "penalty": float}
FOLDS = "folds"
"""The last file of a training, which names the folds."""
_ITERATIONS = 500


@dataclass(frozen=True)
class LinearClassifier:
    """The most likely of `labels` is the one with the highest score ``weights @ features + bias``."""

    labels: tuple[str, ...]
    weights: Floats
    bias: Floats

    def classify(self, features: Floats) -> list[str]:
        """The label of every row."""
        return [self.labels[i] for i in (features @ self.weights.T + self.bias).argmax(axis=1)]

    def save(self, directory: Path) -> None:
        """Write ``labels`` and ``weights.npy``, the bias as last column."""
        with atomic_path(directory / "weights.npy") as temporary, open(temporary, "wb") as file:
            np.save(file, np.column_stack([self.weights, self.bias]))
        write_text(directory / "labels", "".join(f"{label}\n" for label in self.labels))


def load_linear(directory: Path) -> LinearClassifier:
    """Read what `LinearClassifier.save` wrote."""
    if not (directory / "weights.npy").is_file():
        raise InputError("no classifier here; train it with steps/train_ser.py", directory)
    try:
        matrix = np.load(directory / "weights.npy", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"holds no weights ({error}); train the classifier again", directory / "weights.npy") from None
    labels = tuple(label for _, label in read_lines(directory / "labels"))
    if matrix.dtype.kind != "f" or matrix.ndim != 2 or len(matrix) != len(labels):
        raise InputError("has not one row for every label; train the classifier again", directory / "weights.npy")
    return LinearClassifier(labels, matrix[:, :-1], matrix[:, -1])


def train_linear(features: Floats, emotions: Sequence[str], penalty: float) -> LinearClassifier:
    """Fit a classifier to rows of features with their emotions."""
    labels = tuple(sorted(set(emotions)))
    if len(labels) < 2:
        raise InputError("the training speakers show only one emotion; at least two are needed")
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1
    x = (features - mean) / scale
    index = np.array([labels.index(emotion) for emotion in emotions])
    share = 1 / (len(labels) * np.bincount(index)[index])
    shape = (len(labels), x.shape[1] + 1)

    def loss(flat: Floats) -> tuple[float, Floats]:
        matrix = flat.reshape(shape)
        scores = x @ matrix[:, :-1].T + matrix[:, -1]
        norm = logsumexp(scores, axis=1)
        value = share @ (norm - scores[np.arange(len(x)), index]) + penalty / 2 * np.square(matrix[:, :-1]).sum()
        error = np.exp(scores - norm[:, None])
        error[np.arange(len(x)), index] -= 1
        error *= share[:, None]
        gradient = np.column_stack([error.T @ x + penalty * matrix[:, :-1], error.sum(axis=0)])
        return float(value), gradient.ravel()

    found = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS})
    matrix = found.x.reshape(shape)
    weights = matrix[:, :-1] / scale
    return LinearClassifier(labels, weights, matrix[:, -1] - weights @ mean)


def train_folds(
    features: Mapping[str, Floats32],
    utt2emo: Mapping[str, str],
    utt2spk: Mapping[str, str],
    spk2fold: Mapping[str, str],
    penalty: float,
) -> dict[str, LinearClassifier]:
    """A classifier for every fold, of all speakers that are not in it."""
    folds = sorted(set(spk2fold.values()))
    if len(folds) < 2:
        raise InputError("all speakers are in one fold, so that none is left to train on; make spk2fold with more")
    utts = sorted(utt2emo)
    rows = np.stack([features[utt] for utt in utts]).astype(np.float64)
    of_utt = np.array([spk2fold[utt2spk[utt]] for utt in utts])
    emotions = np.array([utt2emo[utt] for utt in utts])
    return {fold: train_linear(rows[of_utt != fold], list(emotions[of_utt != fold]), penalty) for fold in folds}


def fold_directory(models: Path, fold: str) -> Path:
    """Where the classifier of a fold is: fold_<n>/ as in the challenge, or the directory itself without folds."""
    return models / f"fold_{fold}" if fold else models


def train_emotions(conf: Path, features: Path, out: Path, sources: Sequence[Path]) -> str:
    """Train and write the classifiers of all folds."""
    inputs = [conf, features, *sources]
    refuse_target(out, inputs)
    settings = read_config(conf, **KEYS)
    if settings["classifier"] != "linear":
        raise InputError(f"'classifier' must be linear, not '{settings['classifier']}'", conf)
    data, _ = combine([DataDir.load(path) for path in sources], out)
    vectors: dict[str, np.ndarray] = {}
    for path in sources:
        vectors |= read_vectors(features / path.name / "embedding.scp")
    models = train_folds(vectors, data.table("utt2emo"), data.utt2spk, data.table("spk2fold"), settings["penalty"])
    with staged_directory(out, inputs) as new:
        for fold, classifier in models.items():
            classifier.save(fold_directory(new, fold))
        write_text(new / FOLDS, "".join(f"{fold}\n" for fold in models))
    return f"{len(models)} folds, {len(data.speakers)} speakers, {len(data.utts)} utterances"


def classify_emotions(models: Path, features: Path, source: Path, out: Path) -> str:
    """Classify the utterances of a data directory, each by the classifier that was not trained on its speaker."""
    data = DataDir.load(source)
    vectors, folds = read_vectors(features / source.name / "embedding.scp"), data.table("spk2fold")
    predictions: dict[str, str] = {}
    for spk, utts in data.spk2utt.items():
        rows = np.stack([vectors[utt] for utt in utts]).astype(np.float64)
        classifier = load_linear(fold_directory(models, folds[spk]))
        predictions |= dict(zip(utts, classifier.classify(rows), strict=True))
    write_table(out / "predictions", predictions)
    return f"emotions of {len(predictions)} utterances"
