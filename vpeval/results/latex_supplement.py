"""LaTeX tables in the layout of the supplement to "The VoicePrivacy 2020 Challenge: Results and findings".

Rows are data sets and genders, columns are systems; a metric has a block for every attack model and attacker. Tables 2
to 15 and 18 of the supplement are called by their numbers, ``supplement_02`` and so on: odd numbers from 3 on are about
test data, the others about development data. Original speech stands in every block. Where the attacker of a block has
not attacked it, the number is that of the one attacker who has, whom the block names. Attackers trained on speech of a
similar system, whom the supplement does not have, stand with the semi-informed ones. Intervals are left out.

Published numbers are shown with the digits that they were printed with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vpeval.editions.headline import headline_eer, in_challenge_mode, is_eer
from vpeval.listening.ratings import VERIFICATION as HEARD
from vpeval.records.metrics import Metric, describe
from vpeval.records.names import (
    GENDERS,
    IGNORANT,
    LAZY,
    ORIGINAL,
    PUBLISHED,
    SEMI,
    SIMILAR,
    SetName,
    attack_model,
    costs,
)
from vpeval.records.record import Record
from vpeval.records.tex import escape
from vpeval.results.latex_layout import ABSENT, Column, Row, Title, in_order, marks, put, signs, typeset
from vpeval.results.latex_listening import SIMULATED
from vpeval.results.published import KIND, PLACES

_EER = "eer"
_CONDITIONS = {IGNORANT: "oa", LAZY: "aa", SIMILAR: "aa", SEMI: "aa"}
_CORPORA = {"libri": "LibriSpeech", "vctk": "VCTK"}
_PARTITIONS = {"dev": "development data", "test": "test data"}
_WEAKER, _STRONGER = (IGNORANT, LAZY), (SIMILAR, SEMI)


@dataclass(frozen=True)
class _Table:
    """Two tables of the supplement, by their numbers: of development and of test data."""

    numbers: tuple[int, int]
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    title: str


_TABLES = (
    _Table((2, 3), (_EER, "cllr", "min_cllr"), _WEAKER, r"EER, $C_\mathrm{llr}$ and $C_\mathrm{llr}^\mathrm{min}$"),
    _Table((4, 5), ("zebra_population", "zebra_individual"), _WEAKER, "ZEBRA expected and worst-case disclosure"),
    _Table((6, 7), ("dsys",), _WEAKER, r"Linkability $D_\leftrightarrow^\mathrm{sys}$"),
    _Table(
        (8, 9), ("g_vd", "deid"), (), r"Gain of voice distinctiveness ($G_\mathrm{VD}$) and de-identification (DeID)"
    ),
    _Table((10, 11), (_EER, "cllr", "min_cllr"), _STRONGER, r"EER, $C_\mathrm{llr}$ and $C_\mathrm{llr}^\mathrm{min}$"),
    _Table((12, 13), ("zebra_population", "zebra_individual"), _STRONGER, "ZEBRA expected and worst-case disclosure"),
    _Table((14, 15), ("dsys",), _STRONGER, r"Linkability $D_\leftrightarrow^\mathrm{sys}$"),
)
_LISTENING = 18
_HEARD = ("listening_eer", "listening_eer_rocch", "listening_min_cllr", "listening_cllr")
assert set(_HEARD) == set(HEARD)


@dataclass(frozen=True)
class _Block:
    """Numbers of one metric by one attacker (or listeners) in one attack model, those of original speech among them."""

    title: Title
    kind: Metric
    records: Sequence[Record]


def tables(records: Iterable[Record], edition: str = "2020") -> dict[str, str]:
    """LaTeX source by table name; a table without data is absent. The EER is that of the edition."""
    records = [record for record in costs(records) if SetName.parse(record.set) and record.gender in GENDERS]
    plain = [record for record in records if KIND not in record.params and record.metric not in HEARD]
    eer = headline_eer((r.metric for r in plain if is_eer(r.metric) and r.system != ORIGINAL), edition)
    order = {id(record): place for place, record in enumerate(records)}
    found = {}
    for table in _TABLES:
        for partition, number in zip(_PARTITIONS, table.numbers, strict=True):
            own = [record for record in plain if _parsed(record).partition == partition]
            blocks = [
                block
                for metric in table.metrics
                for block in _blocks(own, eer if metric == _EER else metric, table.models)
            ]
            models = " and ".join(
                dict.fromkeys(attack_model(r) for b in blocks for r in b.records if r.system != ORIGINAL)
            )
            which = f" for {models} attacks" if table.models else ""
            caption = f"Objective results: {table.title}{which} on the {_PARTITIONS[partition]}."
            found[f"supplement_{number:02d}"] = _set(blocks, number, caption, order)
    caption = (
        "Objective and subjective metrics of speaker verification. Objective metrics are those of ignorant attacks."
    )
    simulated = any("listeners" in record.notes for record in records if record.metric in HEARD)
    found[f"supplement_{_LISTENING}"] = _set(_heard(records), _LISTENING, SIMULATED * simulated + caption, order)
    return {name: text for name, text in found.items() if text}


def _parsed(record: Record) -> SetName:
    parts = SetName.parse(record.set)
    assert parts, "records of other sets were left out"
    return parts


def _blocks(records: Sequence[Record], metric: str, models: Sequence[str], kind: str = "") -> list[_Block]:
    """The blocks of a metric: by attack model and attacker, or by the encoder where no attack is meant.

    `kind` are words about all of them.
    """
    own = [record for record in records if record.metric == metric]
    if not models:
        chosen = in_challenge_mode(own, lambda record: record)
        encoders = dict.fromkeys(record.attacker for record in chosen)
        return [
            _Block(_title(metric, "", name), describe(metric), [r for r in chosen if r.attacker == name])
            for name in encoders
        ]
    found = []
    for model in models:
        attacked = [record for record in own if record.system != ORIGINAL and attack_model(record) == model]
        for attacker in dict.fromkeys(record.attacker for record in attacked):
            numbers = [record for record in attacked if record.attacker == attacker]
            original, other = _original(own, numbers)
            words = f"{kind}{model} ({_CONDITIONS[model]})"
            found.append(_Block(_title(metric, words, attacker, other), describe(metric), [*original, *numbers]))
    return found


def _original(records: Iterable[Record], attacked: Sequence[Record]) -> tuple[list[Record], str]:
    """The numbers of original speech for a block of the same source, and whose they are if not the attacker's own."""
    sources = {record.notes.get(PUBLISHED) for record in attacked}
    by: dict[str, list[Record]] = {}
    for record in records:
        if record.system == ORIGINAL and record.notes.get(PUBLISHED) in sources:
            by.setdefault(record.attacker, []).append(record)
    if (attacker := attacked[0].attacker) in by:
        return by[attacker], ""
    return (by[others[0]], others[0]) if len(others := list(by)) == 1 else ([], "")


def _heard(records: Sequence[Record]) -> list[_Block]:
    """What listeners and ignorant attackers say about the same systems and sets, metric by metric."""
    found = []
    for name in _HEARD:
        heard = [record for record in records if record.metric == name]
        for metric in dict.fromkeys(str(record.params.get("estimator")) for record in heard):
            subjective = [record for record in heard if record.params.get("estimator") == metric]
            places = {_place(record) for record in subjective}
            meant = [r for r in records if r.metric == metric and _place(r) in places]
            objective = [r for r in meant if KIND in r.params] or meant
            found += _blocks(objective, metric, (IGNORANT,), "objective, ")
            found.append(_Block(_title(metric, "subjective", ""), describe(metric), subjective))
    return found


def _place(record: Record) -> tuple[str, str, str]:
    return record.system, record.set, record.gender


def _title(metric: str, attack: str, attacker: str, original: str = "") -> Title:
    by = f", {escape(attacker)}" if attacker else ""
    by += f" (original speech: {escape(original)})" if original else ""
    return Title(f"{describe(metric).latex}{f' -- {attack}' if attack else ''}{by}")


def _set(blocks: Sequence[_Block], number: int, caption: str, order: Mapping[int, int]) -> str:
    """The table of some blocks; empty where nothing was measured. Systems and sets are in the order of all records."""
    records = [record for block in blocks for record in block.records]
    if not any(record.system != ORIGINAL for record in records):
        return ""
    records.sort(key=lambda record: order[id(record)])
    systems = in_order(record.system for record in records)
    where = _data_of(records)
    marked = marks(records)
    rows: list[Row] = []
    for block in blocks:
        cells: dict[tuple[str, str, str], Record] = {}
        for record in block.records:
            put(cells, (record.system, record.set, record.gender), record, record)
        digits = _digits(block, number)
        rows += [[]] if rows else []
        rows.append(block.title)
        last = ""
        for (name, gender), label in where.items():
            found = [cells.get((system, name, gender)) for system in systems]
            if any(record and record.system != ORIGINAL for record in found):
                shown = [signs(f"{block.kind.scale * r.value:.{digits}f}") if r else ABSENT for r in found]
                rows.append([label if label != last else "", GENDERS[gender], *shown])
                last = label
    columns = [Column(("Data",), "l"), Column(("Gender",), "l"), *(Column((marked.name(s),)) for s in systems)]
    return typeset(columns, 2, rows, caption + marked.sentence, f"tab:supplement-{number}")


def _data_of(records: Iterable[Record]) -> dict[tuple[str, str], str]:
    """Sets and genders with their labels; data in the order of the records, female before male."""
    found: dict[str, dict[str, str]] = {}
    partitions = {_parsed(record).partition for record in records}
    for record in records:
        parts = _parsed(record)
        subset = parts.subset or ("different" if parts.corpus == "vctk" else "")
        words = [_CORPORA.get(parts.corpus, parts.corpus), subset, parts.partition if len(partitions) > 1 else ""]
        found.setdefault(" ".join(filter(None, words)), {})[record.gender] = record.set
    return {(names[gender], gender): label for label, names in found.items() for gender in sorted(names)}


def _digits(block: _Block, table: int) -> int:
    """As many as published numbers have in this table; as the metric is shown where there are others."""
    places: list[Mapping[str, object]] = [p for record in block.records for p in record.notes.get(PLACES, ())]
    printed = [int(str(place["digits"])) for place in places if place["table"] == str(table)]
    others = [block.kind.digits] if any(PLACES not in record.notes for record in block.records) else []
    return max([*printed, *others], default=block.kind.digits)
