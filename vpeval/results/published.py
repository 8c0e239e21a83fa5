"""Published numbers of the challenges' baselines, from conf/published.yaml, to stand beside those of a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.config import check_section, read_config
from vpeval.core.errors import InputError
from vpeval.records.attacks import ATTACK_MODELS
from vpeval.records.metrics import METRICS, describe
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record
from vpeval.results.headline import eer_of

FILE = Path(__file__).resolve().parents[2] / "conf/published.yaml"
_EDITIONS = ("2020", "2022", "2024", "2026")


@dataclass(frozen=True)
class Published:
    """What an edition published: where, by which attack and models, and the numbers of every baseline."""

    edition: str
    source: str
    attack: str
    models: str
    systems: Mapping[str, Mapping[str, Record]]


def published(recipe: str, edition: str, path: Path = FILE) -> Published | None:
    """The published numbers of an edition, if a recipe is on its corpus; None where it is not."""
    config = read_config(path, **dict.fromkeys(_EDITIONS, dict))
    section = config.get(edition)
    keys = {"recipe": str, "source": str, "attack": str, "models": str, "systems": dict}
    found = {name: check_section(config[name], name, path, **keys) for name in _EDITIONS}
    if section is None or found[edition]["recipe"] != recipe:
        return None
    own = found[edition]
    if own["attack"] not in ATTACK_MODELS:
        raise InputError(f"'{edition}.attack' must be one of {', '.join(ATTACK_MODELS)}", path)
    systems = {
        str(name): _numbers(numbers, edition, str(name), own["attack"], path)
        for name, numbers in own["systems"].items()
    }
    return Published(edition, own["source"], own["attack"], own["models"], systems)


def _numbers(numbers: object, edition: str, system: str, attack: str, path: Path) -> dict[str, Record]:
    """The numbers of a system by metric; what a person calls the EER is that of the edition."""
    if not isinstance(numbers, dict):
        raise InputError(f"'{edition}.systems.{system}' must be a list of 'metric: number' pairs", path)
    found = {}
    for name, value in numbers.items():
        metric = eer_of(edition) if name == "eer" else str(name)
        if metric not in METRICS or isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"'{edition}.systems.{system}.{name}' is no number of a metric of docs/metrics.md", path)
        about = {}
        if name == "eer" and system != ORIGINAL:
            about = {"attack_model": attack}
        condition = ("oo" if system == ORIGINAL else "aa") if name == "eer" else ""
        found[metric] = Record(
            metric, value / describe(metric).scale, notes=about, system=system, set="test", condition=condition
        )
    return found
