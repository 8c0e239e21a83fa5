"""LaTeX tables beyond those of the challenge (booktabs): all privacy metrics, systems side by side, legal metrics, SRD.

A cell is a number with its interval, where the record has one and there is room. Among several anonymisation systems
the best number of a row (of a column in the SRD tables) is bold; equal numbers, as they are shown, are equally good.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vpeval.core.errors import InputError
from vpeval.results.averages import averages
from vpeval.results.costs import costs
from vpeval.results.formats.latex import booktabs
from vpeval.results.formats.tex import Tex, escape, join_cells
from vpeval.results.headline import headline_eer
from vpeval.results.metrics import Metric, describe, rank
from vpeval.results.names import CONDITIONS, ORIGINAL, SetName
from vpeval.results.records import Record
from vpeval.results.shown import show_chance, show_interval

_ABSENT = "--"
_VERIFICATION = (
    *("eer_kaldi", "eer_threshold", "eer_rocch", "min_cllr", "cllr"),
    *("dsys", "zebra_population", "zebra_individual"),
)
_LEGAL = ("singling_out", "linkability", "one_minus_eer")
_SRD = ("srd_max", "srd_mean", "srd_idr", "srd_rank_spread")
_PARTITIONS = {"dev": "development data", "test": "test data"}
_ARROWS = {1: r" $\uparrow$", -1: r" $\downarrow$", 0: ""}


def tables(records: Iterable[Record], edition: str = "2020") -> dict[str, str]:
    """LaTeX source by table name; a table without data is absent. Beside SRD stands the EER of the edition.

    privacy_dev, privacy_test: all verification metrics of every set; systems_dev, systems_test: averages over the sets,
    a column per system; legal: singling out, linkability and 1-EER over N and L; srd, srd_fit: similarity rank
    disclosure from the ranks themselves, and from fitted beta-binomial distributions.
    """
    records = costs(records)
    texts = {}
    for partition in _PARTITIONS:
        texts[f"privacy_{partition}"] = _privacy([r for r in records if _partition(r) == partition], partition)
    means = averages(r for r in records if _partition(r) and not (r.metric in ("wer", "cer") and r.gender))
    for partition in _PARTITIONS:
        texts[f"systems_{partition}"] = _systems([r for r in means if r.set == partition], partition)
    texts["legal"] = _legal([r for r in records if r.metric in _LEGAL])
    for name, estimator in (("srd", "empirical"), ("srd_fit", "beta-binomial")):
        chosen = [r for r in records if r.metric in _SRD and r.params.get("estimator") == estimator]
        texts[name] = _srd(chosen, [r for r in means if r.set == "test"], estimator, edition)
    return {name: text for name, text in texts.items() if text}


def _partition(record: Record) -> str:
    name = SetName.parse(record.set)
    return name.partition if name else ""


def _privacy(records: Sequence[Record], partition: str) -> str:
    chosen = [r for r in records if r.metric in _VERIFICATION and r.condition in CONDITIONS]
    if not chosen:
        return ""
    metrics = [metric for metric in _VERIFICATION if any(r.metric == metric for r in chosen)]
    systems = _in_order(r.system for r in chosen)
    cells: defaultdict[tuple[Any, ...], dict[str, str]] = defaultdict(dict)
    for r in chosen:
        key = (*_set_order(r.set), systems.index(r.system), r.attacker, CONDITIONS.index(r.condition), r.set, r.gender)
        # With its interval, a row of all metrics would be too wide to read.
        _put(cells[key], r.metric, _number(replace(r, lower=None)), r)
    labels = {key: [_set_label(key[-2]), key[-1], systems[key[3]], key[4], *CONDITIONS[key[5]]] for key in cells}
    heads = ["Data set", "Gender", "System", "Attacker", "Enrol.", "Trials"]
    kept = [i for i in range(6) if i in (0, 1, 4, 5) or len({label[i] for label in labels.values()} - {ORIGINAL}) > 1]
    rows: list[list[str]] = []
    last = None
    for key in sorted(cells):
        group = key[:3]
        line = [labels[key][i] for i in kept] + [cells[key].get(metric, _ABSENT) for metric in metrics]
        rows += [[], line] if last not in (None, group) else [line]
        last = group
    head = [heads[i] for i in kept] + [_title(describe(metric)) for metric in metrics]
    caption = f"Privacy by speaker verification for {_PARTITIONS[partition]} (o: original, a: anonymised speech)."
    return _table("l" * len(kept) + "r" * len(metrics), [head], rows, caption, f"privacy-{partition}")


def _systems(records: Sequence[Record], partition: str) -> str:
    records = [
        r for r in records if r.metric in _VERIFICATION or describe(r.metric).aspect == "utility" or r.metric == "deid"
    ]
    systems = _in_order(r.system for r in records)
    if len(systems) < 2:
        return ""
    rows: defaultdict[tuple[Any, ...], dict[str, Record]] = defaultdict(dict)
    for record in records:
        # Original data are their own condition: they stand beside all anonymised ones.
        condition = "" if record.system == ORIGINAL else record.condition
        extra = " ".join(f"{value}" for key, value in record.params.items() if key in ("lm", "emotion", "mode"))
        place = CONDITIONS.index(condition) if condition in CONDITIONS else -1
        _put(rows[rank(record.metric), extra, place, condition, record.attacker], record.system, record, record)
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
        row = _row_of(found, systems, kind)
        if ORIGINAL in found and found[ORIGINAL].condition == "oo" != condition:
            place = systems.index(ORIGINAL)
            row[place] = Tex(rf"{escape(row[place])} {{\scriptsize (o-o)}}")
        title = Tex(f"{_title(kind)} ({escape(extra)})") if extra else _title(kind)
        lines.append([title, "-".join(condition), attacker, *row])
    caption = (
        f"Systems side by side: averages over the sets of the {_PARTITIONS[partition]}, weighted as in VoicePrivacy "
        f"2022{_intervals(records)}; the best system in bold. o-o: original speech has no other condition."
    )
    head = ["Metric", "Condition", "Attacker / recogniser", *systems]
    return _table("lll" + "r" * len(systems), [head], lines, caption, f"systems-{partition}")


def _legal(records: Sequence[Record]) -> str:
    if not records:
        return ""
    systems = _in_order(r.system for r in records)
    columns = sorted(
        {(r.system, r.condition, r.attacker) for r in records},
        key=lambda c: (systems.index(c[0]), c[2], c[1] not in CONDITIONS or CONDITIONS.index(c[1])),
    )
    rows: defaultdict[tuple[Any, ...], dict[tuple[str, ...], Record]] = defaultdict(dict)
    for r in records:
        key = _LEGAL.index(r.metric), _size(r.params.get("N")), _size(r.params.get("L"))
        _put(rows[key], (r.system, r.condition, r.attacker), r, r)
    lines: list[list[str]] = []
    for key in sorted(rows):
        found = rows[key]
        one = next(iter(found.values()))
        if lines and lines[-1][0] != describe(one.metric).latex:
            lines.append([])
        sizes = [str(one.params.get(name, "")) for name in ("N", "L")]
        cells = [_number(found[c]) if c in found else _ABSENT for c in columns]
        lines.append([Tex(describe(one.metric).latex), *sizes, show_chance(one), *cells])
    heads = [["", "", "", "", *(c[0] for c in columns)]]
    if len({c[2] for c in columns}) > 1:
        heads.append(["", "", "", "", *(c[2] for c in columns)])
    heads.append([Tex(r"Metric $\downarrow$"), Tex("$N$"), Tex("$L$"), "Chance", *("-".join(c[1]) for c in columns)])
    caption = (
        "Singling out, linkability and $1-$EER over the number $N$ of speakers and $L$ of utterances per speaker"
        f"{_intervals(records)}."
    )
    return _table("lrrr" + "r" * len(columns), heads, lines, caption, "legal")


def _srd(records: Sequence[Record], means: Sequence[Record], estimator: str, edition: str) -> str:
    if not records:
        return ""
    systems, attackers = _in_order(r.system for r in records), _in_order(r.attacker for r in records)
    found: dict[tuple[str, str, str], Record] = {}
    for record in records:
        _put(found, (record.system, record.attacker, record.metric), record, record)
    eers = _strongest_eers(means, edition)
    columns: list[tuple[Metric, dict[str, Record]]] = []
    for attacker in attackers:
        for metric in _SRD:
            own = {s: found[s, attacker, metric] for s in systems if (s, attacker, metric) in found}
            columns.append((describe(metric), own))
    if estimator == "empirical" and any(system in eers for system in systems):
        metric = next(eers[system].metric for system in systems if system in eers)
        columns.append((describe(metric), {s: eers[s] for s in systems if s in eers}))
    body = [_row_of(own, systems, kind) for kind, own in columns]
    rows = [[system, *cells] for system, *cells in zip(systems, *body, strict=True)]
    head = ["System", *(_title(kind) for kind, _ in columns)]
    over: list[str] = [""]
    over += [Tex(rf"\multicolumn{{{len(_SRD)}}}{{c}}{{{escape(attacker)}}}") for attacker in attackers]
    over += [""] * (len(columns) - len(_SRD) * len(attackers))
    how = "" if estimator == "empirical" else " from beta-binomial distributions fitted to the ranks"
    caption = (
        f"Similarity rank disclosure{how}: maximum and mean disclosure in bit, identification rate and rank spread"
        f"{_intervals(record for _, own in columns for record in own.values())}."
    )
    return _table("l" + "r" * len(columns), [over, head], rows, caption, "srd" if not how else "srd-fit")


def _strongest_eers(means: Iterable[Record], edition: str) -> dict[str, Record]:
    """The EER of every system on its own terms (o-o or a-a) against the attacker that does best."""
    means = [record for record in means if record.condition in ("oo", "aa")]
    metric = headline_eer((record.metric for record in means), edition)
    eers: dict[str, Record] = {}
    for record in means:
        if record.metric == metric and (record.system not in eers or record.value < eers[record.system].value):
            eers[record.system] = record
    return eers


def _intervals(records: Iterable[Record]) -> str:
    """What a caption says of intervals."""
    return r", with 95\,\% intervals" if any(record.lower is not None for record in records) else ""


def _in_order(names: Iterable[str]) -> list[str]:
    """Names once each, original data first."""
    known = list(dict.fromkeys(names))
    return [ORIGINAL] * (ORIGINAL in known) + [name for name in known if name != ORIGINAL]


def _set_order(name: str) -> tuple[str, str, str]:
    parts = SetName.parse(name)
    return (parts.corpus, parts.subset, parts.gender) if parts else (name, "", "")


def _set_label(name: str) -> str:
    parts = SetName.parse(name)
    return " ".join(filter(None, (parts.corpus, parts.subset))) if parts else name


def _size(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.inf


def _put(cells: dict[Any, Any], key: Any, value: Any, record: Record) -> None:
    if key in cells:
        where = " ".join(filter(None, (record.system, record.set, record.condition)))
        raise InputError(f"two values of {record.metric} for {where}; give each run once")
    cells[key] = value


def _title(kind: Metric) -> Tex:
    return Tex(f"{kind.latex}{_ARROWS[kind.better]}")


def _number(record: Record, bold: bool = False) -> Tex:
    text, ends = (
        shown.replace("-", "$-$").replace("inf", r"$\infty$").replace(",", ", ")
        for shown in (describe(record.metric).show(record.value), show_interval(record))
    )
    text = rf"\textbf{{{text}}}" if bold else text
    return Tex(rf"{text} {{\scriptsize {ends}}}" if ends else text)


def _row_of(found: Mapping[str, Record], systems: Sequence[str], kind: Metric) -> list[str]:
    """The cells of the systems, the best anonymised one bold if there are several."""
    shown = {s: kind.show(r.value) for s, r in found.items() if s != ORIGINAL}
    best = None
    if len(shown) > 1 and kind.better:
        choose: Callable[..., str] = max if kind.better > 0 else min
        best = choose(shown.values(), key=float)
    return [_number(found[s], bold=shown.get(s) == best and s != ORIGINAL) if s in found else _ABSENT for s in systems]


def _table(
    colspec: str, heads: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], caption: str, label: str
) -> str:
    """The table of cells; an empty row is a gap."""
    body = [f"{join_cells(row)} \\\\" if row else r"\addlinespace" for row in rows]
    return booktabs(colspec, [f"{join_cells(head)} \\\\" for head in heads], body, caption, f"tab:{label}")
