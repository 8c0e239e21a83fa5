"""How good a back end is for speakers it has not seen, told from its own training speakers.

Speakers are held out a few at a time, a back end is estimated on the others, and the held-out ones are verified against
each other: some utterances of each are enrolled, the others are trials. So settings can be chosen without a look at the
sets that the attacker will be measured on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vpeval.asv import backend
from vpeval.asv.backend import Settings
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.embeddings.cosines import cosines
from vpeval.embeddings.directory import Embeddings
from vpeval.embeddings.plda import Floats
from vpeval.metrics.cllr import min_cllr
from vpeval.metrics.eer import eer_rocch
from vpeval.metrics.scores import PooledScores, pool


@dataclass(frozen=True)
class Fold:
    """Training speakers, and the enrolment and trial utterances of those held out."""

    train: Embeddings
    enroll: Embeddings
    trial: Embeddings


@dataclass(frozen=True)
class Quality:
    """Verification of held-out speakers, all folds pooled."""

    eer: float
    min_cllr: float


def make_folds(speakers: Embeddings, held_out: int, enroll_utts: int, repeats: int, seed: int) -> list[Fold]:
    """Every speaker is held out once in each repeat, with `held_out` - 1 others or, in the last fold, more."""
    n = len(speakers.speakers)
    if held_out < 2 or n < held_out + 2:
        raise InputError(
            f"has {n} speakers; to hold out {held_out} takes at least {max(held_out, 2) + 2}, and 2 to compare",
            speakers.directory,
        )
    if speakers.counts.min() <= enroll_utts:
        short = speakers.speakers[int(speakers.counts.argmin())]
        raise InputError(
            f"speaker '{short}' has too few utterances to enrol {enroll_utts} and try others", speakers.directory
        )
    folds = []
    for repeat in range(repeats):
        order = generator(seed, "held-out speakers", repeat).permutation(n)
        rows = speakers.shuffled(seed, f"enrolment of repeat {repeat}")
        place = np.arange(len(rows)) - speakers.starts[speakers.owners]
        for held in np.array_split(order, n // held_out):
            outside = np.isin(speakers.owners, held)
            parts = (rows[~outside], rows[outside & (place < enroll_utts)], rows[outside & (place >= enroll_utts)])
            folds.append(Fold(*(speakers.select(part) for part in parts)))
    return folds


def measure(folds: Iterable[Fold], settings: Settings | None) -> Quality:
    """Quality of back ends with these settings; of cosines for None."""
    scores: PooledScores = pool(*held_out_scores(folds, settings))
    return Quality(eer_rocch(scores).value, min_cllr(scores))


def held_out_scores(folds: Iterable[Fold], settings: Settings | None) -> tuple[Floats, Floats]:
    """Scores of held-out speakers with themselves and with others, all folds pooled; LLRs without calibration."""
    found = [_scores(fold, settings) for fold in folds]
    same, other = (np.concatenate(part) for part in zip(*found, strict=True))
    return same, other


def _scores(fold: Fold, settings: Settings | None) -> Sequence[Floats]:
    """Scores of the same and of different speakers."""
    if settings is None:
        matrix = cosines(fold.enroll, fold.trial)
    else:
        matrix = backend.estimate(fold.train, settings).backend.scores(fold.enroll, fold.trial)
    same = np.arange(len(fold.enroll.speakers))[:, None] == fold.trial.owners
    return matrix[same], matrix[~same]
