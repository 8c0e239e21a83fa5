"""Estimate and calibrate back ends on training speakers alone.

Speakers are held out a few at a time, a back end is estimated on the others, and the held-out ones are verified against
each other: some utterances of each are enrolled, the others are trials. Their LLRs calibrate the back end: a straight
line is fitted to them, and becomes part of the back end that is estimated on all speakers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vpeval.asv import backend
from vpeval.asv.backend import Estimate, Settings, fit_calibration
from vpeval.core.arrays import Floats
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.seeds import generator
from vpeval.embeddings.plda import Prior
from vpeval.embeddings.speaker_vectors import Embeddings, pool, read_embeddings

log = logging.getLogger(__name__)
_HELD_OUT = 2
_REPEATS = 3


def train_backend(profile: Path, vectors: Sequence[Path], seed: int, out: Path) -> str:
    """Estimate a back end on embedding directories and write it to `out`; return what it was trained on."""
    settings, train = read_settings(profile), pool([read_embeddings(directory) for directory in vectors])
    estimated = estimate_calibrated(train, settings, seed)
    if settings.lda > estimated.dimension:
        log.warning(
            f"{train.directory}: LDA to {estimated.dimension} instead of {settings.lda} dimensions: there are "
            f"{len(train.speakers)} training speakers and {train.vectors.shape[1]}-dimensional vectors"
        )
    backend.save(out / "backend.npz", estimated.backend)
    write_text(out / "objective", "".join(f"{value:.6f}\n" for value in estimated.objective))
    return f"back end of {len(train.utts)} utterances, {len(train.speakers)} speakers"


def read_settings(profile: Path) -> Settings:
    """The settings in a profile of conf/asv/train/."""
    wanted = read_config(profile, lda=int, iterations=int, prior_speakers=float, prior_utts=float, calibration=int)
    prior = Prior(wanted["prior_speakers"], wanted["prior_utts"])
    return Settings(wanted["lda"], wanted["iterations"], prior, wanted["calibration"])


def estimate_calibrated(train: Embeddings, settings: Settings, seed: int = 0) -> Estimate:
    """A back end, calibrated if the settings want it and the training speakers allow it."""
    found = backend.estimate(train, settings)
    if not settings.calibration:
        return found
    enroll_utts = min(settings.calibration, int(train.counts.min()) - 1)
    if len(train.speakers) < _HELD_OUT + 2 or enroll_utts < 1:
        log.warning(
            "%s: %d speakers, one with %d utterances, are too few to calibrate the back end; Cllr will be too high",
            *(train.directory, len(train.speakers), train.counts.min()),
        )
        return found
    held_out = max(_HELD_OUT, len(train.speakers) // 10)  # a large corpus needs no more than some ten back ends
    folds = make_folds(train, held_out, enroll_utts, _REPEATS if held_out == _HELD_OUT else 1, seed)
    try:
        scores = held_out_scores(folds, lambda fold: fold.llrs(settings))
    except InputError as error:
        log.warning("%s: the back end is not calibrated, Cllr will be too high: %s", train.directory, error)
        return found
    line = fit_calibration(*scores)
    if line.slope <= 0:
        # Scores that say nothing about unseen speakers may still say something about those under test.
        log.warning(
            "%s: scores of held-out speakers carry no information, so that the back end is not calibrated",
            train.directory,
        )
        return found
    return replace(found, backend=replace(found.backend, calibration=line))


@dataclass(frozen=True)
class Fold:
    """Training speakers, and the enrolment and trial utterances of those held out."""

    train: Embeddings
    enroll: Embeddings
    trial: Embeddings

    def llrs(self, settings: Settings) -> Floats:
        """LLRs of those held out, speakers × trial utterances, without calibration."""
        return backend.estimate(self.train, settings).backend.scores(self.enroll, self.trial)


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


def held_out_scores(folds: Iterable[Fold], score: Callable[[Fold], Floats]) -> tuple[Floats, Floats]:
    """Scores of held-out speakers with themselves and with others, all folds pooled."""
    same, other = [], []
    for fold in folds:
        matrix = score(fold)
        is_same = np.arange(len(fold.enroll.speakers))[:, None] == fold.trial.owners
        same.append(matrix[is_same])
        other.append(matrix[~is_same])
    return np.concatenate(same), np.concatenate(other)
