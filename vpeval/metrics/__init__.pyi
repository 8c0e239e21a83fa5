from vpeval.measures.verification import verification_records
from vpeval.metrics.front import (
    distinctiveness,
    linkability_of,
    one_minus_eer_of,
    point_estimates,
    rank_disclosure,
    rank_disclosure_intervals,
    singling_out_of,
    word_errors,
)
from vpeval.metrics.intervals import Estimate, SpeakerInterval
from vpeval.metrics.jaccard import Extremes, Overlap, extreme_speakers
from vpeval.metrics.jaccard import jaccard as jaccard_overlap
from vpeval.metrics.linkability import Linkability
from vpeval.metrics.one_minus_eer import OneMinusEer
from vpeval.metrics.paired import holm as holm_correction
from vpeval.metrics.score_metrics import cllr, dsys, min_cllr
from vpeval.metrics.scores import Eer, PooledScores, eer_kaldi, eer_rocch, eer_threshold, pool
from vpeval.metrics.singling_out import SinglingOut
from vpeval.metrics.srd import Disclosure
from vpeval.metrics.uar import unweighted_average_recall
from vpeval.metrics.wer import ErrorCounts

__all__ = [
    "Disclosure",
    "Eer",
    "ErrorCounts",
    "Estimate",
    "Extremes",
    "Linkability",
    "OneMinusEer",
    "Overlap",
    "PooledScores",
    "SinglingOut",
    "SpeakerInterval",
    "cllr",
    "distinctiveness",
    "dsys",
    "eer_kaldi",
    "eer_rocch",
    "eer_threshold",
    "extreme_speakers",
    "holm_correction",
    "jaccard_overlap",
    "linkability_of",
    "min_cllr",
    "one_minus_eer_of",
    "point_estimates",
    "pool",
    "rank_disclosure",
    "rank_disclosure_intervals",
    "singling_out_of",
    "unweighted_average_recall",
    "verification_records",
    "word_errors",
]
