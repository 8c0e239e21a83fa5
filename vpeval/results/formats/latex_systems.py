"""LaTeX tables beyond those of the challenge (booktabs): all privacy metrics, systems side by side, legal metrics, SRD.

A cell is a number with its interval, where the record has one and there is room. Among several anonymisation systems
the best number of a row (of a column in the SRD tables) is bold; equal numbers, as they are shown, are equally good.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from vpeval.records.averages import averages
from vpeval.records.costs import costs
from vpeval.records.metrics import describe, rank
from vpeval.records.names import CONDITIONS, ORIGINAL, SetName
from vpeval.records.record import Record
from vpeval.results.formats.latex_cells import ABSENT, heading, in_order, intervals, number, put, row_of, table
from vpeval.results.formats.latex_srd import srd_table
from vpeval.results.formats.tex import Tex, escape
from vpeval.results.shown import show_chance

_VERIFICATION = (
    *("eer_kaldi", "eer_threshold", "eer_rocch", "min_cllr", "cllr"),
    *("dsys", "zebra_population", "zebra_individual"),
)
_LEGAL = ("singling_out", "linkability", "one_minus_eer")
_PARTITIONS = {"dev": "development data", "test": "test data"}


def tables(records: Iterable[Record], edition: str = "2020") -> dict[str, str]:
    """LaTeX source by table name; a table without data is absent. Beside SRD stands the EER of the edition.

    privacy_dev, privacy_test: all verification metrics of every set; systems_dev, systems_test: averages over the sets,
    a column per system; legal: singling out, linkability and 1-EER over N and L; srd: similarity rank
    disclosure by every representation.
    """
    records = costs(records)
    texts = {}
    for partition in _PARTITIONS:
        texts[f"privacy_{partition}"] = _privacy([r for r in records if _partition(r) == partition], partition)
    means = averages(r for r in records if _partition(r) and not (r.metric in ("wer", "cer") and r.gender))
    for partition in _PARTITIONS:
        texts[f"systems_{partition}"] = _systems([r for r in means if r.set == partition], partition)
    texts["legal"] = _legal([r for r in records if r.metric in _LEGAL])
    texts["srd"] = srd_table(records, [r for r in means if r.set == "test"], edition)
    return {name: text for name, text in texts.items() if text}


def _partition(record: Record) -> str:
    name = SetName.parse(record.set)
    return name.partition if name else ""


def _privacy(records: Sequence[Record], partition: str) -> str:
    chosen = [r for r in records if r.metric in _VERIFICATION and r.condition in CONDITIONS]
    if not chosen:
        return ""
    metrics = [metric for metric in _VERIFICATION if any(r.metric == metric for r in chosen)]
    systems = in_order(r.system for r in chosen)
    cells: defaultdict[tuple[Any, ...], dict[str, str]] = defaultdict(dict)
    for r in chosen:
        key = (*_set_order(r.set), systems.index(r.system), r.attacker, CONDITIONS.index(r.condition), r.set, r.gender)
        # With its interval, a row of all metrics would be too wide to read.
        put(cells[key], r.metric, number(replace(r, lower=None)), r)
    labels = {key: [_set_label(key[-2]), key[-1], systems[key[3]], key[4], *CONDITIONS[key[5]]] for key in cells}
    heads = ["Data set", "Gender", "System", "Attacker", "Enrol.", "Trials"]
    kept = [i for i in range(6) if i in (0, 1, 4, 5) or len({label[i] for label in labels.values()} - {ORIGINAL}) > 1]
    rows: list[list[str]] = []
    last = None
    for key in sorted(cells):
        group = key[:3]
        line = [labels[key][i] for i in kept] + [cells[key].get(metric, ABSENT) for metric in metrics]
        rows += [[], line] if last not in (None, group) else [line]
        last = group
    head = [heads[i] for i in kept] + [heading(describe(metric)) for metric in metrics]
    caption = f"Privacy by speaker verification for {_PARTITIONS[partition]} (o: original, a: anonymised speech)."
    return table("l" * len(kept) + "r" * len(metrics), [head], rows, caption, f"privacy-{partition}")


def _systems(records: Sequence[Record], partition: str) -> str:
    records = [
        r for r in records if r.metric in _VERIFICATION or describe(r.metric).aspect == "utility" or r.metric == "deid"
    ]
    systems = in_order(r.system for r in records)
    if len(systems) < 2:
        return ""
    rows: defaultdict[tuple[Any, ...], dict[str, Record]] = defaultdict(dict)
    for record in records:
        # Original data are their own condition: they stand beside all anonymised ones.
        condition = "" if record.system == ORIGINAL else record.condition
        extra = " ".join(f"{value}" for key, value in record.params.items() if key in ("lm", "emotion", "mode"))
        place = CONDITIONS.index(condition) if condition in CONDITIONS else -1
        put(rows[rank(record.metric), extra, place, condition, record.attacker], record.system, record, record)
    lines = []
    originals = {key: found for key, found in rows.items() if not key[3] and ORIGINAL in found}
    for key in sorted(rows.keys() - originals.keys() or rows.keys()):
        (_, metric), extra, _, condition, attacker = key
        found = dict(rows[key])
        beside = [o for k, o in originals.items() if k[:2] == key[:2]]
        same = [o for k, o in originals.items() if k[:2] == key[:2] and k[4] == attacker] or beside
        if len(same) == 1:
            found.setdefault(ORIGINAL, same[0][ORIGINAL])
        kind = describe(metric)
        row = row_of(found, systems, kind)
        if ORIGINAL in found and found[ORIGINAL].condition == "oo" != condition:
            place = systems.index(ORIGINAL)
            row[place] = Tex(rf"{escape(row[place])} {{\scriptsize (o-o)}}")
        title = Tex(f"{heading(kind)} ({escape(extra)})") if extra else heading(kind)
        lines.append([title, "-".join(condition), attacker, *row])
    caption = (
        f"Systems side by side: averages over the sets of the {_PARTITIONS[partition]}, weighted as in VoicePrivacy "
        f"2022{intervals(records)}; the best system in bold. o-o: original speech has no other condition."
    )
    head = ["Metric", "Condition", "Attacker / recogniser", *systems]
    return table("lll" + "r" * len(systems), [head], lines, caption, f"systems-{partition}")


def _legal(records: Sequence[Record]) -> str:
    if not records:
        return ""
    systems = in_order(r.system for r in records)
    columns = sorted(
        {(r.system, r.condition, r.attacker) for r in records},
        key=lambda c: (systems.index(c[0]), c[2], c[1] not in CONDITIONS or CONDITIONS.index(c[1])),
    )
    rows: defaultdict[tuple[Any, ...], dict[tuple[str, ...], Record]] = defaultdict(dict)
    for r in records:
        key = _LEGAL.index(r.metric), _size(r.params.get("N")), _size(r.params.get("L"))
        put(rows[key], (r.system, r.condition, r.attacker), r, r)
    lines: list[list[str]] = []
    for key in sorted(rows):
        found = rows[key]
        one = next(iter(found.values()))
        if lines and lines[-1][0] != describe(one.metric).latex:
            lines.append([])
        sizes = [str(one.params.get(name, "")) for name in ("N", "L")]
        cells = [number(found[c]) if c in found else ABSENT for c in columns]
        lines.append([Tex(describe(one.metric).latex), *sizes, show_chance(one), *cells])
    heads = [["", "", "", "", *(c[0] for c in columns)]]
    if len({c[2] for c in columns}) > 1:
        heads.append(["", "", "", "", *(c[2] for c in columns)])
    heads.append([Tex(r"Metric $\downarrow$"), Tex("$N$"), Tex("$L$"), "Chance", *("-".join(c[1]) for c in columns)])
    caption = (
        "Singling out, linkability and $1-$EER over the number $N$ of speakers and $L$ of utterances per speaker"
        f"{intervals(records)}."
    )
    return table("lrrr" + "r" * len(columns), heads, lines, caption, "legal")


def _set_order(name: str) -> tuple[str, str, str]:
    parts = SetName.parse(name)
    return (parts.corpus, parts.subset, parts.gender) if parts else (name, "", "")


def _set_label(name: str) -> str:
    parts = SetName.parse(name)
    return " ".join(filter(None, (parts.corpus, parts.subset))) if parts else name


def _size(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.inf
