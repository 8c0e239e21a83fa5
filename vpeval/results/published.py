"""Numbers that others have published: baselines of the challenges, and tables of the VoicePrivacy 2020 supplement.

They are records with the note `PUBLISHED`, which says where, and have neither scores nor intervals.

The tables of the supplement are one file of tab-separated columns (docs/formats.md). Its values are numbers of records:
the EER is Kaldi's, subjective values are metrics of listening tests, and objective values that stand next to those (in
Table 18), which differ from the ones of Table 3, have the parameter ``kind``. Every attack model repeats the number of
original speech, which is one record. `PLACES` of a record are the cells that show it, so that `render_tables` writes
the file that `read_tables` has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any

from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import read_lines
from vpeval.core.places import CONF
from vpeval.editions.base import edition_of, editions
from vpeval.editions.headline import eer_of
from vpeval.listening.ratings import ATTACKER as LISTENERS
from vpeval.listening.ratings import RANKS, VERIFICATION
from vpeval.metrics.score_metrics import zebra_tag
from vpeval.records.averages import averages
from vpeval.records.metrics import describe, known_metrics
from vpeval.records.names import (
    ASV_EVAL,
    ASV_EVAL_ANON,
    GENDERS,
    IGNORANT,
    LAZY,
    ORIGINAL,
    PUBLICATION,
    PUBLISHED,
    SEMI,
    UNPROTECTED,
    SetName,
    attack_model,
)
from vpeval.records.record import Record, fault

PUBLISHED_DIR = CONF / "published"
BASELINES = "edition:"
"""How a file of published baselines begins."""
_OPTIONAL = {"attack", "recogniser", "lm"}
_KEYS = {"system", "metric", "values"} | _OPTIONAL

COLUMNS = ("table", "partition", "data", "gender", "metric", "attack", "kind", "system", "value")
HEADER = "\t".join(COLUMNS)
"""The first line of a file of tables."""
PLACES = "places"
"""The note of a number of a table: its cells, each with the table, the attack model, the line of the file and the
digits that are shown."""
KIND, OBJECTIVE, SUBJECTIVE = "kind", "objective", "subjective"
_RECIPE = "vpc2020"
_EDITION = "2020"
_ORIG = "Orig"
_DATA = {"LibriSpeech": ("libri", ""), "VCTK different": ("vctk", ""), "VCTK common": ("vctk", "common")}
_ATTACKS = {
    UNPROTECTED: ("oo", ASV_EVAL),
    IGNORANT: ("oa", ASV_EVAL),
    LAZY: ("aa", ASV_EVAL),
    SEMI: ("aa", ASV_EVAL_ANON),
}
_VERIFICATION = ("eer", "eer_rocch", "cllr", "min_cllr", "dsys", "zebra_population", "zebra_individual")
_SIMILARITY = ("g_vd", "deid")
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,5})(\.\d{1,9})?")  # of so many digits, the same text comes out again


@dataclass(frozen=True)
class _Cell:
    """A line of a file of tables."""

    table: str
    partition: str
    data: str
    gender: str
    metric: str
    attack: str
    kind: str
    system: str
    value: str


def read_tables(path: str | PathLike[str]) -> list[Record]:
    """The records of a file of tables, in its order; a line that is no cell is an error with its number."""
    lines = read_lines(path)
    number, first = next(lines, (1, ""))
    if first != HEADER:
        raise InputError(f"must begin with a line of the columns {', '.join(COLUMNS)}", path, number)
    found: dict[str, Record] = {}
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            raise InputError(f"has {len(fields)} columns, not {len(COLUMNS)}; tabs divide them", path, number)
        try:
            record = _record(_Cell(*fields), number, Path(path).name)
            known = found.get(record.identity)
            found[record.identity] = _joined(known, record) if known else record
        except ValueError as error:
            raise InputError(str(error), path, number) from None
    return list(found.values())


def render_tables(records: Iterable[Record]) -> str:
    """The text of the file of tables that some records were read from; those of other files are left out."""
    cells = [(place, record) for record in records for place in record.notes.get(PLACES, ())]
    lines = [_line(record, place) for place, record in sorted(cells, key=lambda cell: int(cell[0]["line"]))]
    return "".join(f"{line}\n" for line in (HEADER, *lines))


def without_repeats(records: Iterable[Record]) -> list[Record]:
    """The records without the objective numbers of Table 18 that another table has as well."""
    records = list(records)
    known = {_number(record) for record in records if KIND not in record.params}
    return [record for record in records if KIND not in record.params or _number(record) not in known]


def _number(record: Record) -> tuple[str, ...]:
    return record.metric, record.system, record.set, record.condition, record.attacker


def _record(cell: _Cell, line: int, source: str) -> Record:
    """The number of a cell; a ValueError says what is wrong with it."""
    if cell.partition not in ("dev", "test"):
        raise ValueError(f"partition '{cell.partition}' is not dev or test")
    corpus, subset = _DATA[_one_of(cell.data, "data", _DATA)]
    gender = {word: letter for letter, word in GENDERS.items()}[_one_of(cell.gender, "gender", GENDERS.values())]
    trials = "_".join(filter(None, (corpus, cell.partition, "trials", gender, subset)))
    if not cell.system or cell.system == ORIGINAL:
        raise ValueError(f"system '{cell.system}' is no name; original speech is called {_ORIG}")
    if not _NUMBER.fullmatch(cell.value):
        raise ValueError(f"value '{cell.value}' is no number such as 48.91")
    metric, condition, attacker, params = _number_of(cell)
    scale = describe(params.get("estimator", metric)).scale
    system = ORIGINAL if cell.system == _ORIG else cell.system
    notes: dict[str, object] = {
        PUBLISHED: source,
        PLACES: [
            {"table": cell.table, "attack": cell.attack, "line": line, "digits": len(cell.value.partition(".")[2])}
        ],
    }
    if cell.attack:
        notes["attack_model"] = UNPROTECTED if system == ORIGINAL else cell.attack
    value = float(Decimal(cell.value) / Decimal(scale))
    if metric == "zebra_individual":
        notes["tag"] = zebra_tag(max(0.0, value))
    record = Record(
        metric,
        value,
        params=params,
        notes=notes,
        recipe=_RECIPE,
        system=system,
        set=trials,
        gender=gender,
        condition="oo" if system == ORIGINAL and condition else condition,
        attacker=attacker if system != ORIGINAL or attacker == LISTENERS else ASV_EVAL,
    )
    if wrong := fault(vars(record)):
        raise ValueError(wrong)
    return record


def _number_of(cell: _Cell) -> tuple[str, str, str, dict[str, str]]:
    """Metric, condition, attacker and parameters of a cell of an anonymised system."""
    _one_of(cell.metric, "metric", (*_VERIFICATION, *_SIMILARITY))
    _one_of(cell.kind, "kind", ("", OBJECTIVE, SUBJECTIVE))
    metric = eer_of(_EDITION) if cell.metric == "eer" else cell.metric
    if cell.metric in _SIMILARITY or cell.kind == SUBJECTIVE:
        if cell.attack:
            raise ValueError(
                f"a {cell.kind} {cell.metric} has no attack model such as '{cell.attack}'".replace("  ", " ")
            )
        if cell.kind != SUBJECTIVE:
            return metric, "", "", {KIND: cell.kind} if cell.kind else {}
        heard = _one_of(f"listening_{cell.metric}", "metric", VERIFICATION)
        return heard, "oa", LISTENERS, {"estimator": metric, "scores": RANKS}
    condition, attacker = _ATTACKS[_one_of(cell.attack, "attack", [name for name in _ATTACKS if name != UNPROTECTED])]
    return metric, condition, attacker, {KIND: cell.kind} if cell.kind else {}


def _one_of(name: str, what: str, names: Iterable[str]) -> str:
    if name not in names:
        raise ValueError(f"{what} '{name}' is not known; there are: {', '.join(filter(None, names))}")
    return name


def _joined(known: Record, again: Record) -> Record:
    """One record of the two cells; only the number of original speech stands in several, once for an attack model."""
    places = [*known.notes[PLACES], *again.notes[PLACES]]
    if again.system != ORIGINAL or len({place["attack"] for place in places}) < len(places):
        raise ValueError(f"a second {again.metric} of {again.system} on {again.set}; keep one")
    if again.value != known.value:
        raise ValueError(f"{again.metric} of {_ORIG} on {again.set} is not that of the other attack models")
    return known.with_notes({PLACES: places})


def _line(record: Record, place: Mapping[str, object]) -> str:
    parts = SetName.parse(record.set)
    assert parts, "records of tables have names of the challenge"
    data = next(name for name, corpus in _DATA.items() if corpus == (parts.corpus, parts.subset))
    metric = record.metric.removeprefix("listening_")
    is_heard = record.metric in VERIFICATION
    scale = describe(record.params["estimator"] if is_heard else metric).scale
    value = Decimal(repr(record.value)) * Decimal(scale)
    cell = _Cell(
        table=str(place["table"]),
        partition=parts.partition,
        data=data,
        gender=GENDERS[record.gender],
        metric="eer" if metric == eer_of(_EDITION) else metric,
        attack=str(place["attack"]),
        kind=SUBJECTIVE if is_heard else str(record.params.get(KIND, "")),
        system=_ORIG if record.system == ORIGINAL else record.system,
        value=f"{value:.{place['digits']}f}",
    )
    return "\t".join(astuple(cell))


@dataclass(frozen=True)
class Published:
    """What an edition published: where, by which attack and models, and the test averages of every baseline."""

    edition: str
    source: str
    attack: str
    models: str
    systems: Mapping[str, Mapping[str, Record]]


def baselines_file(edition: str) -> Path:
    """The file of the published baselines of an edition."""
    return PUBLISHED_DIR / f"{edition_of(edition).name}.yaml"


def baselines_files(names: str) -> list[Path]:
    """The files of the editions of a list, which blanks or commas divide."""
    return [baselines_file(name) for name in dict.fromkeys(names.replace(",", " ").split())]


def read_baselines(path: str | PathLike[str]) -> list[Record]:
    """The records of a file of published baselines, in its order."""
    config = _config(path)
    found: dict[str, Record] = {}
    for place, row in enumerate(config["numbers"], start=1):
        try:
            for record in _row_records(row, config):
                if found.setdefault(record.identity, record) is not record:
                    raise ValueError(f"{record.metric} of {record.system} on {record.set} stands there twice")
        except ValueError as error:
            raise InputError(f"'numbers', entry {place}: {error}", path) from None
    return list(found.values())


def published(recipe: str, edition: str) -> Published | None:
    """What an edition published, if a recipe is on its corpus; None where it is not.

    Of verification it has the numbers of the attack that the edition ranks by.
    """
    path = baselines_file(edition)
    config = _config(path)
    if config["recipe"] != recipe:
        return None
    records = read_baselines(path)
    systems: dict[str, dict[str, Record]] = {record.system: {} for record in records}
    for record in averages(records):
        if record.set == "test" and attack_model(record) in ("", UNPROTECTED, config["attack"]):
            systems[record.system][record.metric] = record
    return Published(edition, config["source"], config["attack"], config["models"], systems)


def _config(path: str | PathLike[str]) -> dict[str, Any]:
    keys = dict.fromkeys(("edition", "recipe", "source", "attack", "models"), str)
    config = read_config(Path(path), **keys, numbers=list)
    if config["edition"] not in editions() or config["attack"] not in _ATTACKS:
        raise InputError("'edition' must be one of the challenge, and 'attack' one of its attack models", path)
    return config


def _row_records(row: object, config: Mapping[str, str]) -> Iterator[Record]:
    """The numbers of an entry: those of one system by one metric; a ValueError says what is wrong with it."""
    if not isinstance(row, dict) or not {"system", "metric", "values"} <= row.keys() <= _KEYS:
        raise ValueError(f"must have system, metric and values, and may have {', '.join(sorted(_OPTIONAL))}")
    if not all(isinstance(row[key], str) for key in row.keys() - {"values"}) or not isinstance(row["values"], dict):
        raise ValueError("must have words, and values by the names of sets")
    system, attack = row["system"], row.get("attack", "")
    metric = eer_of(config["edition"]) if row["metric"] == "eer" else row["metric"]
    _one_of(metric, "metric", known_metrics())
    if attack and (attack == UNPROTECTED) != (system == ORIGINAL):
        raise ValueError(f"{system} cannot have the attack model {attack}")
    condition, attacker = _ATTACKS[_one_of(attack, "attack", _ATTACKS)] if attack else ("", "")
    if "recogniser" in row:
        condition = "o" if system == ORIGINAL else "a"
    notes = {PUBLISHED: config["source"], PUBLICATION: f"published {config['edition']}"}
    for name, value in row["values"].items():
        parts = SetName.parse(str(name))
        if not parts and name not in ("dev", "test"):
            raise ValueError(f"'{name}' is no set of a challenge, nor dev or test")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"'{value}' of {name} is no number")
        record = Record(
            metric,
            float(Decimal(str(value)) / Decimal(describe(metric).scale)),
            params={"lm": row["lm"]} if "lm" in row else {},
            notes=notes | ({"attack_model": attack} if attack else {}),
            recipe=config["recipe"],
            system=system,
            set=str(name),
            gender=parts.gender if parts else "",
            condition=condition,
            attacker=attacker,
            recogniser=row.get("recogniser", ""),
        )
        if wrong := fault(vars(record)):
            raise ValueError(wrong)
        yield record
