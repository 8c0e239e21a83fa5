"""Metrics of target and nontarget scores besides the EER: costs, curves, linkability and disclosure.

Cost of log-likelihood ratios (Brümmer & du Preez, Application-independent evaluation of speaker detection, 2006).

Cllr = ½ [mean over targets of log2(1+e^-s) + mean over nontargets of log2(1+e^s)], in bits; the scores s are read as
log-likelihood ratios. min Cllr is the Cllr after the best monotone calibration (PAV, no Laplace smoothing): it
depends on the order of the scores only and lies in [0, 1].

Minimum detection cost (NIST SRE; C_miss = C_fa = 1).

minDCF(p) = min over θ of p·Pmiss(θ) + (1-p)·Pfa(θ), divided by min(p, 1-p), the cost of the better constant decision;
"accept all" and "reject all" are among the thresholds, so it never exceeds 1.

Curves behind the verification numbers, as data for figures.

DET: the corners of the staircase (Pfa, Pmiss), from "accept all" to "reject all" (Martin et al., The DET curve, 1997).
ECE: empirical cross-entropy over the prior log-odds, natural logarithm (Ramos & Gonzalez-Rodriguez, Reliable support:
measuring calibration of likelihood ratios, 2013): without evidence (default), of the scores as they are (actual),
and after PAV calibration (minimum). The area between default and minimum over the prior is ZEBRA's population value.

Global linkability D_sys (Gomez-Barrero et al., General framework to evaluate unlinkability, IEEE TIFS 2018).

With nBins = min(int(Nt/10), 100) equal bins over the range of all scores and the density histograms y1 of the targets
and y2 of the nontargets: D = max(0, (y1-y2)/(y1+y2)) per bin, and D_sys is the trapezoid integral of D·y1 over the bin
centres. This is the "linkability" of the VoicePrivacy result files.

Known defects of this estimator, kept for comparability: half of both end bins is lost, so separated scores stay below
1; fewer than 20 targets make one bin, whose integral is 0; and scores without any information give about 0.05 to 0.11
at 500 targets. `dsys_null` measures that last bias: the value at shuffled labels. Equal scores give 0 (the reference
gives NaN).

`dsys_pav` is the same integral without bins: the likelihood ratio y1/y2 of a score is the one that PAV calibration
gives it. Separated scores have 1 and equal scores 0 whatever their number. As calibration learns from the very trials
that it is applied to, scores without information have more than 0; `level_of_strangers` says how much: its mean where
every enrolled speaker is given the utterances of another as own, so that no target is one. (dsys_pav - level) /
(1 - level), not below 0, is the `dsys_calibrated` of the records: 1 for separated scores, 0 for indistinguishable ones.

ZEBRA: disclosure of a safeguard in zero-evidence terms (Nautsch et al., The Privacy ZEBRA, Interspeech 2020).

Population (expected disclosure, bits): D_ECE = ∫ H2(π) - ECE_min(π) dπ over the prior π in [0, 1]. In closed form
(1/ln2)·[mean over targets of Z(l) + mean over nontargets of Z(-l)] with Z(a) = 1/4 + (a-b)/(2b²), b = e^a - 1 and l the
PAV log-likelihood ratios; 0 for no evidence, 1/ln4 = 0.72135 for separated scores.

Individual (worst case, log10 of the likelihood ratio): max |l| / ln10 with l the Laplace-smoothed PAV log-likelihood
ratios. Smoothing bounds it by log10 of max(Nn(Nt+1)/Nt, Nt(Nn+1)/Nn), so it grows with the number of trials.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vpeval.core.arrays import Bools, Counts, Floats, Indices
from vpeval.core.seeds import generator
from vpeval.metrics.intervals import Interval, percentile_interval
from vpeval.metrics.scores import Hulls, PooledScores


def cllr(pooled: PooledScores) -> float:
    """Cllr of the scores as they are.

    >>> from vpeval.metrics.scores import pool
    >>> cllr(pool([0.0], [0.0]))
    1.0
    """
    t, n = np.flatnonzero(pooled.targets), np.flatnonzero(pooled.nontargets)
    # Not scalar products of BLAS, whose last digits depend on its threads.
    miss = (np.logaddexp(0, -pooled.score[t]) * pooled.targets[t]).sum() / pooled.n_targets
    alarm = (np.logaddexp(0, pooled.score[n]) * pooled.nontargets[n]).sum() / pooled.n_nontargets
    return float((0.5 * miss + 0.5 * alarm) / np.log(2))


def min_cllr(pooled: PooledScores) -> float:
    """Cllr of the PAV-calibrated scores; infinite log-likelihood ratios, always right, cost nothing."""
    return float(min_cllrs(pooled.hull)[0])


def min_cllrs(hulls: Hulls) -> Floats:
    """`min_cllr` of samples whose hulls are known."""
    with np.errstate(invalid="ignore"):  # 0 × inf is no cost
        miss = np.where(hulls.targets > 0, hulls.targets * np.logaddexp(0, -hulls.llr), 0)
        alarm = np.where(hulls.nontargets > 0, hulls.nontargets * np.logaddexp(0, hulls.llr), 0)
    return (hulls.sums(miss) / hulls.n_targets + hulls.sums(alarm) / hulls.n_nontargets) / (2 * np.log(2))


def cross_entropy(llr: Floats, targets: Counts, nontargets: Counts, prior_log_odds: Floats) -> Floats:
    """Empirical cross-entropy in bits at every prior; Cllr is its value at prior log-odds 0."""
    kept = (np.flatnonzero(counts) for counts in (targets, nontargets))  # elsewhere, 0 × inf would be no cost
    (miss, t), (alarm, n) = (
        (sign * llr[some], counts[some] / counts.sum())
        for sign, counts, some in zip((-1, 1), (targets, nontargets), kept, strict=True)
    )
    costs = [((_softplus(miss - x) * t).sum(), (_softplus(alarm + x) * n).sum()) for x in prior_log_odds.tolist()]
    of_miss, of_alarm = np.array(costs).T
    prior = 1 / (1 + np.exp(-prior_log_odds))
    found: Floats = (prior * of_miss + (1 - prior) * of_alarm) / np.log(2)
    return found


def _softplus(x: Floats) -> Floats:
    """log(1+e^x), several times as fast as `np.logaddexp` and as exact next to 1."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def min_dcf(pooled: PooledScores, p_target: float) -> float:
    """Normalised minimum detection cost at the target prior `p_target`.

    >>> from vpeval.metrics.scores import pool
    >>> min_dcf(pool([1, 1], [0, 0]), 0.01), min_dcf(pool([0], [0]), 0.01)
    (0.0, 1.0)
    """
    return float(min_dcfs(pooled.hull, p_target)[0])


def min_dcfs(hulls: Hulls, p_target: float) -> Floats:
    """`min_dcf` of samples whose hulls are known."""
    # A linear cost is least at a vertex of the convex hull of the ROC, that is between two PAV blocks.
    p_miss, p_reject = hulls.missed / hulls.spread(hulls.n_targets), hulls.rejected / hulls.spread(hulls.n_nontargets)
    cost = np.minimum.reduceat(p_target * p_miss + (1 - p_target) * (1 - p_reject), hulls.starts)
    accept_all = 1 - p_target
    return np.minimum(cost, accept_all) / min(p_target, 1 - p_target)


def tpr_at_fpr(pooled: PooledScores, fpr: float) -> float:
    """The share of targets that are accepted at the threshold that accepts the share `fpr` of nontargets.

    Of equal scores at the threshold, so many are accepted as the share allows: chance is `fpr`.

    >>> from vpeval.metrics.scores import pool
    >>> tpr_at_fpr(pool([1, 3, 4, 5], [0, 1, 2, 2.5]), 0.25), tpr_at_fpr(pool([0], [0]), 0.01)
    (0.75, 0.01)
    """
    accepted = pooled.n_nontargets - np.cumsum(pooled.nontargets)
    place = int(np.argmax(accepted <= fpr * pooled.n_nontargets))
    share = (fpr * pooled.n_nontargets - accepted[place]) / pooled.nontargets[place]
    above = pooled.n_targets - np.cumsum(pooled.targets)[place]
    return float((above + share * pooled.targets[place]) / pooled.n_targets)


@dataclass(frozen=True)
class DetCurve:
    """Points of a DET curve; the threshold rises from point to point."""

    p_fa: Floats
    p_miss: Floats


@dataclass(frozen=True)
class EceCurves:
    """Cross-entropies in bits at each prior log-odds."""

    prior_log_odds: Floats
    default: Floats
    actual: Floats
    minimum: Floats


def det_curve(pooled: PooledScores, max_points: int = 2000) -> DetCurve:
    """The corners of the DET staircase; more than `max_points` are subsample_ranks to equal steps on logit axes."""
    misses = np.concatenate(([0], np.cumsum(pooled.targets)))
    false_alarms = np.concatenate((np.cumsum(pooled.nontargets[::-1])[::-1], [0]))
    # A point between two steps in the same direction lies on a straight line and shows nothing.
    straight = ((misses[2:] == misses[:-2]) | (false_alarms[2:] == false_alarms[:-2])).nonzero()[0] + 1
    misses, false_alarms = np.delete(misses, straight), np.delete(false_alarms, straight)
    p_fa, p_miss = false_alarms / pooled.n_nontargets, misses / pooled.n_targets
    if len(p_fa) > max_points:
        length = _logit_steps(p_fa, pooled.n_nontargets) + _logit_steps(p_miss, pooled.n_targets)
        path = np.concatenate(([0], np.cumsum(length)))
        kept = np.unique(np.searchsorted(path, np.linspace(0, path[-1], max_points)))
        p_fa, p_miss = p_fa[kept], p_miss[kept]
    return DetCurve(p_fa, p_miss)


def ece_curves(pooled: PooledScores, limit: float = 7.0, points: int = 141) -> EceCurves:
    """The three ECE curves over prior log-odds from -limit to limit."""
    prior_log_odds = np.linspace(-limit, limit, points)
    blocks = pooled.blocks
    no_evidence, one = np.zeros(1), np.ones(1, dtype=np.int64)
    return EceCurves(
        prior_log_odds,
        default=cross_entropy(no_evidence, one, one, prior_log_odds),
        actual=cross_entropy(pooled.score, pooled.targets, pooled.nontargets, prior_log_odds),
        minimum=cross_entropy(pooled.hull.llr, blocks.targets, blocks.nontargets, prior_log_odds),
    )


def _logit_steps(p: Floats, trials: int) -> Floats:
    """Distances between neighbouring points on a logit axis; 0 and 1 stand half a trial away from the ends."""
    inside = np.clip(p, 0.5 / trials, 1 - 0.5 / trials)
    return np.abs(np.diff(np.log(inside / (1 - inside))))


@dataclass(frozen=True)
class DsysNull:
    """D_sys of labels that say nothing: mean and central 95 % over permutations of the trial labels."""

    mean: float
    interval: Interval


def dsys(pooled: PooledScores) -> float:
    """The reference estimate of D_sys, with ω = 1."""
    edges = _edges(pooled)
    if len(edges) < 3:
        return 0.0
    return float(dsys_of_bins(_histogram(pooled, pooled.targets, edges), _histogram(pooled, pooled.nontargets, edges)))


def dsys_null(pooled: PooledScores, permutations: int = 1000, seed: int = 0) -> DsysNull:
    """The level of D_sys without any information, trials taken for exchangeable.

    Shuffled labels leave the bins as they are, so the bin counts of the targets are multivariate hypergeometric.
    """
    edges = _edges(pooled)
    if len(edges) < 3:
        return DsysNull(0.0, Interval(0.0, 0.0))
    total = _histogram(pooled, pooled.targets + pooled.nontargets, edges)
    rng = generator(seed, "dsys null")
    targets = rng.multivariate_hypergeometric(total, pooled.n_targets, size=permutations, method="marginals")
    values = dsys_of_bins(targets, total - targets)
    return DsysNull(float(values.mean()), percentile_interval(values))


def dsys_pav(pooled: PooledScores) -> float:
    """D_sys with the likelihood ratios of PAV calibration, ω = 1.

    >>> from vpeval.metrics.scores import pool
    >>> dsys_pav(pool([2, 3], [0, 1])), dsys_pav(pool([0, 0], [0, 0, 0]))
    (1.0, 0.0)
    """
    return float(dsys_of_hulls(pooled.hull)[0])


def dsys_of_hulls(hulls: Hulls) -> Floats:
    """`dsys_pav` of samples whose hulls are known."""
    y1, y2 = hulls.targets / hulls.spread(hulls.n_targets), hulls.nontargets / hulls.spread(hulls.n_nontargets)
    return hulls.sums(np.where(y1 > y2, (y1 - y2) / (y1 + y2) * y1, 0))


def level_of_strangers(
    score: Floats,
    is_target: Bools,
    enroll: Indices,
    speaker: Indices,
    permutations: int = 50,
    seed: int = 0,
) -> float:
    """`dsys_pav` where the targets are trials of each enrolled speaker with utterances of another, on average.

    Whole speakers change places, so that trials depend on each other as they do among targets. Where trials of some
    pair of speakers are missing, or there are fewer than three target speakers, single labels are shuffled instead.
    """
    owners = np.unique(enroll[is_target])
    rng = generator(seed, "dsys strangers")
    size = int(max(enroll.max(), speaker.max())) + 1
    met = np.zeros((size, size), bool)
    met[enroll, speaker] = True
    whole = len(owners) > 2 and met[np.ix_(owners, owners)].all()
    # Strangers are compared with strangers: the true targets take no part.
    others = ~is_target if whole else np.ones(len(score), bool)
    distinct, place = np.unique(score[others], return_inverse=True)
    total = np.bincount(place)
    values = []
    for _ in range(permutations):
        if whole:
            stranger = np.full(size, -1)
            stranger[owners] = _derangement(owners, rng)
            chosen = np.flatnonzero(speaker[others] == stranger[enroll[others]])
        else:
            chosen = rng.permutation(len(score))[: is_target.sum()]
        targets = np.bincount(place[chosen], minlength=len(total))
        values.append(dsys_pav(PooledScores(distinct, targets, total - targets)))
    return float(np.mean(values))


def _derangement(items: Indices, rng: np.random.Generator) -> Indices:
    """The items in a random order in which none keeps its place."""
    while True:
        moved = rng.permutation(items)
        if (moved != items).all():
            return moved


def _edges(pooled: PooledScores) -> Floats:
    """Bin edges; fewer than three where no trapezoid fits: too few targets, or all scores equal."""
    count = int(number_of_bins(np.array(pooled.n_targets))) if len(pooled.score) > 1 else 0
    return edges_of_bins(pooled.score[0], pooled.score[-1], count)


def number_of_bins(n_targets: Counts) -> Counts:
    """How many bins the histograms have, for so many targets."""
    return np.minimum(n_targets // 10, 100)


def edges_of_bins(low: Floats, high: Floats, count: int) -> Floats:
    """Edges of `count` bins from the lowest to the highest score, along the last axis."""
    with np.errstate(over="ignore"):
        wide = not np.isfinite(high - low).all()
    return (1 + wide) * np.linspace(low / (1 + wide), high / (1 + wide), count + 1, axis=-1)


def _histogram(pooled: PooledScores, counts: Counts, edges: Floats) -> Counts:
    """Trials per bin [edge, next edge); the last bin includes its upper edge."""
    first = np.searchsorted(pooled.score, edges[:-1])
    cumulative = np.concatenate(([0], np.cumsum(counts)))
    return np.diff(cumulative[first], append=cumulative[-1])


def dsys_of_bins(targets: Counts, nontargets: Counts) -> Floats:
    """Trapezoid of D·y1 over the bin centres, for bin counts along the last axis."""
    y1 = targets / targets.sum(axis=-1, keepdims=True)  # mass instead of density: the bin width cancels
    y2 = nontargets / nontargets.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        linkable = np.where(y1 > y2, (y1 - y2) / (y1 + y2) * y1, 0)
    return linkable.sum(axis=-1) - (linkable[..., 0] + linkable[..., -1]) / 2


_TAGS = (("0", 0.0), ("A", 1.0), ("B", 2.0), ("C", 4.0), ("D", 5.0), ("E", 6.0), ("F", math.inf))


@dataclass(frozen=True)
class Zebra:
    """The three parts of a ZEBRA profile."""

    population: float
    individual: float
    tag: str


def zebra(pooled: PooledScores) -> Zebra:
    """The ZEBRA profile (population, individual, tag)."""
    individual = zebra_individual(pooled)
    return Zebra(zebra_population(pooled), individual, zebra_tag(individual))


def zebra_population(pooled: PooledScores) -> float:
    """Expected disclosure in bits."""
    return float(zebra_populations(pooled.hull)[0])


def zebra_populations(hulls: Hulls) -> Floats:
    """`zebra_population` of samples whose hulls are known."""
    means = (
        hulls.sums(np.where(counts > 0, _z(llr) * counts, 0)) / total
        for llr, counts, total in (
            (hulls.llr, hulls.targets, hulls.n_targets),
            (-hulls.llr, hulls.nontargets, hulls.n_nontargets),
        )
    )
    return np.maximum(0, sum(means)) / math.log(2)


def zebra_individual(pooled: PooledScores) -> float:
    """Worst-case disclosure: log10 of the strongest likelihood ratio, for or against."""
    return float(zebra_individuals(pooled.hull)[0])


def zebra_individuals(hulls: Hulls) -> Floats:
    """`zebra_individual` of samples whose hulls are known.

    Smoothed likelihood ratios ascend, so that the strongest is the first or the last. The first of PAV is the least of
    all scores up to any one, the last the greatest of all from any one on: with the virtual target and nontarget at
    that end, or without them where they are pooled with no score.
    """
    nt, nn = hulls.n_targets, hulls.n_nontargets
    last = np.append(hulls.starts[1:], len(hulls.targets)) - 1
    above = hulls.spread(nt) - hulls.missed + hulls.targets, hulls.spread(nn) - hulls.rejected + hulls.nontargets

    def log_odds(targets: Counts, nontargets: Counts) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(targets) - np.log(nontargets)

    one_end, both_ends = log_odds(1 + nt, 1 + nn), log_odds(2 + nt, 2 + nn)
    least = np.minimum.reduceat(log_odds(1 + hulls.missed, 1 + hulls.rejected), hulls.starts)
    least = np.minimum(least, both_ends)
    alone = log_odds(hulls.targets[hulls.starts], hulls.nontargets[hulls.starts])
    least = np.where(least <= 0, least, np.minimum(alone, one_end))
    most = np.maximum.reduceat(log_odds(1 + above[0], 1 + above[1]), hulls.starts)
    most = np.maximum(most, both_ends)
    alone = log_odds(hulls.targets[last], hulls.nontargets[last])
    most = np.where(most >= 0, most, np.maximum(alone, one_end))
    return np.maximum(np.abs(least - hulls.prior_log_odds), np.abs(most - hulls.prior_log_odds)) / math.log(10)


def zebra_tag(individual: float) -> str:
    """The category of an individual disclosure; upper bounds belong to the category.

    >>> [zebra_tag(x) for x in (0, 0.3, 1, 1.5, 3.48, 4.5, 6, 6.1)]
    ['0', 'A', 'A', 'B', 'C', 'D', 'E', 'F']
    """
    return next(tag for tag, upper in _TAGS if individual <= upper)


def _z(a: Floats) -> Floats:
    """Z(a), exact to rounding from a = 0 to +inf."""
    small = np.abs(a) < 0.03
    with np.errstate(over="ignore"):
        b = np.expm1(np.where(small | np.isinf(a), 1.0, a))
        z = 0.25 + (a / b - 1) / (2 * b)
    # a - b cancels near 0: the Taylor series, whose next term is below 1e-17 here.
    series = a * (1 / 6 + a * (-1 / 24 + a * (1 / 360 + a * (1 / 1440 - a * (1 / 10080 + a / 60480)))))
    return np.where(np.isinf(a), 0.25, np.where(small, series, z))
