"""Utterances to listen to: original and anonymised, as FLAC in data URIs, within a limit of bytes."""

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
    """One utterance twice, as data URIs, with its words."""

    utt: str
    set: str
    gender: str
    text: str
    original: str
    anonymised: str


def choose_samples(data: Path, sets: Sequence[str], system: str, pairs: int, limit: int) -> list[Sample]:
    """Up to `pairs` utterances from different sets and speakers, together at most `limit` bytes of the page."""
    samples: list[Sample] = []
    size = 0
    for before, after, utt in _candidates(data, sets, system):
        if len(samples) == pairs:
            break
        uris = [_data_uri(directory.wav[utt]) for directory in (before, after)]
        length = sum(map(len, uris))
        if size + length > limit:
            continue
        size += length
        gender = before.spk_tables.get("spk2gender", {}).get(before.utt2spk[utt], "")
        samples.append(Sample(utt, before.name, gender, before.utt_tables.get("text", {}).get(utt, ""), *uris))
    return samples


def _candidates(data: Path, sets: Sequence[str], system: str) -> Iterator[tuple[DataDir, DataDir, str]]:
    """The sets in turn, each with another speaker every time."""
    queues = []
    for name in sets:
        if all((data / each / "wav.scp").is_file() for each in (name, f"{name}_{system}")):
            before, after = DataDir.load(data / name), DataDir.load(data / f"{name}_{system}")
            queues.append([(before, after, _handy_utt(before, utts)) for utts in before.spk2utt.values()])
    for turn in zip_longest(*queues):
        yield from (candidate for candidate in turn if candidate and candidate[2] in candidate[1].utt2spk)


def _handy_utt(directory: DataDir, utts: Sequence[str]) -> str:
    """The utterance nearest to three seconds."""
    durations: Mapping[str, float] = directory.utt2dur if "utt2dur" in directory.utt_tables else {}
    return min(utts, key=lambda utt: (abs(durations.get(utt, _SECONDS) - _SECONDS), utt))


def _data_uri(entry: str) -> str:
    buffer = io.BytesIO()
    sf.write(buffer, read_audio(entry), RATE, format="FLAC", subtype="PCM_16")
    return "data:audio/flac;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
