"""Where the numbers of a report come from: versions, models, seeds and hashes."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import yaml

import vpeval
from vpeval.core.models import Model, read_models
from vpeval.figures.data import ROOT, Results

_PACKAGES = ("numpy", "scipy", "torch", "speechbrain", "faster-whisper", "soundfile", "matplotlib")


@dataclass(frozen=True)
class UsedModel:
    """A pretrained model behind an attacker or a recogniser."""

    user: str
    model: Model


def versions() -> dict[str, str]:
    """Versions of the toolkit, of Python and of the packages that compute."""
    found = {"vpeval": vpeval.__version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def table_hashes(results: Results) -> dict[str, str]:
    """SHA-256 of the tables, by run."""
    return {f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in results.tables}


def records_hash(results: Results) -> str:
    """One hash for all numbers, whatever their order and the files that they stand in."""
    lines = sorted(entry.record.to_json() for entry in results.entries)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def seeds(results: Results) -> list[int]:
    """All seeds that the records name."""
    return sorted({entry.record.notes["seed"] for entry in results.entries if "seed" in entry.record.notes})


def anonymisers(results: Results) -> list[str]:
    """Who made the anonymised data, system by system, as far as the records say it."""
    found = set()
    for record in (entry.record for entry in results.entries):
        if "anonymiser" in record.notes:
            words = [str(record.notes.get(name, "")) for name in ("anonymiser", "anon_options")]
            details = [f"level {record.notes.get('anon_level') or 'unknown'}", f"seed {record.notes.get('anon_seed')}"]
            if digest := str(record.notes.get("anonymiser_sha256", "")):
                details.append(f"SHA-256 {digest[:16]}…")
            found.add(f"{record.system}: {' '.join(filter(None, words))} ({', '.join(details)})")
    return sorted(found)


def resamples(results: Results) -> list[int]:
    """All numbers of bootstrap resamples that the records name."""
    return sorted({entry.record.notes["resamples"] for entry in results.entries if "resamples" in entry.record.notes})


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
        path = conf / kind / f"{name}.yaml"
        if path.is_file() and depth:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            if isinstance(content, dict):
                return str(content.get("model") or _model_name(conf, str(content.get("start", "")), depth - 1))
    return ""
