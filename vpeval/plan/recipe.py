"""``egs/<recipe>/recipe.conf``: the sets of a corpus and how they are evaluated, as data.

The file is a list of shell assignments that a person may source: ``name=word`` or ``name="several words"``, over as
many lines as it takes, with comments between them. It is read here, not run: expansions, commands and unknown names are
errors that name the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError
from vpeval.data.text import NORMALIZERS
from vpeval.editions.base import editions

LEVELS = ("spk", "utt")
PAPER, UTTERANCE = "paper", "utterance"
SRD_UNITS = (PAPER, UTTERANCE)
"""Inputs of similarity rank disclosure: as its paper has them for F0 and phone units, or single utterances for all."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_TRIALS = re.compile(r"(?P<base>.+_trials)_(?P<gender>f|m|mixed|all)(?:_(?P<part>common|all))?")
_SIZES = re.compile(r"([1-9][0-9]*|all)(,([1-9][0-9]*|all))*")
_EXPANDED = re.compile(r"(?<!\\)[$`]")
_SHELL = re.compile(r"[$`;&|<>()\\*?'\"]")
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True)
class Pair:
    """An enrolment set and a trial set: a row of the challenge's tables."""

    enrolls: str
    trials: str


@dataclass(frozen=True)
class Joined:
    """Sets that are looked at as one, under a name of their own."""

    name: str
    sets: tuple[str, ...]


@dataclass(frozen=True)
class Sides:
    """Enrolment sets and test sets of a legal metric, each pooled."""

    enrolls: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """A recipe.conf; the fields are its variables (docs/corpora.md explains them)."""

    recipe: str
    asv_pairs: tuple[Pair, ...]
    asr_sets: tuple[Joined, ...]
    attackers: tuple[str, ...]
    asv_eval: str = ""
    train_sets: tuple[str, ...] = ()
    pool_sets: tuple[str, ...] = ()
    emotion_sets: tuple[Joined, ...] = ()
    legal_sizes: str = "20,100,all"
    legal_utts: str = ""
    linkability_sets: Sides | None = None
    singling_out_sets: Sides | None = None
    srd_sets: tuple[str, ...] = ()
    srd_inputs: int = 20
    srd_unit: str = UTTERANCE
    asr: str = "whisper_base"
    ser: str = ""
    text_rules: str = ""
    edition: str = "2020"
    anon_level: str = "spk"
    train_level: str = "utt"
    report_note: str = ""

    @property
    def enroll_sets(self) -> tuple[str, ...]:
        """All enrolment sets, each once, in the order of their names."""
        return tuple(sorted({pair.enrolls for pair in self.asv_pairs}))

    @property
    def trial_sets(self) -> tuple[str, ...]:
        """All trial sets, each once, in the order of their names."""
        return tuple(sorted({pair.trials for pair in self.asv_pairs}))

    @property
    def eval_sets(self) -> tuple[str, ...]:
        """Everything that is anonymised and attacked, or recognised."""
        sides = [side for side in (self.linkability_sets, self.singling_out_sets) if side]
        legal = {name for side in sides for name in (*side.enrolls, *side.tests)}
        joined = {name for one in (*self.asr_sets, *self.emotion_sets) for name in one.sets}
        return tuple(sorted({*self.enroll_sets, *self.trial_sets, *self.srd_sets, *legal, *joined}))

    @property
    def sets(self) -> tuple[str, ...]:
        """All sets, each once."""
        return tuple(dict.fromkeys((*self.eval_sets, *self.train_sets, *self.pool_sets)))

    @property
    def voice_sets(self) -> tuple[str, ...]:
        """The evaluation sets that attackers look at: all but those that are only recognised."""
        sides = [side for side in (self.linkability_sets, self.singling_out_sets) if side]
        legal = {name for side in sides for name in (*side.enrolls, *side.tests)}
        return tuple(sorted({*self.enroll_sets, *self.trial_sets, *self.srd_sets, *legal}))

    @property
    def speech_sets(self) -> tuple[str, ...]:
        """The sets whose words are recognised, each once."""
        return tuple(sorted({name for joined in self.asr_sets for name in joined.sets}))

    @property
    def linked(self) -> Sides:
        """Whom linkability compares: all enrolment sets with all trial sets, unless the recipe says otherwise."""
        return self.linkability_sets or Sides(self.enroll_sets, self.trial_sets)

    @property
    def singled_out(self) -> Sides:
        """Whom singling out compares."""
        return self.singling_out_sets or Sides(self.enroll_sets, self.trial_sets)

    @property
    def ranked(self) -> tuple[str, ...]:
        """Whose utterances similarity rank disclosure splits into references and inputs."""
        return self.srd_sets or tuple(dict.fromkeys((*self.enroll_sets, *self.trial_sets)))


def read_recipe(path: Path) -> Recipe:
    """Read and check a recipe.conf."""
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for name, value, line in _assignments(path):
        if name not in _READERS:
            raise InputError(f"unknown variable '{name}'; there are {', '.join(sorted(_READERS))}", path, line)
        if name in values:
            raise InputError(f"'{name}' is set twice, first on line {lines[name]}; keep one", path, line)
        try:
            values[name] = _READERS[name](value)
        except ValueError as error:
            raise InputError(f"{name}: {error}", path, line) from None
        lines[name] = line
    required = [field.name for field in fields(Recipe)[:4]]
    if missing := [name for name in required if name not in values]:
        raise InputError(f"'{missing[0]}' is missing; every recipe sets {', '.join(required)}", path)
    if values["recipe"] != path.parent.name:
        message = f"recipe is '{values['recipe']}' in the folder {path.parent.name}; name both alike"
        raise InputError(message, path, lines["recipe"])
    recipe = Recipe(**values)
    _refuse_ambiguous(recipe, path, lines)
    return recipe


def _refuse_ambiguous(recipe: Recipe, path: Path, lines: Mapping[str, int]) -> None:
    if twice := [pair for pair in recipe.asv_pairs if recipe.asv_pairs.count(pair) > 1]:
        raise InputError(f"{twice[0].enrolls}:{twice[0].trials} stands there twice", path, lines["asv_pairs"])
    if both := set(recipe.enroll_sets) & set(recipe.trial_sets):
        message = f"'{both.pop()}' is both an enrolment and a trial set; results would be too good to be true"
        raise InputError(message, path, lines["asv_pairs"])
    compared = {"asv_pairs": [recipe.trial_sets], "asr_sets": [joined.sets for joined in recipe.asr_sets]}
    compared["emotion_sets"] = [joined.sets for joined in recipe.emotion_sets]
    for variable, groups in compared.items():
        for one, other in (pair for group in groups for pair in combinations(group, 2)):
            if _overlap(one, other):
                message = (
                    f"'{one}' and '{other}' hold the same utterances, which would count twice; keep one of them, or "
                    "_trials_f and _trials_m without _trials_mixed"
                )
                raise InputError(message, path, lines[variable])
    if recipe.emotion_sets and not recipe.ser:
        message = "emotion_sets need ser, the directory of an emotion recogniser, to be measured by"
        raise InputError(message, path, lines["emotion_sets"])
    for variable in ("train_sets", "pool_sets"):
        if shared := set(getattr(recipe, variable)) & set(recipe.eval_sets):
            message = f"'{shared.pop()}' is also an evaluation set; attackers must not be trained on those"
            raise InputError(message, path, lines[variable])


def _overlap(one: str, other: str) -> bool:
    """Whether two names are of trial sets of which one is a part of the other.

    >>> _overlap("x_trials_f", "x_trials_mixed"), _overlap("x_trials_f", "x_trials_f_common")
    (True, False)
    """
    a, b = _TRIALS.fullmatch(one), _TRIALS.fullmatch(other)
    if not a or not b or a["base"] != b["base"]:
        return False
    genders, parts = {a["gender"], b["gender"]}, {a["part"], b["part"]}
    return (len(genders) == 1 or bool(genders & {"mixed", "all"})) and (
        len(parts) == 1 or "all" in parts or "all" in genders
    )


def _assignments(path: Path) -> Iterator[tuple[str, str, int]]:
    """The (name, value, line) of every assignment."""
    if not path.is_file():
        raise InputError("no such recipe", path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path) from None
    place = 0
    while place < len(text):
        line = text.count("\n", 0, place) + 1
        if text[place].isspace():
            place += 1
        elif text[place] == "#":
            place = _end_of_line(text, place)
        else:
            match = _NAME.match(text, place)
            if not match or text[match.end() : match.end() + 1] != "=":
                shown = text[place : _end_of_line(text, place)].strip()
                raise InputError(f"'{shown}' is not of the form name=value; recipe.conf holds nothing else", path, line)
            value, place = _value(text, match.end() + 1, path, line)
            yield match[0], value, line


def _value(text: str, start: int, path: Path, line: int) -> tuple[str, int]:
    """The value that begins at `start`, and where it ends."""
    quote = text[start : start + 1]
    if quote not in ("'", '"'):
        end = start
        while end < len(text) and not text[end].isspace():
            end += 1
        value, after = text[start:end], end
    else:
        end = start + 1
        while end < len(text) and text[end] != quote:
            end += 2 if quote == '"' and text[end] == "\\" else 1
        if end >= len(text):
            raise InputError(f"the quotation that begins here ({quote}) has no end", path, line)
        value, after = text[start + 1 : end], end + 1
    special = _EXPANDED if quote == '"' else _NEVER if quote == "'" else _SHELL
    if found := special.search(value):
        raise InputError(f"'{found[0]}' has no place in a value: recipe.conf is read, not run", path, line)
    if quote == '"':
        value = re.sub(r'\\(["\\$`])', r"\1", value.replace("\\\n", ""))
    rest = text[after : _end_of_line(text, after)].strip()
    if rest and not rest.startswith("#"):
        raise InputError(f"'{rest}' follows the value; quote values of several words", path, line)
    return value, _end_of_line(text, after)


def _end_of_line(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _sets(value: str) -> tuple[str, ...]:
    names = tuple(value.split())
    for name in names:
        _check_set(name)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"'{twice[0]}' stands there twice")
    return names


def _check_set(name: str) -> str:
    if not _SET.fullmatch(name):
        raise ValueError(f"'{name}' cannot be the name of a set; use letters, digits and _")
    return name


def _pairs(value: str) -> tuple[Pair, ...]:
    pairs = []
    for word in value.split():
        enrolls, colon, trials = word.partition(":")
        if not colon:
            raise ValueError(f"'{word}' is not <enrolment set>:<trial set>")
        pairs.append(Pair(_check_set(enrolls), _check_set(trials)))
    if not pairs:
        raise ValueError("at least one <enrolment set>:<trial set> is needed")
    return tuple(pairs)


def _joined(value: str) -> tuple[Joined, ...]:
    joined = []
    for word in value.split():
        name, colon, sets = word.partition(":")
        if not colon or not sets:
            raise ValueError(f"'{word}' is not <name>:<set>,<set>")
        joined.append(Joined(_check_set(name), tuple(map(_check_set, sets.split(",")))))
    if twice := [one.name for one in joined if [other.name for other in joined].count(one.name) > 1]:
        raise ValueError(f"'{twice[0]}' stands there twice")
    return tuple(joined)


def _sides(value: str) -> Sides | None:
    words = value.split()
    if not words:
        return None
    enrolls, colon, tests = words[0].partition(":")
    if len(words) > 1 or not colon:
        raise ValueError(f"'{value}' is not <enrolment set>,…:<test set>,…")
    return Sides(tuple(map(_check_set, enrolls.split(","))), tuple(map(_check_set, tests.split(","))))


def _sizes(value: str) -> str:
    if value and not _SIZES.fullmatch(value):
        raise ValueError(f"'{value}' is not a list of numbers such as 20,100,all")
    return value


def _count(value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        raise ValueError(f"'{value}' is not a whole number of at least 1")
    return int(value)


def _attackers(value: str) -> tuple[str, ...]:
    names = _sets(value)
    if not names:
        raise ValueError("at least one attacker is needed")
    return names


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in choices:
            raise ValueError(f"'{value}' is none of {', '.join(choices)}")
        return value

    return read


_READERS: Mapping[str, Callable[[str], Any]] = {
    "recipe": _check_set,
    "asv_pairs": _pairs,
    "asr_sets": _joined,
    "attackers": _attackers,
    "asv_eval": _check_set,
    "train_sets": _sets,
    "pool_sets": _sets,
    "emotion_sets": _joined,
    "legal_sizes": _sizes,
    "legal_utts": _sizes,
    "linkability_sets": _sides,
    "singling_out_sets": _sides,
    "srd_sets": _sets,
    "srd_inputs": _count,
    "srd_unit": _one_of(*SRD_UNITS),
    "asr": _check_set,
    "ser": str,
    "text_rules": _one_of(*NORMALIZERS),
    "edition": lambda value: _one_of(*editions())(value),
    "anon_level": _one_of(*LEVELS),
    "train_level": _one_of(*LEVELS),
    "report_note": str,
}
