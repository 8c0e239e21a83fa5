"""What an edition of the challenge consists of, the known editions, and how their result files are read and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.lazy import modules_of
from vpeval.data.layout import first_few
from vpeval.records.names import (
    ASV_EVAL,
    ASV_EVAL_ANON,
    CONDITIONS,
    MARK,
    ORIGINAL,
    PROTOCOL,
    PUBLISHED,
    SEMI,
    SIMILAR,
    SetName,
    attack_model,
    remarks,
    unranked_remark,
)
from vpeval.records.record import Record


@dataclass(frozen=True)
class Topic:
    """A point of the system description; `words` is a pattern that a text without the form must contain."""

    title: str
    words: str = ""


TEAM = Topic("Team, members, affiliation, contact", r"team|author|affiliat|contact")
METHOD = Topic("Anonymisation method, step by step", r"method|anonymi[sz]|approach|system")
TRAINING = Topic(
    "Training data and pretrained models, with their sources",
    r"train\w*\W+(?:\w+\W+){0,3}?(?:data|set|corp|on)|pre-?trained|no training|not trained|untrained",
)
LEVEL = Topic(
    "Level of anonymisation (speaker or utterance) and how pseudo-speakers are chosen",
    r"(?:speaker|utterance)\W*level|pseudo\W*speaker|per (?:speaker|utterance)",
)
FORM = (
    *(TEAM, METHOD, TRAINING, LEVEL),
    Topic("Anything that differs between enrolment, trial and training data"),
    Topic("Computing time and hardware"),
    Topic("What was tuned on the development data"),
)
"""The points of the form for a system description."""


@dataclass(frozen=True)
class ResultFile:
    """A result file of an edition.

    `is_own` decides by its first line whether a file is of this format. `read` takes a path and the name of the
    anonymised system. `published` is a pattern of how names of published copies begin. `attacks` are the attackers and
    conditions that the file shows under the names of the challenge; without them it shows one attacker, or every one.
    """

    name: str
    is_own: Callable[[str], bool]
    read: Callable[[Path, str], list[Record]]
    render: Callable[[Sequence[Record]], str]
    published: str
    attacks: tuple[tuple[str, str], ...] = ()
    every_attacker: bool = False
    remarks: Callable[[Sequence[Record]], list[str]] = lambda records: []
    """What must be said about some records in this file, besides what is said about them everywhere."""


@dataclass(frozen=True)
class Rules:
    """How an edition ranks: classes of a minimum EER, the utility inside them, and the least pitch correlation."""

    edition: str
    classes: tuple[float, ...]
    utility: tuple[str, ...]
    pitch: float = 0.0


@dataclass(frozen=True)
class Edition:
    """An edition of the challenge; `eer` is the metric that it calls EER, `text_rules` names a text normaliser."""

    name: str
    eer: str
    text_rules: str
    files: tuple[ResultFile, ...]
    rules: Rules | None = None
    ranks_trained: bool = True
    """Whether the attacker that was trained on anonymised speech counts, or the one trained on original speech."""
    requires_uar: bool = False
    """Whether emotions must be recognised where the data have labels."""
    topics: tuple[Topic, ...] = (TEAM, METHOD, TRAINING, LEVEL)
    """What the description of a system must mention."""
    latex_style: str = "booktabs"
    """How its tables are set (`vpeval.results.latex_challenge`)."""
    least_bytes: Mapping[str, int] = field(default_factory=dict)
    """Of the audio of a set in a submission."""
    set_names: str = ".+"
    """A pattern of the names of sets that its result files can tell apart."""

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of its result files."""
        return tuple(file.name for file in self.files)

    @property
    def makers(self) -> tuple[Callable[..., object], ...]:
        """The functions that write its result files and those of every edition (`vpeval.jobs.code`)."""
        return tuple(file.render for file in (*self.files, *shared_files()))

    def file(self, name: str) -> ResultFile:
        """One of its result files, or of those of every edition."""
        found = {file.name: file for file in (*self.files, *shared_files())}
        if name not in found:
            raise InputError(f"edition {self.name} has no result file '{name}'; it has {', '.join(found)}")
        return found[name]


@cache
def editions() -> Mapping[str, Edition]:
    """All editions by name, the oldest first."""
    found = [module.EDITION for module in modules_of("vpeval.editions") if hasattr(module, "EDITION")]
    return {edition.name: edition for edition in sorted(found, key=lambda edition: edition.name)}


@cache
def shared_files() -> tuple[ResultFile, ...]:
    """The result files that every edition has next to its own: those of modules that have `RESULT_FILE`."""
    found = [module.RESULT_FILE for module in modules_of("vpeval.editions") if hasattr(module, "RESULT_FILE")]
    return tuple(sorted(found, key=lambda file: file.name))


def edition_of(name: str) -> Edition:
    """The edition of a name."""
    if name not in editions():
        raise InputError(f"no edition '{name}' of the challenge; there are {', '.join(editions())}")
    return editions()[name]


def rules_for(name: str) -> Rules:
    """The rules that rank the systems of an edition: its own, or those of the last edition that has any."""
    return edition_of(name).rules or [edition.rules for edition in editions().values() if edition.rules][-1]


def format_of(line: str) -> ResultFile | None:
    """The format of a file with this first line.

    The newest edition is asked first, as newer formats include what older ones of the same shape have.
    """
    return next((file for file in _newest_first() if file.is_own(line)), None)


def system_of(path: Path) -> str:
    """The system of a result file: its directory names it, or the name of a copy, as in RESULTS_mcadams."""
    if path.name in {file.name for file in _newest_first()}:
        return path.absolute().parent.name
    prefix = re.compile(f"(?:{'|'.join(file.published for file in _newest_first())})_?")
    return prefix.sub("", path.name if prefix.match(path.name) else path.stem, count=1) or path.stem


def _newest_first() -> list[ResultFile]:
    return [*shared_files(), *(file for edition in reversed(list(editions().values())) for file in edition.files)]


def render(
    records: Sequence[Record],
    edition: str,
    file: str,
    attacker: str | None = None,
    asv_eval: str | None = None,
    text_rules: str = "",
) -> str:
    """The text of one of the result files of an edition.

    A file shows the numbers of one attacker, those of ASV_eval (`asv_eval`) and of ASV_eval^anon (`attacker`), or those
    of every attacker. Where no attacker was trained on speech of the system, a file leaves ASV_eval^anon out. Error
    rates are those by the edition's own text rules, or by `text_rules`. Remarks on the results follow at the end.
    """
    challenge = edition_of(edition)
    result_file = challenge.file(file)
    if not result_file.every_attacker:
        records = by_text_rules(records, text_rules or challenge.text_rules)
    if result_file.every_attacker:
        chosen = list(records)
    elif result_file.attacks:
        chosen = as_challenge_attackers(records, asv_eval, attacker)
    else:
        chosen = of_attacker(records, attacker)
    why = unranked(records, edition) if result_file.attacks else {}
    foreign = foreign_remarks(chosen) if result_file in challenge.files else []
    said = dict.fromkeys(
        (
            *foreign,
            *result_file.remarks(chosen),
            *remarks(records),
            *(unranked_remark(*system) for system in why.items()),
        )
    )
    return result_file.render(chosen) + "".join(f"{MARK}{remark}\n" for remark in said)


def foreign_remarks(records: Sequence[Record]) -> list[str]:
    """That a file of a challenge's format is about sets of no challenge, whose protocol nobody else has."""
    sets: dict[str, dict[str, None]] = {}
    for record in records:
        if record.recipe and SetName.parse(record.set) and not {PROTOCOL, PUBLISHED} & record.notes.keys():
            sets.setdefault(record.recipe, {})[record.set] = None
    return [
        f"protocol: foreign. Sets of recipe {recipe}, not those of a challenge: {first_few(names, 4)}"
        for recipe, names in sets.items()
    ]


def unranked(records: Sequence[Record], edition: str) -> dict[str, str]:
    """The attacked systems without an attacker that was trained on their speech, where an edition ranks by such a one.

    The text says why they are not ranked.
    """
    if not edition_of(edition).ranks_trained:
        return {}
    attacked = dict.fromkeys(r.system for r in records if r.condition in CONDITIONS and r.system != ORIGINAL)
    ranked = {record.system for record in records if attack_model(record) == SEMI}
    why = f"no attacker was trained on its speech, and VoicePrivacy {edition} ranks by such a one (ASV_eval^anon)"
    return {system: why for system in attacked if system not in ranked}


def has_semi_informed(records: Sequence[Record]) -> bool:
    """Whether any attacker was trained on anonymised speech."""
    return any(attack_model(record) == SEMI for record in records)


def by_text_rules(records: Sequence[Record], rules: str) -> list[Record]:
    """The records with error rates by some text rules only; published ones, which do not name theirs, stay.

    An error rate that was counted by other rules only is an error, never a substitute.
    """
    kept = [r for r in records if r.params.get("normalizer", rules) == rules]
    have = {(r.metric, r.system, r.set, r.condition, r.model) for r in kept}
    for r in records:
        if (r.metric, r.system, r.set, r.condition, r.model) not in have:
            raise InputError(
                f"{r.metric} of {r.system} {r.set} was counted by the text rules {r.params['normalizer']}, not by "
                f"{rules}; score the transcripts again by those (stage 10)"
            )
    return kept


def of_system(records: Sequence[Record], system: str | None) -> list[Record]:
    """The records of the original data and one system, or all records for None."""
    if system is None:
        return list(records)
    present = sorted({record.system for record in records} - {ORIGINAL})
    if system not in present:
        raise InputError(f"no records of system '{system}'; there are: {', '.join(present) or 'none'}")
    return [record for record in records if record.system in (system, ORIGINAL)]


def of_attacker(records: Sequence[Record], attacker: str | None) -> list[Record]:
    """The verification records of one attacker and everything that is not about verification, or all records for None.

    Where the attacker has not scored the original data, those of the others stay.
    """
    if attacker is None:
        return list(records)
    _require(records, attacker)
    has_original = any(r.attacker == attacker and r.condition == "oo" for r in records)
    return [
        r
        for r in records
        if r.condition not in CONDITIONS or r.attacker in (attacker, "") or (r.condition == "oo" and not has_original)
    ]


def as_challenge_attackers(records: Sequence[Record], original: str | None, anonymised: str | None) -> list[Record]:
    """The records with their attackers called ASV_eval and ASV_eval^anon, those of other attackers left out.

    `original` was trained on original, `anonymised` on anonymised speech; each may be None where there is only one.
    Nobody else gets these names: without an attacker trained on speech of the system, there is no ASV_eval^anon.
    """
    names = {ASV_EVAL: original, ASV_EVAL_ANON: anonymised}
    for role, name in names.items():
        if name is not None:
            _require(records, name)
        else:
            names[role] = _only(records, role)
    trained = sorted({record.attacker for record in records if attack_model(record) == SEMI})
    if trained and names[ASV_EVAL_ANON] not in trained:
        raise InputError(
            f"attacker '{names[ASV_EVAL_ANON]}' was not trained on speech of the system, as ASV_eval^anon is; choose "
            f"--attacker {trained[-1]}"
        )
    kept = []
    for record in records:
        if record.condition not in CONDITIONS:
            kept.append(record)
            continue
        model = attack_model(record)
        roles = {ASV_EVAL: model not in (SEMI, SIMILAR), ASV_EVAL_ANON: model == SEMI}
        own = [role for role, fits in roles.items() if fits and names[role] == record.attacker]
        kept += [replace(record, attacker=role) for role in own]
    return kept


def _only(records: Sequence[Record], role: str) -> str | None:
    """The one attacker of a kind, None if there is none."""
    scored = [record for record in records if record.condition in CONDITIONS]
    trained = {r.attacker for r in scored if attack_model(r) == SEMI}
    found = sorted(trained if role == ASV_EVAL_ANON else {record.attacker for record in scored} - trained)
    if len(found) > 1:
        option = "--attacker" if role == ASV_EVAL_ANON else "--asv-eval"
        raise InputError(f"several attackers could be {role} ({', '.join(found)}); choose one with {option}")
    return found[0] if found else None


def _require(records: Sequence[Record], attacker: str) -> None:
    present = sorted({record.attacker for record in records if record.condition in CONDITIONS} - {""})
    if attacker not in present:
        raise InputError(f"no records of attacker '{attacker}'; there are: {', '.join(present) or 'none'}")
