"""Metrics: arrays in, frozen dataclass out. Pure numpy and scipy; no files, no printing.

What is offered here is described in docs/library.md.
"""

from vpeval.core.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "Disclosure": "srd.Disclosure",
        "Eer": "scores.Eer",
        "ErrorCounts": "wer.ErrorCounts",
        "Linkability": "linkability.Linkability",
        "PooledScores": "scores.PooledScores",
        "eer_kaldi": "scores.eer_kaldi",
        "eer_rocch": "scores.eer_rocch",
        "eer_threshold": "scores.eer_threshold",
        "holm_correction": "paired.holm",
        "linkability_of": "front.linkability_of",
        "min_cllr": "score_metrics.min_cllr",
        "point_estimates": "front.point_estimates",
        "pool": "scores.pool",
        "rank_disclosure": "front.rank_disclosure",
        "unweighted_average_recall": "uar.unweighted_average_recall",
        "verification_records": "vpeval.measures.verification.verification_records",
        "word_errors": "front.word_errors",
    },
)
