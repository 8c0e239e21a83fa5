"""Utterances to listen to: original and anonymised, as FLAC in data URIs, with the words of the recogniser."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import soundfile as sf

from vpeval.audio.io import RATE, read_audio
from vpeval.core.files import read_table
from vpeval.data.directory import DataDir
from vpeval.figures.run_results import Results
from vpeval.records.names import GENDERS, ORIGINAL, set_title

_SECONDS = 3.0
_PAIRS = 4
_BYTES = 1_000_000


@dataclass(frozen=True)
class Utterance:
    """An utterance with its text: the original and the anonymised versions of all systems, as data URIs."""

    utt: str
    set: str
    gender: str
    text: str
    original: str
    anonymised: Mapping[str, str]


@dataclass(frozen=True)
class Version:
    """One version of an utterance; `recognised` is None if it was not recognised."""

    label: str
    uri: str
    recognised: str | None


@dataclass(frozen=True)
class Sample:
    """An utterance, original and anonymised by one or several systems."""

    utt: str
    heading: str
    words: str
    versions: Sequence[Version]


def samples(results: Results, system: str) -> list[Sample]:
    """A few utterances of different sets and speakers; none if there is no audio."""
    return side_by_side(results, {system: "Anonymised"}, _PAIRS, _BYTES)


def side_by_side(results: Results, systems: Mapping[str, str], count: int, limit: int) -> list[Sample]:
    """Utterances, original and anonymised by all `systems` (name: label), in at most `limit` bytes of the page."""
    sets = list(dict.fromkeys(e.record.set for e in results.entries if e.attack_model and e.record.system in systems))
    recognised = {name: _hypotheses(results, name) for name in (ORIGINAL, *systems)}
    return [
        Sample(
            utterance.utt,
            f"{utterance.utt}, {GENDERS.get(utterance.gender, 'speaker')}, {set_title(utterance.set, gender=False)}",
            utterance.text.capitalize(),
            [
                Version(label, uri, recognised[name].get(utterance.utt))
                for name, label, uri in (
                    (ORIGINAL, "Original", utterance.original),
                    *((name, systems[name], uri) for name, uri in utterance.anonymised.items()),
                )
            ],
        )
        for utterance in choose_utterances(results.data, sets, list(systems), count, limit)
    ]


def _hypotheses(results: Results, system: str) -> dict[str, str]:
    """The recognised words by utterance."""
    words: dict[str, str] = {}
    for path in dict.fromkeys(e.file("hyp") for e in results.select("wer") if e.record.system == system):
        if path and path.is_file():
            words |= {utt: text.lower() for utt, text in read_table(path, "text", empty=True).items()}
    return words


def choose_utterances(
    data: Path, sets: Sequence[str], systems: Sequence[str], count: int, limit: int
) -> list[Utterance]:
    """Up to `count` utterances from different sets and speakers, in at most `limit` bytes of the page."""
    chosen: list[Utterance] = []
    size = 0
    for before, after, utt in _candidates(data, sets, systems):
        if len(chosen) == count:
            break
        original, *others = (_data_uri(directory.wav[utt]) for directory in (before, *after))
        length = len(original) + sum(map(len, others))
        if size + length > limit:
            continue
        size += length
        gender = before.spk_tables.get("spk2gender", {}).get(before.utt2spk[utt], "")
        words = before.utt_tables.get("text", {}).get(utt, "")
        chosen.append(Utterance(utt, before.name, gender, words, original, dict(zip(systems, others, strict=True))))
    return chosen


def _candidates(
    data: Path, sets: Sequence[str], systems: Sequence[str]
) -> Iterator[tuple[DataDir, list[DataDir], str]]:
    """Utterances of the sets in turn, always of another speaker."""
    queues = []
    for name in sets:
        if all((data / each / "wav.scp").is_file() for each in (name, *(f"{name}_{system}" for system in systems))):
            before, after = DataDir.load(data / name), [DataDir.load(data / f"{name}_{system}") for system in systems]
            queues.append([(before, after, _short_utt(before, utts)) for utts in before.spk2utt.values()])
    for turn in zip_longest(*queues):
        for candidate in turn:
            if candidate and all(candidate[2] in directory.utt2spk for directory in candidate[1]):
                yield candidate


def _short_utt(directory: DataDir, utts: Sequence[str]) -> str:
    """The utterance that is closest to three seconds."""
    durations: Mapping[str, float] = directory.utt2dur if "utt2dur" in directory.utt_tables else {}
    return min(utts, key=lambda utt: (abs(durations.get(utt, _SECONDS) - _SECONDS), utt))


def _data_uri(entry: str) -> str:
    buffer = io.BytesIO()
    sf.write(buffer, read_audio(entry), RATE, format="FLAC", subtype="PCM_16")
    return "data:audio/flac;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
