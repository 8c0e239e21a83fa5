"""Utterances to listen to: original and through systems, as FLAC in data URIs, within a limit of bytes."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import soundfile as sf

from vpeval.audio.io import RATE, read_audio
from vpeval.data.directory import DataDir

_SECONDS = 3.0


@dataclass(frozen=True)
class Sample:
    """One utterance with its words: the original, and what every system made of it, as data URIs."""

    utt: str
    set: str
    gender: str
    text: str
    original: str
    anonymised: Mapping[str, str]


def choose_samples(data: Path, sets: Sequence[str], systems: Sequence[str], count: int, limit: int) -> list[Sample]:
    """Up to `count` utterances from different sets and speakers, together at most `limit` bytes of the page."""
    samples: list[Sample] = []
    size = 0
    for before, after, utt in _candidates(data, sets, systems):
        if len(samples) == count:
            break
        original, *others = (_data_uri(directory.wav[utt]) for directory in (before, *after))
        length = len(original) + sum(map(len, others))
        if size + length > limit:
            continue
        size += length
        gender = before.spk_tables.get("spk2gender", {}).get(before.utt2spk[utt], "")
        words = before.utt_tables.get("text", {}).get(utt, "")
        samples.append(Sample(utt, before.name, gender, words, original, dict(zip(systems, others, strict=True))))
    return samples


def _candidates(
    data: Path, sets: Sequence[str], systems: Sequence[str]
) -> Iterator[tuple[DataDir, list[DataDir], str]]:
    """The sets in turn, each with another speaker every time."""
    queues = []
    for name in sets:
        if all((data / each / "wav.scp").is_file() for each in (name, *(f"{name}_{system}" for system in systems))):
            before, after = DataDir.load(data / name), [DataDir.load(data / f"{name}_{system}") for system in systems]
            queues.append([(before, after, _handy_utt(before, utts)) for utts in before.spk2utt.values()])
    for turn in zip_longest(*queues):
        for candidate in turn:
            if candidate and all(candidate[2] in directory.utt2spk for directory in candidate[1]):
                yield candidate


def _handy_utt(directory: DataDir, utts: Sequence[str]) -> str:
    """The utterance nearest to three seconds."""
    durations: Mapping[str, float] = directory.utt2dur if "utt2dur" in directory.utt_tables else {}
    return min(utts, key=lambda utt: (abs(durations.get(utt, _SECONDS) - _SECONDS), utt))


def _data_uri(entry: str) -> str:
    buffer = io.BytesIO()
    sf.write(buffer, read_audio(entry), RATE, format="FLAC", subtype="PCM_16")
    return "data:audio/flac;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
