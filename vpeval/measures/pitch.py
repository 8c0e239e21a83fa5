"""Pitch correlation of a set before and after anonymisation: means over utterances, intervals over speakers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vpeval.anon.anonymised_set import read_missing
from vpeval.audio.f0 import Tracked, read_tracks, track_all
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.layout import first_few
from vpeval.measures.base import RECORDS, Input, Measure, Resampling, Result, Scorer, Scores, gender_of, option
from vpeval.metrics.intervals import UtteranceMean, utterance_mean
from vpeval.metrics.pitch import correlate_pitch
from vpeval.records.metrics import KEY, OVERVIEW, SUMMARY, UTILITY, Metric
from vpeval.records.record import Record, write_records

if TYPE_CHECKING:
    from vpeval.plan.plan import Plan

METRICS = (
    Metric(
        "pitch_correlation",
        "Pitch correlation",
        "The correlation of the F0 of original and anonymised speech, averaged over utterances.",
        r"$\rho^{F_0}$",
        better=+1,
        aspect="utility",
        group=UTILITY,
        range=(-1.0, 1.0),
        shown=(KEY, OVERVIEW, SUMMARY),
        key_place=3,
        place=2,
    ),
)
log = logging.getLogger(__name__)
_LONGEST_DRIFT = 0.025


def score_pitch(
    original: DataDir,
    anonymised: DataDir,
    before: Mapping[str, Tracked],
    after: Mapping[str, Tracked],
    options: Resampling,
) -> list[Record]:
    """Records of the challenge's estimate over all frames (``vpc``) and of that over voiced frames (``voiced``)."""
    drifting = [utt for utt in original.utts if abs(before[utt].seconds - after[utt].seconds) > _LONGEST_DRIFT]
    if drifting:
        log.warning(
            f"{anonymised.path}: {len(drifting)} utterances differ in length by more than "
            f"{1000 * _LONGEST_DRIFT:.0f} ms ({first_few(drifting)}); their tracks were stretched to match"
        )
    found = {utt: correlate_pitch(before[utt].f0, after[utt].f0) for utt in original.utts}
    values = {
        "vpc": {utt: one.vpc for utt, one in found.items()},
        "voiced": {utt: one.voiced for utt, one in found.items() if one.voiced is not None},
    }
    if not values["voiced"]:
        log.warning(f"{anonymised.path}: no utterance has voiced frames in both versions; is this speech?")
    drawn = options.resamples, options.seed
    means = {mode: utterance_mean(own, original.utt2spk, *drawn, "pitch") for mode, own in values.items() if own}
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
    return record.with_interval(mean.interval)


@dataclass(frozen=True)
class Options(Resampling):
    """How many processes track F0."""

    nj: int = option(1, "processes (default: 1)", least=1)


def _score_files(inputs: Mapping[str, Any], options: Options, out: Path) -> Scores:
    original, anonymised = (DataDir.load(inputs[name]) for name in ("data_dir", "anonymised_data_dir"))
    refuse_other_utterances(original, anonymised)
    before, after = (track_all(data.wav, options.nj) for data in (original, anonymised))
    records = score_pitch(original, anonymised, before, after, options)
    return Scores(records, lines=(f"{inputs['tags'].get('set', original.name)}  {_line(records)}",))


def _line(records: list[Record]) -> str:
    """As in the results files of the challenge."""
    return f"Pitch_correlation: mean={records[0].value:.4f} std={records[0].notes['std']:.4f}"


SCORER = Scorer((Input("data-dir"), Input("anonymised-data-dir")), Options, _score_files)


@dataclass(frozen=True)
class Pitch(Result):
    """Pitch correlation of one trial set."""

    name: str
    stage = 10

    @property
    def out(self) -> Path:
        """One directory for each set."""
        return self.plan.run / f"pitch-{self.name}"

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Both versions of the set, and the F0 of the original one, which all systems share."""
        return self.plan.original(self.name), self.plan.anonymised(self.name), self.plan.f0_tracks(self.name)

    @property
    def tags(self) -> dict[str, str]:
        """The set."""
        gender = gender_of(self.plan.original(self.name))
        return {"recipe": self.plan.recipe.recipe, "system": self.plan.system, "set": self.name, "gender": gender}

    def make(self, out: Path) -> str:
        """Track the anonymised speech and correlate."""
        original, anonymised = (DataDir.load(path) for path in self.inputs[:2])
        if read_missing(anonymised.path).utts:
            original = original.subset(anonymised.utts)
        refuse_other_utterances(original, anonymised)
        after = track_all(anonymised.wav, self.plan.settings.nj)
        records = score_pitch(original, anonymised, read_tracks(self.inputs[2]), after, self.resampling)
        write_records(out / RECORDS, [record.tagged(self.tags) for record in records])
        return _line(records)

    def commands(self) -> list[list[str]]:
        """Track both versions and correlate."""
        files = [*map(str, self.inputs[:2]), str(self.out / RECORDS)]
        return [["local/score_pitch.py", "--nj", str(self.plan.settings.nj), *self.tag_words(), *files]]


def _results(plan: Plan) -> list[Pitch]:
    return [Pitch(plan, name) for name in plan.recipe.trial_sets]


MEASURE = Measure("pitch", 10, _results, place=2)
