"""All LaTeX tables of some results, one file each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.records.record import Record
from vpeval.results.formats import latex, latex_systems


def write_latex(
    records: Sequence[Record], out: Path, edition: str, stem: str = "results", style: str = "booktabs"
) -> list[Path]:
    """Write ``<out>/<stem>.<table>.tex`` for every table that there are data for."""
    tables = latex.tables(records, style)
    if style == "booktabs":
        tables |= latex_systems.tables(records, edition)
    if not tables:
        raise InputError("no results to set in tables")
    if missing := [name for name in latex.TABLES if name not in tables]:
        logging.warning(f"no data for {', '.join(missing)}: left out")
    written = []
    for name, text in tables.items():
        written.append(out / f"{stem}.{name}.tex")
        write_text(written[-1], text)
    return written
