"""Can this run succeed here? What it needs in time, disk, memory, models and network, against what there is.

Looks, and makes nothing. Needs are estimated from unit costs that were measured (conf/costs.yaml) and from the seconds
of speech of the sets of the recipe.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vpeval.asv.attackers import PRETRAINED
from vpeval.core import models
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import read_table
from vpeval.core.processes import Machine
from vpeval.corpora.table import NAME as TABLE
from vpeval.corpora.table import read_table_corpus
from vpeval.data.layout import first_few
from vpeval.plan.absent import absent_sets
from vpeval.plan.plan import Plan
from vpeval.plan.readiness import lacking_sets, refuse_lacking

State = Literal["ok", "warn", "fail"]
COSTS = Path("conf/costs.yaml")
_MEGABYTE, _GIGABYTE = 10**6, 10**9
_LEAST_DISK = 0.5 * _GIGABYTE  # of results, figures and logs of any run
_PYTHONS = ("3.11.", "3.12.", "3.13.")
_KEYS: dict[str, type] = {
    **dict.fromkeys(("hooks", "speech"), dict),
    **dict.fromkeys(("other_hook", "embed", "utility", "score"), float),
    **dict.fromkeys(("megabytes", "wav_kilobytes", "model_megabytes"), float),
}


@dataclass(frozen=True)
class Check:
    """What was found about one thing that a run needs."""

    what: str
    state: State
    text: str


@dataclass(frozen=True)
class Needs:
    """What a run will take: CPU seconds by what they are spent on, and bytes of disk."""

    cpu: dict[str, float]
    disk: float

    def seconds(self, jobs: int) -> float:
        """By the clock, with so many jobs at a time."""
        return sum(self.cpu.values()) / jobs


def examine(plan: Plan, machine: Machine, unreachable: Callable[[models.Model], list[str]]) -> Iterator[Check]:
    """All checks, one after the other; `unreachable` tells why a model that is missing cannot be had."""
    costs = read_config(COSTS, **_KEYS)
    yield _python(machine)
    yield _corpus(plan)
    lacking = [model for name in plan.models() if (model := models.find_model(name)) and models.missing_files(model)]
    yield from _models(plan, lacking, unreachable)
    needs = estimate(plan, costs, len(lacking))
    yield _disk(needs, machine)
    yield _memory(plan, costs["megabytes"] * _MEGABYTE, machine)
    yield _cores(plan, machine)
    yield _gpus(plan, machine)
    yield _time(plan, needs, machine)


def estimate(plan: Plan, costs: dict[str, object], missing_models: int = 0) -> Needs | None:
    """What the whole run would take if nothing of it were there; None where nobody knows how much speech there is."""
    unit = {name: float(value) for name, value in costs.items() if isinstance(value, int | float)}
    hooks, known = costs["hooks"], costs["speech"]
    assert isinstance(hooks, dict) and isinstance(known, dict)
    speech = speech_of(plan, known)
    if speech is None:
        return None
    evaluated, trained = speech
    hook = float(hooks.get(plan.hook.resolve().parent.name if plan.hook else "", unit["other_hook"]))
    taught = [attacker for attacker in plan.singles if attacker.mode != PRETRAINED]
    systems = {attacker.training_system(plan.system) for attacker in taught}
    systems |= {plan.system} if plan.taught_sets else set()
    embedded = 2 * evaluated * len(plan.encoders()) + trained * len(taught)
    cpu = {
        "anonymising": hook * (evaluated + trained * len(systems)) if plan.hook else 0.0,
        "embeddings": unit["embed"] * embedded,
        "recognition and pitch": 2 * evaluated * unit["utility"],
        "scores": evaluated * unit["score"],
    }
    audio = 1000 * unit["wav_kilobytes"] * (evaluated + trained * len(systems))
    fetched = missing_models * unit["model_megabytes"] * _MEGABYTE
    return Needs(cpu, _LEAST_DISK + audio + fetched)


def speech_of(plan: Plan, known: dict[str, list[float]]) -> tuple[float, float] | None:
    """Seconds of evaluated and of training speech: of the sets that stage 0 made, or as it is `known` of a recipe."""
    sides = [plan.recipe.eval_sets, plan.recipe.train_sets]
    absent = absent_sets(plan.recipe.recipe, plan.data)
    tables = [[plan.data / name / "utt2dur" for name in side if name not in absent] for side in sides]
    if all(path.is_file() for side in tables for path in side):
        evaluated, trained = (sum(sum(map(float, read_table(path).values())) for path in side) for side in tables)
        return evaluated, trained
    found = known.get(plan.recipe.recipe)
    return (found[0], found[1]) if found and not plan.settings.full else None


def _python(machine: Machine) -> Check:
    fits = machine.python.startswith(_PYTHONS)
    return Check("Python", "ok" if fits else "fail", machine.python + ("" if fits else "; 3.11 to 3.13 is needed"))


def _corpus(plan: Plan) -> Check:
    """Whether the corpus is there, and as far as a quick check shows, whether it is whole."""
    place = plan.corpus
    if not place.exists():
        return Check("corpus", "fail", f"there is none in {place}; give its folder with --corpus DIR")
    if place.is_dir() and not any(place.iterdir()):
        return Check("corpus", "fail", f"{place} is empty; egs/{plan.recipe.recipe}/download.sh fetches what is public")
    try:
        lost = _lost_audio(place)
    except InputError as error:
        return Check("corpus", "fail", str(error))
    if lost:
        return Check("corpus", "fail", f"{place} lacks {len(lost)} audio files ({first_few(lost)}); get it again")
    try:
        refuse_lacking(plan)
    except InputError as error:
        return Check("corpus", "fail", str(error))
    if absent := {*lacking_sets(plan), *absent_sets(plan.recipe.recipe, plan.data)}:
        return Check("corpus", "warn", f"{place} has nothing for {first_few(sorted(absent))}, which are left out")
    return Check("corpus", "ok", str(place))


def _lost_audio(place: Path) -> list[str]:
    """Audio that the table of a corpus names and that is not there; other corpora are looked at by stage 0."""
    table = place if place.is_file() else place / TABLE
    if not table.is_file():
        return []
    with open(table, encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file, delimiter="\t"), [])
    if "path" in columns:
        read_table_corpus(table)  # complains of the first that is missing, with its line
        return []
    there = {path.stem for path in (place / "audio").rglob("*")}
    with open(table, encoding="utf-8", newline="") as file:
        return [row["utt"] for row in csv.DictReader(file, delimiter="\t") if row["utt"] not in there]


def _models(
    plan: Plan, lacking: Iterable[models.Model], unreachable: Callable[[models.Model], list[str]]
) -> Iterator[Check]:
    lacking = list(lacking)
    have = [name for name in plan.models() if name not in {model.name for model in lacking}]
    try:
        for name in have:
            models.locate(models.find_model(name))
    except InputError as error:
        yield Check("models", "fail", str(error))
        return
    if have:
        yield Check("models", "ok", f"{', '.join(have)} in {models.store()}")
    if not lacking:
        yield Check("network", "ok", "not needed, all models are there")
    for model in lacking:
        if reasons := unreachable(model):
            text = f"{model.name} is missing and cannot be fetched ({'; '.join(reasons)}); put its files into "
            yield Check("network", "fail", f"{text}{models.store() / model.name}: utils/get_model.py {model.name}")
        else:
            yield Check("network", "ok", f"{model.name} is missing and can be fetched")


def _disk(needs: Needs | None, machine: Machine) -> Check:
    wanted = needs.disk if needs else _LEAST_DISK
    text = f"{machine.disk / _GIGABYTE:.1f} GB free, {'' if needs else 'at least '}{wanted / _GIGABYTE:.1f} GB needed"
    if machine.disk < wanted:
        return Check("disk", "fail", f"{text}; make room, or put data and exp on another disk by links")
    return Check("disk", "ok", text)


def _memory(plan: Plan, job: float, machine: Machine) -> Check:
    if not machine.memory:
        return Check("memory", "ok", f"not known; {job / _GIGABYTE:.1f} GB for each of {plan.settings.nj} jobs")
    text = f"{machine.memory / _GIGABYTE:.1f} GB free, {job / _GIGABYTE:.1f} GB for each of {plan.settings.nj} jobs"
    fit = int(machine.memory // job)
    if not fit:
        return Check("memory", "fail", f"{text}: not one fits; end other programs, or use a larger machine")
    if fit < plan.settings.nj:
        return Check("memory", "warn", f"{text}: {fit} fit; use --nj {fit}")
    return Check("memory", "ok", text)


def _cores(plan: Plan, machine: Machine) -> Check:
    text = f"{machine.cores}, and {plan.settings.nj} jobs at a time"
    return Check("cores", "warn" if plan.settings.nj > machine.cores else "ok", text)


def _gpus(plan: Plan, machine: Machine) -> Check:
    """Networks that the challenges train on hundreds of speakers want one."""
    trained = [attacker.name for attacker in plan.singles if "vpc" in attacker.profile and attacker.mode != "backend"]
    if trained and not machine.gpus:
        return Check("GPU", "warn", f"none, and {', '.join(trained)} would train for days on the CPU")
    return Check("GPU", "ok", str(machine.gpus) if machine.gpus else "none, and none is needed")


def _time(plan: Plan, needs: Needs | None, machine: Machine) -> Check:
    if needs is None:
        return Check("time", "warn", "is known when the speech is: run the same with --stop-stage 0 first")
    jobs = max(1, min(plan.settings.nj, machine.cores))
    parts = ", ".join(f"{what} {_clock(cpu / jobs)}" for what, cpu in needs.cpu.items() if cpu)
    network = [attacker.name for attacker in plan.singles if attacker.mode in ("finetune", "scratch")]
    more = f"; training of {', '.join(network)} comes on top" if network else ""
    if plan.settings.train_asr:
        more += "; so does that of recognisers"
    return Check("time", "ok", f"about {_clock(needs.seconds(jobs))} from nothing with {jobs} jobs: {parts}{more}")


def _clock(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
