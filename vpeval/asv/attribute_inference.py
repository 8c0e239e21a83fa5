"""Attacks on attributes that know nothing of the speaker whom they attack: cross-validation over speakers, nested.

Speakers are dealt to folds. Those of fold k are attacked by attackers of several kinds, estimated without them. How
their scores become posteriors, and what each kind counts, is learnt from the speakers of every other fold j, who are
attacked by attackers that know neither fold j nor fold k. Calibration uses speech of the kind that is attacked
(anonymised, if that is so): the scores of an ignorant attacker count by the information in them, not by what that
attacker would make of them, as otherwise being misled would look like privacy.

Scores of classes become posteriors by one slope and an offset per class, fitted by logistic regression on other
speakers. With scores s_c of class c, centred and of unit variance over the speech that the calibration has seen,

    p(c | s) = (1-ε) · p(c) exp(t·s_c + b_c) / Σ_k p(k) exp(t·s_k + b_k) + ε · p(c),   t ≥ 0:

with probability ε a voice is none of those that scores are informative about. Slope, offsets and ε minimise the
cross-entropy with all classes weighted alike, offsets being held back as by one speaker at 0; ε is at least 1/(n+1) for
n speakers, the least doubt that they justify. t = 0 and b = 0 repeat the prior: uninformative scores change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement

import numpy as np

from vpeval.asv.attribute_models import Attacker, Combined, Kernels, Machine, Speech, TestVectors
from vpeval.core.arrays import Bools, Counts, Floats
from vpeval.core.seeds import generator
from vpeval.metrics.inference import class_weights, rank_correlation

Folds = tuple[int, ...]

MANY_FOLDS, FEW_FOLDS = 20, 10
_MANY_SPEAKERS = 100
_SUREST = 0.999
_STEEPEST = 30.0
_MOST_DOUBT = 0.5
_DIGITS = 9
NEVER = -1
"""The fold of speakers who are never attacked, only learnt from."""


@dataclass(frozen=True)
class Attacked:
    """Test vectors (rows), the speaker of each, and the fold of every speaker."""

    vectors: Floats
    owner: Counts
    folds: Counts

    @property
    def rows(self) -> Floats:
        """The weight of every row: speakers count the same, however many rows they have."""
        return 1 / np.bincount(self.owner)[self.owner]


def folds_for(speakers: int) -> int:
    """Folds for so many speakers: with few of them, every one who is not learnt from makes a weaker attacker."""
    return MANY_FOLDS if speakers <= _MANY_SPEAKERS else FEW_FOLDS


def deal_classes(classes: Counts, seed: int, label: str) -> Counts:
    """Folds for speakers, those of a class in turn, so that three of a class are in three folds."""
    rng, count = generator(seed, label), folds_for(len(classes))
    folds = np.empty(len(classes), np.int64)
    turn = 0
    for name in np.unique(classes):
        members = rng.permutation(np.flatnonzero(classes == name))
        folds[members] = (turn + np.arange(len(members))) % count
        turn += len(members)
    return folds


def deal_values(values: Floats, seed: int, label: str) -> Counts:
    """Folds for speakers, so that those of about the same value are in different folds."""
    rng, count = generator(seed, label), folds_for(len(values))
    order = np.lexsort((rng.random(len(values)), values))
    folds = np.empty(len(values), np.int64)
    for start in range(0, len(values), count):
        block = order[start : start + count]
        folds[block] = rng.permutation(count)[: len(block)]
    return folds


@dataclass(frozen=True)
class TrainingData:
    """What attackers learn from: sums of all speech for linear ones, utterances for kernel machines, if these learn."""

    speech: Speech
    kernels: Kernels | None
    machines: dict[tuple[bytes, Folds], Machine] = field(default_factory=dict)
    """Kernel machines do not depend on L, and are made once."""

    def prepare(self, vectors: Floats) -> TestVectors:
        """Test vectors with their kernels."""
        return TestVectors(vectors, None if self.kernels is None else self.kernels.evaluate(vectors))

    def classifiers(self, classes: Counts, n_classes: int, n_utts: int | None) -> Callable[[Folds], Attacker]:
        """What makes attackers who do not know the speakers of some folds."""

        def mix(known: Bools) -> Floats:
            """The indicator of a class over its size, less its mean over speakers."""
            sizes = np.bincount(classes[known], minlength=n_classes)
            return (np.diag(sizes.sum() / sizes) - 1) / n_classes

        linear = partial(self.speech.classifier, classes=classes, n_classes=n_classes, n_utts=n_utts)
        return self._attackers(linear, np.eye(n_classes)[classes], mix)

    def regressors(self, values: Floats, n_utts: int | None) -> Callable[[Folds], Attacker]:
        """The same for a quantity."""

        def mix(known: Bools) -> Floats:
            """The quantity less its mean, in units of its deviation."""
            return np.array([[1.0], [-values[known].mean()]]) / (float(values[known].std()) or 1.0)

        linear = partial(self.speech.regressor, values=values, n_utts=n_utts)
        return self._attackers(linear, np.column_stack((values, np.ones(len(values)))), mix)

    def _attackers(
        self, linear: Callable[[Folds], Attacker], targets: Floats, mix: Callable[[Bools], Floats]
    ) -> Callable[[Folds], Attacker]:
        """Linear ones, and kernel machines for mixtures of the targets of speakers."""
        if self.kernels is None:
            return linear
        learnt = self.kernels.learn(targets)

        def make(without: Folds) -> Attacker:
            key = targets.tobytes(), without
            if key not in self.machines:
                known = ~np.isin(self.speech.folds, without)
                self.machines[key] = learnt.machine(known, mix(known))
            return Combined((linear(without), self.machines[key]))

        return make


def infer_class(
    train: TrainingData, known: Counts, test: Attacked, truth: Counts, prior: Floats, n_utts: int | None
) -> Floats:
    """Posteriors row × class of test vectors; ``known`` are the classes of training, ``truth`` of test speakers."""
    scores = _Scores(test, train.prepare(test.vectors), train.classifiers(known, len(prior), n_utts))
    of_row = truth[test.owner]
    posteriors = np.tile(prior, (len(test.owner), 1))
    for fold in np.unique(test.folds):
        own, others, seen = scores.held_out(int(fold))
        present = np.unique(test.owner[others])
        weights = np.zeros(len(truth))
        weights[present] = class_weights(truth[present])
        weight = weights[test.owner[others]] * test.rows[others]
        fits = [_fit_posterior(kind, of_row[others], weight, len(present)) for kind in seen]
        by_kind = [found(kind, prior) for found, kind in zip(fits, scores.final(int(fold)), strict=True)]
        posteriors[own] = np.einsum(
            "k,knc->nc", _shares([found.loss for found in fits], len(present)), np.stack(by_kind)
        )
    return posteriors


def _shares(losses: Sequence[float] | Floats, speakers: int) -> Floats:
    """What every kind counts: the root of the likelihood that it gives to all `speakers`, as a share.

    With few speakers it is uncertain which kind is best, and to trust the one that seems so would make the attacker
    weaker than necessary. With many speakers, one kind is left.
    """
    lost = np.asarray(losses)
    likelihoods = np.exp(-(lost - lost.min()) * speakers / 2)
    shares: Floats = likelihoods / likelihoods.sum()
    return shares


def infer_quantity(train: TrainingData, known: Floats, test: Attacked, truth: Floats, n_utts: int | None) -> Floats:
    """Predictions of a quantity, one per row, of which only the order means anything."""
    scores = _Scores(test, train.prepare(test.vectors), train.regressors(known, n_utts))
    predicted = np.empty(len(test.owner))
    for fold in np.unique(test.folds):
        own, others, seen = scores.held_out(int(fold))
        correlations = [rank_correlation(np.round(kind[:, 0], 12), truth[test.owner[others]]) for kind in seen]
        # What is left of the spread of normal numbers, in nats, when others that are so correlated are known.
        losses = 0.5 * np.log(1 - np.square(np.clip(correlations, 0, _SUREST)))
        shares = _shares(losses, len(np.unique(test.owner[others])))
        # Only on a common scale can kinds of scores be added, and those of different folds be ordered.
        scales = [float(kind.std()) or 1.0 for kind in seen]
        predicted[own] = np.einsum("k,kn->n", shares / scales, scores.final(int(fold))[..., 0])
    return predicted


class _Scores:
    """Scores of rows by attackers who know neither one nor two folds; each attacker is made once."""

    def __init__(self, test: Attacked, seen: TestVectors, make: Callable[[Folds], Attacker]) -> None:
        self.seen = seen
        self.fold_of = test.folds[test.owner]
        self.present = [int(fold) for fold in np.unique(test.folds)]
        pairs = combinations_with_replacement(self.present, 2)
        self.attackers = {pair: make(pair) for pair in pairs}

    def held_out(self, fold: int) -> tuple[Counts, Counts, Floats]:
        """The rows of a fold, those of all others, and scores of the latter by attackers who do not know the fold."""
        own, others = (np.flatnonzero(where) for where in (self.fold_of == fold, self.fold_of != fold))
        seen: Floats | None = None
        for other in self.present:
            if other == fold:
                continue
            attacker = self.attackers[min(fold, other), max(fold, other)]
            rows = np.flatnonzero(self.fold_of[others] == other)
            scores = attacker(self.seen[others[rows]])
            if seen is None:
                seen = np.empty((scores.shape[0], len(others), scores.shape[2]))
            seen[:, rows] = scores
        if seen is None:
            raise ValueError("speakers of two folds are needed")
        return own, others, seen

    def final(self, fold: int) -> Floats:
        """Scores of the rows of a fold by the attacker who knows all others."""
        return self.attackers[fold, fold](self.seen[np.flatnonzero(self.fold_of == fold)])


@dataclass(frozen=True)
class _Posterior:
    """A calibration, and the cross-entropy in nats that it left."""

    centre: Floats
    scale: float
    slope: float
    offsets: Floats
    doubt: float
    loss: float

    def __call__(self, scores: Floats, prior: Floats) -> Floats:
        """Posteriors of rows of scores."""
        with np.errstate(divide="ignore"):
            offsets = self.offsets + np.log(prior)
        posteriors = np.exp(_log_softmax(self.slope * _scaled(scores, self.centre, self.scale) + offsets))
        return (1 - self.doubt) * posteriors + self.doubt * prior


def _fit_posterior(scores: Floats, truth: Counts, weights: Floats, speakers: int) -> _Posterior:
    """Calibrate rows of scores of known classes, with weights of the rows, by which all classes weigh the same."""
    from scipy.optimize import minimize

    share = weights / weights.sum()
    level = scores - scores.mean(axis=1, keepdims=True)
    centre = np.einsum("n,nc->c", share, level)
    scale = float(np.sqrt(np.einsum("n,nc->", share, np.square(level - centre)) / scores.shape[1])) or 1.0
    x = _scaled(scores, centre, scale)
    rows = np.arange(len(truth))

    n_classes = scores.shape[1]

    def loss(theta: Floats) -> tuple[float, Floats]:
        slope, doubt, offsets = theta[0], theta[1], theta[2:]
        posteriors = np.exp(_log_softmax(slope * x + offsets))
        own = posteriors[rows, truth]
        mixed = (1 - doubt) * own + doubt / n_classes
        # How much of the posterior of the true class comes from the scores scales the error of every class.
        wrong = posteriors
        wrong[rows, truth] -= 1
        wrong *= (share * (1 - doubt) * own / mixed)[:, None]
        value = -float((share * np.log(mixed)).sum()) + float(np.square(offsets).sum()) / (2 * speakers)
        of_doubt = -float((share * (1 / n_classes - own) / mixed).sum())
        return value, np.concatenate(([(wrong * x).sum(), of_doubt], wrong.sum(axis=0) + offsets / speakers))

    least = 1 / (speakers + 1)
    bounds = [(0.0, _STEEPEST), (least, _MOST_DOUBT), *[(-_STEEPEST, _STEEPEST)] * n_classes]
    start = np.concatenate(([0.0, least], np.zeros(n_classes)))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return _Posterior(centre, scale, float(found.x[0]), found.x[2:], float(found.x[1]), float(found.fun))


def _scaled(scores: Floats, centre: Floats, scale: float) -> Floats:
    """Scores on the scale of the calibration, without digits that depend on the threads of a matrix product."""
    level = scores - scores.mean(axis=1, keepdims=True)
    return np.round((level - centre) / scale, _DIGITS)


def _log_softmax(x: Floats) -> Floats:
    top = x.max(axis=1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(axis=1, keepdims=True))
