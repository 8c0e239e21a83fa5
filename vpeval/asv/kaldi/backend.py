"""The PLDA back end of a Kaldi model: ``mean.vec``, ``transform.mat``, ``plda``, scored as ivector-plda-scoring does.

A Kaldi PLDA file holds a mean, a matrix A and the variances ψ of speakers in the space of A, where utterances of one
speaker have the unit matrix as covariance: W = A⁻¹A⁻ᵀ and B = A⁻¹ diag(ψ) A⁻ᵀ (Ioffe, ECCV 2006). Scoring as the
challenge calls it takes the mean of a speaker's raw vectors, centres, projects and normalises it to length √dimension,
and normalises once more in the space of A, where the expected length of a mean of n utterances is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.asv.backend import Backend
from vpeval.asv.kaldi.layout import find_backend
from vpeval.asv.kaldi.stream import Malformed, open_stream, read_array
from vpeval.asv.plda import Floats, Indices, Plda
from vpeval.core.errors import InputError
from vpeval.embeddings.directory import Embeddings

_SMALLEST = 1e-10


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


@dataclass(frozen=True)
class KaldiBackend(Backend):
    """A back end that processes vectors in Kaldi's order."""

    def factors(self, enroll: Embeddings, trial: Embeddings) -> tuple[Floats, Floats]:
        """A row per speaker of `enroll` and per utterance of `trial`, whose scalar products are the LLRs."""
        self.check(enroll, trial)
        means = enroll.means(np.arange(len(enroll.speakers)))
        known = self.known(self._normalised(means, enroll.counts), enroll.counts)
        return known, self.plda.tried(self.tested(trial.vectors))

    def enrolled(self, enroll: Embeddings, who: Indices, n_utts: int | None, seed: int, label: str) -> Floats:
        """Means of raw vectors, then processed."""
        counts = enroll.counts[who] if n_utts is None else np.minimum(enroll.counts[who], n_utts)
        return self._normalised(enroll.means(who, n_utts, seed, label), counts)

    def tested(self, vectors: np.ndarray) -> Floats:
        """Processed as means of one."""
        return self._normalised(vectors, np.ones(len(vectors), np.int64))

    def _normalised(self, vectors: np.ndarray, counts: Indices) -> Floats:
        """Processed, and scaled to the length that a mean over `counts` utterances has on average."""
        centred = self.process(vectors) - self.plda.mean
        variances, basis = self.plda.axes()
        squares = ((centred @ basis) ** 2 / (variances + 1 / counts[:, None])).sum(axis=1, keepdims=True)
        return self.plda.mean + centred * np.sqrt(centred.shape[1] / np.maximum(squares, _SMALLEST))


def read_backend(directory: Path) -> KaldiBackend:
    """The back end in or below a directory of Kaldi's."""
    mean_file, transform_file, plda_file = find_backend(directory)
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
