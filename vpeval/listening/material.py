"""The data of a listening test: trials, enrolment utterances and the audio of every system.

A trial of a listening test is a trial of the objective evaluation: an utterance, original or anonymised, is compared
with an *original* enrolment utterance (VoicePrivacy 2020 evaluation plan, section 5.2.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.plan.recipe import read_recipe
from vpeval.records.names import ORIGINAL, SetName

_SYSTEM = re.compile(r"[A-Za-z0-9._+-]+")


@dataclass(frozen=True, order=True)
class Cell:
    """Trials of one gender of one pair of sets: a row of the challenge's tables."""

    enrolls: str
    trials: str
    gender: str


@dataclass(frozen=True, order=True)
class Trial:
    """An utterance and the enrolled speaker it is compared with."""

    enroll: str
    utt: str
    spk: str
    is_target: bool


@dataclass(frozen=True, order=True)
class Clip:
    """A recording of an utterance, original or anonymised by a system. Generated tones have neither system nor set."""

    system: str
    set: str
    utt: str


@dataclass(frozen=True)
class Material:
    """All trials and recordings that a test can use."""

    recipe: str
    systems: tuple[str, ...]
    trials: Mapping[Cell, tuple[Trial, ...]]
    enroll_utts: Mapping[str, Mapping[str, tuple[str, ...]]]
    text: Mapping[str, str]
    wav: Mapping[Clip, str]

    @property
    def cells(self) -> list[Cell]:
        """The cells, genders in turn."""
        by_gender: dict[str, list[Cell]] = {}
        for cell in sorted(self.trials):
            by_gender.setdefault(cell.gender, []).append(cell)
        queues = list(by_gender.values())
        longest = max(map(len, queues))
        return [queue[i] for i in range(longest) for queue in queues if i < len(queue)]


def recipe_pairs(conf: Path) -> tuple[str, list[tuple[str, str]]]:
    """The name of a recipe and its pairs of enrolment and trial sets."""
    recipe = read_recipe(conf)
    return recipe.recipe, [(pair.enrolls, pair.trials) for pair in recipe.asv_pairs]


def parse_pairs(words: Iterable[str]) -> list[tuple[str, str]]:
    """``["libri_test_enrolls:libri_test_trials_f"]`` → pairs of names, each once."""
    pairs = []
    for word in words:
        enrolls, colon, trials = word.partition(":")
        if not (enrolls and colon and trials):
            raise InputError(f"'{word}' is not a pair of sets; write <enrolment set>:<trial set>")
        pairs.append((enrolls, trials))
    if not pairs:
        raise InputError("no pairs of sets; give at least one <enrolment set>:<trial set>")
    return list(dict.fromkeys(pairs))


def choose_partition(pairs: Sequence[tuple[str, str]], partition: str) -> list[tuple[str, str]]:
    """The pairs with trials of a partition (dev, test), or all pairs."""
    if partition == "all":
        return list(pairs)
    chosen = [pair for pair in pairs if (name := SetName.parse(pair[1])) and name.partition == partition]
    if not chosen:
        raise InputError(f"no pair of sets belongs to partition '{partition}'; choose dev, test or all")
    return chosen


def load_material(data: Path, recipe: str, pairs: Sequence[tuple[str, str]], systems: Sequence[str]) -> Material:
    """Read the sets and their anonymised copies ``<set>_<system>``; a missing one is an InputError.

    The original data are the first system of every test.
    """
    names = _system_names(systems)
    trials: dict[Cell, tuple[Trial, ...]] = {}
    enroll_utts: dict[str, dict[str, tuple[str, ...]]] = {}
    text: dict[str, str] = {}
    wav: dict[Clip, str] = {}
    for enrolls, name in pairs:
        enroll_set = DataDir.load(data / enrolls)
        trial_set = DataDir.load(data / name)
        enroll_utts[enrolls] = _enroll_utts(enroll_set)
        _refuse_shared(enroll_set, trial_set)
        trials |= _by_gender(enrolls, trial_set, enroll_utts[enrolls])
        text |= trial_set.utt_tables.get("text", {})
        wav |= {Clip(ORIGINAL, enrolls, utt): enroll_set.wav[utt] for utt in enroll_set.utts}
        for system in names:
            copy = trial_set if system == ORIGINAL else DataDir.load(data / f"{name}_{system}")
            if missing := [utt for utt in trial_set.utts if utt not in copy.utt2spk]:
                raise InputError(
                    f"has no utterance '{missing[0]}' of {trial_set.path}; anonymise it again (run.sh --stage 3)",
                    copy.path,
                )
            wav |= {Clip(system, name, utt): copy.wav[utt] for utt in trial_set.utts}
    return Material(recipe, names, trials, enroll_utts, text, wav)


def _system_names(systems: Sequence[str]) -> tuple[str, ...]:
    names = (ORIGINAL, *systems)
    for name in names:
        if not _SYSTEM.fullmatch(name):
            raise InputError(f"'{name}' is not a valid system name; use letters, digits, '.', '_', '+' and '-'")
    if len(set(names)) < len(names):
        raise InputError(f"a system is named twice, or one is called '{ORIGINAL}'; name each system once")
    if not systems:
        raise InputError("name at least one system; the original data are in every test")
    return names


def _enroll_utts(enroll_set: DataDir) -> dict[str, tuple[str, ...]]:
    chosen = set(enroll_set.utts if enroll_set.enrolls is None else enroll_set.enrolls)
    found = {spk: tuple(utt for utt in utts if utt in chosen) for spk, utts in enroll_set.spk2utt.items()}
    return {spk: utts for spk, utts in found.items() if utts}


def _refuse_shared(enroll_set: DataDir, trial_set: DataDir) -> None:
    """A trial that is also enrolment could be recognised by its words and noises."""
    if shared := sorted(enroll_set.utt2spk.keys() & trial_set.utt2spk.keys()):
        raise InputError(
            f"utterance '{shared[0]}' is also in {enroll_set.path}; use different utterances", trial_set.path
        )


def _by_gender(enrolls: str, trial_set: DataDir, known: Mapping[str, object]) -> dict[Cell, tuple[Trial, ...]]:
    if trial_set.trials is None:
        raise InputError("no such file; a listening test requires trials", trial_set.path / "trials")
    gender = trial_set.spk_tables.get("spk2gender", {})
    rows: dict[Cell, list[Trial]] = {}
    for enroll, utt, label in trial_set.trials:
        if enroll not in known:
            raise InputError(
                f"speaker '{enroll}' has no utterance in {enrolls}; enrol it or drop its trials",
                trial_set.path / "trials",
            )
        spk = trial_set.utt2spk[utt]
        if (spk == enroll) != (label == "target"):
            raise InputError(
                f"trial '{enroll} {utt}' is labelled {label}, which contradicts utt2spk", trial_set.path / "trials"
            )
        cell = Cell(enrolls, trial_set.name, gender.get(spk, ""))
        rows.setdefault(cell, []).append(Trial(enroll, utt, spk, label == "target"))
    for cell, found in rows.items():
        for label, wanted in (("target", True), ("nontarget", False)):
            if not any(trial.is_target is wanted for trial in found):
                who = f" of gender {cell.gender}" if cell.gender else ""
                raise InputError(
                    f"has no {label} trials{who}; a listening test requires both kinds", trial_set.path / "trials"
                )
    return {cell: tuple(sorted(found)) for cell, found in rows.items()}
