"""Utterances as readers of corpora return them, their audio at 16 kHz, and sets made of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd
from pathlib import Path

import numpy as np
import soundfile as sf
from scipy.signal import resample_poly

from vpeval.audio.io import RATE, probe, read_sound
from vpeval.core import processes
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, is_verifying
from vpeval.corpora.lists import Lists
from vpeval.corpora.protocol import Status
from vpeval.data.directory import DataDir, Trial
from vpeval.data.layout import GENDERS, UNKNOWN, first_few

log = logging.getLogger(__name__)
_CHUNK = 64
"""Utterances for a process at a time."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance of a corpus; what the corpus does not say is empty."""

    utt: str
    path: Path
    spk: str
    gender: str = ""
    session: str = ""
    text: str = ""
    emotion: str = ""
    fold: str = ""
    seconds: float = 0.0
    age: str = ""
    accent: str = ""


# Tables of a data directory that only exist where the corpus fills them for every utterance or speaker.
_UTT_TABLES: dict[str, Callable[[Utterance], str]] = {
    "text": lambda utterance: utterance.text,
    "utt2session": lambda utterance: utterance.session,
    "utt2emo": lambda utterance: utterance.emotion,
    "utt2dur": lambda utterance: f"{utterance.seconds:.3f}" if utterance.seconds else "",
}
_SPK_TABLES: dict[str, Callable[[Utterance], str]] = {
    "spk2gender": lambda utterance: utterance.gender,
    "spk2fold": lambda utterance: utterance.fold,
    "spk2age": lambda utterance: utterance.age,
    "spk2accent": lambda utterance: utterance.accent,
}
_MAY_BE_UNKNOWN = ("spk2age", "spk2accent")
"""Attributes that a corpus need not know of everybody."""


def to_data(utterances: Iterable[Utterance], path: Path) -> DataDir:
    """A data directory of the utterances; a table that some of them have nothing for is left out with one line."""
    ordered = sorted(utterances, key=lambda utterance: utterance.utt)
    if not ordered:
        raise InputError("no utterances for this set; is the corpus complete?", path)
    for one, other in pairwise(ordered):
        if one.utt == other.utt:
            raise InputError(f"utterance '{one.utt}' is both {one.path} and {other.path}; keep one", path)
    utt2spk = {utterance.utt: utterance.spk for utterance in ordered}
    utt_tables = {"wav.scp": {utterance.utt: str(utterance.path) for utterance in ordered}}
    for name, value in _UTT_TABLES.items():
        table = {utterance.utt: value(utterance) for utterance in ordered}
        if _is_complete(name, table, path, "utterance"):
            utt_tables[name] = table
    spk_tables = {}
    for name, value in _SPK_TABLES.items():
        table = {}
        for utterance in ordered:
            found = value(utterance)
            if table.setdefault(utterance.spk, found) != found:
                what = name.removeprefix("spk2")
                raise InputError(f"speaker '{utterance.spk}' has two values of {what}; correct one", utterance.path)
        if name in _MAY_BE_UNKNOWN and any(table.values()):
            table = {spk: found or UNKNOWN for spk, found in table.items()}
        if _is_complete(name, table, path, "speaker"):
            spk_tables[name] = dict(sorted(table.items()))
    return DataDir(path, utt2spk, utt_tables, spk_tables)


def _is_complete(name: str, table: Mapping[str, str], path: Path, kind: str) -> bool:
    empty = [key for key, value in table.items() if not value]
    if empty and len(empty) < len(table):
        log.info("%s: no %s, as %s %s has none", path, name, kind, first_few(empty))
    return not empty


def by_speaker(utterances: Iterable[Utterance]) -> dict[str, list[Utterance]]:
    """The utterances of every speaker, both in order."""
    speakers: dict[str, list[Utterance]] = {}
    for utterance in sorted(utterances, key=lambda utterance: (utterance.spk, utterance.utt)):
        speakers.setdefault(utterance.spk, []).append(utterance)
    return speakers


def speakers_by_gender(utterances: Iterable[Utterance], gender: str) -> list[str]:
    """The speakers of a gender, in order."""
    if gender not in GENDERS:
        raise ValueError(gender)
    return sorted({utterance.spk for utterance in utterances if utterance.gender == gender})


def find_corpus(corpus: Path, names: Sequence[str], mark: str, title: str) -> Path:
    """The directory of a corpus: `corpus` itself or one of `names` in it, whichever has `mark` in it."""
    for place in (corpus, *(corpus / name for name in names)):
        if next(place.glob(mark), None) is not None:
            return place
    raise MissingCorpus(f"no {title} here: expected {' or '.join(names)} with {mark} in it", corpus)


class MissingCorpus(InputError):
    """A corpus that is not there: an error, unless what needs it may be left out."""


def convert_to_16khz(utterances: Iterable[Utterance], directory: Path) -> list[Utterance]:
    """The utterances with audio at 16 kHz, mono, and with their durations.

    Other audio is converted once, to ``<directory>/<speaker>/<utt>.flac``, which gets the time of its source. What was
    made from another source is not replaced, as sets that are there may name it.
    """
    todo = [(utterance, directory) for utterance in utterances]
    if len(todo) <= _CHUNK:
        return [_convert(*item) for item in todo]
    with processes.pool() as workers:
        return list(workers.map(_convert_item, todo, chunksize=_CHUNK))


def _convert_item(item: tuple[Utterance, Path]) -> Utterance:
    return _convert(*item)


def _convert(utterance: Utterance, directory: Path) -> Utterance:
    source = utterance.path
    info = probe(str(source))
    if (info.rate, info.channels) == (RATE, 1) and source.suffix != ".mp3":
        return replace(utterance, seconds=info.duration)
    target, status = directory / utterance.spk / f"{utterance.utt}.flac", source.stat()
    made = status.st_mtime_ns
    if not _is_made_from(target, status) or is_verifying():
        wave = to_16khz(*read_sound(str(source)))
        with atomic_path(target) as temporary:
            sf.write(temporary, wave, RATE, subtype="PCM_16", format="FLAC")
            if target.is_file() and not _sound_alike(temporary, target):
                raise InputError(
                    f"was converted from other audio than {source}; keep both apart with --data DIR, or, if that audio "
                    f"was wrong, rm -r {directory}",
                    target,
                )
            os.utime(temporary, ns=(made, made))
    return replace(utterance, path=target, seconds=sf.info(target).frames / RATE)


def _is_made_from(target: Path, source: os.stat_result) -> bool:
    """Whether a file was converted from a source that nobody has touched since, whatever time it pretends."""
    if not target.is_file():
        return False
    status = target.stat()
    return status.st_mtime_ns == source.st_mtime_ns and source.st_ctime_ns <= status.st_ctime_ns


def _sound_alike(one: Path, other: Path) -> bool:
    return np.array_equal(*(sf.read(path, dtype="int16")[0] for path in (one, other)))


def to_16khz(wave: np.ndarray, rate: int) -> np.ndarray:
    """Samples of any rate and number of channels, as mono at 16 kHz; what exceeds ±1 afterwards saturates."""
    if wave.ndim == 2:
        wave = wave.mean(axis=1)
    if rate != RATE:
        common = gcd(rate, RATE)
        wave = resample_poly(wave, RATE // common, rate // common)
    return np.clip(wave, -1, 1)


@dataclass(frozen=True)
class Request:
    """The directory of corpora to make sets from, where to write them, the seed and official lists."""

    corpus: Path
    data: Path
    seed: int = 0
    lists: Lists | None = None

    def convert(self, utterances: Iterable[Utterance], corpus: str) -> list[Utterance]:
        """Utterances with audio at 16 kHz and with durations."""
        return convert_to_16khz(utterances, self.data / "local" / corpus)


@dataclass(frozen=True)
class PreparedSet:
    """A set in memory and which protocol it follows."""

    data: DataDir
    status: Status


def make_set(
    request: Request,
    name: str,
    utterances: Iterable[Utterance],
    status: Status,
    enrolls: Iterable[str] | None = None,
    trials: Iterable[Trial] | None = None,
) -> PreparedSet:
    """A set of utterances with audio at 16 kHz."""
    data = to_data(utterances, request.data / name)
    return PreparedSet(
        replace(
            data,
            enrolls=None if enrolls is None else tuple(sorted(enrolls)),
            trials=None if trials is None else tuple(sorted(trials)),
        ),
        status,
    )
