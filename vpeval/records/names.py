"""Names that all results share: conditions, sets of the challenges, attack models, and remarks on results.

Remarks are shown wherever results are: results are not official, partial, or not to be believed. Records have them in
their notes: ``protocol`` (rebuilt), ``missing_files``, ``no_cost``, ``left_out``, ``unranked`` and ``warning``.

Cllr is a cost only of log-likelihood ratios: that of cosines is marked in its record, and views leave it out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, TypeVar

from vpeval.core.files import read_lines
from vpeval.core.run_names import base_and_seed as base_and_seed
from vpeval.data.layout import first_few
from vpeval.records.metrics import SIMILARITY, describe
from vpeval.records.record import Record

if TYPE_CHECKING:
    from vpeval.asv.attackers import Attacker
    from vpeval.records.record import Record

T = TypeVar("T")
ORIGINAL = "original"
"""The system of data that no system has touched."""

CONDITIONS = ("oo", "oa", "aa")
"""Enrolment and trials, each original or anonymised."""

ASV_EVAL, ASV_EVAL_ANON = "ASV_eval", "ASV_eval_anon"
ASR_EVAL, ASR_EVAL_ANON = "ASR_eval", "ASR_eval_anon"
"""Attackers and recognisers of the challenges: trained on original speech, and on anonymised speech."""

GENDERS = {"f": "female", "m": "male"}

_NAME = re.compile(
    r"(?P<base>(?P<corpus>.+?)_(?P<role>enrolls|trials|asr)"
    r"(?:_(?P<gender>f|m|mixed|all))?(?:_(?P<subset>common|all))?)(?:_(?P<system>.+))?"
)
_PARTITION = re.compile(r"(?P<corpus>.+)_(?P<partition>dev|test)")


@dataclass(frozen=True)
class SetName:
    """What ``<corpus>_<partition>[_<role>][_<gender>][_<subset>][_<system>]`` says; absent parts are empty strings.

    A set that says neither dev nor test is test data.

    >>> SetName.parse("vctk_dev_trials_f_common_anon")
    SetName(base='vctk_dev_trials_f_common', corpus='vctk', partition='dev', role='trials', gender='f', \
subset='common', system='anon')
    """

    base: str
    corpus: str
    partition: str
    role: str
    gender: str
    subset: str
    system: str

    @classmethod
    def parse(cls, name: str) -> SetName | None:
        """The parts of a name; None if it is not a challenge name."""
        match = _NAME.fullmatch(name)
        if not match:
            whole = _PARTITION.fullmatch(name)
            return cls(name, whole["corpus"], whole["partition"], "", "", "", "") if whole else None
        parts = {key: text or "" for key, text in match.groupdict().items()}
        if parts["gender"] not in ("f", "m"):
            parts["gender"] = ""
        partition = _PARTITION.fullmatch(parts["corpus"])
        parts |= partition.groupdict() if partition else {"partition": "test"}
        return cls(**parts)


def partition_of(name: str) -> str:
    """``dev`` or ``test``; empty for a set that is not one of a challenge.

    >>> partition_of("mini_dev_trials_f"), partition_of("mini_all")
    ('dev', '')
    """
    parts = SetName.parse(name)
    return parts.partition if parts else ""


def set_title(name: str, gender: bool = True) -> str:
    """A set in words.

    >>> set_title("mini_dev_trials_f"), set_title("mini_dev_trials_f", gender=False)
    ('mini dev, female', 'mini dev')
    """
    parts = SetName.parse(name)
    if not parts:
        return name.replace("_", " ")
    title = " ".join(filter(None, (parts.corpus, parts.partition, parts.subset)))
    return f"{title}, {GENDERS[parts.gender]}" if gender and parts.gender else title


UNPROTECTED, IGNORANT, LAZY, SEMI = "unprotected", "ignorant", "lazy-informed", "semi-informed"
SIMILAR = "similar-system"
ATTACK_MODELS = (UNPROTECTED, IGNORANT, LAZY, SIMILAR, SEMI)
"""From the weakest to the strongest, in the vocabulary of the VoicePrivacy challenges, which has none for SIMILAR."""

TRAINED = ("original", "anonymised")
TRAINED_ON = "trained_on"
"""The note of the system whose speech an attacker or encoder was trained on, where no attack model tells."""
INFORMED = "informed"
"""An attacker on attributes who learnt from speech of the system; the challenges, which verify, have no name for it."""
LEGAL_NAMES = {
    UNPROTECTED: "Original",
    IGNORANT: "Ignorant",
    SIMILAR: "Semi-Informed",
    SEMI: "Informed",
    INFORMED: "Informed",
}
"""The names of the same attack models in the legal framework; it has none for the lazy-informed one."""


def attack_model(record: Record, attacker: Attacker | None = None) -> str:
    """Which attack a record is about; empty where it is about none (utility, similarity matrices).

    It is the one that the record states, else that of its `attacker` where that is known, else what condition and name
    of the attacker tell (``ASV_eval_anon`` was trained on anonymised speech).
    """
    if record.condition not in CONDITIONS:
        return ""
    if noted := record.notes.get("attack_model"):
        name = str(noted)
    elif attacker:
        name, _ = attacker.attack(record.condition, record.system)
    else:
        informed = SEMI if "anon" in record.attacker.lower() else LAZY
        name = {"oo": UNPROTECTED, "oa": IGNORANT, "aa": informed}[record.condition]
    return SIMILAR if name == "none" else name


def representation(record: Record) -> str:
    """What of speech the attacker of a record uses, such as embeddings or F0; its name where no note has it."""
    return str(record.notes.get("representation") or record.attacker)


def trained_on(record: Record) -> str:
    """The speech that the attacker or encoder of a record was trained on, one of `TRAINED`; a note may tell."""
    if noted := record.notes.get(TRAINED_ON):
        return TRAINED[noted != ORIGINAL]
    return TRAINED[attack_model(record) in (SEMI, SIMILAR)]


def by_main_encoder(items: Iterable[T], record: Callable[[T], Record]) -> list[T]:
    """The items; of voice similarity (DeID, G_VD …) those of one encoder per system, which pages and challenges show.

    Of the encoders trained on original speech it is the one that most systems have, then the first. `record` leads from
    an item to its record.
    """
    items = list(items)
    alike = [record(item) for item in items if describe(record(item).metric).group == SIMILARITY]
    found = {(r.metric, r.attacker, r.system): None for r in alike if trained_on(r) == ORIGINAL}
    shares = Counter((metric, attacker) for metric, attacker, _ in found)
    main: dict[tuple[str, str], str] = {}
    for metric, attacker, system in found:
        best = main.setdefault((metric, system), attacker)
        if shares[metric, attacker] > shares[metric, best]:
            main[metric, system] = attacker
    return [
        item
        for item in items
        if describe((own := record(item)).metric).group != SIMILARITY
        or (trained_on(own) == ORIGINAL and main[own.metric, own.system] == own.attacker)
    ]


NO_COST = "no_cost"
"""The note of a Cllr that is no cost: why not."""


def marked(records: Iterable[Record]) -> list[Record]:
    """The records; a Cllr of scores that are no log-likelihood ratios, and were not made such, says so."""
    return [
        record.with_notes({NO_COST: "cosines are no log-likelihood ratios"})
        if record.metric == "cllr" and no_llrs(record)
        else record
        for record in records
    ]


def no_llrs(record: Record) -> bool:
    """Whether the scores behind a record are known to be no log-likelihood ratios."""
    return record.notes.get("scoring") == "cosine" and record.notes.get("calibration") == "none"


def costs(records: Iterable[Record]) -> list[Record]:
    """The records without a Cllr that is no cost."""
    return [record for record in records if NO_COST not in record.notes]


PROTOCOL, MISSING, WARNING, ACCEPTED_CODE = "protocol", "missing_files", "warning", "accepted_code"
PUBLISHED = "published"
"""The note of a number that somebody published: where. It has no scores and no interval."""
PUBLICATION = "publication"
"""The note of a published number that names the publication, as its systems are called next to others."""
OTHER_DATA = "other_data"
"""The note of a number that is on other data than those it is shown with: on which."""
LEFT_OUT = "left_out"
"""The note of a system's numbers about attackers whose results are on disk and are not used: which, and why."""
UNRANKED = "unranked"
"""The note of a system's numbers that what the challenge ranks by is not among them: why not."""
MARK = "# "
"""How a line of a results file begins that holds no result."""


def result_lines(path: str | PathLike[str], blanks: bool = False) -> Iterator[tuple[int, str]]:
    """The numbered lines of a results file, without remarks."""
    return ((line, text) for line, text in read_lines(path, blanks) if not text.startswith(MARK))


def unranked_remark(system: str, why: str) -> str:
    """The remark on a system without what the challenge ranks by."""
    return f"not ranked: {system}: {why}"


def remarks(records: Iterable[Record]) -> list[str]:
    """The remarks on some records, each once."""
    rebuilt: dict[str, None] = {}
    missing: dict[str, str] = {}
    warnings: dict[str, None] = {}
    costless: dict[str, None] = {}
    accepted: dict[str, None] = {}
    left_out: dict[str, None] = {}
    unranked: dict[str, None] = {}
    for record in records:
        if NO_COST in record.notes:
            costless[record.attacker] = None
        if record.notes.get(PROTOCOL) == "rebuilt":
            rebuilt[record.set] = None
        if MISSING in record.notes:
            missing[record.set] = str(record.notes[MISSING])
        if ACCEPTED_CODE in record.notes:
            accepted |= dict.fromkeys(str(record.notes[ACCEPTED_CODE]).split(", "))
        if WARNING in record.notes:
            warnings[str(record.notes[WARNING])] = None
        if LEFT_OUT in record.notes:
            left_out[f"{record.system}: {record.notes[LEFT_OUT]}"] = None
        if UNRANKED in record.notes:
            unranked[unranked_remark(record.system, str(record.notes[UNRANKED]))] = None
    found = [*(f"left out: {sentence}" for sentence in left_out), *unranked]
    if rebuilt:
        sets = first_few(rebuilt, 4)
        found.append(f"protocol: rebuilt. Sets drawn by us, not those of the official lists: {sets}")
    found += [f"partial: {name}: {what}" for name, what in missing.items()]
    if costless:
        found.append(f"Cllr of {first_few(costless, 4)} is no cost: cosines are no log-likelihood ratios")
    if accepted:
        names = first_few(sorted(accepted), 4)
        found.append(f"accepted: made before changes of {names}, which were accepted (--accept-code true)")
    return [*found, *(f"warning: {sentence}" for sentence in warnings)]
