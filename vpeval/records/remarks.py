"""What must be said wherever results are shown: they are not official, partial, or not to be believed.

Records carry it in their notes: ``protocol`` (rebuilt), ``missing_files``, ``no_cost`` and ``warning``.

Cllr is a cost only of log-likelihood ratios: that of cosines is marked in its record, and views leave it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike

from vpeval.core.tables import read_lines
from vpeval.data.layout import first_few
from vpeval.records.record import Record

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
MARK = "# "
"""How a line of a results file begins that holds no result."""


def result_lines(path: str | PathLike[str], blanks: bool = False) -> Iterator[tuple[int, str]]:
    """The numbered lines of a results file, without remarks."""
    return ((line, text) for line, text in read_lines(path, blanks) if not text.startswith(MARK))


def remarks(records: Iterable[Record]) -> list[str]:
    """The remarks on some records, each once."""
    rebuilt: dict[str, None] = {}
    missing: dict[str, str] = {}
    warnings: dict[str, None] = {}
    costless: dict[str, None] = {}
    accepted: dict[str, None] = {}
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
    found = []
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
