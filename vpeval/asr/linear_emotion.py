"""A linear emotion recogniser on fixed features, trained once for each fold without the speakers of the fold.

Multinomial logistic regression with a penalty on the squared weights; emotions count the same however often they
occur, as in the unweighted average recall that is measured. Features are standardised on the training speakers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, write_text
from vpeval.core.tables import read_lines

Matrix = NDArray[np.float64]
_ITERATIONS = 500


@dataclass(frozen=True)
class LinearClassifier:
    """The most likely of `labels` is the one with the highest score ``weights @ features + bias``."""

    labels: tuple[str, ...]
    weights: Matrix
    bias: Matrix

    def classify(self, features: Matrix) -> list[str]:
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


def train_linear(features: Matrix, emotions: Sequence[str], penalty: float) -> LinearClassifier:
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

    def loss(flat: Matrix) -> tuple[float, Matrix]:
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
    features: Mapping[str, NDArray[np.float32]],
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
