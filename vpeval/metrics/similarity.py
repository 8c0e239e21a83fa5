"""Voice similarity matrices (Noé et al., Speech pseudonymisation assessment using voice similarity matrices, 2020).

M(i,j) = sigmoid(mean log-likelihood ratio over the utterance pairs of speakers i and j), for original with original
voices (oo), original with anonymised (oa) and anonymised with anonymised (aa); an utterance is never paired with
itself, nor with its own anonymised version.

D_diag(M) = |mean of the diagonal - mean off the diagonal|;
gain of voice distinctiveness G_VD = 10·log10(D_diag(M_aa) / D_diag(M_oo)), in dB;
de-identification DeID = 1 - D_diag(M_oa) / D_diag(M_oo).

Scores become log-likelihood ratios by Laplace-smoothed PAV, fitted to each condition by itself, in both modes:

- full: every pair counts, and counts once: in oo and aa, whose matrices are symmetric, (u, v) and (v, u) with the same
  score are one pair. oa is not symmetric (row: original speaker, column: anonymised). A speaker with n utterances has
  n(n-1)/2 pairs on the diagonal in oo and aa, and n(n-1) in oa.
- vpc: as the challenges did, only pairs whose first utterance stands before the second in the sorted list, in the oa
  condition too, and every matrix is mirrored.

A speaker with a single utterance has no cell on the diagonal and is left out of its mean. Intervals (studentised, see
`intervals`) resample the speakers of the finished matrices, all three together; the calibration is held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vpeval.core.arrays import Bools, Counts, Floats, Indices
from vpeval.core.errors import InputError, TooFew, refuse_unknown
from vpeval.core.seeds import generator
from vpeval.metrics.intervals import RESAMPLES, Estimate, multiplicities, studentised_interval, too_few
from vpeval.metrics.scores import pool

CONDITIONS = ("oo", "oa", "aa")
MODES = ("full", "vpc")

_ROUNDING = 1e-13
"""Differences of means of equal cells that are not zero."""


@dataclass(frozen=True)
class PairScores:
    """Scores of utterance pairs; utterances are indices into a sorted list."""

    first: Indices
    second: Indices
    score: Floats


def similarity_matrix(
    pairs: PairScores, speaker: Indices, names: Sequence[str], condition: str, mode: str = "full"
) -> Floats:
    """The matrix of one condition; utterance u is spoken by ``names[speaker[u]]``.

    NaN stands on the diagonal of speakers with a single utterance; any other pair of speakers must have scores.
    """
    refuse_unknown("condition", condition, CONDITIONS)
    refuse_unknown("mode", mode, MODES)
    used = pairs.first < pairs.second if mode == "vpc" else pairs.first != pairs.second
    if mode != "vpc" and condition != "oa":
        used = _once(pairs, used)
    row, column, score = speaker[pairs.first[used]], speaker[pairs.second[used]], pairs.score[used]
    same = row == column
    if not same.any():
        raise TooFew("no pair of two utterances of one speaker; score speakers with two utterances or more")
    llr = _calibrate(score, same, names)
    n = len(names)
    total: Floats = np.bincount(row * n + column, llr, n * n).reshape(n, n).astype(np.float64, copy=False)
    count = np.bincount(row * n + column, minlength=n * n).reshape(n, n)
    if mode == "vpc" or condition != "oa":
        total, count = total + total.T, count + count.T
    return matrix_of_sums(total, count, names)


def matrix_of_sums(total: Floats, count: Counts, names: Sequence[str]) -> Floats:
    """The matrix from sums of log-likelihood ratios and numbers of pairs."""
    if missing := np.argwhere((count == 0) & ~np.eye(len(names), dtype=bool)).tolist():
        i, j = missing[0]
        raise InputError(f"no pair of speakers '{names[i]}' and '{names[j]}'; score all pairs of utterances")
    with np.errstate(invalid="ignore"):
        return 1 / (1 + np.exp(-total / count))


def _once(pairs: PairScores, used: Bools) -> Bools:
    """Without the second of two pairs of the same utterances and the same score: in oo and aa order means nothing.

    Both directions of a score that is not symmetric are two measurements, and stay.
    """
    rows = np.flatnonzero(used)
    first, second = pairs.first[rows], pairs.second[rows]
    keys = np.stack((np.minimum(first, second), np.maximum(first, second)))
    order = np.lexsort((first, pairs.score[rows], *keys))
    same = (np.diff(keys[:, order], axis=1) == 0).all(axis=0) & (np.diff(pairs.score[rows][order]) == 0)
    kept = np.zeros(len(used), bool)
    kept[rows] = True
    kept[rows[order[1:][same]]] = False
    return kept


def voice_similarity(matrices: Mapping[str, Floats], resamples: int = RESAMPLES, seed: int = 0) -> list[Estimate]:
    """D_diag of the matrices oo, oa and aa, G_VD in dB and DeID as a fraction, with 95 % intervals."""
    speakers = len(matrices["oo"])
    observed = _metrics(matrices, np.ones((1, speakers), dtype=np.int64))
    if observed[0, 0] == 0:
        raise TooFew("the original voices cannot be told apart: G_VD and DeID are undefined; check the oo scores")
    samples, redrawn = _resample(matrices, resamples, seed)
    drawn = {"resamples": resamples, "redrawn": redrawn, "seed": seed}
    names: list[tuple[str, dict[str, object]]] = [("d_diag", {"matrix": condition}) for condition in CONDITIONS]
    names += [("g_vd", {}), ("deid", {})]
    found = []
    for (name, params), value, column in zip(names, observed[0], samples.T, strict=True):
        ends = (0.0, 1.0) if name == "d_diag" else (-math.inf, 1.0 if name == "deid" else math.inf)
        interval = studentised_interval(float(value), column, speakers, drawn, *ends)
        found.append(Estimate(name, float(value), interval, params, {"speakers": speakers}))
    return found


def _resample(matrices: Mapping[str, Floats], resamples: int, seed: int) -> tuple[Floats, int]:
    """The metrics of every resample, and how many draws were repeated for want of two speakers or of a diagonal."""
    rng = generator(seed, "similarity")
    speakers = len(matrices["oo"])
    samples = np.empty((0, len(CONDITIONS) + 2))
    if too_few(speakers):
        return np.full((min(resamples, 1), len(CONDITIONS) + 2), np.nan), 0
    valid = np.empty(0, dtype=np.intp)
    while len(valid) < resamples:
        samples = np.concatenate((samples, _metrics(matrices, multiplicities(speakers, resamples, rng))))
        valid = np.flatnonzero(~np.isnan(samples).any(axis=1))
    used = valid[:resamples]
    return samples[used], int(used[-1]) + 1 - resamples if resamples else 0


def _metrics(matrices: Mapping[str, Floats], drawn: Counts) -> Floats:
    """D_diag of oo, oa, aa, then G_VD and DeID, of every resample; NaN where they are undefined."""
    oo, oa, aa = (_d_diag(matrices[condition], drawn) for condition in CONDITIONS)
    with np.errstate(divide="ignore", invalid="ignore"):
        g_vd, deid = 10 * np.log10(aa / oo), 1 - oa / oo
    g_vd[oo == 0] = np.nan
    return np.stack((oo, oa, aa, g_vd, deid), axis=1)


def _calibrate(score: Floats, same: Bools, names: Sequence[str]) -> Floats:
    """Log-likelihood ratio of every score, by Laplace-smoothed PAV."""
    if same.all():
        raise TooFew(f"no pair of two speakers, only '{names[0]}'; two speakers or more are needed")
    pooled = pool(score[same], score[~same])
    return pooled.laplace_llr[np.searchsorted(pooled.score, score)]


def _d_diag(matrix: Floats, drawn: Counts) -> Floats:
    """D_diag of every resample (a row of `drawn`); NaN where the diagonal or the rest is empty.

    Two copies of one speaker are no pair of different speakers.
    """
    diagonal = np.diag(matrix)
    present = np.flatnonzero(~np.isnan(diagonal))
    rest = matrix.copy()
    np.fill_diagonal(rest, 0)
    with np.errstate(invalid="ignore"):
        on = drawn[:, present] @ diagonal[present] / drawn[:, present].sum(axis=1)
        off = ((drawn @ rest) * drawn).sum(axis=1) / (drawn.sum(axis=1) ** 2 - (drawn**2).sum(axis=1))
    difference: Floats = np.abs(on - off)
    difference[difference < _ROUNDING] = 0
    return difference
