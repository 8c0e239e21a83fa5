"""What a listening test can be made of: trials, enrolment utterances and the audio of every system.

A trial of a listening test is a trial of the objective evaluation: an utterance, original or anonymised, held against
an *original* enrolment utterance (VoicePrivacy 2020 evaluation plan, section 5.2.1).
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
    """An utterance and the enrolled speaker it is held against."""

    enroll: str
    utt: str
    spk: str
    is_target: bool


@dataclass(frozen=True, order=True)
class Clip:
    """A recording: an utterance of a set as a system renders it. Generated tones have neither system nor set."""

    system: str
    set: str
    utt: str


@dataclass(frozen=True)
class Material:
    """Everything a test can be drawn from."""

    recipe: str
    systems: tuple[str, ...]
    trials: Mapping[Cell, tuple[Trial, ...]]
    enroll_utts: Mapping[str, Mapping[str, tuple[str, ...]]]
    text: Mapping[str, str]
    wav: Mapping[Clip, str]

    @property
    def cells(self) -> list[Cell]:
        """The cells, women and men in turn, so that neighbours differ in gender wherever they can."""
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
            raise InputError(f"'{word}' is no pair of sets; write <enrolment set>:<trial set>")
        pairs.append((enrolls, trials))
    if not pairs:
        raise InputError("no pairs of sets; name at least one <enrolment set>:<trial set>")
    return list(dict.fromkeys(pairs))


def choose_partition(pairs: Sequence[tuple[str, str]], partition: str) -> list[tuple[str, str]]:
    """The pairs whose trials are of a partition (dev, test), or all of them."""
    if partition == "all":
        return list(pairs)
    chosen = [pair for pair in pairs if (name := SetName.parse(pair[1])) and name.partition == partition]
    if not chosen:
        raise InputError(f"no pair of sets is of partition '{partition}'; choose dev, test or all")
    return chosen


def load_material(
    data: Path, recipe: str, pairs: Sequence[tuple[str, str]], systems: Sequence[str], original: bool = True
) -> Material:
    """Read the sets and their anonymised twins ``<set>_<system>``; everything must be there, before any work.

    The original data are the first system of every test: its anchors.
    """
    names = [ORIGINAL, *systems] if original else list(systems)
    for name in names:
        if not _SYSTEM.fullmatch(name):
            raise InputError(f"'{name}' is no name of a system; use letters, digits, '.', '_', '+' and '-'")
    if len(set(names)) < len(names):
        raise InputError(f"a system is named twice, or one is called '{ORIGINAL}'; name each system once")
    if len(names) < 2:
        raise InputError("name at least one system; the original data are in every test by themselves")
    trials: dict[Cell, tuple[Trial, ...]] = {}
    enroll_utts: dict[str, dict[str, tuple[str, ...]]] = {}
    text: dict[str, str] = {}
    wav: dict[Clip, str] = {}
    for enrolls, name in pairs:
        enrolled = DataDir.load(data / enrolls)
        tried = DataDir.load(data / name)
        enroll_utts[enrolls] = _enroll_utts(enrolled)
        _refuse_shared(enrolled, tried)
        for cell, rows in _by_gender(enrolls, tried, enroll_utts[enrolls]).items():
            trials[cell] = rows
        text |= tried.utt_tables.get("text", {})
        wav |= {Clip(ORIGINAL, enrolls, utt): enrolled.wav[utt] for utt in enrolled.utts}
        for system in names:
            twin = tried if system == ORIGINAL else DataDir.load(data / f"{name}_{system}")
            missing = [utt for utt in tried.utts if utt not in twin.utt2spk]
            if missing:
                raise InputError(
                    f"has no utterance '{missing[0]}' of {tried.path}; anonymise it again (run.sh --stage 3)", twin.path
                )
            wav |= {Clip(system, name, utt): twin.wav[utt] for utt in tried.utts}
    return Material(recipe, tuple(names), trials, enroll_utts, text, wav)


def _enroll_utts(enrolled: DataDir) -> dict[str, tuple[str, ...]]:
    chosen = set(enrolled.utts if enrolled.enrolls is None else enrolled.enrolls)
    found = {spk: tuple(utt for utt in utts if utt in chosen) for spk, utts in enrolled.spk2utt.items()}
    return {spk: utts for spk, utts in found.items() if utts}


def _refuse_shared(enrolled: DataDir, tried: DataDir) -> None:
    """A trial that is its own enrolment would be recognised by its words and noises."""
    if shared := sorted(enrolled.utt2spk.keys() & tried.utt2spk.keys()):
        raise InputError(f"utterance '{shared[0]}' is also in {enrolled.path}; keep the two apart", tried.path)


def _by_gender(enrolls: str, tried: DataDir, known: Mapping[str, object]) -> dict[Cell, tuple[Trial, ...]]:
    if tried.trials is None:
        raise InputError("no such file; a listening test needs trials", tried.path / "trials")
    gender = tried.spk_tables.get("spk2gender", {})
    rows: dict[Cell, list[Trial]] = {}
    for enroll, utt, label in tried.trials:
        if enroll not in known:
            raise InputError(
                f"speaker '{enroll}' has no utterance in {enrolls}; enrol it or drop its trials", tried.path / "trials"
            )
        spk = tried.utt2spk[utt]
        if (spk == enroll) != (label == "target"):
            raise InputError(
                f"trial '{enroll} {utt}' is labelled {label}, but utt2spk says otherwise", tried.path / "trials"
            )
        cell = Cell(enrolls, tried.name, gender.get(spk, ""))
        rows.setdefault(cell, []).append(Trial(enroll, utt, spk, label == "target"))
    for cell, found in rows.items():
        for label, wanted in (("target", True), ("nontarget", False)):
            if not any(trial.is_target is wanted for trial in found):
                who = f" of gender {cell.gender}" if cell.gender else ""
                raise InputError(f"holds no {label} trials{who}; listeners need both kinds", tried.path / "trials")
    return {cell: tuple(sorted(found)) for cell, found in rows.items()}
