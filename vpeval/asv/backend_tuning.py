"""Compare attackers by held-out training speakers, without the sets that they are measured on.

Not a part of `vpeval.asv.backend_training`, so that back ends do not depend on the code of these metrics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vpeval.asv.backend import Settings
from vpeval.asv.backend_training import Fold, held_out_scores
from vpeval.embeddings.pair_scores import cosines
from vpeval.metrics.score_metrics import min_cllr
from vpeval.metrics.scores import eer_rocch, pool

_TIE = 1e-6


@dataclass(frozen=True)
class Quality:
    """Verification of held-out speakers, all folds pooled."""

    eer: float
    min_cllr: float

    @property
    def cost(self) -> float:
        """The EER, and of equal EERs the lesser min Cllr."""
        return self.eer + _TIE * self.min_cllr


def measure(folds: Iterable[Fold], settings: Settings | None) -> Quality:
    """Quality of back ends with these settings; of cosines for None."""
    if settings is None:
        scores = held_out_scores(folds, lambda fold: cosines(fold.enroll, fold.trial))
    else:
        scores = held_out_scores(folds, lambda fold: fold.llrs(settings))
    pooled = pool(*scores)
    return Quality(eer_rocch(pooled).value, min_cllr(pooled))
