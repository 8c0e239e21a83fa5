"""Legal metrics for crowds larger than a corpus, where what the corpus has says that one may go beyond it.

Whether a law holds is tried on what was measured: it is fitted to all numbers of speakers but the largest, and has to
say what was measured there, within its interval or by one point (0.01). The error is a record of its own, always. Only
where the law holds, and where more speakers are asked for than there are, is the number for them a record, named as
what it is and told from how many speakers it comes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.metrics.bootstrap import interval_notes, multiplicities
from vpeval.metrics.extrapolation import continued, linkability_at, rank_counts, thinned
from vpeval.metrics.intervals import studentised_interval
from vpeval.metrics.vectors import Counts
from vpeval.records.record import Record

Floats = NDArray[np.float64]

TOLERANCE = 0.01
_RESAMPLES = 200
"""Fits are slow beside means, and the limits of what is extrapolated need no more digits than these give."""


@dataclass(frozen=True)
class Law:
    """How a metric is carried to other numbers of speakers; `fewest` numbers of speakers determine it.

    `held_out` says what it would be among n, from no more than `most` speakers (arguments: n, most); `beyond` what it
    is among n for every row of weights of the speakers (arguments: weights, n).
    """

    metric: str
    fewest: int
    speakers: int
    held_out: Callable[[int, int], float]
    beyond: Callable[[Floats, int], Floats]


def linkability_law(rivals: Counts, n_all: int, seed: int) -> Law:
    """By the rivals that every test speaker has among all."""

    def held_out(n: int, most: int) -> float:
        return float(linkability_at(thinned(rivals, n_all, most, seed)[None], n)[0])

    def beyond(weights: Floats, n: int) -> Floats:
        return linkability_at(rank_counts(rivals, n_all, weights), n)

    return Law("linkability", 1, len(rivals), held_out, beyond)


def singling_out_law(sizes: Sequence[int], values: Floats, chance: Floats) -> Law:
    """By the values N × speaker, as shares of what chance leaves, so that none gets below it.

    A line needs two numbers of speakers. The chance level hardly depends on N: beyond, it is that of the largest.
    """
    every, speakers = np.array(sizes), values.shape[1]

    def carried(means: Floats, few: NDArray[np.bool_], n: int, level: float) -> Floats:
        share = (means - chance[few]) / (1 - chance[few])
        return level + (1 - level) * continued(every[few], share, speakers, n)

    def held_out(n: int, most: int) -> float:
        few = every <= most
        return float(carried(values[few].mean(axis=1)[None], few, n, float(chance[every == n][0]))[0])

    def beyond(weights: Floats, n: int) -> Floats:
        means = np.einsum("rs,ns->rn", weights, values) / weights.sum(axis=1, keepdims=True)
        return carried(means, every > 0, n, float(chance[-1]))

    return Law("singling_out", 2, speakers, held_out, beyond)


def carry_on(
    law: Law, curve: Sequence[Record], population: int, chance: float, resamples: int, seed: int
) -> list[Record]:
    """The error at the largest number of speakers of a curve (records, in its order), and what the law says beyond.

    A law needs `law.fewest` smaller numbers of speakers to be tried on the largest; with fewer there is nothing to say.
    """
    if len(curve) <= law.fewest:
        return []
    measured, most = curve[-1], int(curve[-2].params["N"])
    n_all = int(measured.params["N"])
    predicted = law.held_out(n_all, most)
    error = predicted - measured.value
    holds = _holds(predicted, measured)
    records = [
        Record(
            f"{law.metric}_extrapolation_error",
            error,
            params={"N": n_all, "L": measured.params["L"], "from": most},
            counts={"test_speakers": law.speakers},
            notes={"predicted": predicted, "measured": measured.value, "holds": holds},
        )
    ]
    if population <= n_all:
        return records
    if not holds:
        logging.warning(
            f"warning: {law.metric} is not carried on to {population} speakers: without the largest number "
            f"measured, {predicted:.3f} is predicted there instead of {measured.value:.3f}"
        )
        return records
    value = float(law.beyond(np.ones((1, law.speakers)), population)[0])
    count = min(resamples, _RESAMPLES)
    rng = generator(seed, f"extrapolation {law.metric} L={measured.params['L']}")
    weights = multiplicities(law.speakers, count, rng).astype(np.float64)
    samples = law.beyond(weights, population) if count else np.empty(0)
    ends = studentised_interval(value, samples, law.speakers, interval_notes(count, seed), 0.0, 1.0)
    told = {"chance": chance, "held_out_error": error, "held_out_factor": n_all / most, "factor": population / n_all}
    record = Record(
        f"{law.metric}_extrapolated",
        value,
        params={"N": population, "L": measured.params["L"], "from": n_all},
        counts=measured.counts,
        notes=told,
    )
    return [*records, ends.of(record)]


def _holds(predicted: float, measured: Record) -> bool:
    if abs(predicted - measured.value) <= TOLERANCE:
        return True
    return measured.lower is not None and measured.upper is not None and measured.lower <= predicted <= measured.upper
