"""Systems beside each other, as files: overview, paired differences, ranking and the privacy-utility plot."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.records.record import Record, write_records
from vpeval.results import significance
from vpeval.results.limits import read_limits
from vpeval.results.load import Source, load
from vpeval.results.overview import overview
from vpeval.results.ranking import Standing, ranking, render_ranking
from vpeval.results.resampled import measured


def compare(
    out: Path,
    sources: Sequence[Source | str | PathLike[str]],
    edition: str = "2024",
    versus: str = "",
    data: Path = Path("data"),
    resamples: int = 1000,
    seed: int = 0,
) -> str:
    """Write comparison.txt, whose text is returned, index.html, differences.jsonl and privacy_utility.* into `out`.

    Differences are those of all pairs of systems, or of all from system `versus`, where both were measured alike; they
    need the scores and transcripts that the tables name. `data` holds the data directories, for the trials.
    """
    records, limits = load(sources), read_limits()
    rules = limits.rules_for(edition)
    parts = [overview(records, edition)]
    found = measured(sources, edition)
    systems = dict.fromkeys(one.record.system for one in found)
    if versus and versus not in systems:
        there = ", ".join(systems) or "none"
        raise InputError(f"no scores of system '{versus}' to compare with; there are those of: {there}")
    tested = significance.differences(found, data, versus, resamples, seed)
    if tested:
        write_records(out / "differences.jsonl", tested)
        parts.append(significance.render_differences(tested, limits.significance))
    else:
        (out / "differences.jsonl").unlink(missing_ok=True)  # those of another comparison
    standings = ranking(records, rules)
    if standings:
        parts.append(render_ranking(standings, rules))
    text = "\n".join(parts)
    plane = _draw(records, edition, rules.classes if rules.edition == edition else (), out)
    write_text(out / "index.html", _page(sources, out, data, edition, records, tested, standings, plane))
    write_text(out / "comparison.txt", text)
    return text


def _page(
    sources: Sequence[Source | str | PathLike[str]],
    out: Path,
    data: Path,
    edition: str,
    records: Sequence[Record],
    tested: Sequence[Record],
    standings: Sequence[Standing],
    plane: Path | None,
) -> str:
    from vpeval.report.comparison import Compared, build

    given = [one if isinstance(one, Source) else Source(Path(one)) for one in sources]
    return build(given, Compared(records, tested, standings, plane), out, data, edition)


def _draw(records: Sequence[Record], edition: str, classes: Sequence[float], out: Path) -> Path | None:
    """Draw the plot, if there is anything to draw."""
    # matplotlib takes longer to start than everything else.
    from vpeval.figures.style import save
    from vpeval.figures.tradeoff import privacy_utility

    try:
        figure = privacy_utility(records, edition, classes)
    except InputError as error:
        logging.warning(f"no plot: {error}")
        return None
    save(figure, out, "privacy_utility")
    return out / "privacy_utility.svg"
