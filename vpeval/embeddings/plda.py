"""Two-covariance PLDA: a speaker is a point, an utterance a point near it (Brümmer & de Villiers, Odyssey 2010).

x = μ + y + e with y ~ N(0, B) once per speaker and e ~ N(0, W) for every utterance. The mean m of n enrolment
utterances says all about them, so that the log-likelihood ratio of "the trial t is by the same speaker" is

    LLR = log N(t; μ + B (B + W/n)⁻¹ (m - μ), B + W - B (B + W/n)⁻¹ B) - log N(t; μ, B + W),

the same number as the ratio of the joint Gaussians of all n + 1 vectors. B and W are estimated by EM.

With few speakers the maximum likelihood is no good estimate: 12 speakers span 11 of 192 dimensions, and B would be
zero in all others. `Prior` adds imaginary speakers and utterances that vary alike in all directions (an inverse-Wishart
prior): EM then climbs the posterior instead of the likelihood. A prior of zero speakers and utterances is plain EM.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vpeval.core.arrays import AnyFloats, Counts, Floats
from vpeval.core.errors import InputError


@dataclass(frozen=True)
class Prior:
    """How many imaginary speakers and utterances of isotropic covariance join the real ones."""

    speakers: float = 0.0
    utts: float = 0.0


@dataclass(frozen=True)
class Plda:
    """Mean, covariance between speakers and covariance within a speaker."""

    mean: Floats
    between: Floats
    within: Floats

    def llr(self, enroll: Floats, counts: Counts, trial: Floats) -> Floats:
        """Log-likelihood ratios, enrolled speakers × trials; `enroll` are means over `counts` utterances."""
        return self.speaker_factors(enroll, counts) @ self.trial_factors(trial).T

    def speaker_factors(self, means: Floats, counts: Counts) -> Floats:
        """Speakers as rows whose scalar products with the rows of `trial_factors` are the log-likelihood ratios.

        In the basis where W is the unit matrix and B is diagonal, every dimension is a Gaussian of its own, and
        -½ Σ (t - a)²/v + ½ Σ t²/total, multiplied out, is linear in t, t² and 1.
        """
        between, basis = self.axes()
        speakers = (means - self.mean) @ basis
        shrink = between / (between + 1 / np.asarray(counts, np.float64)[:, None])
        variance = 1 + between - shrink * between
        total = 1 + between
        guess = shrink * speakers / variance
        constant = -0.5 * (guess * shrink * speakers + np.log(variance) - np.log(total)).sum(axis=1, keepdims=True)
        return np.hstack((guess, 0.5 / total - 0.5 / variance, constant))

    def trial_factors(self, trial: Floats) -> Floats:
        """Trial vectors as rows; see `speaker_factors`."""
        utts = (trial - self.mean) @ self.axes()[1]
        return np.hstack((utts, utts**2, np.ones((len(utts), 1))))

    def axes(self) -> tuple[Floats, Floats]:
        """Variances between speakers, and the basis (as columns) in which W is the unit matrix and B is diagonal."""
        from scipy.linalg import eigh  # on demand, as every scorer imports this module and few need it

        between, basis = eigh(self.between, self.within)
        return np.maximum(between, 0.0), basis

    def log_likelihood(self, stats: Stats) -> float:
        """Of the vectors that `stats` are about."""
        dimension = len(self.mean)
        solved, log_det = _solve(self.within, stats.scatter)
        deviations = stats.n_utts - len(stats.counts)
        total = -0.5 * (deviations * (dimension * np.log(2 * np.pi) + log_det) + np.trace(solved))
        total -= 0.5 * dimension * np.log(stats.counts).sum()
        for count in np.unique(stats.counts):
            centred = stats.means[stats.counts == count] - self.mean
            solved, log_det = _solve(self.between + self.within / count, centred.T)
            total -= 0.5 * (len(centred) * (dimension * np.log(2 * np.pi) + log_det) + (centred * solved.T).sum())
        return float(total)


@dataclass(frozen=True)
class Stats:
    """All that the model wants to know about training vectors: per speaker count and mean; the scatter around them."""

    counts: Counts
    means: Floats
    scatter: Floats

    @property
    def n_utts(self) -> int:
        """Number of vectors."""
        return int(self.counts.sum())

    @property
    def mean(self) -> Floats:
        """Mean of all vectors."""
        total: Floats = self.counts @ self.means / self.n_utts
        return total


@dataclass(frozen=True)
class Fit:
    """A model and what EM climbed in every iteration: the log-likelihood plus the log-density of the prior."""

    plda: Plda
    objective: tuple[float, ...]


def gather(vectors: AnyFloats, owners: Counts) -> Stats:
    """Statistics of vectors whose speakers are `owners` (0, 1, …; every speaker has at least one vector)."""
    wide = np.asarray(vectors, np.float64)
    counts = np.bincount(owners)
    means = np.zeros((len(counts), wide.shape[1]))
    np.add.at(means, owners, wide)
    means /= counts[:, None]
    residual = wide - means[owners]
    return Stats(counts, means, residual.T @ residual)


def fit(stats: Stats, iterations: int = 20, prior: Prior | None = None) -> Fit:
    """Estimate the model by EM, from moments as the start; μ is the mean of all vectors."""
    prior = prior or Prior()
    dimension = stats.means.shape[1]
    start = _moments(stats)
    isotropic = [np.eye(dimension) * np.trace(c) / dimension for c in (start.between, start.within)]
    plda = Plda(
        start.mean,
        _mix(isotropic[0], prior.speakers, start.between, len(stats.counts)),
        _mix(isotropic[1], prior.utts, start.within, stats.n_utts),
    )
    objective = []
    for _ in range(iterations):
        between, within = _expect(plda, stats)
        plda = Plda(
            plda.mean,
            _mix(isotropic[0], prior.speakers, between, len(stats.counts)),
            _mix(isotropic[1], prior.utts, within, stats.n_utts),
        )
        penalty = _log_prior(plda.between, isotropic[0], prior.speakers)
        penalty += _log_prior(plda.within, isotropic[1], prior.utts)
        objective.append(plda.log_likelihood(stats) + penalty)
    return Fit(plda, tuple(objective))


def _moments(stats: Stats) -> Plda:
    """A start: within from the scatter, between from the speaker means; made safely positive."""
    centred = stats.means - stats.mean
    dimension = centred.shape[1]
    between = centred.T @ centred / len(centred)
    within = stats.scatter / max(1, stats.n_utts - len(stats.counts))
    floor = 0.01 * np.eye(dimension) / dimension
    return Plda(stats.mean, between + floor * np.trace(between), within + floor * np.trace(within))


def _expect(plda: Plda, stats: Stats) -> tuple[Floats, Floats]:
    """The covariances that EM's next model would have without a prior."""
    dimension = len(plda.mean)
    between = np.zeros((dimension, dimension))
    within = stats.scatter.copy()
    for count in np.unique(stats.counts):
        centred = stats.means[stats.counts == count] - plda.mean
        gain = _solve(plda.between + plda.within / count, plda.between)[0]
        points = centred @ gain
        uncertainty = len(centred) * (plda.between - plda.between @ gain)
        between += points.T @ points + uncertainty
        within += count * ((centred - points).T @ (centred - points) + uncertainty)
    return _symmetric(between / len(stats.counts)), _symmetric(within / stats.n_utts)


def _mix(prior: Floats, prior_weight: float, estimate: Floats, weight: float) -> Floats:
    return (prior_weight * prior + weight * estimate) / (prior_weight + weight)


def _log_prior(covariance: Floats, centre: Floats, weight: float) -> float:
    """Log-density, but for a constant, of the inverse-Wishart law whose mode EM's M-step mixes in."""
    if weight == 0:
        return 0.0
    solved, log_det = _solve(covariance, centre)
    return float(-0.5 * weight * (log_det + np.trace(solved)))


def _solve(covariance: Floats, right: Floats) -> tuple[Floats, float]:
    """covariance⁻¹ · right and log |covariance|."""
    from scipy.linalg import cho_factor, cho_solve

    try:
        factor = cho_factor(covariance, lower=True)
    except np.linalg.LinAlgError:
        raise InputError(
            "the covariances of the back end cannot be estimated: there are too few training speakers, or their "
            "vectors do not differ; use more speech, or a profile with a prior such as plda_few"
        ) from None
    return cho_solve(factor, right), float(2 * np.log(np.diag(factor[0])).sum())


def _symmetric(matrix: Floats) -> Floats:
    return (matrix + matrix.T) / 2
