"""Voice similarity of the utterances of a set, original and anonymised: matrices, G_VD and DeID by both estimators.

Every encoder whose vectors cosines compare has results of its own. Pages and challenges show those of the first one
that was trained on original speech (`vpeval.records.names.by_main_encoder`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from vpeval.anon.anonymised_set import read_missing
from vpeval.core.arrays import Floats
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.embeddings.pair_scores import AllPairs, read_utterance_pairs
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.measures.base import RECORDS, Input, Measure, Resampling, Result, Scorer, Scores, gender_of, option
from vpeval.metrics.similarity import CONDITIONS, voice_similarity
from vpeval.records.metrics import KEY, OVERVIEW, SHARE, SIMILARITY, SUMMARY, Metric
from vpeval.records.names import ORIGINAL, TRAINED_ON
from vpeval.records.record import Record, write_records

if TYPE_CHECKING:
    from vpeval.plan.plan import Attack, Plan

METRICS = (
    Metric(
        "deid",
        "DeID",
        "De-identification: 100 % where an anonymised voice resembles its original no more than any other, 0 where "
        "nothing has changed.",
        r"DeID, \%",
        **{**SHARE, "better": +1},
        chance=1.0,
        group=SIMILARITY,
        range=(-float("inf"), 1.0),
        condition="oa",
        shown=(OVERVIEW, SUMMARY),
    ),
    Metric(
        "g_vd",
        "G_VD",
        "The gain of voice distinctiveness: 0 dB where anonymised voices are as distinct as the original ones.",
        r"$G_\mathrm{VD}$, dB",
        unit="dB",
        digits=2,
        better=+1,
        aspect="utility",
        group=SIMILARITY,
        condition="aa",
        shown=(KEY, OVERVIEW, SUMMARY),
        key_place=4,
    ),
    Metric(
        "d_diag",
        "D_diag",
        "How far the diagonal of a voice similarity matrix stands out; DeID and G_VD are made of it.",
        r"$D_\mathrm{diag}$",
        group=SIMILARITY,
        shown=(),
    ),
)
MODES = ("full", "vpc")
"""All pairs of utterances count, or those that the challenges' estimator takes."""


class Pairs(Protocol):
    """Scored pairs of the utterances of speakers, original and anonymised."""

    @property
    def names(self) -> list[str]:
        """The speakers."""

    def matrices(self, condition: str, modes: tuple[str, ...]) -> list[Floats]:
        """The similarity matrix of a condition in each of the modes."""


@dataclass(frozen=True)
class Options(Resampling):
    """Which pairs count."""

    mode: str = option("full", "all pairs, or as in the challenges", choices=MODES)


def score_similarity(
    data: Pairs, modes: tuple[str, ...], out: Path, options: Resampling, sources: Mapping[str, object] | None = None
) -> list[Record]:
    """The records of every mode; the matrices go to files next to `out`. Errors name the `sources`."""
    found = {name: _matrices(data, name, modes, (sources or {}).get(name, out)) for name in CONDITIONS}
    records = []
    for place, mode in enumerate(modes):
        matrices = {name: found[name][place] for name in CONDITIONS}
        # One file for a single mode, as people call the scorer; else each mode has its own.
        file = out.with_suffix(".matrices.json" if len(modes) == 1 else f".matrices_{mode}.json")
        write_text(file, _matrices_json(data.names, matrices))
        for estimate in voice_similarity(matrices, options.resamples, options.seed):
            record = Record.from_estimate(estimate).with_params({"mode": mode})
            records.append(record.with_notes({"calibration": "Laplace PAV"}).with_files({"matrices": file.name}))
    return records


def _matrices(data: Pairs, condition: str, modes: tuple[str, ...], source: object) -> list[Floats]:
    try:
        matrices = data.matrices(condition, modes)
    except InputError as error:
        raise type(error)(str(error), str(source)) from None
    if single := [data.names[i] for i in np.flatnonzero(np.isnan(np.diag(matrices[0])))]:
        logging.warning(f"{source}: speakers with one utterance are not on the diagonal: {' '.join(single)}")
    return matrices


def _matrices_json(speakers: Sequence[str], matrices: Mapping[str, Floats]) -> str:
    """Speakers and matrices, row by row; JSON has no NaN, so an empty cell is null."""
    cells = {
        name: [[None if np.isnan(cell) else cell for cell in row] for row in matrix.tolist()]
        for name, matrix in matrices.items()
    }
    return json.dumps({"speakers": list(speakers), **cells}, ensure_ascii=False, allow_nan=False) + "\n"


def _score_files(inputs: Mapping[str, Any], options: Options, out: Path) -> Scores:
    paths = {condition: inputs[condition] for condition in CONDITIONS}
    pairs = read_utterance_pairs(paths, inputs["utt2spk"])
    return Scores(score_similarity(pairs, (options.mode,), out, options, paths))


SCORER = Scorer(
    (*(Input(name, metavar=f"scores-{name}") for name in CONDITIONS), Input("utt2spk")),
    Options,
    _score_files,
    takes_params=True,
)


@dataclass(frozen=True)
class Similarity(Result):
    """One trial set, by one encoder."""

    attack: Attack
    name: str
    stage = 7

    @property
    def out(self) -> Path:
        """The names of encoder and set are part of it."""
        return self.plan.run / f"VSM_{self.attack.attacker.name}-{self.name}"

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The embeddings of the original and of the anonymised set."""
        return tuple(self.attack.embeddings / self.plan.data_of(self.name, side).name for side in "oa")

    @property
    def tags(self) -> dict[str, str]:
        """The set and the encoder."""
        return {
            "recipe": self.plan.recipe.recipe,
            "system": self.plan.system,
            "set": self.name,
            "gender": gender_of(self.plan.original(self.name)),
            "attacker": self.attack.attacker.name,
        }

    @property
    def notes(self) -> dict[str, str]:
        """Whose speech the encoder was trained on, unless it was original speech."""
        system = self.attack.attacker.training_system(self.plan.system)
        return {} if system == ORIGINAL else {TRAINED_ON: system}

    def make(self, out: Path) -> str:
        """Compare all pairs of utterances."""
        original, anonymised = (read_embeddings(path) for path in self.inputs)
        if read_missing(self.plan.anonymised(self.name)).utts:
            original = original.with_utterances(anonymised.utts)
        records = score_similarity(AllPairs.from_versions(original, anonymised), MODES, out / RECORDS, self.resampling)
        write_records(out / RECORDS, [record.with_notes(self.notes).tagged(self.tags) for record in records])
        return f"voice similarity of {len(original.speakers)} speakers"

    def commands(self) -> list[list[str]]:
        """Score all pairs of utterances in three conditions, then measure."""
        original, anonymised = map(str, self.inputs)
        sides = {"oo": (original, original), "oa": (original, anonymised), "aa": (anonymised, anonymised)}
        scores = {name: str(self.out / f"scores_{name}") for name in sides}
        pairs = [["steps/score_pairs.py", *both, scores[name]] for name, both in sides.items()]
        utt2spk = str(self.plan.anonymised(self.name) / "utt2spk")
        return [
            *pairs,
            *(
                [
                    "local/score_similarity.py",
                    *("--mode", mode),
                    *self.tag_words(),
                    *self.param_words(),
                    *scores.values(),
                    utt2spk,
                    str(self.out / f"{mode}.jsonl"),
                ]
                for mode in MODES
            ),
        ]


def _results(plan: Plan) -> list[Similarity]:
    if not plan.voice_encoders:
        logging.warning("no attacker has vectors that cosines compare, so there are no voices to compare")
    return [Similarity(plan, attack, name) for attack in plan.voice_encoders for name in plan.recipe.trial_sets]


MEASURE = Measure("similarity", 7, _results)
