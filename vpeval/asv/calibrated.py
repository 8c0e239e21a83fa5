"""Back ends whose scores are worth what they say: calibrated on training speakers that they had not seen.

Some training speakers are left out, a back end is estimated on the others, and the LLRs of those left out, of whom it
is known who is who, are fitted by a straight line (Brümmer & du Preez, 2006). The line is then part of the back end
that is estimated on all. No set that the attacker is measured on is looked at.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from vpeval.asv import backend, calibration
from vpeval.asv.backend import Estimate, Settings
from vpeval.asv.tuning import held_out_scores, make_folds
from vpeval.core.errors import InputError
from vpeval.embeddings.directory import Embeddings

log = logging.getLogger(__name__)

_HELD_OUT = 2
_REPEATS = 3


def estimate(train: Embeddings, settings: Settings, seed: int = 0) -> Estimate:
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
        scores = held_out_scores(folds, settings)
    except InputError as error:
        log.warning("%s: the back end is not calibrated, Cllr will be too high: %s", train.directory, error)
        return found
    line = calibration.fit(*scores)
    if line.slope <= 0:
        # Scores that say nothing about unseen speakers may still say something about those under test.
        log.warning(
            "%s: scores of held-out speakers tell nothing, so that the back end is not calibrated", train.directory
        )
        return found
    return replace(found, backend=replace(found.backend, calibration=line))
