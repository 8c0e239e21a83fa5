"""Quality of speech without listeners: DNSMOS of a set, and STOI against the original of the same timing."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vpeval.audio.io import read_audio
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.directory import DataDir
from vpeval.measures.base import RECORDS, Input, Measure, Resampling, Result, Scorer, Scores, gender_of, option
from vpeval.metrics import quality
from vpeval.metrics.intervals import utterance_mean
from vpeval.records.metrics import UTILITY, Metric
from vpeval.records.record import Record, write_records

if TYPE_CHECKING:
    from vpeval.plan.plan import Plan

_MOS: Mapping[str, Any] = {"aspect": "utility", "digits": 2, "better": +1, "group": UTILITY, "place": 4}
_STOI: Mapping[str, Any] = {"aspect": "utility", "better": +1, "group": UTILITY, "range": (-1.0, 1.0), "place": 5}
METRICS = (
    Metric("dnsmos_ovrl", "DNSMOS overall", "Overall quality as DNSMOS P.835 predicts it, from 1 to 5.", **_MOS),
    Metric("dnsmos_sig", "DNSMOS signal", "Quality of the speech as DNSMOS P.835 predicts it.", **_MOS),
    Metric("dnsmos_bak", "DNSMOS background", "Quality of the background as DNSMOS P.835 predicts it.", **_MOS),
    Metric("dnsmos_p808", "DNSMOS P.808", "Overall quality as DNSMOS P.808 predicts it, from 1 to 5.", **_MOS),
    Metric(
        "stoi",
        "STOI",
        "Short-time objective intelligibility of anonymised speech with its original as the reference.",
        **_STOI,
    ),
    Metric("estoi", "ESTOI", "The extended version of STOI.", **_STOI),
)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options(Resampling):
    """How many utterances are measured."""

    limit: int = option(0, "a sample of N utterances; 0: all", "N")


def score_quality(data: DataDir, original: DataDir | None, options: Options) -> list[Record]:
    """Means over utterances, or over a sample of them; measures whose package is missing are left out."""
    utts = _choose(data.utts, options.limit, options.seed)
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
            log.info("%s: %d of %d utterances", data.path, number, len(utts))
    if compare and (left_out := len(utts) - len(values["stoi"])):
        log.warning(f"{data.path}: STOI is not defined for {left_out} of {len(utts)} utterances (other timing)")
    return [_record(metric, own, data.utt2spk, options) for metric, own in values.items() if own]


def _available(make: Callable[[], Callable[..., dict[str, float]]]) -> Callable[..., dict[str, float]] | None:
    """A measure, or None and a notice if its package is missing."""
    try:
        return make()
    except InputError as error:
        log.warning(f"left out: {error}")
        return None


def _choose(utts: list[str], limit: int, seed: int) -> list[str]:
    """At most `limit` utterances, drawn at random."""
    if not limit or limit >= len(utts):
        return utts
    return sorted(generator(seed, "quality").choice(utts, limit, replace=False).tolist())


def _record(metric: str, values: dict[str, float], utt2spk: Mapping[str, str], options: Options) -> Record:
    """Mean over utterances with an interval over speakers."""
    mean = utterance_mean(values, utt2spk, options.resamples, options.seed, "quality")
    record = Record(metric, mean.mean, counts={"utts": mean.utts, "speakers": mean.speakers})
    return record.with_interval(mean.interval)


def _score_files(inputs: Mapping[str, Any], options: Options, out: Path) -> Scores:
    original = DataDir.load(inputs["original"]) if inputs["original"] else None
    records = score_quality(DataDir.load(inputs["data_dir"]), original, options)
    return Scores(records, lines=() if records else ("no measure of quality is available",))


SCORER = Scorer(
    (Input("--original", "the same utterances before anonymisation", "DATA-DIR"), Input("data-dir")),
    Options,
    _score_files,
)


@dataclass(frozen=True)
class Quality(Result):
    """DNSMOS and STOI of one trial set."""

    name: str
    stage = 10

    @property
    def out(self) -> Path:
        """One directory for each set."""
        return self.plan.run / f"quality-{self.name}"

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Both versions of the set."""
        return self.plan.original(self.name), self.plan.anonymised(self.name)

    @property
    def tags(self) -> dict[str, str]:
        """The anonymised set."""
        gender = gender_of(self.plan.original(self.name))
        tags = {"recipe": self.plan.recipe.recipe, "system": self.plan.system, "set": self.name, "gender": gender}
        return {**tags, "condition": "a"}

    def make(self, out: Path) -> str:
        """Measure utterance by utterance."""
        original, anonymised = (DataDir.load(path) for path in self.inputs)
        records = score_quality(anonymised, original, Options(self.resampling.resamples, self.resampling.seed))
        write_records(out / RECORDS, [record.tagged(self.tags) for record in records])
        shown = " ".join(f"{record.metric} {record.value:.3f}" for record in records)
        return shown or "no measure of quality is available"

    def commands(self) -> list[list[str]]:
        """Measure the anonymised set against its original."""
        original, anonymised = map(str, self.inputs)
        files = ["--original", original, *self.tag_words(), anonymised, str(self.out / RECORDS)]
        return [["local/score_quality.py", *files]]


def _results(plan: Plan) -> list[Quality]:
    return [Quality(plan, name) for name in plan.recipe.trial_sets] if plan.settings.quality else []


MEASURE = Measure("quality", 10, _results, place=3)
