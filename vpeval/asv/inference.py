"""Attacks on attributes that know nothing of the speaker whom they attack: cross-validation over speakers, nested.

Speakers are dealt to folds. Those of fold k are attacked by an attacker estimated without them. Which kind of attacker
it is, and how its scores become posteriors, is learnt from the speakers of every other fold j, who are attacked by
attackers that know neither fold j nor fold k. Calibration looks at speech of the kind that is attacked (anonymised, if
that is so): an ignorant attacker's scores are taken for what they tell, not for what that attacker would make of
them, as otherwise being misled would look like privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from vpeval.asv.attributes import Attacker, Several, Speech, Utterances
from vpeval.asv.posteriors import fit
from vpeval.core.seeds import generator
from vpeval.metrics.inference import class_weights, rank_correlation
from vpeval.metrics.vectors import Counts

Floats = NDArray[np.float64]

FOLDS = 10
NEVER = -1
"""The fold of speakers who are never attacked, only learnt from."""


@dataclass(frozen=True)
class Attacked:
    """Test vectors (rows) of speakers: whose each is, and the fold of every speaker."""

    vectors: Floats
    owner: Counts
    folds: Counts

    @property
    def rows(self) -> Floats:
        """The weight of every row: speakers count the same, however many rows they have."""
        return 1 / np.bincount(self.owner)[self.owner]


def deal_classes(classes: Counts, seed: int, label: str) -> Counts:
    """Folds for speakers, those of a class in turn, so that three of a class are in three folds."""
    rng = generator(seed, label)
    folds = np.empty(len(classes), np.int64)
    turn = 0
    for name in np.unique(classes):
        members = rng.permutation(np.flatnonzero(classes == name))
        folds[members] = (turn + np.arange(len(members))) % FOLDS
        turn += len(members)
    return folds


def deal_values(values: Floats, seed: int, label: str) -> Counts:
    """Folds for speakers, so that those of about the same value are in different folds."""
    rng = generator(seed, label)
    order = np.lexsort((rng.random(len(values)), values))
    folds = np.empty(len(values), np.int64)
    for start in range(0, len(values), FOLDS):
        block = order[start : start + FOLDS]
        folds[block] = rng.permutation(FOLDS)[: len(block)]
    return folds


@dataclass(frozen=True)
class Lesson:
    """What attackers learn from: sums of all speech for linear ones, utterances for kernel machines, if these learn."""

    speech: Speech
    utterances: Utterances | None
    attackers: dict[tuple[int, ...], Attacker] = field(default_factory=dict)
    """Kernel machines do not depend on L, and are made once."""

    def classifier(self, without: tuple[int, ...], classes: Counts, n_classes: int, n_utts: int | None) -> Attacker:
        """Attackers who do not know the speakers of some folds."""
        linear = self.speech.classifier(without, classes, n_classes, n_utts)
        if self.utterances is None:
            return linear
        if without not in self.attackers:
            heard = ~np.isin(self.speech.folds, without)
            sizes = np.bincount(classes[heard], minlength=n_classes)
            targets = np.eye(n_classes)[classes] / sizes - 1 / sizes.sum()
            self.attackers[without] = self.utterances.machine(without, targets * sizes.sum() / n_classes)
        return Several((linear, self.attackers[without]))

    def regressor(self, without: tuple[int, ...], values: Floats, n_utts: int | None) -> Attacker:
        """The same for a quantity."""
        linear = self.speech.regressor(without, values, n_utts)
        if self.utterances is None:
            return linear
        if without not in self.attackers:
            heard = values[~np.isin(self.speech.folds, without)]
            scale = float(heard.std()) or 1.0
            self.attackers[without] = self.utterances.machine(without, (values[:, None] - heard.mean()) / scale)
        return Several((linear, self.attackers[without]))


def infer_class(
    train: Lesson, known: Counts, test: Attacked, truth: Counts, prior: Floats, n_utts: int | None
) -> Floats:
    """Posteriors row × class of test vectors; ``known`` are the classes of training, ``truth`` of test speakers."""
    scores = _Scores(test, lambda held: train.classifier(held, known, len(prior), n_utts))
    of_row = truth[test.owner]
    posteriors = np.tile(prior, (len(test.owner), 1))
    for fold in np.unique(test.folds):
        own, others, seen = scores.of(int(fold))
        present = np.unique(test.owner[others])
        weights = np.zeros(len(truth))
        weights[present] = class_weights(truth[present])
        weight = weights[test.owner[others]] * test.rows[others]
        fits = [fit(kind, of_row[others], weight, len(present)) for kind in seen]
        best = int(np.argmin([found.loss for found in fits]))
        posteriors[own] = fits[best](scores.final(int(fold))[best], prior)
    return posteriors


def infer_quantity(train: Lesson, known: Floats, test: Attacked, truth: Floats, n_utts: int | None) -> Floats:
    """Predictions of a quantity, one per row, of which only the order means anything."""
    scores = _Scores(test, lambda held: train.regressor(held, known, n_utts))
    predicted = np.empty(len(test.owner))
    for fold in np.unique(test.folds):
        own, others, seen = scores.of(int(fold))
        of_row = truth[test.owner[others]]
        found = [rank_correlation(np.round(kind[:, 0], 12), of_row) for kind in seen]
        best = int(np.argmax(found))
        # Every fold has its own kind of scores: only on a common scale can they be ordered.
        predicted[own] = scores.final(int(fold))[best, :, 0] / (float(seen[best].std()) or 1.0)
    return predicted


class _Scores:
    """Scores of rows by attackers who know neither one nor two folds; each attacker is made once."""

    def __init__(self, test: Attacked, make: Callable[[tuple[int, ...]], Attacker]) -> None:
        self.test = test
        self.fold_of = test.folds[test.owner]
        self.present = [int(fold) for fold in np.unique(test.folds)]
        pairs = combinations_with_replacement(self.present, 2)
        self.attackers = {pair: make(pair) for pair in pairs}

    def of(self, fold: int) -> tuple[Counts, Counts, Floats]:
        """The rows of a fold, those of all others, and scores of the latter by attackers who do not know the fold."""
        own, others = (np.flatnonzero(where) for where in (self.fold_of == fold, self.fold_of != fold))
        seen: Floats | None = None
        for other in self.present:
            if other == fold:
                continue
            attacker = self.attackers[min(fold, other), max(fold, other)]
            rows = np.flatnonzero(self.fold_of[others] == other)
            scores = attacker(self.test.vectors[others[rows]])
            if seen is None:
                seen = np.empty((scores.shape[0], len(others), scores.shape[2]))
            seen[:, rows] = scores
        if seen is None:
            raise ValueError("speakers of two folds are needed")
        return own, others, seen

    def final(self, fold: int) -> Floats:
        """Scores of the rows of a fold by the attacker who knows all others."""
        return self.attackers[fold, fold](self.test.vectors[self.fold_of == fold])
