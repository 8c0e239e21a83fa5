"""The similarity rank disclosure protocol on embedding directories.

Every utterance of the input directory is an input; a speaker's reference is the mean over the speaker's utterances in
the reference directory, vectors as they are: neither is scaled to length one before. The vectors may be speaker
embeddings (cosine) or normalised histograms of F0 or of discrete units (Euclidean).

Which speech: Chandra et al. use the enrolment and trial utterances of the test partition, pooled and split again into
references and inputs; ``run.sh --srd-sets test`` does so, and by default all sets of a recipe are pooled.
"""

from __future__ import annotations

import logging

import numpy as np

from vpeval.core.errors import InputError
from vpeval.embeddings.speaker_vectors import Embeddings, split
from vpeval.metrics.intervals import NO_INTERVAL
from vpeval.metrics.rank_histograms import Ranks, Ties
from vpeval.metrics.ranks import count_rivals
from vpeval.metrics.srd import Disclosure, Estimator, disclosure, floor, intervals
from vpeval.metrics.vectors import Similarity
from vpeval.protocols.ranked_inputs import RankedInputs
from vpeval.protocols.speaker_values import Scores, SpeakerValue
from vpeval.records.record import Record

_ESTIMATORS: tuple[Estimator, ...] = ("empirical", "beta-binomial")
_METRICS = {"srd_max": "max_d", "srd_mean": "mean_d", "srd_idr": "idr", "srd_rank_spread": "rank_spread"}


def score_srd(
    references: Embeddings, inputs: Embeddings, similarity: Similarity, ties: Ties, resamples: int, seed: int
) -> Scores:
    """MaxD, MeanD, IdR and RS, empirical and beta-binomial; references without inputs are distractors."""
    place = references.find(inputs)
    n = len(references.speakers)
    if n < 2:
        raise InputError("similarity ranks need at least two reference speakers", references.directory / "utt2spk")
    means = references.means(np.arange(n))
    rivals = count_rivals(means, inputs.vectors, place[inputs.owners], similarity)
    ranks = Ranks.of(rivals, inputs.owners, len(inputs.speakers), n, ties)

    params = {"N": n, "L": 1, "similarity": similarity, "ties": ties}
    counts = {"inputs": len(inputs.utts), "input_speakers": len(inputs.speakers), "reference_speakers": n}
    records = [
        record
        for estimator in _ESTIMATORS
        for record in _records(ranks, estimator, {**params, "estimator": estimator}, counts, resamples, seed)
    ]
    per_speaker = [
        SpeakerValue(metric, speaker, n, "1", value)
        for metric, values in (("srd_idr", ranks.identified), ("srd_rank", ranks.means))
        for speaker, value in zip(inputs.speakers, values.tolist(), strict=True)
    ]
    histogram = ranks.histograms(np.ones((1, ranks.n_speakers)))[0].tolist()
    return Scores(records, per_speaker, histogram, RankedInputs(ranks, tuple(inputs.speakers)))


def of_pool(pooled: Embeddings, n_inputs: int, similarity: Similarity, resamples: int, seed: int) -> Scores:
    """Split the utterances of every speaker into inputs and references, and score them."""
    references, inputs = split_pool(pooled, n_inputs, seed)
    return score_srd(references, inputs, similarity, "mid", resamples, seed)


def split_pool(pooled: Embeddings, n_inputs: int, seed: int) -> tuple[Embeddings, Embeddings]:
    """References and inputs, disjoint in utterances; speakers with too few utterances for both are left out."""
    halves = split(pooled, n_inputs, seed)
    kept = len(pooled.speakers) - len(halves.left_out)
    if kept < 2:
        most = max(1, int(sorted(pooled.counts)[-2:][0]) - 1)
        message = (
            f"fewer than two speakers have more than {n_inputs} utterances, as many as inputs are asked for; try {most}"
        )
        raise InputError(message, pooled.directory)
    logging.info("%d inputs of %d speakers; %d speakers left out", len(halves.inputs), kept, len(halves.left_out))
    return pooled.select(halves.references), pooled.select(halves.inputs)


def _records(
    ranks: Ranks,
    estimator: Estimator,
    params: dict[str, object],
    counts: dict[str, int],
    resamples: int,
    seed: int,
) -> list[Record]:
    n = ranks.n_references
    value = disclosure(ranks.histograms(np.ones((1, ranks.n_speakers))), estimator)
    ends = intervals(ranks, estimator, resamples, seed) if resamples else {}
    null: Disclosure = floor(counts["inputs"], n, estimator, seed=seed)
    chance = {"srd_idr": 1 / n}
    records = []
    for metric, field in _METRICS.items():
        nothing = getattr(null, field)
        notes = {
            "chance": chance.get(metric, 0.0),
            "floor": float(nothing.mean()),
            "floor_95": float(np.quantile(nothing, 0.95)),
        }
        record = Record(metric, float(getattr(value, field)[0]), params=params, counts=counts, notes=notes)
        records.append(ends.get(field, NO_INTERVAL).of(record))
    return records
