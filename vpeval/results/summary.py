"""The summary on the screen at the end of a run: fixed-width tables, systems side by side, 120 columns.

Privacy by speaker verification and utility are shown set by set as long as that fits a screen, else as averages over
the sets of a partition; verification by all attackers for one system, by the strongest ones for several. All other
privacy measures follow in few rows: averages over the test sets, the easiest and the hardest case of those that depend
on a number of speakers and utterances, and in every condition what the strongest of several attackers has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vpeval.core.errors import InputError
from vpeval.editions.headline import eer_of, headline_eer, in_challenge_mode, is_eer, with_one_eer
from vpeval.measures.strongest import STRONGEST, attack_in_words, choice_in_words, sets_in_words, strongest_of
from vpeval.records.averages import averages, of_all_speakers
from vpeval.records.metrics import BY_SET, EER, INFERENCE, SUMMARY, describe, estimators_of, rank
from vpeval.records.names import CONDITIONS, ORIGINAL, SetName, costs
from vpeval.records.record import TAGS, Record
from vpeval.results.origins import footnotes
from vpeval.results.text_tables import cell, plain_table, show_chance, show_interval, with_null_levels
from vpeval.results.worst import with_choice

WIDTH = 120
_TALL = 20
_ONE_SYSTEM = 2  # original speech and a system: all attackers fit
_GAP = "  "
_ABSENT = "-"
_LEGEND = """\
o-o: original enrolment and trials; o-a: anonymised trials; a-a: both anonymised. [95 % interval].
{eers}.
Chance: an attacker learns nothing; better privacy is nearer to it. Better utility: lower WER and CER, higher others.
Other measures: all speakers, or average of the test sets; N speakers, L utterances of each. DeID and
G_VD look at embeddings alone, whatever the attacker's back end.
"""
_CHOSEN = "The interval of the strongest attack on a system accounts for the choice among several.\n"
_OF_INFERENCE = """\
So does inference: o-o and o-a attackers learnt from original speech of other speakers, a-a ones from anonymised speech.
"""

Row = tuple[str, str, str]
Column = tuple[str, ...]


def render(records: Sequence[Record], edition: str = "2020") -> str:
    """The summary; every number with its interval, privacy numbers with their chance level.

    Its EER is the one of the edition; results without it are shown with the EER that they have, by its name. Records
    without system and condition, as scorers make them without tags, have a plain table of their own.
    """
    if not records:
        raise InputError("no records to summarise; run the scoring stages first")
    if untagged := [record for record in records if not (record.system or record.condition)]:
        tagged = [render(others, edition)] if (others := [r for r in records if r.system or r.condition]) else []
        return "\n".join([*tagged, f"Numbers of no system\n{plain_table(untagged)}"])
    records = costs(with_one_eer(records, edition))
    systems = [ORIGINAL, *dict.fromkeys(r.system for r in records if r.system != ORIGINAL)]
    verification = [r for r in records if _is_verification(r)]
    shown = [r for r in with_null_levels(records) if SUMMARY in describe(r.metric).shown and not _is_verification(r)]
    replaced = {describe(record.metric).replaces for record in shown}
    shown = [record for record in shown if record.metric not in replaced]
    utility = [r for r in shown if describe(r.metric).aspect == "utility" and not describe(r.metric).condition]
    others = _selected([r for r in shown if describe(r.metric).aspect == "privacy" or describe(r.metric).condition])
    strongest = _strongest(records)
    if len(systems) > _ONE_SYSTEM:
        verification = _by_strongest(verification, strongest)
    title = f"Other measures{_attackers(others, strongest)}"
    others = [replace(r, attacker="") for r in _by_strongest(others, strongest)]
    tables = [
        _table("Privacy: speaker verification", "attacker", with_choice(_fitting(verification), records), systems),
        "".join(f"{line}\n" for line in _strongest_lines(records, edition)),
        _table("Utility", "recogniser", _utility(utility), systems),
        _table(title, "attacker", _without_sets(others), systems),
    ]
    legend = _LEGEND.format(eers=_which_eers(verification, edition))
    if any(record.metric == STRONGEST for record in records):
        legend += _CHOSEN
    if any(describe(record.metric).group == INFERENCE for record in others):
        legend += _OF_INFERENCE
    legend += "".join(f"{line}\n" for line in footnotes([*verification, *utility, *others]))
    return "\n".join([*filter(None, tables), legend])


def _strongest_lines(records: Iterable[Record], edition: str) -> list[str]:
    """A line for every system about its strongest attack, by the EER of the edition."""
    records = [record for record in records if record.metric == STRONGEST]
    metric = headline_eer((str(record.params.get("eer")) for record in records), edition)
    lines = []
    for system in dict.fromkeys(record.system for record in records):
        if found := strongest_of(records, system, metric):
            number = f"{describe(STRONGEST).show(found.value)} {show_interval(found)}".rstrip()
            lines.append(
                f"{system}: {attack_in_words(found.notes)} is {choice_in_words(found.notes)}: "
                f"{describe(metric).label} {number}, mean of {sets_in_words(found)}"
            )
    return lines


def _is_verification(record: Record) -> bool:
    metric = describe(record.metric)
    return metric.aspect == "privacy" and BY_SET in metric.shown and record.condition in CONDITIONS


def _which_eers(records: Iterable[Record], edition: str) -> str:
    """Whose the EERs of the summary are, in words."""
    own, present = eer_of(edition), {record.metric for record in records}
    words = [f"{describe(own).title}: the EER of VoicePrivacy {edition}"]
    words += [
        f"{describe(name).title}: of results without it" for name in estimators_of(EER) if name in present - {own}
    ]
    return "; ".join(words)


def _utility(records: Sequence[Record]) -> list[Record]:
    """Recognition of all speakers and the averages of the rest; what compares with the original data is anonymised."""
    shown = [r if r.condition else replace(r, condition="a") for r in records]
    by_set = [r for r in shown if BY_SET in describe(r.metric).shown]
    return _fitting(of_all_speakers(by_set)) + averages(r for r in shown if r not in by_set)


def _fitting(records: list[Record]) -> list[Record]:
    """The records set by set, or averaged where they would fill more than a screen."""
    rows = {(r.metric, r.set, r.gender) for r in records}
    columns = {(r.system, r.condition, r.model) for r in records}
    panels = -(-len(columns) // 3)
    return averages(records) if len(rows) * panels > _TALL else records


def _selected(records: list[Record]) -> list[Record]:
    """The few numbers of the last table."""
    chosen = []
    for record in averages(records):
        if not record.condition:
            record = replace(record, condition=describe(record.metric).condition)
        if record.params.get("estimator") != "beta-binomial":
            chosen.append(record)
    chosen = in_challenge_mode(chosen, lambda record: record)
    partitions = {record.set for record in chosen} & {"dev", "test"}
    dropped = {"dev"} if len(partitions) == 2 else set()
    return _extreme_sizes([r for r in chosen if r.set not in dropped])


def _without_sets(records: Sequence[Record]) -> list[Record]:
    """The records without the names of their sets, unless a metric has numbers of two sets."""
    sets: defaultdict[str, set[str]] = defaultdict(set)
    for record in records:
        sets[record.metric].add(record.set)
    alone = {metric for metric, names in sets.items() if len(names) == 1}
    if alone < sets.keys():
        return list(records)
    return [replace(r, set="", notes={k: v for k, v in r.notes.items() if k != "average"}) for r in records]


def _extreme_sizes(records: list[Record]) -> list[Record]:
    """Of numbers over N speakers and L utterances: few speakers with long speech, many speakers with short speech."""
    sizes: defaultdict[str, set[tuple[Any, Any]]] = defaultdict(set)
    for record in records:
        if record.params.keys() & {"N", "L"} and describe(record.metric).identified_by:
            sizes[record.metric].add((record.params.get("N", 0), record.params["L"]))
    kept = {}
    for metric, pairs in sizes.items():
        ordered = sorted(pairs, key=lambda pair: (_sortable(pair[0]), _negated(pair[1])))
        kept[metric] = {ordered[0], ordered[-1]} if metric != "one_minus_eer" else {ordered[0]}
    return [
        r
        for r in _finest(records)
        if r.metric not in kept or (r.params.get("N", 0), r.params.get("L")) in kept[r.metric]
    ]


def _finest(records: Sequence[Record]) -> list[Record]:
    """Of numbers by side information those of the attacker who knows most."""
    most: defaultdict[str, int] = defaultdict(int)
    for record in records:
        most[record.metric] = max(most[record.metric], record.params.get("groups", 0))
    return [r for r in records if r.params.get("groups", most[r.metric]) == most[r.metric]]


def _negated(value: Any) -> tuple[float, str]:
    number, text = _sortable(value)
    return -number, text


def _strongest(records: Iterable[Record]) -> dict[tuple[str, str], str]:
    """The attacker with the lowest mean EER against every system in every condition."""
    eers: defaultdict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if is_eer(record.metric):
            eers[record.system, record.condition][record.attacker].append(record.value)
    return {
        key: min(found, key=lambda attacker: sum(found[attacker]) / len(found[attacker])) for key, found in eers.items()
    }


def _by_strongest(records: Sequence[Record], strongest: Mapping[tuple[str, str], str]) -> list[Record]:
    """The numbers of the strongest attackers; where these have none, those of the attacker who learns most by them."""
    found: defaultdict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for r in records:
        learnt = found[r.metric, r.system, r.condition]
        learnt[r.attacker] = learnt.get(r.attacker, 0.0) - describe(r.metric).better * r.value
    chosen = {}
    for (metric, system, condition), learnt in found.items():
        best = strongest.get((system, condition), "")
        chosen[metric, system, condition] = best if best in learnt else max(sorted(learnt), key=learnt.__getitem__)
    return [r for r in records if r.attacker == chosen[r.metric, r.system, r.condition]]


def _attackers(records: Sequence[Record], strongest: Mapping[tuple[str, str], str]) -> str:
    """Whose numbers a table shows, for its title."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.attacker:
            found[record.condition].add(strongest.get((record.system, record.condition), record.attacker))
    names = sorted(set().union(*found.values()))
    if len(names) <= 1:
        return "".join(f" (attacker {name})" for name in names)
    listed = [f"{_dashed(c)} {'/'.join(sorted(found[c]))}" for c in CONDITIONS if c in found]
    return f" (strongest attacker: {', '.join(listed)})"


def _table(title: str, model: str, records: Sequence[Record], systems: Sequence[str]) -> str:
    """A table of the records; `model` is attacker or recogniser."""
    if not records:
        return ""
    models = sorted({record.model for record in records if record.model})
    if len(models) == 1:
        title += f" ({model} {models[0]})"
    identifying = _identifying_params(records)
    cells: dict[tuple[Row, Column], str] = {}
    rows: dict[Row, Any] = {}
    columns: dict[Column, Any] = {}
    for record in records:
        params = {name: record.params[name] for name in identifying[record.metric] if name in record.params}
        label = " ".join([describe(record.metric).label, *(f"{name}={value}" for name, value in params.items())])
        place = record.set, record.gender, rank(record.metric), [_sortable(value) for value in params.values()]
        row = next((r for r, p in rows.items() if p == place and r[1] == label), None)
        row = row or (
            _set_label(record),
            label,
            show_chance(record) if describe(record.metric).aspect == "privacy" else "",
        )
        column = (record.system, _dashed(record.condition), *([record.model] if len(models) > 1 else []))
        if (row, column) in cells:
            raise InputError(f"two values of {record.metric} for {' '.join(filter(None, row[:2] + column))}")
        rows[row] = place
        columns[column] = systems.index(record.system), record.model, _condition_rank(record)
        cells[row, column] = cell(record)
    text = _grid(sorted(rows, key=rows.__getitem__), sorted(columns, key=columns.__getitem__), cells)
    return f"{title}\n{text}"


def _set_label(record: Record) -> str:
    """The set, and the gender where the name of the set does not include it."""
    if n := record.notes.get("average"):
        return f"{record.set} ({n} sets)"
    name = SetName.parse(record.set)
    return record.set if name and name.gender == record.gender else f"{record.set} {record.gender}".strip()


def _condition_rank(record: Record) -> tuple[int, str]:
    known = [*CONDITIONS, "o", "a"]
    return (known.index(record.condition) if record.condition in known else len(known)), record.condition


def _identifying_params(records: Sequence[Record]) -> dict[str, list[str]]:
    """Per metric the parameters that are shown with its name: those of its description, and those that differ."""
    values: defaultdict[tuple[str, ...], defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        for name, value in record.params.items():
            values[record.metric, *(getattr(record, tag) for tag in TAGS)][name].add(repr(value))
    found = {record.metric: list(describe(record.metric).identified_by) for record in records}
    for (metric, *_), params in values.items():
        found[metric] += [name for name, seen in params.items() if len(seen) > 1 and name not in found[metric]]
    return found


def _sortable(value: Any) -> tuple[float, str]:
    """Numbers by size, before everything else by its text."""
    return (value, "") if isinstance(value, int | float) else (float("inf"), str(value))


def _dashed(condition: str) -> str:
    return "-".join(condition) if condition in CONDITIONS else condition


def _grid(rows: Sequence[Row], columns: Sequence[Column], cells: Mapping[tuple[Row, Column], str]) -> str:
    """Rows by columns; columns that do not fit into the width continue below, under the same row labels."""
    widths = [max(map(len, [*column, *(cells.get((row, column), "") for row in rows)])) for column in columns]
    labels = _labels(rows)
    left = max(map(len, labels))
    panels: list[list[int]] = []
    left_over = 0
    for i, width in enumerate(widths):
        left_over -= len(_GAP) + width
        if left_over < 0 or not panels:
            panels.append([])
            left_over = WIDTH - left - len(_GAP) - width
        panels[-1].append(i)
    return "\n".join(
        "".join(
            _GAP.join(
                [label.ljust(left), *(text.rjust(widths[i]) for i, text in zip(panel, texts, strict=True))]
            ).rstrip()
            + "\n"
            for label, texts in _lines(labels, rows, [columns[i] for i in panel], cells)
        )
        for panel in panels
    )


def _lines(
    labels: Sequence[str], rows: Sequence[Row], columns: Sequence[Column], cells: Mapping[tuple[Row, Column], str]
) -> list[tuple[str, list[str]]]:
    """The heads of the columns, line by line, then the rows; the first label is the head of the labels."""
    heads = [("", list(texts)) for texts in zip(*columns, strict=True) if any(texts)]
    heads[-1] = labels[0], heads[-1][1]
    body = [
        (label, [cells.get((row, column), _ABSENT) for column in columns])
        for label, row in zip(labels[1:], rows, strict=True)
    ]
    return heads + body


def _labels(rows: Sequence[Row]) -> list[str]:
    """The head of the row labels and the labels, in aligned parts; the set is not repeated from row to row."""
    has_chance = any(row[2] for row in rows)
    table = [("", "", "chance" if has_chance else ""), *rows]
    set_width, name_width, chance_width = (max(len(row[i]) for row in table) for i in range(3))
    labels = []
    for row, before in zip(table, [("", "", ""), *table], strict=False):
        name = row[0] if row[0] != before[0] else ""
        labels.append(f"{name:{set_width}}{_GAP if set_width else ''}{row[1]:{name_width}}")
        if has_chance:
            labels[-1] += f"{_GAP}{row[2] or _ABSENT:>{chance_width}}"
    return labels
