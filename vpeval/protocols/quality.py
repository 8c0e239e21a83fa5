"""Quality of speech without listeners, of a set: DNSMOS, and STOI against the original of the same timing."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping

from vpeval.audio.io import read_audio
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.directory import DataDir
from vpeval.metrics import quality
from vpeval.metrics.utterance_mean import utterance_mean
from vpeval.records.record import Record


def score_quality(data: DataDir, original: DataDir | None, limit: int, resamples: int, seed: int) -> list[Record]:
    """Means over utterances (a sample of `limit`; 0: all); measures whose package is missing are left out."""
    utts = _choose(data.utts, limit, seed)
    measure = _available(quality.dnsmos)
    compare = _available(quality.stoi) if original else None
    values: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for number, utt in enumerate(utts, start=1):
        wave = read_audio(data.wav[utt])
        scores = measure(wave) if measure else {}
        if compare and original:
            if utt not in original.wav:
                raise InputError(f"utterance '{utt}' is missing; is this the original of {data.path}?", original.path)
            scores |= compare(read_audio(original.wav[utt]), wave)
        for metric, value in scores.items():
            values[metric][utt] = value
        if number % 50 == 0 or number == len(utts):
            logging.info("%s: %d of %d utterances", data.path, number, len(utts))
    if compare and (left_out := len(utts) - len(values["stoi"])):
        logging.warning(f"{data.path}: STOI is not defined for {left_out} of {len(utts)} utterances (other timing)")
    return [
        _record(metric, of_metric, data.utt2spk, resamples, seed) for metric, of_metric in values.items() if of_metric
    ]


def _available(make: Callable[[], Callable[..., dict[str, float]]]) -> Callable[..., dict[str, float]] | None:
    """A measure, or None and a notice if its package is missing."""
    try:
        return make()
    except InputError as error:
        logging.warning(f"left out: {error}")
        return None


def _choose(utts: list[str], limit: int, seed: int) -> list[str]:
    """At most `limit` utterances, drawn at random."""
    if not limit or limit >= len(utts):
        return utts
    return sorted(generator(seed, "quality").choice(utts, limit, replace=False).tolist())


def _record(metric: str, values: dict[str, float], utt2spk: Mapping[str, str], resamples: int, seed: int) -> Record:
    """Mean over utterances with an interval over speakers."""
    mean = utterance_mean(values, utt2spk, resamples, seed, "quality")
    return mean.interval.of(Record(metric, mean.mean, counts={"utts": mean.utts, "speakers": mean.speakers}))
