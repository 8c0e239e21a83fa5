"""Stage 10, emotions: how well they are recognised in original and anonymised speech."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from vpeval.jobs.steps import Step
from vpeval.plan.plan import DATA, Plan, version
from vpeval.plan.recipe import Joined
from vpeval.records.names import ORIGINAL
from vpeval.stages.piece import RECORDS, RESAMPLES

log = logging.getLogger(__name__)
PREDICTIONS = "predictions"


@dataclass(frozen=True)
class Emotion:
    """Emotions of one set, original (o) or anonymised (a)."""

    plan: Plan
    joined: Joined
    side: str

    @property
    def predicted(self) -> list[Path]:
        """Where the predictions are."""
        place = emotions_dir(self.plan)
        return [place / version(name, self.plan.system, self.side) / PREDICTIONS for name in self.joined.sets]

    @property
    def data(self) -> list[Path]:
        """Where the labels are: an anonymised set may lack some utterances."""
        return [DATA / version(name, self.plan.system, self.side) for name in self.joined.sets]

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        return {
            "recipe": self.plan.recipe.recipe,
            "system": ORIGINAL if self.side == "o" else self.plan.system,
            "set": self.joined.name,
            "condition": self.side,
            "attacker": Path(self.plan.recipe.ser).name,
        }

    @property
    def step(self) -> Step:
        """Its records."""
        tables = [path / name for path in self.data for name in ("utt2emo", "utt2spk", "spk2fold")]
        return Step(
            stage=10,
            out=self.plan.run_of(self.tags["system"])
            / f"UAR_{self.tags['attacker']}-{version(self.joined.name, self.plan.system, self.side)}",
            files=(RECORDS, PREDICTIONS),
            inputs=(*self.predicted, *(path for path in tables if path.is_file())),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **self.tags},
            code=("vpeval.protocols.emotion",),
        )

    def make(self, out: Path) -> str:
        """Compare predictions with labels."""
        from vpeval.core.tables import read_table, write_table
        from vpeval.protocols.emotion import score_predictions
        from vpeval.records.record import write_records

        records = score_predictions(self.data, self.predicted, RESAMPLES, self.plan.settings.seed)
        found = (read_table(path, "emotion").items() for path in self.predicted)
        write_table(out / PREDICTIONS, [row for rows in found for row in rows])
        told = [record.with_files({PREDICTIONS: PREDICTIONS}).tagged(self.tags) for record in records]
        write_records(out / RECORDS, told)
        return f"UAR {records[0].value:.2f} %, chance {records[0].notes['chance']:.2f} %"


def pieces(plan: Plan) -> list[Emotion]:
    """All results of the recipe's emotion recogniser."""
    return [Emotion(plan, joined, side) for side in "oa" for joined in plan.recipe.emotion_sets if plan.recipe.ser]


def emotions_dir(plan: Plan) -> Path:
    """Where the predictions of the emotion recogniser are."""
    return plan.exp / "emotions" / Path(plan.recipe.ser).name


def predict(plan: Plan) -> None:
    """Let the recogniser hear all emotion sets."""
    from vpeval.asr.decoding import predict_emotions

    models, settings = Path(plan.recipe.ser), plan.settings
    names = dict.fromkeys(name for joined in plan.recipe.emotion_sets for name in joined.sets)
    sets = {side: [DATA / version(name, plan.system, side) for name in names] for side in "oa"}
    if plan.ser_conf.is_file():
        from vpeval.asr.decoding import recognise_emotions

        recognise_emotions(plan.ser_conf, emotions_dir(plan), sets["o"], sets["a"], settings.cmd, settings.nj)
        return
    for target in predict_emotions(models, emotions_dir(plan), [*sets["o"], *sets["a"]], settings.cmd, settings.nj):
        log.info("%s: emotions of %d utterances", target.out, len(target.data.utts))
