"""What readers of corpora give: utterances, with whatever the corpus knows about them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.layout import GENDERS, UNKNOWN, first_few

log = logging.getLogger(__name__)


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


def speakers_of(utterances: Iterable[Utterance], gender: str) -> list[str]:
    """The speakers of a gender, in order."""
    if gender not in GENDERS:
        raise ValueError(gender)
    return sorted({utterance.spk for utterance in utterances if utterance.gender == gender})


def find_folder(corpus: Path, names: Sequence[str], mark: str, title: str) -> Path:
    """Where in folder `corpus` a corpus is: the folder itself or one of `names` in it, whichever has `mark` in it."""
    for place in (corpus, *(corpus / name for name in names)):
        if next(place.glob(mark), None) is not None:
            return place
    raise MissingCorpus(f"no {title} here: expected {' or '.join(names)} with {mark} in it", corpus)


class MissingCorpus(InputError):
    """A corpus that is not there: an error, unless what needs it may be left out."""
