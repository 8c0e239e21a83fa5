"""Symbols: what an encoder counts, one for every frame of an utterance, such as pitch lags or phone units.

The vector of an utterance is the histogram of its symbols. Similarity rank disclosure also counts over other stretches
of speech (Chandra et al., arXiv 2605.07291, sections 4.2.3 and 4.2.4), which join utterances and cut them: F0 over
30 s, phone units over 20 segments of equal length. An embedding directory of such an encoder has ``symbols.npz``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vpeval.core.arrays import Floats32
from vpeval.core.errors import InputError, TooFew
from vpeval.core.files import atomic_path
from vpeval.embeddings.speaker_vectors import Embeddings, group, split

NAME = "symbols.npz"
Frames = NDArray[np.uint16]
"""Symbols from 1 on; 0 is a frame without one, such as unvoiced speech."""

_SECONDS = re.compile(r"([1-9][0-9]*) s")
SEGMENTS = "segments"


@dataclass(frozen=True)
class Symbols:
    """The frames of utterances: those of ``utts[i]`` from ``starts[i]`` to ``starts[i + 1]``.

    There are `count` different symbols, and `rate` frames in a second.
    """

    utts: tuple[str, ...]
    starts: NDArray[np.int64]
    frames: Frames
    count: int
    rate: int

    @classmethod
    def join(cls, utts: Sequence[str], parts: Sequence[Frames], count: int, rate: int) -> Symbols:
        """Those of several utterances."""
        starts = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
        return cls(tuple(utts), starts, np.concatenate(parts), count, rate)

    def of(self, utts: Iterable[str]) -> Frames:
        """The frames of some utterances, one after the other."""
        rows = [self._places[utt] for utt in utts]
        return np.concatenate([self.frames[self.starts[row] : self.starts[row + 1]] for row in rows])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {utt: row for row, utt in enumerate(self.utts)}

    def write(self, directory: Path) -> None:
        """Write ``symbols.npz``, atomically."""
        with atomic_path(directory / NAME) as temporary, open(temporary, "wb") as file:
            kind = np.array([self.count, self.rate])
            np.savez_compressed(file, utts=np.array(self.utts, str), starts=self.starts, frames=self.frames, kind=kind)


def read_symbols(directories: Sequence[Path]) -> Symbols:
    """The symbols of all utterances of some embedding directories."""
    parts, utts = list[Frames](), list[str]()
    kinds = set[tuple[int, int]]()
    for directory in directories:
        try:
            with np.load(directory / NAME, allow_pickle=False) as stored:
                starts, frames = stored["starts"], stored["frames"]
                utts += stored["utts"].tolist()
                kinds.add((int(stored["kind"][0]), int(stored["kind"][1])))
        except FileNotFoundError:
            raise InputError(
                "has vectors of whole utterances only, no symbols; run stage 5, or compare utterances "
                "(--srd-unit utterance)",
                directory,
            ) from None
        except (OSError, ValueError, KeyError, EOFError, IndexError) as error:
            raise InputError(f"holds no symbols ({error}); remove it and run stage 5", directory / NAME) from None
        parts += np.split(frames, starts[1:-1])
    if len(kinds) != 1:
        raise InputError("has other symbols than the sets before; extract all with the same encoder", directories[-1])
    return Symbols.join(utts, parts, *kinds.pop())


def histogram(frames: Frames, count: int) -> Floats32:
    """The share of every symbol; a uniform histogram where no frame has one.

    >>> histogram(np.array([2, 0, 2, 1, 2], np.uint16), 3).tolist()
    [0.25, 0.75, 0.0]
    """
    counted = np.bincount(frames, minlength=count + 1)[1:].astype(np.float64)
    total = counted.sum()
    return (counted / total if total else np.full(count, 1 / count)).astype(np.float32)


def check_unit(unit: str) -> str:
    """A unit of inputs: ``30 s``, ``segments``, or nothing for utterances; anything else is a ValueError."""
    if unit and unit != SEGMENTS and not _SECONDS.fullmatch(unit):
        raise ValueError(f"'{unit}' is neither '{SEGMENTS}' nor a number of seconds such as '30 s'")
    return unit


def stretches(frames: Frames, unit: str, rate: int, segments: int) -> list[Frames]:
    """Cut speech into stretches: `segments` of equal length, or as many as there are of so many seconds each.

    What is left at the end is too short for a stretch of seconds and is left out; segments have at least one frame.

    >>> [len(part) for part in stretches(np.ones(10, np.uint16), "segments", 100, 4)]
    [3, 3, 2, 2]
    >>> [len(part) for part in stretches(np.ones(750, np.uint16), "3 s", 100, 4)]
    [300, 300]
    """
    if unit == SEGMENTS:
        return np.array_split(frames, min(segments, len(frames))) if len(frames) else []
    match = _SECONDS.fullmatch(check_unit(unit))
    assert match, "of utterances there is nothing to cut"
    size = int(match[1]) * rate
    return [frames[start : start + size] for start in range(0, len(frames) - size + 1, size)]


def split_stretches(
    pooled: Embeddings, symbols: Symbols, unit: str, n_inputs: int, seed: int
) -> tuple[Embeddings, Embeddings, tuple[str, ...]]:
    """References and inputs, disjoint in utterances: histograms of all of a speaker's speech, and of stretches.

    The utterances on either side are those of `split`. A speaker's `n_inputs` input utterances are joined in the order
    in which they were drawn, and cut. Speakers without a stretch are left out, and named.
    """
    halves = split(pooled, n_inputs, seed)
    left_out = list(halves.left_out)
    known: dict[str, Floats32] = {}
    heard: dict[str, Floats32] = {}
    owner: dict[str, str] = {}
    references = dict(_by_speaker(pooled, halves.references.tolist()))
    for spk, utts in _by_speaker(pooled, halves.inputs.tolist()):
        cut = stretches(symbols.of(utts), unit, symbols.rate, n_inputs)
        if not cut:
            left_out.append(spk)
            continue
        known[f"{spk}-reference"] = histogram(symbols.of(references[spk]), symbols.count)
        named = {f"{spk}-{number:04d}": histogram(part, symbols.count) for number, part in enumerate(cut)}
        heard |= named
        owner |= dict.fromkeys([f"{spk}-reference", *named], spk)
    if len(known) < 2:
        raise TooFew(
            f"fewer than two speakers have {unit} of speech in {n_inputs} input utterances and one more; ask for more "
            "(--srd-inputs), or compare utterances (--srd-unit utterance)",
            pooled.directory,
        )
    return group(pooled.directory, known, owner), group(pooled.directory, heard, owner), tuple(sorted(left_out))


def _by_speaker(pooled: Embeddings, rows: Sequence[int]) -> Iterator[tuple[str, list[str]]]:
    """The utterances of every speaker among some rows, in their order."""
    found: dict[str, list[str]] = {}
    owners = pooled.owners.tolist()
    for row in rows:
        found.setdefault(pooled.speakers[owners[row]], []).append(pooled.utts[row])
    yield from found.items()
