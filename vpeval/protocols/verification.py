"""Verification trials from scores to records: every metric of a pair of sets, with DET and ECE curves beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from vpeval.core.files import write_text
from vpeval.data.trials import Trials, trial_speakers
from vpeval.metrics.curves import det_curve, ece_curves
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.scores import Floats, PooledScores
from vpeval.metrics.verification import paired_difference, verification
from vpeval.records.record import Record

_WITH_CURVES = ("eer_threshold", "zebra_population")


def scored_trials(
    trials: Trials, scores: Floats, utt2spk: Mapping[str, str] | None, source: str | Path = "utt2spk"
) -> ScoredTrials:
    """The trials with their scores; the speakers of trial utterances are those of `utt2spk`, else told by the ids."""
    speakers = trial_speakers(trials, utt2spk, source)
    return ScoredTrials(scores, trials.is_target, speakers.enroll, speakers.trial)


def score_verification(scored: ScoredTrials, curves: Path, resamples: int, seed: int) -> list[Record]:
    """The records of all metrics; the curves are written to the file `curves`, which two of them name."""
    write_text(curves, _curves_json(scored.pooled()))
    return [
        record.with_files({"curves": curves.name}) if record.metric in _WITH_CURVES else record
        for record in verification(scored, resamples, seed)
    ]


def score_difference(scored: ScoredTrials, other: Floats, versus: str, resamples: int, seed: int) -> list[Record]:
    """How far the scores lie from `other` scores of the same trials, which are called `versus`."""
    return [r.with_params({"versus": versus}) for r in paired_difference(scored, other, resamples, seed)]


def _curves_json(pooled: PooledScores) -> str:
    """DET points and ECE curves, as lists of numbers."""
    curves = {"det": asdict(det_curve(pooled)), "ece": asdict(ece_curves(pooled))}
    lists = {name: {axis: values.tolist() for axis, values in curve.items()} for name, curve in curves.items()}
    return json.dumps(lists, allow_nan=False) + "\n"
