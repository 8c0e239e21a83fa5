"""Emotion predictions of a set: unweighted average recall and the recall of every emotion."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.tables import read_table
from vpeval.data.layout import first_few
from vpeval.metrics.bootstrap import interval_notes
from vpeval.metrics.uar import chance_level, score_emotions, uar_interval
from vpeval.records.record import Record


def score_predictions(
    data: Sequence[Path], predictions: Sequence[Path], resamples: int = 1000, seed: int = 0
) -> list[Record]:
    """Score files of predictions against utt2emo of their data directories; with spk2fold, as a mean over the folds.

    The UAR has its interval over speakers (unless `resamples` is 0) and its level of chance.
    """
    utt2emo = _joined([path / "utt2emo" for path in data], "emotion")
    found = _joined(predictions, "emotion")
    folds = [path / "spk2fold" for path in data]
    spk2fold = _joined(folds, "fold") if all(path.exists() for path in folds) else None
    utt2spk = _joined([path / "utt2spk" for path in data], "speaker")
    try:
        score = score_emotions(utt2emo, found, utt2spk, spk2fold)
    except InputError as error:
        raise InputError(str(error), predictions[0]) from None
    if score.missing:
        logging.warning(f"{predictions[0]}: no prediction, counted as wrong: {first_few(score.missing, limit=20)}")
    notes: dict[str, object] = {"unit": "%"} | ({"folds": len(score.folds)} if spk2fold else {})
    counts = {"utts": len(utt2emo), "missing": len(score.missing)}
    recalls = [
        Record("emotion_accuracy", recall, params={"emotion": emotion}, counts=_counts(emotion, utt2emo), notes=notes)
        for emotion, recall in score.recalls.items()
    ]
    uar = Record("uar", score.uar, counts=counts, notes={**notes, "chance": chance_level(utt2emo)})
    interval = uar_interval(score, utt2emo, found, utt2spk, resamples, seed) if resamples else None
    if interval:
        uar = replace(uar, lower=interval.lower, upper=interval.upper).with_notes(interval_notes(resamples, seed))
    return [uar, *recalls]


def _joined(paths: Sequence[Path], noun: str) -> dict[str, str]:
    return {key: value for path in paths for key, value in read_table(path, noun).items()}


def _counts(emotion: str, utt2emo: Mapping[str, str]) -> dict[str, int]:
    """On how many utterances a recall rests."""
    return {"utts": sum(label == emotion for label in utt2emo.values())}
