"""LaTeX tables: those of the 2020 challenge (`vpeval.results.latex_challenge`), and in booktabs style all metrics.

All privacy metrics, systems side by side, legal metrics over N and L, similarity rank disclosure (SRD). A cell is a
number with its interval, where the record has one and it fits. Among several anonymisation systems the best
number of a row (of a column in the SRD table) is bold; equal numbers, as they are shown, are equally good.

The SRD table joins Tables 1 and 2 of Chandra et al. (arXiv 2605.07291). A representation (speaker embeddings, F0,
units …) has a block of rows by estimator, with a row per system; on the left are attackers trained on original speech,
on the right those trained on anonymised speech. The first block also has the EER of the strongest attacker.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.editions.headline import headline_eer
from vpeval.measures.disclosure import DISCLOSURES
from vpeval.records.averages import averages
from vpeval.records.metrics import OVERVIEW, VERIFICATION, Metric, describe, rank
from vpeval.records.names import CONDITIONS, ORIGINAL, TRAINED, SetName, costs, partition_of, representation, trained_on
from vpeval.records.record import Record
from vpeval.records.tex import Tex, escape, join_cells
from vpeval.results import latex_challenge
from vpeval.results.latex_challenge import booktabs
from vpeval.results.latex_listening import significance_tables
from vpeval.results.text_tables import show_chance, show_interval
from vpeval.results.worst import with_choice


def write_latex(
    records: Sequence[Record], out: Path, edition: str, stem: str = "results", style: str = "booktabs"
) -> list[Path]:
    """Write ``<out>/<stem>.<table>.tex`` for every table that there are data for."""
    texts = latex_challenge.tables(records, style)
    if style == "booktabs":
        texts |= tables(records, edition) | significance_tables(records)
    if not texts:
        raise InputError("no results to set in tables")
    if missing := [name for name in latex_challenge.TABLES if name not in texts]:
        logging.warning(f"no data for {', '.join(missing)}: left out")
    written = []
    for name, text in texts.items():
        written.append(out / f"{stem}.{name}.tex")
        write_text(written[-1], text)
    return written


_VERIFICATION = (
    *("eer_kaldi", "eer_threshold", "eer_rocch", "min_cllr", "cllr"),
    *("dsys", "zebra_population", "zebra_individual"),
)
_LEGAL = ("singling_out", "linkability", "one_minus_eer")
_PARTITIONS = {"dev": "development data", "test": "test data"}


def tables(records: Iterable[Record], edition: str = "2020") -> dict[str, str]:
    """LaTeX source by table name; a table without data is absent. The table of SRD has the EER of the edition.

    privacy_dev, privacy_test: all verification metrics of every set; systems_dev, systems_test: averages over the sets,
    a column per system; legal: singling out, linkability and 1-EER over N and L; srd: similarity rank
    disclosure by every representation.
    """
    records = costs(records)
    texts = {}
    for partition in _PARTITIONS:
        texts[f"privacy_{partition}"] = _privacy([r for r in records if partition_of(r.set) == partition], partition)
    means = averages(r for r in records if partition_of(r.set) and not (r.metric in ("wer", "cer") and r.gender))
    means = with_choice(means, records)
    for partition in _PARTITIONS:
        texts[f"systems_{partition}"] = _systems([r for r in means if r.set == partition], partition)
    texts["legal"] = _legal([r for r in records if r.metric in _LEGAL])
    texts["srd"] = srd_table(records, [r for r in means if r.set == "test"], edition)
    return {name: text for name, text in texts.items() if text}


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


def _is_compared(metric: Metric) -> bool:
    """Whether a metric of no attacker is among those that systems are compared by."""
    return metric.aspect == "utility" or (metric.group != VERIFICATION and OVERVIEW in metric.shown)


def _systems(records: Sequence[Record], partition: str) -> str:
    records = [r for r in records if r.metric in _VERIFICATION or _is_compared(describe(r.metric))]
    systems = in_order(r.system for r in records)
    if len(systems) < 2:
        return ""
    rows: defaultdict[tuple[Any, ...], dict[str, Record]] = defaultdict(dict)
    for record in records:
        # Original data have a condition of their own and are shown with all others.
        condition = "" if record.system == ORIGINAL else record.condition
        extra = " ".join(f"{value}" for key, value in record.params.items() if key in ("lm", "emotion", "mode"))
        place = CONDITIONS.index(condition) if condition in CONDITIONS else -1
        put(rows[rank(record.metric), extra, place, condition, record.model], record.system, record, record)
    lines = []
    originals = {key: found for key, found in rows.items() if not key[3] and ORIGINAL in found}
    for key in sorted(rows.keys() - originals.keys() or rows.keys()):
        (_, metric), extra, _, condition, model = key
        found = dict(rows[key])
        others = [o for k, o in originals.items() if k[:2] == key[:2]]
        same = [o for k, o in originals.items() if k[:2] == key[:2] and k[4] == model] or others
        if len(same) == 1:
            found.setdefault(ORIGINAL, same[0][ORIGINAL])
        kind = describe(metric)
        row = row_of(found, systems, kind)
        if ORIGINAL in found and found[ORIGINAL].condition == "oo" != condition:
            place = systems.index(ORIGINAL)
            row[place] = Tex(rf"{escape(row[place])} {{\scriptsize (o-o)}}")
        title = Tex(f"{heading(kind)} ({escape(extra)})") if extra else heading(kind)
        lines.append([title, "-".join(condition), model, *row])
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


_ESTIMATORS = ("empirical", "beta-binomial")


@dataclass
class _Block:
    """The attackers of one representation by what they were trained on, and their numbers."""

    attackers: dict[str, str] = field(default_factory=dict)
    found: dict[tuple[str, str, str, str], Record] = field(default_factory=dict)

    def accepts(self, record: Record) -> bool:
        """Whether the record fits in: two attackers of one kind need two blocks."""
        return self.attackers.setdefault(trained_on(record), record.attacker) == record.attacker

    def add(self, record: Record) -> None:
        """Enter a number."""
        key = str(record.params.get("estimator")), trained_on(record), record.metric, record.system
        put(self.found, key, record, record)

    def column(self, estimator: str, training: str, metric: str) -> dict[str, Record]:
        """The numbers of all systems."""
        return {key[3]: record for key, record in self.found.items() if key[:3] == (estimator, training, metric)}


def srd_table(records: Iterable[Record], means: Iterable[Record], edition: str) -> str:
    """The table; empty where nothing was measured. `means` are averages of verification over the test sets."""
    chosen = [record for record in records if record.metric in DISCLOSURES]
    if not chosen:
        return ""
    systems = in_order(record.system for record in chosen)
    trainings = [name for name in TRAINED if any(trained_on(record) == name for record in chosen)]
    eers = {system: eer for system, eer in _strongest_eers(means, edition).items() if system in systems}
    width = 1 + len(DISCLOSURES) * len(trainings) + bool(eers)
    rows: list[list[str]] = []
    shown = eers
    for title, block in _blocks(chosen).items():
        for estimator in _ESTIMATORS:
            if not any(key[0] == estimator for key in block.found):
                continue
            rows += [[]] if rows else []
            rows.append([Tex(rf"\multicolumn{{{width}}}{{l}}{{\emph{{{escape(title)}}}, {estimator}}}")])
            rows += _rows(block, estimator, trainings, systems, shown if eers else None)
            shown = {}
    head = [heading(describe(metric)) for metric in DISCLOSURES] * len(trainings)
    over = [Tex(rf"\multicolumn{{{len(DISCLOSURES)}}}{{c}}{{trained on {name} speech}}") for name in trainings]
    if eers:
        head.append(heading(describe(next(iter(eers.values())).metric)))
        over.append(Tex())
    caption = (
        "Similarity rank disclosure from the ranks themselves (empirical) and from beta-binomial distributions fitted "
        "to them: maximum and mean disclosure in bit, identification rate and rank spread"
        f"{intervals([*chosen, *eers.values()])}."
    )
    return table("l" + "r" * (width - 1), [["", *over], ["System", *head]], rows, caption, "srd")


def _blocks(records: Sequence[Record]) -> dict[str, _Block]:
    """The blocks by their titles: representation and attackers."""
    blocks: dict[str, list[_Block]] = {}
    for record in records:
        own = blocks.setdefault(representation(record), [])
        block = next((block for block in own if block.accepts(record)), None)
        if block is None:
            block = _Block({trained_on(record): record.attacker})
            own.append(block)
        block.add(record)
    return {
        name if set(block.attackers.values()) == {name} else f"{name} ({', '.join(block.attackers.values())})": block
        for name, own in blocks.items()
        for block in own
    }


def _rows(
    block: _Block, estimator: str, trainings: Sequence[str], systems: Sequence[str], eers: Mapping[str, Record] | None
) -> list[list[str]]:
    """A row per system of the block; `eers` are None where the table has no column for them."""
    known = [system for system in systems if any(key[0] == estimator and key[3] == system for key in block.found)]
    columns = [
        row_of(block.column(estimator, training, metric), known, describe(metric))
        for training in trainings
        for metric in DISCLOSURES
    ]
    if eers:
        columns.append(row_of(eers, known, describe(next(iter(eers.values())).metric)))
    elif eers is not None:
        columns.append([""] * len(known))
    return [[system, *cells] for system, *cells in zip(known, *columns, strict=True)]


def _strongest_eers(means: Iterable[Record], edition: str) -> dict[str, Record]:
    """The EER of every system on its own terms (o-o or a-a) against the attacker that does best."""
    means = [record for record in means if record.condition in ("oo", "aa")]
    metric = headline_eer((record.metric for record in means), edition)
    eers: dict[str, Record] = {}
    for record in means:
        if record.metric == metric and (record.system not in eers or record.value < eers[record.system].value):
            eers[record.system] = record
    return eers


ABSENT = "--"
_ARROWS = {1: r" $\uparrow$", -1: r" $\downarrow$", 0: ""}


def intervals(records: Iterable[Record]) -> str:
    """The words of a caption about intervals."""
    return r", with 95\,\% intervals" if any(record.lower is not None for record in records) else ""


def in_order(names: Iterable[str]) -> list[str]:
    """Names once each, original data first."""
    known = list(dict.fromkeys(names))
    return [ORIGINAL] * (ORIGINAL in known) + [name for name in known if name != ORIGINAL]


def put(cells: dict[Any, Any], key: Any, value: Any, record: Record) -> None:
    """Fill a cell that must be empty."""
    if key in cells:
        where = " ".join(filter(None, (record.system, record.set, record.condition)))
        raise InputError(f"two values of {record.metric} for {where}; give each run once")
    cells[key] = value


def heading(kind: Metric) -> Tex:
    """A metric, with an arrow to its better end."""
    return Tex(f"{kind.latex}{_ARROWS[kind.better]}")


def number(record: Record, bold: bool = False) -> Tex:
    """A value with its interval, if it has one."""
    text, ends = (
        shown.replace("-", "$-$").replace("inf", r"$\infty$").replace(",", ", ")
        for shown in (describe(record.metric).show(record.value), show_interval(record))
    )
    text = rf"\textbf{{{text}}}" if bold else text
    return Tex(rf"{text} {{\scriptsize {ends}}}" if ends else text)


def row_of(found: Mapping[str, Record], systems: Sequence[str], kind: Metric) -> list[str]:
    """The cells of the systems, the best anonymised one bold if there are several."""
    shown = {s: kind.show(r.value) for s, r in found.items() if s != ORIGINAL}
    best = None
    if len(shown) > 1 and kind.better:
        choose: Callable[..., str] = max if kind.better > 0 else min
        best = choose(shown.values(), key=float)
    return [number(found[s], bold=shown.get(s) == best and s != ORIGINAL) if s in found else ABSENT for s in systems]


def table(colspec: str, heads: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """The table of cells; an empty row is a gap."""
    body = [f"{join_cells(row)} \\\\" if row else r"\addlinespace" for row in rows]
    return booktabs(colspec, [f"{join_cells(head)} \\\\" for head in heads], body, caption, f"tab:{label}")
