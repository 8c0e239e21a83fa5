"""Embedding directories in memory: utterance vectors grouped by speaker.

A directory holds ``embedding.scp`` (with its ark beside it) and ``utt2spk``. Speakers and, within a speaker, utterances
are sorted in the C locale, so that everything drawn from a seed depends on the ids and not on the order of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.core.tables import read_rows, write_table
from vpeval.data.directory import read_utt2spk, staged_directory
from vpeval.embeddings.ark import read_vectors, write_vectors
from vpeval.metrics.vectors import directions

Vectors = NDArray[np.floating]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Embeddings:
    """Utterance vectors; the rows ``starts[s]`` to ``starts[s + 1]`` belong to ``speakers[s]``."""

    directory: Path
    speakers: tuple[str, ...]
    utts: tuple[str, ...]
    vectors: Vectors
    starts: Indices

    @property
    def counts(self) -> Indices:
        """Utterances per speaker."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Indices:
        """The speaker (index) of every row."""
        return np.repeat(np.arange(len(self.speakers)), self.counts)

    def means(self, who: Indices, n_utts: int | None = None, seed: int = 0, label: str = "utterances") -> Vectors:
        """One vector per speaker of `who`: the mean over `n_utts` randomly chosen utterances (None: over all).

        The choice is nested: a larger `n_utts` under the same seed and label adds utterances to a smaller one.
        A speaker with fewer utterances contributes all of them.
        """
        rows = np.arange(len(self.utts)) if n_utts is None else self.shuffled(seed, label)
        wanted = self.counts[who] if n_utts is None else np.minimum(self.counts[who], n_utts)
        means = np.empty((len(who), self.vectors.shape[1]))
        for out, first, count in zip(means, self.starts[who], wanted, strict=True):
            out[:] = _mean(self.vectors[rows[first : first + count]])
        self._check_not_zero(means, who)
        return means

    def folds(self, who: Indices, n_utts: int, most: int, seed: int, label: str) -> tuple[Vectors, Indices]:
        """Up to `most` vectors per speaker of `who`, each the mean over `n_utts` utterances of its own.

        Returns an array fold × speaker × dimension and the number of folds of every speaker; the vectors beyond that
        number are zero.
        """
        rows = self.shuffled(seed, label)
        counts = np.minimum(self.counts[who] // n_utts, most)
        vectors = np.zeros((int(counts.max()), len(who), self.vectors.shape[1]), self.vectors.dtype)
        for fold, out in enumerate(vectors):
            have = np.flatnonzero(counts > fold)
            first = self.starts[who[have]] + fold * n_utts
            total = np.zeros((len(have), out.shape[1]))
            for step in range(n_utts):
                total += self.vectors[rows[first + step]] / n_utts
            out[have] = total
            self._check_not_zero(out[have], who[have])
        return vectors, counts

    def find(self, other: Embeddings) -> Indices:
        """Where the speakers of `other` stand among ours; an unknown speaker is an InputError."""
        places = self.places(other)
        if (places < 0).any():
            unknown = other.speakers[int(np.argmin(places))]
            utt2spk = other.directory / "utt2spk"
            line = _line_of(utt2spk, 1, unknown)
            raise InputError(f"speaker '{unknown}' is not in {self.directory}; add or remove it", utt2spk, line)
        return places

    def places(self, other: Embeddings) -> Indices:
        """Where the speakers of `other` stand among ours; -1 for those who are not among them."""
        if self.vectors.shape[1] != other.vectors.shape[1]:
            raise InputError(
                f"vectors have dimension {other.vectors.shape[1]} but those of {self.directory} have "
                f"{self.vectors.shape[1]}; extract both with the same model",
                other.directory / "embedding.scp",
            )
        place_of = {spk: place for place, spk in enumerate(self.speakers)}
        return np.array([place_of.get(spk, -1) for spk in other.speakers])

    def rows(self, rows: Indices) -> tuple[dict[str, Vectors], dict[str, str]]:
        """Vectors and speakers of some rows by utterance, as `write_embeddings` takes them."""
        owners = self.owners
        vectors = {self.utts[row]: self.vectors[row] for row in rows}
        return vectors, {self.utts[row]: self.speakers[owners[row]] for row in rows}

    def of(self, speakers: Iterable[str]) -> Embeddings:
        """The same directory with some of its speakers; those that it does not have are passed over."""
        wanted = set(speakers)
        if wanted >= set(self.speakers):
            return self
        return self.only(
            utt for utt, owner in zip(self.utts, self.owners, strict=True) if self.speakers[owner] in wanted
        )

    def only(self, utts: Iterable[str]) -> Embeddings:
        """The same directory with some of its utterances."""
        wanted = set(utts)
        if not wanted & set(self.utts):
            raise InputError("none of the utterances or speakers that are compared are here", self.directory)
        vectors, speaker_of = self.rows(np.array([row for row, utt in enumerate(self.utts) if utt in wanted]))
        return group(self.directory, vectors, speaker_of)

    def shuffled(self, seed: int, label: str) -> Indices:
        """All rows, those of every speaker in a random order."""
        return np.lexsort((generator(seed, label).random(len(self.utts)), self.owners))

    def _check_not_zero(self, means: Vectors, who: Indices) -> None:
        if not (found := means.any(axis=1)).all():
            speaker = self.speakers[who[np.flatnonzero(~found)[0]]]
            raise InputError(f"the vectors of speaker '{speaker}' average to zero; extract them again", self.directory)


@lru_cache(maxsize=8)
def read_cached(directory: Path) -> Embeddings:
    """Read a directory that a stage asks for again and again; the last ones are remembered."""
    return read_embeddings(directory)


@lru_cache(maxsize=4)
def read_pooled(directories: tuple[Path, ...]) -> Embeddings:
    """All utterances of several directories as one, read again only when others were asked for since."""
    return pool([read_embeddings(directory) for directory in directories])


def read_embeddings(directory: str | PathLike[str]) -> Embeddings:
    """Read an embedding directory; an utterance must have both a vector and a speaker."""
    folder = Path(directory)
    scp, utt2spk = folder / "embedding.scp", folder / "utt2spk"
    if not folder.is_dir():
        raise InputError("no such embedding directory; check the path, or run the stage that makes it", folder)
    speaker_of = read_utt2spk(utt2spk)
    vectors = read_vectors(scp)
    for line, utt in enumerate(vectors, start=1):
        if utt not in speaker_of:
            raise InputError(f"utterance '{utt}' is not in {utt2spk}; add it there or remove it here", scp, line)
    if missing := next((utt for utt in speaker_of if utt not in vectors), None):
        message = f"utterance '{missing}' has no vector in {scp}; extract the embeddings again"
        raise InputError(message, utt2spk, _line_of(utt2spk, 0, missing))
    return group(folder, vectors, speaker_of)


def group(directory: Path, vectors: Mapping[str, np.ndarray], speaker_of: Mapping[str, str]) -> Embeddings:
    """Group utterance vectors by speaker; `directory` is where complaints point to."""
    utts = sorted(vectors, key=lambda utt: (speaker_of[utt].encode(), utt.encode()))
    speakers = tuple(dict.fromkeys(speaker_of[utt] for utt in utts))
    sizes = dict.fromkeys(speakers, 0)
    for utt in utts:
        sizes[speaker_of[utt]] += 1
    stacked = np.stack([vectors[utt] for utt in utts])
    starts = np.concatenate(([0], np.cumsum(list(sizes.values()))))
    return Embeddings(directory, speakers, tuple(utts), stacked, starts)


def write_embeddings(directory: Path, vectors: Mapping[str, np.ndarray], speaker_of: Mapping[str, str]) -> None:
    """Write an embedding directory, whole or not at all; an older one gives way, anything else does not."""
    names = {"embedding.ark", "embedding.scp", "utt2spk"}
    if directory.exists() and (not directory.is_dir() or {entry.name for entry in directory.iterdir()} - names):
        raise InputError("is not an embedding directory and would be lost; choose another place", directory)
    with staged_directory(directory) as new:
        write_vectors(new, vectors, home=directory)
        write_table(new / "utt2spk", {utt: speaker_of[utt] for utt in vectors})


def pool(parts: Sequence[Embeddings]) -> Embeddings:
    """All utterances of several directories as one; an utterance may appear only once."""
    vectors: dict[str, np.ndarray] = {}
    speaker_of: dict[str, str] = {}
    for part in parts:
        if part.vectors.shape[1] != parts[0].vectors.shape[1]:
            raise InputError(
                f"dimension differs from {parts[0].directory}; extract both with the same model", part.directory
            )
        for utt, vector, owner in zip(part.utts, part.vectors, part.owners, strict=True):
            if utt in vectors:
                raise InputError(
                    f"utterance '{utt}' is also in an earlier directory; pool disjoint sets", part.directory
                )
            vectors[utt] = vector
            speaker_of[utt] = part.speakers[owner]
    return group(parts[0].directory, vectors, speaker_of)


@dataclass(frozen=True)
class Split:
    """Rows of a pool that are references and inputs, and the speakers who had too few utterances for both."""

    references: Indices
    inputs: Indices
    left_out: tuple[str, ...]


def split(pooled: Embeddings, n_inputs: int, seed: int = 0) -> Split:
    """Draw `n_inputs` inputs of every speaker; the rest, at least one utterance, is the speaker's reference."""
    rows = pooled.shuffled(seed, "split")
    place = np.arange(len(rows)) - pooled.starts[pooled.owners]
    enough = (pooled.counts > n_inputs)[pooled.owners]
    left_out = tuple(spk for spk, count in zip(pooled.speakers, pooled.counts, strict=True) if count <= n_inputs)
    return Split(rows[enough & (place >= n_inputs)], rows[enough & (place < n_inputs)], left_out)


def _mean(rows: Vectors) -> NDArray[np.float64]:
    """Their mean in float64, also of numbers whose sum would overflow."""
    with np.errstate(over="ignore"):
        mean = rows.mean(axis=0, dtype=np.float64)
    return mean if np.isfinite(mean).all() else (rows.astype(np.float64) / len(rows)).sum(axis=0)


def _line_of(utt2spk: Path, column: int, name: str) -> int | None:
    rows = read_rows(utt2spk, "utterance", "speaker")
    return next((line for line, fields in rows if fields[column] == name), None)


def unit(vectors: Vectors) -> NDArray[np.float64]:
    """Vectors of length one, in double precision."""
    return directions(vectors)
