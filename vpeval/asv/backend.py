"""The back end of VPC 2020: global mean, LDA, length normalisation, two-covariance PLDA; scores are LLRs.

Unlike Kaldi, which averages the raw enrolment vectors of a speaker and processes the mean, every enrolment vector is
processed and the results are averaged: that mean is what the number of enrolment utterances in the LLR refers to.

A model of few speakers is far too sure of itself. So a back end has a calibration, which is part of it: a straight line
LLR = a·s + b that is fitted by logistic regression (Brümmer & du Preez, 2006) on training speakers that the model has
not seen (`vpeval.asv.backend_training`). Targets and nontargets weigh the same, whatever their numbers. The wanted
posteriors are Platt's (Nt + 1)/(Nt + 2) and 1/(Nn + 2) instead of 1 and 0: perfectly separated scores would otherwise
have an infinite slope.

Back ends of Kaldi models (``mean.vec``, ``transform.mat``, ``plda``) are scored as ivector-plda-scoring does. A Kaldi
PLDA file holds a mean, a matrix A and the variances ψ of speakers in the space of A, where utterances of one speaker
have the unit matrix as covariance: W = A⁻¹A⁻ᵀ and B = A⁻¹ diag(ψ) A⁻ᵀ (Ioffe, ECCV 2006). Scoring as the challenge
calls it takes the mean of a speaker's raw vectors, centres, projects and normalises it to length √dimension, and
normalises once more in the space of A, where the expected length of a mean of n utterances is known.

Scores of verification trials, and how an attacker compares an enrolled speaker with a test vector.

`Cosine` compares mean vectors. `LogLikelihoodRatio` uses a PLDA back end, whose score is a scalar product, too
(`Plda.speaker_factors`). It knows an enrolled speaker by a number of processed vectors; a test vector counts as one
utterance, also as a mean over several, as in Kaldi. `Fused` adds up the scores of several comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np

from vpeval.core.arrays import AnyFloats, Counts, Floats
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, read_arrays
from vpeval.data.trials import PairRows
from vpeval.embeddings import plda
from vpeval.embeddings.kaldi_stream import Malformed, find_home, open_stream, read_array
from vpeval.embeddings.pair_scores import pair_cosines, speaker_means
from vpeval.embeddings.plda import Plda, Prior, Stats
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.vectors import Similarity, directions, pair_products

VERSION = 2
_SMALLEST = 1e-10
_KALDI_FILES = ("mean.vec", "transform.mat", "plda")
_RIDGE = 1e-3  # of the mean variance, so that LDA stands fewer vectors than dimensions


@dataclass(frozen=True)
class Calibration:
    """An increasing straight line from scores to log-likelihood ratios."""

    slope: float
    offset: float

    def __call__(self, scores: Floats) -> Floats:
        """Calibrated scores."""
        return self.slope * scores + self.offset


@dataclass(frozen=True)
class Settings:
    """How to estimate a back end; `lda` 0 keeps all dimensions.

    `calibration` is the number of enrolment utterances of the held-out speakers that it is calibrated with; 0: not.
    """

    lda: int = 200
    iterations: int = 20
    prior: Prior = field(default_factory=Prior)
    calibration: int = 0


@dataclass(frozen=True)
class Backend:
    """What is done to every vector, the model of the results, and the calibration of its LLRs."""

    mean: Floats
    projection: Floats
    plda: Plda
    calibration: Calibration = field(default_factory=lambda: Calibration(1.0, 0.0))

    def process(self, vectors: AnyFloats | Floats) -> Floats:
        """Centre, project, and normalise to length √dimension."""
        return _process(vectors, self.mean, self.projection)

    def scores(self, enroll: Embeddings, trial: Embeddings) -> Floats:
        """LLRs, speakers of `enroll` × utterances of `trial`."""
        speakers, trials = self.factors(enroll, trial)
        return speakers @ trials.T

    def factors(self, enroll: Embeddings, trial: Embeddings) -> tuple[Floats, Floats]:
        """A row per speaker of `enroll` and per utterance of `trial`, whose scalar products are the LLRs."""
        self.check(enroll, trial)
        stats = plda.gather(self.process(enroll.vectors), enroll.owners)
        return self.speaker_factors(stats.means, stats.counts), self.plda.trial_factors(self.process(trial.vectors))

    def speaker_factors(self, means: Floats, counts: Counts) -> Floats:
        """Rows for speakers, by processed means over `counts` utterances; products with rows of trials are LLRs."""
        rows = self.calibration.slope * self.plda.speaker_factors(means, counts)
        rows[:, -1] += self.calibration.offset  # what meets the ones of `Plda.trial_factors`
        return rows

    def enrolment_means(self, enroll: Embeddings, who: Counts, n_utts: int | None, seed: int, label: str) -> Floats:
        """Processed means over up to `n_utts` drawn utterances (None: over all) of the speakers of `who`."""
        processed = replace(enroll, vectors=self.process(enroll.vectors))
        return processed.means(who, n_utts, seed, label).astype(np.float64, copy=False)

    def process_trials(self, vectors: AnyFloats | Floats) -> Floats:
        """Processed test vectors."""
        return self.process(vectors)

    def check(self, *parts: Embeddings) -> None:
        """Raise an InputError unless the vectors are of the dimension that the back end was estimated on."""
        for part in parts:
            if part.vectors.shape[1] != len(self.mean):
                raise InputError(
                    f"vectors have dimension {part.vectors.shape[1]}, the back end was estimated on "
                    f"{len(self.mean)}; use the embeddings of its encoder",
                    part.directory,
                )


@dataclass(frozen=True)
class KaldiBackend(Backend):
    """A back end that processes vectors in Kaldi's order."""

    def factors(self, enroll: Embeddings, trial: Embeddings) -> tuple[Floats, Floats]:
        """A row per speaker of `enroll` and per utterance of `trial`, whose scalar products are the LLRs."""
        self.check(enroll, trial)
        means = enroll.means(np.arange(len(enroll.speakers)))
        known = self.speaker_factors(self._normalised(means, enroll.counts), enroll.counts)
        return known, self.plda.trial_factors(self.process_trials(trial.vectors))

    def enrolment_means(self, enroll: Embeddings, who: Counts, n_utts: int | None, seed: int, label: str) -> Floats:
        """Means of raw vectors, then processed."""
        counts = enroll.counts[who] if n_utts is None else np.minimum(enroll.counts[who], n_utts)
        return self._normalised(enroll.means(who, n_utts, seed, label), counts)

    def process_trials(self, vectors: np.ndarray) -> Floats:
        """Processed as means of one."""
        return self._normalised(vectors, np.ones(len(vectors), np.int64))

    def _normalised(self, vectors: np.ndarray, counts: Counts) -> Floats:
        """Processed, and scaled to the length that a mean over `counts` utterances has on average."""
        centred = self.process(vectors) - self.plda.mean
        variances, basis = self.plda.axes()
        squares = ((centred @ basis) ** 2 / (variances + 1 / counts[:, None])).sum(axis=1, keepdims=True)
        return self.plda.mean + centred * np.sqrt(centred.shape[1] / np.maximum(squares, _SMALLEST))


@dataclass(frozen=True)
class Estimate:
    """A back end, the dimension it really has, and what EM climbed."""

    backend: Backend
    dimension: int
    objective: tuple[float, ...]


def estimate(train: Embeddings, settings: Settings) -> Estimate:
    """Estimate a back end on training embeddings.

    LDA cannot give more dimensions than speakers less one, nor than the vectors have: a larger `lda` is cut down.
    """
    if len(train.speakers) < 2 or train.counts.max() < 2:
        raise InputError("a back end needs at least two speakers, and two utterances of one of them", train.directory)
    if (train.vectors == train.vectors[0]).all():
        raise InputError(
            f"all {len(train.utts)} vectors are the same, so that nothing can be learnt from them; does the anonymiser "
            "give the same output whatever it is given?",
            train.directory,
        )
    raw = plda.gather(train.vectors, train.owners)
    projection = _lda(raw, _dimension(train, settings.lda)) if settings.lda else np.eye(raw.means.shape[1])
    processed = _process(train.vectors, raw.mean, projection)
    fitted = plda.fit(plda.gather(processed, train.owners), settings.iterations, settings.prior)
    return Estimate(Backend(raw.mean, projection, fitted.plda), projection.shape[1], fitted.objective)


def fit_calibration(targets: Floats, nontargets: Floats) -> Calibration:
    """The line that is best for scores of known trials; a falling line is cut off at 0 (no information)."""
    from scipy.optimize import minimize  # on demand, as every scorer imports this module and few need it
    from scipy.special import expit

    scores = np.concatenate((targets, nontargets))
    centre, spread = scores.mean(), scores.std() or 1.0
    x = (scores - centre) / spread
    wanted = np.r_[
        np.full(len(targets), (len(targets) + 1) / (len(targets) + 2)),
        np.full(len(nontargets), 1 / (len(nontargets) + 2)),
    ]
    weight = np.r_[np.full(len(targets), 0.5 / len(targets)), np.full(len(nontargets), 0.5 / len(nontargets))]

    def loss(line: Floats) -> tuple[float, Floats]:
        llr = line[0] * x + line[1]
        entropy = wanted * np.logaddexp(0, -llr) + (1 - wanted) * np.logaddexp(0, llr)
        slope = weight * (expit(llr) - wanted)
        return float(weight @ entropy), np.array([slope @ x, slope.sum()])

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)])
    slope = float(found.x[0] / spread)
    return Calibration(slope, float(found.x[1] - slope * centre))


def save(path: str | PathLike[str], backend: Backend) -> None:
    """Write a back end as npz, atomically."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(
            file,
            version=VERSION,
            mean=backend.mean,
            projection=backend.projection,
            plda_mean=backend.plda.mean,
            between=backend.plda.between,
            within=backend.plda.within,
            calibration=[backend.calibration.slope, backend.calibration.offset],
        )


def load(path: str | PathLike[str]) -> Backend:
    """Read a back end: one of ours, or a directory of Kaldi's with mean.vec, transform.mat and plda.

    One of another version or form is an InputError.
    """
    if Path(path).is_dir():
        return _read_kaldi(Path(path))
    again = "estimate it again (stage 4)"
    kinds = {"mean": 1, "projection": 2, "plda_mean": 1, "between": 2, "within": 2, "calibration": 1}
    version = read_arrays(path, "back end", again, {"version": 0})["version"]
    if version != VERSION:
        raise InputError(f"is a back end of version {version}, this program reads {VERSION}; {again}", path)
    stored = read_arrays(path, "back end", again, kinds)
    rows, columns = stored["projection"].shape
    shapes = [stored[name].shape for name in ("mean", "plda_mean", "between", "within", "calibration")]
    if shapes != [(rows,), (columns,), (columns, columns), (columns, columns), (2,)]:
        raise InputError(f"holds no back end (its parts do not fit together); {again}", path)
    slope, offset = (float(number) for number in stored["calibration"])
    model = Plda(stored["plda_mean"], stored["between"], stored["within"])
    return Backend(stored["mean"], stored["projection"], model, Calibration(slope, offset))


def read_plda(path: Path) -> Plda:
    """A ``plda`` file, binary or text."""
    stream = open_stream(path)
    try:
        stream.expect("<Plda>")
        mean, matrix, variances = stream.array(), stream.array(), stream.array()
        stream.expect("</Plda>")
    except Malformed as error:
        raise InputError(f"is no PLDA of Kaldi's ({error}); copy the file again", path) from None
    size = len(mean)
    if mean.ndim != 1 or matrix.shape != (size, size) or variances.shape != (size,):
        raise InputError("mean, matrix and variances are of different dimensions; copy the file again", path)
    if not all(np.isfinite(part).all() for part in (mean, matrix, variances)) or np.linalg.matrix_rank(matrix) < size:
        raise InputError("holds NaN, or its matrix cannot be inverted; copy the file again", path)
    inverse = np.linalg.inv(matrix)
    return Plda(mean, (inverse * np.maximum(variances, 0)) @ inverse.T, inverse @ inverse.T)


def _read_kaldi(directory: Path) -> KaldiBackend:
    """The back end in or below a directory of Kaldi's."""
    mean_file, transform_file, plda_file = _find_backend(directory)
    mean, transform, plda = read_array(mean_file, 1), read_array(transform_file, 2), read_plda(plda_file)
    rows, columns = transform.shape
    if columns not in (len(mean), len(mean) + 1):
        raise InputError(f"has {columns} columns for vectors of dimension {len(mean)}", transform_file)
    if rows != len(plda.mean):
        raise InputError(f"is of dimension {len(plda.mean)}, but transform.mat makes {rows}", plda_file)
    projection = transform[:, : len(mean)].T
    if columns > len(mean):  # the last column is added to what the others make: as good as another mean
        mean = mean - np.linalg.lstsq(projection.T, transform[:, -1], rcond=None)[0]
    return KaldiBackend(mean, projection, plda)


def _find_backend(directory: Path) -> tuple[Path, Path, Path]:
    """mean.vec, transform.mat and plda of a directory, which may lie below it."""
    home = find_home(directory, "plda", "a PLDA back end")
    paths = tuple(home / name for name in _KALDI_FILES)
    if missing := [path.name for path in paths if not path.is_file()]:
        raise InputError(f"has no {', '.join(missing)} next to its plda (docs/models.md)", home)
    return paths[0], paths[1], paths[2]


def _process(vectors: AnyFloats | Floats, mean: Floats, projection: Floats) -> Floats:
    projected = (np.asarray(vectors, np.float64) - mean) @ projection
    norms = np.linalg.norm(projected, axis=1, keepdims=True)
    result: Floats = projected * (np.sqrt(projected.shape[1]) / np.maximum(norms, np.finfo(np.float64).tiny))
    return result


def _dimension(train: Embeddings, wanted: int) -> int:
    return min(wanted, len(train.speakers) - 1, train.vectors.shape[1])


def _lda(stats: Stats, dimension: int) -> Floats:
    """The directions in which speakers differ most for what their own utterances do."""
    from scipy.linalg import eigh

    centred = stats.means - stats.mean
    between = (centred.T * stats.counts) @ centred / stats.n_utts
    within = stats.scatter / stats.n_utts
    within += _RIDGE * np.trace(within) / len(within) * np.eye(len(within))
    try:
        directions: Floats = eigh(between, within)[1][:, ::-1][:, :dimension]
    except np.linalg.LinAlgError:
        raise InputError(
            "LDA cannot be estimated: the vectors of every training speaker are the same; use more speech, or check "
            "what the anonymiser gives"
        ) from None
    # The sign of an eigenvector is arbitrary; this one does not depend on the library.
    peaks: Counts = np.abs(directions).argmax(axis=0)
    return directions * np.sign(directions[peaks, np.arange(dimension)])


_PAIRS = 1 << 14
_LABEL = "enrolment utterances"


def score_trials(enroll: Embeddings, trial: Embeddings, pairs: PairRows, backend: Backend | None = None) -> Floats:
    """Scores of (enrolled speaker, trial utterance) pairs: LLRs of a back end, else cosines."""
    i, unknown = _find(pairs.firsts, enroll.speakers)
    if unknown:
        message = f"no enrolment vector of speaker '{unknown[0]}'; are trials and enrolment of one set?"
        raise InputError(message, enroll.directory)
    j, unknown = _find(pairs.seconds, trial.utts)
    if unknown:
        message = f"no vector of trial utterance '{unknown[0]}'; extract the embeddings again"
        raise InputError(message, trial.directory)
    if backend is None:
        x, y, score = speaker_means(enroll), directions(trial.vectors), pair_cosines
    else:
        (x, y), score = backend.factors(enroll, trial), pair_products
    scores = np.empty(len(pairs))
    for start in range(0, len(pairs), _PAIRS):
        rows = slice(start, start + _PAIRS)
        scores[rows] = score(x[i[pairs.first[rows]]], y[j[pairs.second[rows]]])
    return scores


def _find(names: Sequence[str], among: Sequence[str]) -> tuple[Counts, list[str]]:
    """Where the names are, and those that are not there."""
    place = {name: number for number, name in enumerate(among)}
    found = np.array([place.get(name, 0) for name in names], np.int64)
    return found, [name for name in names if name not in place]


class Comparison(Protocol):
    """Vectors for both sides, and the similarity that holds between them."""

    @property
    def similarity(self) -> Similarity:
        """How the metrics have to compare the vectors."""

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> AnyFloats:
        """A vector for every speaker of `who`, by up to `n_utts` utterances drawn with `seed` (None: by all)."""

    def test(self, vectors: AnyFloats) -> AnyFloats:
        """What test vectors (… × dimension) become."""


@dataclass(frozen=True)
class Cosine:
    """Of the mean enrolment vector and the test vector."""

    similarity: Similarity = "cosine"

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> AnyFloats:
        """Means."""
        return speakers.means(who, n_utts, seed, _LABEL)

    def test(self, vectors: AnyFloats) -> AnyFloats:
        """As they are."""
        return vectors


@dataclass(frozen=True)
class LogLikelihoodRatio:
    """Of "the same speaker" against "another one", by a PLDA back end."""

    backend: Backend
    similarity: Similarity = "product"

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> AnyFloats:
        """What the back end knows of the speakers."""
        self.backend.check(speakers)
        counts = speakers.counts[who] if n_utts is None else np.minimum(speakers.counts[who], n_utts)
        return self.backend.speaker_factors(self.backend.enrolment_means(speakers, who, n_utts, seed, _LABEL), counts)

    def test(self, vectors: AnyFloats) -> AnyFloats:
        """Processed, and ready for the product."""
        rows = self.backend.plda.trial_factors(self.backend.process_trials(vectors.reshape(-1, vectors.shape[-1])))
        return rows.reshape(*vectors.shape[:-1], -1)


@dataclass(frozen=True)
class Fused:
    """A weighted sum of what others say about joined vectors (`embeddings.directory.join`), of `sizes` dimensions each.

    The offset of a fusion is left out: it changes neither an order nor an error rate.
    """

    members: tuple[Comparison, ...]
    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    similarity: Similarity = "product"

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> AnyFloats:
        """The weighted sides of all members, concatenated."""
        parts = (replace(speakers, vectors=vectors) for vectors in self._parts(speakers.vectors))
        sides = zip(self.members, self.weights, parts, strict=True)
        return np.hstack([w * _factor(one, one.enroll(part, who, n_utts, seed)) for one, w, part in sides])

    def test(self, vectors: AnyFloats) -> AnyFloats:
        """The sides of all members, concatenated."""
        parts = zip(self.members, self._parts(vectors), strict=True)
        return np.concatenate([_factor(one, one.test(part)) for one, part in parts], axis=-1)

    def _parts(self, vectors: AnyFloats) -> list[AnyFloats]:
        if vectors.shape[-1] != sum(self.sizes):
            raise ValueError(f"vectors of {sum(self.sizes)} dimensions are expected, not {vectors.shape[-1]}")
        return np.split(vectors, np.cumsum(self.sizes)[:-1], axis=-1)


def _factor(comparison: Comparison, vectors: AnyFloats) -> AnyFloats:
    """A side whose scalar products with the other are the similarities."""
    return directions(vectors) if comparison.similarity == "cosine" else vectors


def read_comparison(backend: str | None) -> Comparison:
    """By the back end in a file, or by cosines."""
    return LogLikelihoodRatio(load(backend)) if backend else Cosine()
