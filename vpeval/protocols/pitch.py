"""Pitch correlation of a set before and after anonymisation: means over utterances, intervals over speakers."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from vpeval.audio.f0 import Tracked
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.layout import first_few
from vpeval.metrics.pitch import correlate_pitch
from vpeval.metrics.utterance_mean import UtteranceMean, utterance_mean
from vpeval.records.record import Record

_LONGEST_DRIFT = 0.025


def score_pitch(
    original: DataDir,
    anonymised: DataDir,
    before: Mapping[str, Tracked],
    after: Mapping[str, Tracked],
    resamples: int,
    seed: int,
) -> list[Record]:
    """Records of the challenge's estimate over all frames (``vpc``) and of that over voiced frames (``voiced``)."""
    drifting = [utt for utt in original.utts if abs(before[utt].seconds - after[utt].seconds) > _LONGEST_DRIFT]
    if drifting:
        logging.warning(
            f"{anonymised.path}: {len(drifting)} utterances differ in length by more than "
            f"{1000 * _LONGEST_DRIFT:.0f} ms ({first_few(drifting)}); their tracks were stretched to match"
        )
    found = {utt: correlate_pitch(before[utt].f0, after[utt].f0) for utt in original.utts}
    values = {
        "vpc": {utt: one.vpc for utt, one in found.items()},
        "voiced": {utt: one.voiced for utt, one in found.items() if one.voiced is not None},
    }
    if not values["voiced"]:
        logging.warning(f"{anonymised.path}: no utterance has voiced frames in both versions; is this speech?")
    means = {mode: utterance_mean(of, original.utt2spk, resamples, seed, "pitch") for mode, of in values.items() if of}
    return [_record(mode, mean) for mode, mean in means.items()]


def refuse_other_utterances(original: DataDir, anonymised: DataDir) -> None:
    """Both versions of a set must have the same utterances."""
    if missing := sorted(original.utt2spk.keys() ^ anonymised.utt2spk.keys()):
        raise InputError(
            f"has not the utterances of {original.path} ({first_few(missing)}); are these two versions of one set?",
            anonymised.path / "utt2spk",
        )


def _record(mode: str, mean: UtteranceMean) -> Record:
    """The record of one of the two estimates."""
    counts = {"utts": mean.utts, "speakers": mean.speakers}
    record = Record("pitch_correlation", mean.mean, params={"mode": mode}, counts=counts, notes={"std": mean.std})
    return mean.interval.of(record)
