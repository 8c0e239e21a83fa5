"""Methods and provenance of a report: attack models, estimators, limits, versions, models, seeds and hashes."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import vpeval
from vpeval.core.config import read_yaml
from vpeval.core.models import Model, read_models
from vpeval.core.places import ROOT
from vpeval.editions.headline import eer_of
from vpeval.figures.run_results import Results
from vpeval.networks.configs import find_config
from vpeval.records.limits import VerdictLimits
from vpeval.records.metrics import describe
from vpeval.records.names import ATTACK_MODELS, IGNORANT, LEGAL_NAMES, UNPROTECTED
from vpeval.report.grades import WORDS
from vpeval.report.verdict import TRAINED_ON

_COMPARED = {UNPROTECTED: ("original", "original"), IGNORANT: ("original", "anonymised")}
_ANONYMISED = ("anonymised", "anonymised")
"""Enrolment and trials of the attack models."""
_PACKAGES = ("numpy", "scipy", "torch", "speechbrain", "faster-whisper", "soundfile", "matplotlib")


@dataclass(frozen=True)
class UsedModel:
    """A pretrained model behind an attacker or a recogniser."""

    user: str
    model: Model


@dataclass(frozen=True)
class Methods:
    """The content of the section on methods."""

    attacks: Sequence[Sequence[str]]
    eer: str
    eer_limits: str
    found_limits: str
    untrained: str
    grades: str
    resamples: Sequence[int]
    seeds: Sequence[int]
    anonymisers: Sequence[str]
    count: int
    records_hash: str
    table_hashes: Mapping[str, str]
    versions: Sequence[str]
    models: Sequence[UsedModel]
    command_line: str


def methods(results: Results, edition: str, eer: str, limits: VerdictLimits, command_line: str) -> Methods:
    """The methods and the provenance of some results; `eer` is the EER of the page."""
    tested = {entry.attack_model for entry in results.entries}
    metric = describe(eer)
    role = f"the EER of VoicePrivacy {edition}" if eer == eer_of(edition) else f"not that of VoicePrivacy {edition}"
    return Methods(
        attacks=[
            (
                model,
                LEGAL_NAMES.get(model, "–"),
                *_COMPARED.get(model, _ANONYMISED),
                TRAINED_ON[model],
                "yes" if model in tested else "no",
            )
            for model in ATTACK_MODELS
        ],
        eer=f"This page shows {metric.title}, {role}. {metric.explanation}",
        eer_limits=", ".join(f"{100 * limit:g}" for limit in limits.eer),
        found_limits=", ".join(f"{100 * limit:g}" for limit in limits.found),
        untrained=WORDS[limits.untrained_grade],
        grades=", ".join(WORDS),
        resamples=_noted(results, "resamples"),
        seeds=_noted(results, "seed"),
        anonymisers=_anonymisers(results),
        count=len(results.entries),
        records_hash=_records_hash(results),
        table_hashes=_table_hashes(results),
        versions=[f"{name} {version}" for name, version in _versions().items()],
        models=used_models(entry.record.model for entry in results.entries),
        command_line=command_line,
    )


def _versions() -> dict[str, str]:
    """Versions of the toolkit, of Python and of the packages that compute."""
    found = {"vpeval": vpeval.__version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _table_hashes(results: Results) -> dict[str, str]:
    """SHA-256 of the tables, by run."""
    return {f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in results.tables}


def _records_hash(results: Results) -> str:
    """One hash for all numbers, independent of their order and their files."""
    lines = sorted(entry.record.to_json() for entry in results.entries)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _noted(results: Results, name: str) -> list[int]:
    """All values of a note of the records."""
    return sorted({entry.record.notes[name] for entry in results.entries if name in entry.record.notes})


def _anonymisers(results: Results) -> list[str]:
    """The anonymiser of each system with its options, where the records name it."""
    found = set()
    for record in (entry.record for entry in results.entries):
        if "anonymiser" in record.notes:
            words = [str(record.notes.get(name, "")) for name in ("anonymiser", "anon_options")]
            details = [f"level {record.notes.get('anon_level') or 'unknown'}", f"seed {record.notes.get('anon_seed')}"]
            if digest := str(record.notes.get("anonymiser_sha256", "")):
                details.append(f"SHA-256 {digest[:16]}…")
            found.add(f"{record.system}: {' '.join(filter(None, words))} ({', '.join(details)})")
    return sorted(found)


def used_models(names: Iterable[str], conf: Path = ROOT / "conf") -> list[UsedModel]:
    """The pretrained models that the configurations of attackers and recognisers name."""
    if not (conf / "models.yaml").is_file():
        return []
    known = read_models(conf / "models.yaml")
    used = []
    for name in sorted(set(names)):
        model = _model_name(conf, name)
        if model in known:
            used.append(UsedModel(name, known[model]))
    return used


def _model_name(conf: Path, name: str, depth: int = 3) -> str:
    """The model of a configuration, or of the one that its training starts from."""
    for kind in ("asv", "asr"):
        path = find_config(conf / kind / f"{name}.yaml")
        if path.is_file() and depth:
            content = read_yaml(path)
            return str(content.get("model") or _model_name(conf, str(content.get("start", "")), depth - 1))
    return ""
