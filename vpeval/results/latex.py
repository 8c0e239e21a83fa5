"""LaTeX tables of results, by the style that is asked for.

The tables of the challenge (`vpeval.results.latex_challenge`) in the style of an edition, those of the 2020 supplement
(`latex_supplement`), and here all privacy metrics, systems side by side, and legal metrics over N and L; similarity
rank disclosure is in `latex_srd`, significance of listening tests in `latex_listening`. `latex_layout` sets them.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError
from vpeval.core.publish import write_own
from vpeval.editions.base import edition_of
from vpeval.records.averages import averages
from vpeval.records.metrics import LISTENING, OVERVIEW, VERIFICATION, Metric, describe, rank
from vpeval.records.names import CONDITIONS, ORIGINAL, PUBLISHED, SetName, costs, partition_of
from vpeval.records.record import Record
from vpeval.records.tex import Tex, escape
from vpeval.results import latex_challenge, latex_supplement
from vpeval.results.latex_layout import (
    ABSENT,
    Column,
    Row,
    heading,
    in_order,
    intervals,
    marks,
    number,
    put,
    row_of,
    typeset,
)
from vpeval.results.latex_listening import significance_tables
from vpeval.results.latex_srd import srd_tables
from vpeval.results.origins import is_average, without_foreign_original
from vpeval.results.text_tables import show_chance
from vpeval.results.worst import with_choice

EDITION, SUPPLEMENT = "edition", "supplement"
STYLES = (EDITION, *latex_challenge.STYLES, SUPPLEMENT)
"""All tables, those of the challenge as its edition sets them or in booktabs; the latter alone as in 2020; and those of
the supplement."""


def write_latex(
    records: Sequence[Record],
    out: Path,
    edition: str,
    stem: str = "results",
    style: str = EDITION,
    asv_eval: str = "",
) -> list[Path]:
    """Write ``<out>/<stem>.<table>.tex`` for every table that there are data for.

    `asv_eval` is the attacker of the challenge's tables (`latex_challenge.tables`).
    """
    if style == SUPPLEMENT:
        texts = latex_supplement.tables(records, edition) | significance_tables(records)
    else:
        records = without_foreign_original(records)
        own = edition_of(edition).latex_style if style == EDITION else style
        texts = latex_challenge.tables(records, own, asv_eval)
        if style != latex_challenge.VPC2020:
            texts |= tables(records, edition) | significance_tables(records)
    if not texts:
        raise InputError("no results to set in tables")
    wanted = latex_challenge.TABLES if style != SUPPLEMENT else ()
    if missing := [name for name in wanted if name not in texts]:
        logging.warning(f"no data for {', '.join(missing)}: left out")
    written = []
    for name, text in texts.items():
        written.append(out / f"{stem}.{name}.tex")
        write_own(written[-1], text)
    return written


_VERIFICATION = (
    *("eer_kaldi", "eer_threshold", "eer_rocch", "min_cllr", "cllr"),
    *("dsys", "zebra_population", "zebra_individual"),
)
_LEGAL = ("singling_out", "linkability", "one_minus_eer")
_PARTITIONS = {"dev": "development data", "test": "test data"}


def tables(records: Iterable[Record], edition: str = "2020") -> dict[str, str]:
    """LaTeX source by table name; a table without data is absent. Tables of SRD have the EER of the edition.

    privacy_dev, privacy_test: all verification metrics of every set; systems_dev, systems_test: averages over the sets,
    a column per system; legal: singling out, linkability and 1-EER over N and L; srd, srd_beta_binomial: similarity
    rank disclosure by every representation.
    """
    records = [record for record in costs(records) if not record.params.get("kind")]
    texts = {}
    for partition in _PARTITIONS:
        texts[f"privacy_{partition}"] = _privacy([r for r in records if partition_of(r.set) == partition], partition)
    of_sets = (r for r in records if partition_of(r.set) and not (r.metric in ("wer", "cer") and r.gender))
    means = [*averages(of_sets), *filter(is_average, records)]
    means = with_choice(means, records)
    for partition in _PARTITIONS:
        texts[f"systems_{partition}"] = _systems([r for r in means if r.set == partition], partition)
    texts["legal"] = _legal([r for r in records if r.metric in _LEGAL])
    texts |= srd_tables(records, [r for r in means if r.set == "test"], edition)
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
    marked = marks(chosen)
    rows: list[Row] = []
    last = None
    for key in sorted(cells):
        group = key[:3]
        label = [*labels[key][:2], marked.name(labels[key][2]), *labels[key][3:]]
        line = [label[i] for i in kept] + [cells[key].get(metric, ABSENT) for metric in metrics]
        rows += [[], line] if last not in (None, group) else [line]
        last = group
    columns = [Column((heads[i],), "l") for i in kept] + [Column((heading(describe(m)),)) for m in metrics]
    caption = (
        f"Privacy by speaker verification for {_PARTITIONS[partition]} (o: original, a: anonymised speech)."
        f"{marked.sentence}"
    )
    return typeset(columns, len(kept), rows, caption, f"tab:privacy-{partition}")


def _is_compared(metric: Metric) -> bool:
    """Whether a metric of no attacker is among those that systems are compared by."""
    if metric.group == LISTENING:
        return False
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
    lines: list[Row] = []
    originals = {key: found for key, found in rows.items() if not key[3] and ORIGINAL in found}
    for key in sorted(rows.keys() - originals.keys() or rows.keys()):
        (_, metric), extra, _, condition, model = key
        found = dict(rows[key])
        sources = {record.notes.get(PUBLISHED) for record in found.values()}
        others = {
            k[4]: o[ORIGINAL]
            for k, o in originals.items()
            if k[:2] == key[:2] and o[ORIGINAL].notes.get(PUBLISHED) in sources
        }
        same = [others[model]] if model in others else list(others.values())
        if len(same) == 1:
            found.setdefault(ORIGINAL, same[0])
        kind = describe(metric)
        row = row_of(found, systems, kind)
        if ORIGINAL in found and found[ORIGINAL].condition == "oo" != condition:
            place, other = systems.index(ORIGINAL), found[ORIGINAL].model
            by = f", {escape(other)}" if other != model else ""
            row[place] = Tex(rf"{escape(row[place])} {{\scriptsize (o-o{by})}}")
        title = Tex(f"{heading(kind)} ({escape(extra)})") if extra else heading(kind)
        lines.append([title, "-".join(condition), model, *row])
    marked = marks(records)
    caption = (
        f"Systems side by side: averages over the sets of the {_PARTITIONS[partition]}, weighted as in VoicePrivacy "
        f"2022{intervals(records)}; the best system in bold. o-o: original speech has no other condition."
        f"{marked.sentence}"
    )
    columns = [Column((head,), "l") for head in ("Metric", "Condition", "Attacker / recogniser")]
    columns += [Column((marked.name(system),)) for system in systems]
    return typeset(columns, 3, lines, caption, f"tab:systems-{partition}")


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
    lines: list[Row] = []
    last = ""
    for key in sorted(rows):
        found = rows[key]
        one = next(iter(found.values()))
        lines += [[]] if last not in ("", one.metric) else []
        last = one.metric
        sizes = [str(one.params.get(name, "")) for name in ("N", "L")]
        chances = dict.fromkeys(show_chance(record) for record in found.values())
        cells = [number(found[c]) if c in found else ABSENT for c in columns]
        lines.append([Tex(describe(one.metric).latex), *sizes, "/".join(chances), *cells])
    marked = marks(records)
    heads = [("", "", head) for head in (Tex(r"Metric $\downarrow$"), Tex("$N$"), Tex("$L$"), "Chance")]
    labels = [Column(head, align) for head, align in zip(heads, "lrrr", strict=True)]
    numbers = [Column((marked.name(system), attacker, "-".join(condition))) for system, condition, attacker in columns]
    caption = (
        "Singling out, linkability and $1-$EER over the number $N$ of speakers and $L$ of utterances per speaker"
        f"{intervals(records)}.{marked.sentence}"
    )
    return typeset([*labels, *numbers], len(labels), lines, caption, "tab:legal")


def _set_order(name: str) -> tuple[str, str, str]:
    parts = SetName.parse(name)
    return (parts.corpus, parts.subset, parts.gender) if parts else (name, "", "")


def _set_label(name: str) -> str:
    parts = SetName.parse(name)
    return " ".join(filter(None, (parts.corpus, parts.subset))) if parts else name


def _size(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.inf
