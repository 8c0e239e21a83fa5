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
        "Estimate": "intervals.Estimate",
        "Extremes": "jaccard.Extremes",
        "Linkability": "linkability.Linkability",
        "OneMinusEer": "one_minus_eer.OneMinusEer",
        "Overlap": "jaccard.Overlap",
        "PooledScores": "scores.PooledScores",
        "SinglingOut": "singling_out.SinglingOut",
        "SpeakerInterval": "intervals.SpeakerInterval",
        "cllr": "score_metrics.cllr",
        "distinctiveness": "front.distinctiveness",
        "dsys": "score_metrics.dsys",
        "eer_kaldi": "scores.eer_kaldi",
        "eer_rocch": "scores.eer_rocch",
        "eer_threshold": "scores.eer_threshold",
        "extreme_speakers": "jaccard.extreme_speakers",
        "holm_correction": "paired.holm",
        "jaccard_overlap": "jaccard.jaccard",
        "linkability_of": "front.linkability_of",
        "min_cllr": "score_metrics.min_cllr",
        "one_minus_eer_of": "front.one_minus_eer_of",
        "point_estimates": "front.point_estimates",
        "pool": "scores.pool",
        "rank_disclosure": "front.rank_disclosure",
        "rank_disclosure_intervals": "front.rank_disclosure_intervals",
        "singling_out_of": "front.singling_out_of",
        "unweighted_average_recall": "uar.unweighted_average_recall",
        "verification_records": "vpeval.measures.verification.verification_records",
        "word_errors": "front.word_errors",
    },
)
