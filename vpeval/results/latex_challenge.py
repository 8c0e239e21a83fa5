"""The six LaTeX tables of the VoicePrivacy 2020 challenge: ASV and ASR for dev, test and both side by side.

Rows are grouped by data set and gender; inside a group the original data come first, then every system in the order of
the records, with original enrolment (o-a) before anonymised (a-a). The ASV tables are those of one attacker, ASV_eval.
Columns for the system and the recogniser appear where there is more than one; one for the attacker only where no
attacker has numbers of all systems.

The combined tables of the published results of Baseline-1 are Tables 8 and 9 of the challenge's evaluation plan (v1.4),
all 22 rows of them. Those of the published results of Baseline-2 have the rows, labels, order and rounding of Tables 10
and 11, too, but only the 8 rows of original data have the same numbers: each of the 14 rows with anonymised data
differs in the last digits (EER by at most 0.3, WER by at most 0.07), as the plan prints another run of that anonymiser.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from vpeval.core.errors import InputError
from vpeval.records.names import CONDITIONS, ORIGINAL, SetName, costs
from vpeval.records.record import Record
from vpeval.records.tex import Tex, escape, join_cells
from vpeval.results.latex_layout import ABSENT, Column, Marks, continue_caption, marks, pages, typeset
from vpeval.results.latex_layout import Row as Line
from vpeval.results.origins import is_average

TABLES = ("ASV_dev", "ASV_test", "ASV_combined", "ASR_dev", "ASR_test", "ASR_combined")
_ASV_METRICS = ("eer_kaldi", "eer_threshold", "min_cllr", "cllr")
_LANGUAGE_MODELS = ("", "small", "large")
_MOST_LINES = 50
"""Of a page in the style of 2020."""


@dataclass(frozen=True, order=True)
class _Row:
    """What a row is about; rows sort by these fields."""

    corpus: str
    subset: str
    gender: str
    system_rank: int
    model: str
    condition_rank: int
    system: str
    condition: str

    @property
    def group(self) -> tuple[str, str, str]:
        return self.corpus, self.subset, self.gender

    def data_set(self, partition: str = "") -> str:
        """``vctk_dev_com``: the challenge's label of a data set."""
        return "_".join(filter(None, (self.corpus, partition, self.subset)))


@dataclass(frozen=True)
class _Results:
    """The printed numbers of the ASV or the ASR tables by row, partition and kind of number."""

    task: str
    kinds: tuple[str, ...]
    marked: Marks
    attacker: str = ""
    rows: dict[_Row, dict[str, dict[str, str]]] = field(default_factory=dict)

    def rows_for(self, *partitions: str) -> list[_Row]:
        """Rows with numbers in any of the partitions, sorted."""
        return sorted(row for row, numbers in self.rows.items() if any(p in numbers for p in partitions))


@dataclass(frozen=True)
class _Column:
    """A column: its title (under a common `head`, if any) as source, its cells as text or source, and how it is set."""

    title: str
    cell: Callable[[int, _Row], str]
    head: str = ""
    align: str = "c"
    bar: str = "|"


def tables(records: Iterable[Record], style: str = "booktabs", asv_eval: str = "") -> dict[str, str]:
    """LaTeX source by table name; a table without data is absent. Styles: booktabs, vpc2020.

    `asv_eval` names the attacker of the ASV tables: by default the first one that attacks original speech.
    """
    records = [record for record in records if not is_average(record)]
    ranks = {system: rank for rank, system in enumerate(dict.fromkeys([ORIGINAL, *(r.system for r in records)]))}
    texts = {}
    for results in (_asv(records, ranks, asv_eval), _asr(records, ranks)):
        for name, partitions in (("dev", ("dev",)), ("test", ("test",)), ("combined", ("dev", "test"))):
            if all(results.rows_for(partition) for partition in partitions):
                texts[f"{results.task}_{name}"] = STYLES[style](results, partitions)
    return texts


def _asv(records: Sequence[Record], ranks: Mapping[str, int], asv_eval: str) -> _Results:
    records = costs(
        r for r in records if r.metric in _ASV_METRICS and r.condition in CONDITIONS and not r.params.get("kind")
    )
    records = _of_asv_eval(records, asv_eval)
    attackers = {record.attacker for record in records}
    # The EER by threshold is the one of 2024 and 2026; where there is the other one, it would only repeat it.
    has_kaldi = {_trials(record) for record in records if record.metric == "eer_kaldi"}
    records = [r for r in records if r.metric != "eer_threshold" or _trials(r) not in has_kaldi]
    metrics = {record.metric for record in records}
    one = attackers.pop() if len(attackers) == 1 else ""
    results = _Results("ASV", tuple(metric for metric in _ASV_METRICS if metric in metrics), marks(records), one)
    for record in records:
        value = 100 * record.value if record.metric.startswith("eer") else record.value
        _enter(results, record, ranks, record.metric, _number(value, 3))
    return results


def _of_asv_eval(records: Sequence[Record], asv_eval: str) -> list[Record]:
    """The records of ASV_eval; without a choice those of all attackers where none has attacked all systems."""
    attackers = list(dict.fromkeys(record.attacker for record in records))
    systems = dict.fromkeys(record.system for record in records)
    if asv_eval and attackers and asv_eval not in attackers:
        raise InputError(f"no verification results of attacker '{asv_eval}'; there are: {', '.join(attackers)}")
    name = asv_eval or next((record.attacker for record in records if record.condition == "oo"), None)
    lacking = [system for system in systems if not any(r.system == system and r.attacker == name for r in records)]
    if lacking and not asv_eval:
        return list(records)
    if lacking:
        logging.warning(f"no results of attacker {name} for {', '.join(lacking)}: not in the ASV tables")
    return [record for record in records if record.attacker == name]


def _trials(record: Record) -> tuple[str, ...]:
    return record.system, record.set, record.condition, record.attacker


def _asr(records: Sequence[Record], ranks: Mapping[str, int]) -> _Results:
    records = [record for record in records if record.metric == "wer" and not record.gender]
    models = {record.params.get("lm", "") for record in records}
    results = _Results("ASR", tuple(model for model in _LANGUAGE_MODELS if model in models), marks(records))
    for record in records:
        _enter(results, record, ranks, record.params.get("lm", ""), _number(record.value, 2))
    return results


def _enter(results: _Results, record: Record, ranks: Mapping[str, int], kind: str, text: str) -> None:
    name = SetName.parse(record.set)
    if not name:
        raise InputError(f"set '{record.set}' has no name of the kind libri_dev_trials_f: it has no table")
    subset = "com" if name.subset == "common" else name.subset
    if name.corpus == "vctk" and name.role == "trials" and not subset:
        subset = "dif"
    rank = CONDITIONS.index(record.condition) if record.condition in CONDITIONS else 0
    row = _Row(
        name.corpus, subset, name.gender, ranks[record.system], record.model, rank, record.system, record.condition
    )
    numbers = results.rows.setdefault(row, {}).setdefault(name.partition, {})
    if kind in numbers:
        raise InputError(f"two values of {record.metric} for {record.system} {record.set} {record.condition}")
    numbers[kind] = text


def _number(value: float, digits: int) -> Tex:
    return Tex(f"{value:.{digits}f}" if math.isfinite(value) else r"$\infty$")


def _numbers(results: _Results, partition: str, titles: Mapping[str, str], **style: str) -> list[_Column]:
    """One column per kind of number."""

    def cell_of(kind: str) -> Callable[[int, _Row], str]:
        return lambda _, row: results.rows[row].get(partition, {}).get(kind, ABSENT)

    return [_Column(titles[kind], cell_of(kind), **style) for kind in results.kinds]


def _distinctions(results: _Results, rows: Sequence[_Row], **style: str) -> list[_Column]:
    """Columns for system and attacker (or recogniser) where rows differ in them."""
    columns = []
    if len({row.system for row in rows} - {ORIGINAL}) > 1:
        columns.append(_Column("System", lambda _, row: results.marked.name(row.system), **style))
    if len({row.model for row in rows}) > 1:
        title = "Attacker" if results.task == "ASV" else "Recogniser"
        columns.append(_Column(title, lambda _, row: row.model, **style))
    return columns


def _data(results: _Results, enroll: str, trials: str, gender: str) -> list[_Column]:
    """Which data are original (o) or anonymised (a): enrolment and trials with their gender, or recognised speech."""
    if results.task == "ASR":
        return [_Column("Data", lambda _, row: row.condition)]
    return [
        _Column(enroll, lambda _, row: row.condition[0]),
        _Column(trials, lambda _, row: row.condition[1]),
        _Column(gender, lambda _, row: row.gender),
    ]


def _caption(results: _Results, partitions: Sequence[str]) -> str:
    if len(partitions) > 1:
        which = "both development and test partitions"
    else:
        which = {"dev": "development data", "test": "test data"}[partitions[0]]
    by = f" by {escape(results.attacker)}" if results.attacker else ""
    return f"{results.task} results{by} for {which} (o-original, a-anonymized speech).{results.marked.sentence}"


def _label(results: _Results, partitions: Sequence[str]) -> str:
    which = "combined" if len(partitions) > 1 else {"dev": "development", "test": "test"}[partitions[0]]
    return f"tab:{results.task}-{which}"


def _heads(columns: Sequence[_Column]) -> list[tuple[str, int, int]]:
    """Runs of columns under one head: (head or empty, first column, column after the last)."""
    runs, end = [], 0
    for head, run in groupby(columns, key=lambda column: column.head):
        start, end = end, end + len(list(run))
        runs.append((head, start, end))
    return runs


def _body(columns: Sequence[_Column], rows: Sequence[_Row]) -> list[Line]:
    """The cells of all rows, with gaps between groups."""
    body: list[Line] = []
    for number, row in enumerate(rows, start=1):
        body += [[]] if number > 1 and row.group != rows[number - 2].group else []
        body.append([column.cell(number, row) for column in columns])
    return body


def _booktabs(results: _Results, partitions: Sequence[str]) -> str:
    rows = results.rows_for(*partitions)
    alone = partitions[0] if len(partitions) == 1 else ""
    columns = [_Column("Data set", lambda _, row: row.data_set(alone), align="l")]
    columns += _distinctions(results, rows, align="l") + _data(results, "Enrol.", "Trials", "Gender")
    labels = len(columns)
    titles = {
        "eer_kaldi": r"EER, \%",
        "eer_threshold": r"EER (threshold), \%",
        "min_cllr": r"$C_\mathrm{llr}^\mathrm{min}$",
        "cllr": r"$C_\mathrm{llr}$",
        "": r"WER, \%",
        "small": r"WER, \%, small",
        "large": r"WER, \%, large",
    }
    for partition in partitions:
        head = "" if alone else {"dev": "Development", "test": "Test"}[partition]
        columns += _numbers(results, partition, titles, align="r", head=head)
    heads = [
        Column((Tex(column.title),) if alone else (Tex(column.head), Tex(column.title)), column.align)
        for column in columns
    ]
    return typeset(heads, labels, _body(columns, rows), _caption(results, partitions), _label(results, partitions))


def _vpc2020(results: _Results, partitions: Sequence[str]) -> str:
    rows = results.rows_for(*partitions)
    combined = len(partitions) > 1
    titles = {
        "eer_kaldi": r"EER,\%",
        "eer_threshold": r"EER (threshold),\%",
        "min_cllr": r"$\textbf{C}_{\text{llr}}^{\text{min}}$",
        "cllr": r"$\textbf{C}_{\text{llr}}$",
        "": r"WER,\%",
        "small": r"$\textbf{LM}_{s}$" if combined else r"WER,\%, small",
        "large": r"$\textbf{LM}_{l}$" if combined else r"WER,\%, large",
    }
    head = r"WER,\%" if combined and results.kinds and set(results.kinds) <= {"small", "large"} else ""
    columns = [_Column(r"\#", lambda number, _: str(number)), *_distinctions(results, rows)]
    if combined:
        left = [_set_column("Dev. set", "dev"), *_numbers(results, "dev", titles, head=head)]
        right = [_set_column("Test set", "test"), *_numbers(results, "test", titles, head=head)]
        data = _data(results, "Enroll", "Trial", "Gen")
        columns += [*_closed(left), *_closed(data), *right]
    else:
        columns += [_set_column("Data set", partitions[0]), *_data(results, "Enroll", "Trials", "Gender")]
        columns += _numbers(results, partitions[0], titles)

    width = "1" if results.task == "ASV" else "0.7"
    caption = _caption(results, partitions)
    floats: list[str] = []
    for page in pages(_body(columns, rows), _MOST_LINES):
        lines = [
            r"%\usepackage{graphicx}",
            r"%\usepackage{multirow}",
            r"%\usepackage{amsmath}",
            r"\begin{table}[]",
            r"\centering",
            *([r"\addtocounter{table}{-1}"] if floats else []),
            rf"\caption{{{continue_caption(caption) if floats else caption}}}",
            *([] if floats else [rf"\label{{{_label(results, partitions)}}}"]),
            rf"\resizebox{{{width}\textwidth}}{{!}}{{",
            rf"\begin{{tabular}}{{|{''.join('c' + column.bar for column in columns)}}}",
            r"\hline",
            *_vpc2020_head(columns),
        ]
        for before, row in zip([None, *page], page, strict=False):
            if row:
                lines.append((r"\hline " if before == [] else "") + rf"{join_cells(row)}\\ \hline")
        floats.append("\n".join([*lines, r"\end{tabular}}", r"\end{table}"]) + "\n")
    return "\n".join(floats)


def _vpc2020_head(columns: Sequence[_Column]) -> list[str]:
    bold = [column.title if column.title.startswith("$") else rf"\textbf{{{column.title}}}" for column in columns]
    if not any(column.head for column in columns):
        return [" & ".join(bold) + r"\\ \hline"]
    upper, lines = [], []
    for head, start, end in _heads(columns):
        if head:
            upper.append(rf"\multicolumn{{{end - start}}}{{c{columns[end - 1].bar}}}{{\textbf{{{head}}}}}")
            lines.append(rf"\cline{{{start + 1}-{end}}}")
        else:
            upper += [rf"\multirow{{2}}{{*}}{{{title}}}" for title in bold[start:end]]
    lower = [title if column.head else "" for column, title in zip(columns, bold, strict=True)]
    return [" & ".join(upper) + r"\\ " + " ".join(lines), " & ".join(lower) + r"\\ \hline"]


def _set_column(title: str, partition: str) -> _Column:
    return _Column(title, lambda _, row: row.data_set(partition))


def _closed(columns: Sequence[_Column]) -> list[_Column]:
    """The columns with a double bar after the last."""
    return [*columns[:-1], replace(columns[-1], bar="||")]


VPC2020 = "vpc2020"
STYLES: dict[str, Callable[[_Results, Sequence[str]], str]] = {"booktabs": _booktabs, VPC2020: _vpc2020}
