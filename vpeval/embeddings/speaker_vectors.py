"""Embedding directories in memory: utterance vectors grouped by speaker.

A directory holds ``embedding.scp`` (with its ark) and ``utt2spk``. Speakers and, within a speaker, utterances
are sorted in the C locale, so that everything drawn from a seed depends on the ids and not on the order of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path

import numpy as np

from vpeval.core.arrays import AnyFloats, Bools, Counts, Floats
from vpeval.core.errors import InputError
from vpeval.core.files import read_columns, read_rows, write_table
from vpeval.core.publish import staged_directory
from vpeval.core.seeds import generator
from vpeval.data.directory import read_utt2spk
from vpeval.embeddings.ark import Scp, read_scp, write_rows, write_vectors

_ORDERS = 5


@dataclass(frozen=True)
class Embeddings:
    """Utterance vectors; the rows ``starts[s]`` to ``starts[s + 1]`` belong to ``speakers[s]``."""

    directory: Path
    speakers: tuple[str, ...]
    utts: tuple[str, ...]
    vectors: AnyFloats
    starts: Counts

    @property
    def counts(self) -> Counts:
        """Utterances per speaker."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Counts:
        """The speaker (index) of every row."""
        return np.repeat(np.arange(len(self.speakers)), self.counts)

    def means(self, who: Counts, n_utts: int | None = None, seed: int = 0, label: str = "utterances") -> AnyFloats:
        """One vector per speaker of `who`: the mean over `n_utts` randomly chosen utterances (None: over all).

        The choice is nested: a larger `n_utts` under the same seed and label adds utterances to a smaller one.
        A speaker with fewer utterances contributes all of them.
        """
        means = np.empty((len(who), self.vectors.shape[1]))
        if n_utts is None:
            for out, first, last in zip(means, self.starts[who].tolist(), self.starts[who + 1].tolist(), strict=True):
                out[:] = _mean(self.vectors[first:last])
        else:
            rows, wanted = self.shuffled(seed, label), np.minimum(self.counts[who], n_utts)
            for out, first, count in zip(means, self.starts[who].tolist(), wanted.tolist(), strict=True):
                out[:] = _mean(self.vectors[rows[first : first + count]])
        self._check_not_zero(means, who)
        return means

    def folds(self, who: Counts, n_utts: int, most: int, seed: int, label: str) -> tuple[AnyFloats, Counts]:
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

    def find(self, other: Embeddings) -> Counts:
        """Where the speakers of `other` stand among ours; an unknown speaker is an InputError."""
        places = self.places(other)
        if (places < 0).any():
            unknown = other.speakers[int(np.argmin(places))]
            utt2spk = other.directory / "utt2spk"
            line = _line_of(utt2spk, 1, unknown)
            raise InputError(f"speaker '{unknown}' is not in {self.directory}; add or remove it", utt2spk, line)
        return places

    def places(self, other: Embeddings) -> Counts:
        """Where the speakers of `other` stand among ours; -1 for those who are not among them."""
        if self.vectors.shape[1] != other.vectors.shape[1]:
            raise InputError(
                f"vectors have dimension {other.vectors.shape[1]} but those of {self.directory} have "
                f"{self.vectors.shape[1]}; extract both with the same model",
                other.directory / "embedding.scp",
            )
        place_of = {spk: place for place, spk in enumerate(self.speakers)}
        return np.array([place_of.get(spk, -1) for spk in other.speakers])

    def rows(self, rows: Counts) -> tuple[dict[str, AnyFloats], dict[str, str]]:
        """Vectors and speakers of some rows by utterance, as `write_embeddings` takes them."""
        owners = self.owners
        vectors = {self.utts[row]: self.vectors[row] for row in rows}
        return vectors, {self.utts[row]: self.speakers[owners[row]] for row in rows}

    def select(self, rows: Counts) -> Embeddings:
        """The same directory with some of its rows, given in any order, and the speakers that are left."""
        rows = np.sort(rows)
        counts = np.bincount(self.owners[rows], minlength=len(self.speakers))
        kept = np.flatnonzero(counts)
        starts = np.concatenate(([0], np.cumsum(counts[kept])))
        names = tuple(self.speakers[s] for s in kept.tolist())
        utts = tuple(map(self.utts.__getitem__, rows.tolist()))
        return Embeddings(self.directory, names, utts, self.vectors[rows], starts)

    def with_speakers(self, speakers: Iterable[str]) -> Embeddings:
        """The same directory with some of its speakers; those that it does not have are passed over."""
        wanted = set(speakers)
        if wanted >= set(self.speakers):
            return self
        are_wanted = np.fromiter((spk in wanted for spk in self.speakers), bool, len(self.speakers))
        return self._some(np.repeat(are_wanted, self.counts))

    def with_utterances(self, utts: Iterable[str]) -> Embeddings:
        """The same directory with some of its utterances."""
        return self._some(np.fromiter(map(set(utts).__contains__, self.utts), bool, len(self.utts)))

    def shuffled(self, seed: int, label: str) -> Counts:
        """All rows, those of every speaker in a random order."""
        if (seed, label) not in self._orders:
            if len(self._orders) == _ORDERS:
                self._orders.clear()
            self._orders[seed, label] = np.lexsort((generator(seed, label).random(len(self.utts)), self.owners))
        return self._orders[seed, label]

    @cached_property
    def _orders(self) -> dict[tuple[int, str], Counts]:
        """The last random orders: every L uses the same ones, of which linkability has five."""
        return {}

    def _some(self, wanted: Bools) -> Embeddings:
        if not wanted.any():
            raise InputError("none of the utterances or speakers that are compared are here", self.directory)
        return self.select(np.flatnonzero(wanted))

    def _check_not_zero(self, means: AnyFloats, who: Counts) -> None:
        if not (found := means.any(axis=1)).all():
            speaker = self.speakers[who[np.flatnonzero(~found)[0]]]
            raise InputError(f"the vectors of speaker '{speaker}' average to zero; extract them again", self.directory)


@lru_cache(maxsize=8)
def read_cached(directory: Path) -> Embeddings:
    """Read a directory that a stage needs several times; the last ones are remembered."""
    return read_embeddings(directory)


@lru_cache(maxsize=4)
def read_pooled(directories: tuple[Path, ...]) -> Embeddings:
    """All utterances of several directories as one, read again only when others were asked for since."""
    return pool([read_embeddings(directory) for directory in directories])


def read_embeddings(directory: str | PathLike[str]) -> Embeddings:
    """Read an embedding directory; an utterance must have both a vector and a speaker."""
    root = Path(directory)
    scp, utt2spk = root / "embedding.scp", root / "utt2spk"
    if not root.is_dir():
        raise InputError("no such embedding directory; check the path, or run the stage that makes it", root)
    index = read_scp(scp)
    utts, speakers = read_columns(utt2spk, "utterance", "speaker")
    if utts != index.keys:
        speakers = _speakers_of(index, utt2spk)
    order = _Order.by_speaker(index.keys, speakers)
    return order.embeddings(root, index.keys, index.vectors(order.rows))


def _speakers_of(index: Scp, utt2spk: Path) -> list[str]:
    """The speaker of every vector, where the two files differ in order or in more than that."""
    speaker_of = read_utt2spk(utt2spk)
    if extra := set(index.keys) - speaker_of.keys():
        line, utt = next((line, utt) for line, utt in enumerate(index.keys, start=1) if utt in extra)
        raise InputError(f"utterance '{utt}' is not in {utt2spk}; add it there or remove it here", index.path, line)
    if len(index.keys) < len(speaker_of):
        missing = min(speaker_of.keys() - set(index.keys))
        message = f"utterance '{missing}' has no vector in {index.path}; extract the embeddings again"
        raise InputError(message, utt2spk, _line_of(utt2spk, 0, missing))
    return list(map(speaker_of.__getitem__, index.keys))


def group(directory: Path, vectors: Mapping[str, np.ndarray], speaker_of: Mapping[str, str]) -> Embeddings:
    """Group utterance vectors by speaker; `directory` is where complaints point to."""
    utts = list(vectors)
    order = _Order.by_speaker(utts, [speaker_of[utt] for utt in utts])
    return order.embeddings(directory, utts, np.stack([vectors[utts[row]] for row in order.rows.tolist()]))


def group_rows(directory: Path, utts: Sequence[str], speakers: Sequence[str], vectors: AnyFloats) -> Embeddings:
    """The same of a matrix: row i is of ``utts[i]``, which ``speakers[i]`` speaks."""
    order = _Order.by_speaker(utts, speakers)
    return order.embeddings(directory, utts, vectors[order.rows])


@dataclass(frozen=True)
class _Order:
    """Which utterance comes where: those of the first speaker first, all in the order of ids."""

    speakers: tuple[str, ...]
    starts: Counts
    rows: Counts

    @classmethod
    def by_speaker(cls, utts: Sequence[str], speakers: Sequence[str]) -> _Order:
        """The order of utterances in any order; ``speakers[i]`` speaks ``utts[i]``."""
        names = sorted(set(speakers))
        place = {name: i for i, name in enumerate(names)}
        owners = np.fromiter(map(place.__getitem__, speakers), np.int64, len(utts))
        by_id = np.array(sorted(range(len(utts)), key=utts.__getitem__))
        rows = by_id[np.argsort(owners[by_id], kind="stable")]
        return cls(tuple(names), np.concatenate(([0], np.cumsum(np.bincount(owners)))), rows)

    def embeddings(self, directory: Path, utts: Sequence[str], vectors: AnyFloats) -> Embeddings:
        """Vectors in this order, of utterances as they came."""
        return Embeddings(
            directory, self.speakers, tuple(map(utts.__getitem__, self.rows.tolist())), vectors, self.starts
        )


def write_embeddings(
    directory: Path, vectors: Mapping[str, np.ndarray], speaker_of: Mapping[str, str], inputs: Iterable[Path] = ()
) -> None:
    """Write an embedding directory, whole or not at all; an older one of ours gives way, anything else does not."""
    with staged_directory(directory, inputs) as new:
        write_vectors(new, vectors, home=directory)
        write_table(new / "utt2spk", {utt: speaker_of[utt] for utt in vectors})


def write_directory(new: Path, home: Path, utt2spk: Mapping[str, str], vectors: AnyFloats) -> None:
    """Write an extraction to `new`, which will be called `home`: row i of `vectors` is of utterance i of `utt2spk`.

    The means of speakers and their numbers of utterances are written as well.
    """
    utts = list(utt2spk)
    write_rows(new, utts, vectors, home=home)
    write_table(new / "utt2spk", utt2spk)
    grouped = group_rows(new, utts, list(utt2spk.values()), vectors)
    means = grouped.means(np.arange(len(grouped.speakers)))
    write_vectors(new, dict(zip(grouped.speakers, means, strict=True)), name="spk_mean", home=home)
    counts = zip(grouped.speakers, grouped.counts, strict=True)
    write_table(new / "num_utts", {spk: str(count) for spk, count in counts})


def pool(parts: Sequence[Embeddings]) -> Embeddings:
    """All utterances of several directories as one; an utterance may appear only once."""
    if len(parts) == 1:
        return parts[0]
    seen: set[str] = set()
    for part in parts:
        if part.vectors.shape[1] != parts[0].vectors.shape[1]:
            raise InputError(
                f"dimension differs from {parts[0].directory}; extract both with the same model", part.directory
            )
        if shared := seen.intersection(part.utts):
            utt = next(utt for utt in part.utts if utt in shared)
            raise InputError(f"utterance '{utt}' is also in an earlier directory; pool disjoint sets", part.directory)
        seen.update(part.utts)
    utts = [utt for part in parts for utt in part.utts]
    speakers = [part.speakers[owner] for part in parts for owner in part.owners.tolist()]
    order = _Order.by_speaker(utts, speakers)
    vectors = np.empty((len(utts), parts[0].vectors.shape[1]), np.result_type(*(part.vectors for part in parts)))
    places = np.split(np.argsort(order.rows), np.cumsum([len(part.utts) for part in parts])[:-1])
    for place, part in zip(places, parts, strict=True):
        vectors[place] = part.vectors
    return order.embeddings(parts[0].directory, utts, vectors)


def join(parts: Sequence[Embeddings]) -> Embeddings:
    """The same utterances by several encoders, their vectors concatenated."""
    first = parts[0]
    for part in parts[1:]:
        if (part.utts, part.speakers) != (first.utts, first.speakers):
            raise InputError(f"does not hold the utterances of {first.directory}; extract both again", part.directory)
    return replace(first, vectors=np.hstack([part.vectors for part in parts]))


@dataclass(frozen=True)
class Split:
    """Rows of a pool that are references and inputs, and the speakers who had too few utterances for both."""

    references: Counts
    inputs: Counts
    left_out: tuple[str, ...]


def split(pooled: Embeddings, n_inputs: int, seed: int = 0) -> Split:
    """Draw `n_inputs` inputs of every speaker; the rest, at least one utterance, is the speaker's reference."""
    rows = pooled.shuffled(seed, "split")
    place = np.arange(len(rows)) - pooled.starts[pooled.owners]
    enough = (pooled.counts > n_inputs)[pooled.owners]
    left_out = tuple(spk for spk, count in zip(pooled.speakers, pooled.counts, strict=True) if count <= n_inputs)
    return Split(rows[enough & (place >= n_inputs)], rows[enough & (place < n_inputs)], left_out)


def _mean(rows: AnyFloats) -> Floats:
    """Their mean in float64, also of numbers whose sum would overflow."""
    with np.errstate(over="ignore"):
        mean = rows.mean(axis=0, dtype=np.float64)
    return mean if np.isfinite(mean).all() else (rows.astype(np.float64) / len(rows)).sum(axis=0)


def _line_of(utt2spk: Path, column: int, name: str) -> int | None:
    rows = read_rows(utt2spk, "utterance", "speaker")
    return next((line for line, fields in rows if fields[column] == name), None)
