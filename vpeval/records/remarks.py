"""What must be said wherever results are shown: they are not official, partial, or not to be believed.

Records carry it in their notes: ``protocol`` (rebuilt), ``missing_files``, ``no_cost`` and ``warning``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike

from vpeval.core.tables import read_lines
from vpeval.data.layout import first_few
from vpeval.records.costs import NO_COST
from vpeval.records.record import Record

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
