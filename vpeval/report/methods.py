"""How the numbers of a report came about: attack models, the estimators and limits of the verdict, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vpeval.figures.data import Results
from vpeval.records.attacks import ATTACK_MODELS, IGNORANT, LAZY, LEGAL_NAMES, SEMI, SIMILAR, UNPROTECTED
from vpeval.records.metrics import describe
from vpeval.report import provenance
from vpeval.report.verdict import GRADES
from vpeval.results.headline import eer_of
from vpeval.results.limits import VerdictLimits

_ATTACKS = {
    UNPROTECTED: ("original", "original", "original speech"),
    IGNORANT: ("original", "anonymised", "original speech"),
    LAZY: ("anonymised", "anonymised", "original speech"),
    SIMILAR: ("anonymised", "anonymised", "speech of a similar, older system"),
    SEMI: ("anonymised", "anonymised", "speech of the same system"),
}
"""Enrolment, trials, and what the attacker was trained on."""


@dataclass(frozen=True)
class Methods:
    """What the section on methods shows."""

    attacks: Sequence[Sequence[str]]
    eer: str
    eer_limits: str
    found_limits: str
    untrained: str
    resamples: Sequence[int]
    seeds: Sequence[int]
    anonymisers: Sequence[str]
    count: int
    records_hash: str
    table_hashes: Mapping[str, str]
    versions: Sequence[str]
    models: Sequence[provenance.UsedModel]
    command_line: str


def methods(results: Results, edition: str, eer: str, limits: VerdictLimits, command_line: str) -> Methods:
    """The methods behind some results; `eer` is the EER that the page speaks of."""
    tested = {entry.model for entry in results.entries}
    metric = describe(eer)
    whose = f"the EER of VoicePrivacy {edition}" if eer == eer_of(edition) else f"not that of VoicePrivacy {edition}"
    return Methods(
        attacks=[
            (model, LEGAL_NAMES.get(model, "–"), *_ATTACKS[model], "yes" if model in tested else "no")
            for model in ATTACK_MODELS
        ],
        eer=f"This page speaks of {metric.title}, {whose}. {metric.explanation}",
        eer_limits=", ".join(f"{100 * limit:g}" for limit in limits.eer),
        found_limits=", ".join(f"{100 * limit:g}" for limit in limits.found),
        untrained=GRADES[limits.untrained_grade],
        resamples=provenance.resamples(results),
        seeds=provenance.seeds(results),
        anonymisers=provenance.anonymisers(results),
        count=len(results.entries),
        records_hash=provenance.records_hash(results),
        table_hashes=provenance.table_hashes(results),
        versions=[f"{name} {version}" for name, version in provenance.versions().items()],
        models=provenance.used_models(entry.record.attacker for entry in results.entries),
        command_line=command_line,
    )
