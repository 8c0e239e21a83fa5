from vpeval.measures.verification import verification_records
from vpeval.metrics.front import linkability_of, point_estimates, rank_disclosure, word_errors
from vpeval.metrics.linkability import Linkability
from vpeval.metrics.paired import holm as holm_correction
from vpeval.metrics.score_metrics import min_cllr
from vpeval.metrics.scores import Eer, PooledScores, eer_kaldi, eer_rocch, eer_threshold, pool
from vpeval.metrics.srd import Disclosure
from vpeval.metrics.uar import unweighted_average_recall
from vpeval.metrics.wer import ErrorCounts

__all__ = [
    "Disclosure",
    "Eer",
    "ErrorCounts",
    "Linkability",
    "PooledScores",
    "eer_kaldi",
    "eer_rocch",
    "eer_threshold",
    "holm_correction",
    "linkability_of",
    "min_cllr",
    "point_estimates",
    "pool",
    "rank_disclosure",
    "unweighted_average_recall",
    "verification_records",
    "word_errors",
]
