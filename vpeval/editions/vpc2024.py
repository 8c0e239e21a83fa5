"""``result_for_rank`` of the VoicePrivacy challenges 2024 and 2026: reader and writer.

The file is a series of printed data frames, each under a banner::

    ---- Time: 29-03-24_10:45 ----

    ---- ASV_eval results ----
      dataset split gender enrollment     trial     EER
    0   libri   dev      f   original  original  10.511

The first column is the row number of a larger frame, not data, and may be absent; so may the time. Columns are found by
their names. Errors and accuracies are percentages.

The rows under ``ASV_eval`` differ: in 2024 the o-o rows, in 2026 the a-a rows of the attacker that was trained on
original speech. ``ASV_eval^anon`` always holds a-a rows of the attacker trained on anonymised speech; with several
languages (2026, track 2) it comes once per language. The EER is the one of `eer_threshold`.

`read` and `render` are inverse to each other on files as pandas prints them; spaces that were changed afterwards and
the row numbers of rows that were dropped are not kept.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from os import PathLike

from vpeval.core.errors import InputError
from vpeval.editions.base import Edition, ResultFile, Rules
from vpeval.records.names import (
    ASR_EVAL,
    ASR_EVAL_ANON,
    ASV_EVAL,
    ASV_EVAL_ANON,
    CONDITIONS,
    ORIGINAL,
    SetName,
    result_lines,
)
from vpeval.records.record import Record

_BANNER = re.compile(r"---- (?P<title>\S.*) ----")
_TIME = re.compile(r"Time: (?P<time>\d\d-\d\d-\d\d_\d\d:\d\d)")
_LANGUAGES = ("en", "de", "fr", "es")
_WORDS = {
    "split": ("dev", "test"),
    "gender": ("f", "m", "mixed"),
    "enrollment": ("original", "anon"),
    "trial": ("original", "anon"),
    "asr": ("original", "anon"),
    "ser": ("original", "anon"),
}
_SUFFIX = "anon"
SET_NAMES = r".+_(dev|test)(_trials_(f|m|mixed)|_asr)?"
"""Sets as the columns of the file describe them."""
_ATTACKERS = {"ASV_eval results": ASV_EVAL, "ASV_eval^anon results": ASV_EVAL_ANON}
_TITLES = {
    "SER results": ("dataset", "split", "ser", "UAR"),
    "ASV_eval results": ("dataset", "split", "gender", "enrollment", "trial", "EER"),
    "ASR results": ("dataset", "split", "asr", "WER"),
    "ASV_eval^anon results": ("dataset", "split", "gender", "enrollment", "trial", "EER"),
}


@dataclass
class _Section:
    """A banner and the frame below it; rows are numbered fields without the row number of the frame."""

    line: int
    title: str
    written: str
    header: list[str] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    end: int = 0

    @property
    def numbers(self) -> list[str]:
        """The columns that hold numbers."""
        return [name for name in self.header if name not in ("dataset", *_WORDS)]


def read(path: str | PathLike[str], system: str = "") -> list[Record]:
    """The records of a result_for_rank file; anonymised data are those of `system`, by default ``anon``."""
    records = []
    known: set[tuple[str, ...]] = set()
    for section in _sections(path):
        _check(section, path)
        for line, fields in section.rows:
            row = dict(zip(section.header, fields, strict=True))
            key = (section.title, *(row[name] for name in section.header if name not in section.numbers))
            if key in known:
                raise InputError(f"a second row '{' '.join(key[1:])}' of {section.title}; keep one", path, line)
            known.add(key)
            try:
                records += list(_records(section, row, system or _SUFFIX))
            except ValueError as error:
                raise InputError(f"{error}; was the line edited?", path, line) from None
            except InvalidOperation:
                raise InputError(
                    "a number is expected in the last columns; is the file cut short?", path, line
                ) from None
    if not records:
        raise InputError("is empty; was the run that wrote it completed?", path, 1)
    return records


def render(records: Iterable[Record], asv_eval: Sequence[str] = CONDITIONS) -> str:
    """The text of result_for_rank: original data and one system.

    `asv_eval` are the conditions that are shown of ASV_eval. The attackers must have the names of the challenge.
    """
    records = [record for record in records if _place(record)]
    systems = sorted({record.system for record in records} - {ORIGINAL})
    if len(systems) > 1:
        raise InputError(f"records of several systems ({', '.join(systems)}); choose one with --system")
    eers = [record for record in records if record.metric == "eer_threshold"]
    asv = [record for record in eers if record.attacker == ASV_EVAL and record.condition in asv_eval]
    asv_anon = [record for record in eers if record.attacker == ASV_EVAL_ANON and record.condition == "aa"]
    words = [record for record in records if record.metric == "wer" and not record.gender]
    # This edition has one recogniser; others that the recipe trains are for the file of 2020.
    asr = [record for record in words if record.recogniser not in (ASR_EVAL, ASR_EVAL_ANON)] or words
    ser = [record for record in records if record.metric in ("uar", "emotion_accuracy")]
    if not (asv or asv_anon or asr):
        raise InputError("no verification or recognition records to write; run the scoring stages first")

    general = [("SER results", ser, _ser_frame(ser)), ("ASV_eval results", asv, _asv_frame(asv))]
    general.append(("ASR results", asr, _asr_frame(asr, ser)))
    parts = [_part(general)] if asv or asr or ser else []
    if asv_anon and {_dataset(record) for record in asv_anon} <= set(_LANGUAGES):
        for language in ("en", "de", "es", "fr"):
            if own := [record for record in asv_anon if _dataset(record) == language]:
                parts.append(_part([("ASV_eval^anon results", own, _asv_frame(own, numbered=False))]))
        parts.append("")
    elif asv_anon:
        parts.append(_part([("ASV_eval^anon results", asv_anon, _asv_frame(asv_anon))]))
    return "\n".join(parts)


def _sections(path: str | PathLike[str]) -> Iterator[_Section]:
    section: _Section | None = None
    written = ""
    for number, text in result_lines(path, blanks=True):
        banner = _BANNER.fullmatch(text.strip())
        if banner and (time := _TIME.fullmatch(banner["title"])):
            written = time["time"]
        elif banner:
            if section:
                yield section
            section = _Section(number, banner["title"], written, end=number)
        elif section is None:
            raise InputError("is no line of a VPC 2024 or 2026 result file; is this the right file?", path, number)
        else:
            _add_line(section, number, text.split(), path)
    if section:
        yield section


def _add_line(section: _Section, number: int, fields: list[str], path: str | PathLike[str]) -> None:
    """Add a line of a frame: its header, the second header of "mean", or a row."""
    section.end = number
    if not section.header:
        section.header = fields
    elif set(fields) == {"mean"} and not section.rows:
        return
    elif len(fields) == len(section.header) + 1 and fields[0].isdecimal():
        section.rows.append((number, fields[1:]))
    elif len(fields) == len(section.header):
        section.rows.append((number, fields))
    else:
        raise InputError(f"{len(fields)} fields do not fit the columns above; is the file cut short?", path, number)


def _check(section: _Section, path: str | PathLike[str]) -> None:
    """Names of sections, columns and words are known, and a column has the same decimals throughout."""
    if section.title not in _TITLES:
        raise InputError(f"'{section.title}' is no known section", path, section.line)
    if not section.rows:
        raise InputError(f"'{section.title}' has no rows; is the file cut short?", path, section.end)
    extra = [name for name in section.header if name not in _TITLES[section.title]]
    missing = [name for name in _TITLES[section.title] if name not in section.header]
    if missing or len(set(section.header)) < len(section.header) or not all(n.startswith("ACC_") for n in extra):
        wanted = " ".join(_TITLES[section.title])
        raise InputError(f"the columns {wanted} are expected; is the file cut short?", path, section.line + 1)
    decimals: dict[str, int] = {}
    for line, fields in section.rows:
        for name, text in zip(section.header, fields, strict=True):
            if name in _WORDS and text not in _WORDS[name]:
                raise InputError(f"{name} '{text}' is none of {', '.join(_WORDS[name])}", path, line)
            if name in section.numbers and decimals.setdefault(name, _decimals(text)) != _decimals(text):
                raise InputError(
                    f"{name} {text} has other decimals than the rows above; is the file cut short?", path, line
                )


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _records(section: _Section, row: dict[str, str], system: str) -> Iterator[Record]:
    notes: dict[str, object] = {"written": section.written} if section.written else {}
    place = f"{row['dataset']}_{row['split']}"
    if "ser" in row:
        # A mean over folds of numbers with three decimals has four.
        notes |= {"folds": 5} if _decimals(row["UAR"]) == 4 else {}
        tags = {"system": ORIGINAL if row["ser"] == "original" else system, "set": place}
        tags["condition"] = "o" if row["ser"] == "original" else "a"
        yield Record("uar", float(_number(row["UAR"], 100)), notes=notes).tagged(tags)
        for name in section.numbers:
            if name != "UAR":
                own = {"emotion": name.removeprefix("ACC_")}
                yield Record("emotion_accuracy", float(_number(row[name], 100)), params=own, notes=notes).tagged(tags)
    elif "asr" in row:
        tags = {"system": ORIGINAL if row["asr"] == "original" else system, "set": f"{place}_asr"}
        tags["condition"] = "o" if row["asr"] == "original" else "a"
        yield Record("wer", float(_number(row["WER"])), notes=notes).tagged(tags)
    else:
        tags = {"condition": row["enrollment"][0] + row["trial"][0], "set": f"{place}_trials_{row['gender']}"}
        tags["gender"] = row["gender"] if row["gender"] != "mixed" else ""
        tags["system"] = ORIGINAL if tags["condition"] == "oo" else system
        tags["attacker"] = _ATTACKERS[section.title]
        yield Record("eer_threshold", float(_number(row["EER"], 100) / 100), notes=notes).tagged(tags)


def _number(text: str, most: float = math.inf) -> Decimal:
    """A percentage from 0 to `most`."""
    if not re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", text):
        raise InvalidOperation
    number = Decimal(text)
    if not 0 <= number <= most:
        raise ValueError(f"{text} is no percentage from 0 to {most:g}" if most < math.inf else f"{text} is below 0")
    return number


def _place(record: Record) -> tuple[str, str] | None:
    """Data set and split of a record: ``libri_dev_trials_f`` → (libri, dev), ``IEMOCAP_dev`` → (IEMOCAP, dev)."""
    name = SetName.parse(record.set)
    return (name.corpus, name.partition) if name and name.partition else None


def _dataset(record: Record) -> str:
    place = _place(record)
    return place[0] if place else ""


def _gender(record: Record) -> str:
    name = SetName.parse(record.set)
    return (name.gender if name else "") or record.gender or "mixed"


def _run_order(record: Record) -> tuple[int, str, str]:
    """The order in which the challenge works on the sets: languages as it lists them, others by name."""
    dataset, split = _place(record) or ("", "")
    return (_LANGUAGES.index(dataset) if dataset in _LANGUAGES else len(_LANGUAGES)), dataset, split


def _one_each(records: Iterable[Record], key: Callable[[Record], tuple[str, ...]]) -> dict[tuple[str, ...], Record]:
    rows: dict[tuple[str, ...], Record] = {}
    for record in records:
        if rows.setdefault(key(record), record) is not record:
            raise InputError(f"two values of {record.metric} for {' '.join(key(record))}; choose one with --attacker")
    return rows


def _origin(record: Record) -> str:
    return "original" if record.condition.startswith("o") else "anon"


def _asv_frame(records: Sequence[Record], numbered: bool = True) -> list[str]:
    sets = sorted({(_run_order(record), _gender(record)) for record in records})
    words = {"o": "original", "a": "anon"}
    rows = _one_each(records, lambda r: (*(_place(r) or ()), _gender(r), words[r.condition[0]], words[r.condition[1]]))
    ordered = sorted(rows, key=lambda key: (key[:3], CONDITIONS.index(rows[key].condition)))
    index = [
        3 * sets.index((_run_order(rows[key]), _gender(rows[key]))) + CONDITIONS.index(rows[key].condition)
        for key in ordered
    ]
    eers = [f"{100 * rows[key].value:.3f}" for key in ordered]
    header = ["dataset", "split", "gender", "enrollment", "trial", "EER"]
    return _frame(
        [header], [[*key, eer] for key, eer in zip(ordered, eers, strict=True)], index if numbered else None, 1
    )


def _asr_frame(records: Sequence[Record], ser: Sequence[Record]) -> list[str]:
    sets = sorted({_run_order(record) for record in records})
    # The emotional speech of track 1 is decoded, too, and its rows are dropped afterwards.
    dropped = 0 if {dataset for _, dataset, _ in sets} <= set(_LANGUAGES) else len({record.set for record in ser})
    rows = _one_each(records, lambda r: (*(_place(r) or ()), _origin(r)))
    ordered = sorted(rows, key=lambda key: (key[:2], key[2] == "anon"))
    index = [sets.index(_run_order(rows[key])) + (key[2] == "anon") * (len(sets) + dropped) for key in ordered]
    cells = [[*key, f"{rows[key].value:.3f}"] for key in ordered]
    return _frame([["dataset", "split", "asr", "WER"]], cells, index, 1)


def _ser_frame(records: Sequence[Record]) -> list[str]:
    """Accuracies in the order in which the records come; means over folds have four decimals and a wider head."""
    emotions = list(dict.fromkeys(r.params["emotion"] for r in records if r.metric == "emotion_accuracy"))
    columns = ["UAR", *(f"ACC_{emotion}" for emotion in emotions)]
    rows: defaultdict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    folds = any("folds" in record.notes for record in records)
    for record in records:
        column = "UAR" if record.metric == "uar" else f"ACC_{record.params['emotion']}"
        row = rows[*(_place(record) or ()), _origin(record)]
        if column in row:
            raise InputError(f"two values of {record.metric} for {record.set}; was a file given twice?")
        row[column] = f"{record.value:.{4 if folds else 3}f}"
    header = [["dataset", "split", "ser", *columns], ["", "", "", *("mean" for _ in columns)]]
    cells = [[*key, *(rows[key].get(column, "NaN") for column in columns)] for key in sorted(rows)]
    return _frame(header, cells, list(range(len(cells))), len(columns) if folds else 0)


def _frame(
    header: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], index: Sequence[int] | None, numeric: int
) -> list[str]:
    """Lines of a frame as pandas prints it.

    Cells are set to the right. With row numbers every cell has a blank in front of it, and so have the heads of the
    last `numeric` columns, which hold numbers and not text.
    """
    if index is not None:
        rows = [[f" {cell}" for cell in row] for row in rows]
        start = len(header[0]) - numeric
        header = [[f" {name}" if i >= start else name for i, name in enumerate(line)] for line in header]
    widths = [max(map(len, column)) for column in zip(*header, *rows, strict=True)]
    lines = [" ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in (*header, *rows)]
    if index is None:
        return lines
    left = max((len(str(number)) for number in index), default=0)
    labels = ["" for _ in header] + [str(number) for number in index]
    return [f"{label:<{left}} {line}" for label, line in zip(labels, lines, strict=True)]


def _part(sections: Iterable[tuple[str, Sequence[Record], Sequence[str]]]) -> str:
    """Sections under the time at which they were written, if it is known."""
    sections = [section for section in sections if section[1]]
    times = [record.notes["written"] for _, records, _ in sections for record in records if "written" in record.notes]
    texts = [f"---- Time: {times[0]} ----\n"] if times else []
    texts += ["\n".join([f"---- {title} ----", *lines, ""]) for title, _, lines in sections]
    return "\n".join(texts)


def is_rank_file(line: str) -> bool:
    """Whether a file with this first line is a result_for_rank."""
    return line.startswith("---- ")


EDITION = Edition(
    name="2024",
    eer="eer_threshold",
    text_rules="vpc2024",
    files=(
        ResultFile(
            "result_for_rank",
            is_rank_file,
            read,
            lambda records: render(records, ("oo",)),
            "result_for_rank",
            attacks=((ASV_EVAL, "oo"), (ASV_EVAL_ANON, "aa")),
        ),
    ),
    # As they are known; the organisers' documents that we have do not confirm them.
    rules=Rules("2024", classes=(0.10, 0.20, 0.30, 0.40), utility=("wer", "uar")),
    requires_uar=True,
    set_names=SET_NAMES,
    # What the upload demands of the challenge's own sets.
    least_bytes={
        "train-clean-360": 40_930_724_008,
        "libri_dev_enrolls": 71_101_617,
        "libri_dev_trials_m": 210_210_523,
        "libri_dev_trials_f": 214_121_749,
        "libri_test_enrolls": 85_776_535,
        "libri_test_trials_m": 206_095_756,
        "libri_test_trials_f": 189_792_733,
        "IEMOCAP_dev": 408_732_347,
        "IEMOCAP_test": 378_653_727,
    },
)
