"""Emotion: unweighted average recall of predicted emotions, and the recall of every emotion."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vpeval.core.errors import InputError
from vpeval.core.files import read_table, write_table
from vpeval.data.layout import first_few
from vpeval.measures.base import RECORDS, Input, Measure, Resampling, Result, Scorer, Scores, split_paths
from vpeval.metrics.uar import chance_level, score_emotions, uar_interval
from vpeval.records.metrics import BY_SET, KEY, OVERVIEW, SUMMARY, UTILITY, Metric
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record, write_records

if TYPE_CHECKING:
    from vpeval.plan.plan import Plan
    from vpeval.plan.recipe import Joined

_RECALL: Mapping[str, Any] = {
    "unit": "%",
    "digits": 2,
    "better": +1,
    "aspect": "utility",
    "group": UTILITY,
    "range": (0.0, 100.0),
    "place": 3,
}
METRICS = (
    Metric(
        "uar",
        "UAR",
        "The unweighted average recall of emotions.",
        r"UAR, \%",
        **_RECALL,
        shown=(KEY, OVERVIEW, SUMMARY, BY_SET),
        key_place=2,
    ),
    Metric(
        "emotion_accuracy",
        "Emotion accuracy",
        "The recall of one emotion.",
        r"Accuracy, \%",
        **_RECALL,
        requires=("emotion",),
        shown=(),
    ),
)
log = logging.getLogger(__name__)
PREDICTIONS = "predictions"


def score_predictions(data: Sequence[Path], predictions: Sequence[Path], options: Resampling) -> list[Record]:
    """Score files of predictions against utt2emo of their data directories; with spk2fold, as a mean over the folds.

    The UAR has its interval over speakers and its level of chance.
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
        log.warning(f"{predictions[0]}: no prediction, counted as wrong: {first_few(score.missing, limit=20)}")
    notes: dict[str, object] = {"unit": "%"} | ({"folds": len(score.folds)} if spk2fold else {})
    counts = {"utts": len(utt2emo), "missing": len(score.missing)}
    recalls = [
        Record("emotion_accuracy", recall, params={"emotion": emotion}, counts=_counts(emotion, utt2emo), notes=notes)
        for emotion, recall in score.recalls.items()
    ]
    uar = Record("uar", score.uar, counts=counts, notes={**notes, "chance": chance_level(utt2emo)})
    return [uar.with_interval(uar_interval(score, utt2emo, found, utt2spk, options.resamples)), *recalls]


def _joined(paths: Sequence[Path], noun: str) -> dict[str, str]:
    return {key: value for path in paths for key, value in read_table(path, noun).items()}


def _counts(emotion: str, utt2emo: Mapping[str, str]) -> dict[str, int]:
    """On how many utterances a recall rests."""
    return {"utts": sum(label == emotion for label in utt2emo.values())}


def _score_files(inputs: Mapping[str, Any], options: Resampling, out: Path) -> Scores:
    data, predictions = (split_paths(inputs[name]) for name in ("data_dir", "predictions"))
    return Scores(score_predictions(data, predictions, options))


SCORER = Scorer((Input("data-dir"), Input("predictions")), Resampling, _score_files)


@dataclass(frozen=True)
class Emotion(Result):
    """Emotions of one set, original (o) or anonymised (a)."""

    joined: Joined
    side: str
    stage = 10
    files = (RECORDS, PREDICTIONS)

    @property
    def out(self) -> Path:
        """The names of recogniser and set are part of it."""
        name = self.plan.data_of(self.joined.name, self.side).name
        return self.plan.run_of(self.tags["system"]) / f"UAR_{self.tags['recogniser']}-{name}"

    @property
    def _data(self) -> list[Path]:
        """Where the labels are: an anonymised set may lack some utterances."""
        return [self.plan.data_of(name, self.side) for name in self.joined.sets]

    @property
    def _predicted(self) -> list[Path]:
        """Where the predictions are."""
        return [self.plan.emotions_dir / path.name / PREDICTIONS for path in self._data]

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Predictions and labels."""
        tables = [path / name for path in self._data for name in ("utt2emo", "utt2spk", "spk2fold")]
        return (*self._predicted, *(path for path in tables if path.is_file()))

    @property
    def tags(self) -> dict[str, str]:
        """The set and the recogniser."""
        return {
            "recipe": self.plan.recipe.recipe,
            "system": ORIGINAL if self.side == "o" else self.plan.system,
            "set": self.joined.name,
            "condition": self.side,
            "recogniser": self.plan.emotions_dir.name,
        }

    def make(self, out: Path) -> str:
        """Compare predictions with labels."""
        records = score_predictions(self._data, self._predicted, self.resampling)
        found = (read_table(path, "emotion").items() for path in self._predicted)
        write_table(out / PREDICTIONS, [row for rows in found for row in rows])
        complete = [record.with_files({PREDICTIONS: PREDICTIONS}).tagged(self.tags) for record in records]
        write_records(out / RECORDS, complete)
        return f"UAR {records[0].value:.2f} %, chance {records[0].notes['chance']:.2f} %"

    def commands(self) -> list[list[str]]:
        """Compare predictions with labels."""
        files = [",".join(map(str, paths)) for paths in (self._data, self._predicted)]
        return [["local/score_uar.py", *self.tag_words(), *files, str(self.out / RECORDS)]]


def _results(plan: Plan) -> list[Emotion]:
    return [Emotion(plan, joined, side) for side in "oa" for joined in plan.recipe.emotion_sets if plan.recipe.ser]


MEASURE = Measure("emotion", 10, _results, place=1)
