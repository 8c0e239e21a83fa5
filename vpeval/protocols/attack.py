"""An attack on a pair of sets by speaker verification: from embeddings to scores, calibrated or not, to records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.asv.backend import load
from vpeval.asv.calibration import Calibration, fit
from vpeval.asv.scoring import score_trials
from vpeval.core.tables import read_table
from vpeval.data.trials import Trials, read_trials, write_scores
from vpeval.embeddings.speaker_vectors import read_cached
from vpeval.metrics.scores import Floats
from vpeval.protocols.verification import score_verification, scored_trials
from vpeval.records.costs import marked
from vpeval.records.record import Record, write_records


@dataclass(frozen=True)
class TrialSet:
    """The embeddings of both sides, and the data directory that has ``trials`` and ``utt2spk``."""

    enroll: Path
    trial: Path
    data: Path


def verify(
    subject: TrialSet,
    backend: Path | None,
    development: Sequence[TrialSet],
    out: Path,
    resamples: int,
    seed: int,
    tags: Mapping[str, str],
    notes: Mapping[str, str],
) -> list[Record]:
    """Score the trials of a pair of sets; write ``scores``, ``records.jsonl`` and the curves into directory `out`.

    Where there are `development` sets, scores become log-likelihood ratios by logistic regression on theirs.
    """
    trials, scores = attack(subject, backend)
    calibration = "none"
    if development:
        scores = calibrate([attack(one, backend) for one in development])(scores)
        calibration = "dev"
    told = {**notes, "calibration": calibration}
    return write_verification(trials, scores, subject.data / "utt2spk", out, resamples, seed, tags, told)


def write_verification(
    trials: Trials,
    scores: Floats,
    utt2spk: Path,
    out: Path,
    resamples: int,
    seed: int,
    tags: Mapping[str, str],
    notes: Mapping[str, object],
) -> list[Record]:
    """Write ``scores``, ``records.jsonl`` and the curves of scored trials into directory `out`."""
    write_scores(out / "scores", trials, scores)
    scored = scored_trials(trials, scores, read_table(utt2spk, "speaker"), utt2spk)
    records = marked(
        record.with_notes(notes).with_files({"scores": "scores"}).tagged(tags)
        for record in score_verification(scored, out / "records.curves.json", resamples, seed)
    )
    write_records(out / "records.jsonl", records)
    return records


def attack(subject: TrialSet, backend: Path | None) -> tuple[Trials, Floats]:
    """The trials of a pair of sets, and their scores: cosines, or LLRs of a back end."""
    trials = read_trials(subject.data / "trials")
    model = load(backend) if backend else None
    return trials, score_trials(read_cached(subject.enroll), read_cached(subject.trial), trials.rows, model)


def calibrate(development: Sequence[tuple[Trials, Floats]]) -> Calibration:
    """The line that turns scores into log-likelihood ratios, from trials with known labels."""
    targets = np.concatenate([scores[trials.is_target] for trials, scores in development])
    nontargets = np.concatenate([scores[~trials.is_target] for trials, scores in development])
    return fit(targets, nontargets)
