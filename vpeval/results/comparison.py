"""Systems beside each other, as files: overview, paired differences, ranking and the privacy-utility plot."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.results import significance
from vpeval.results.limits import read_limits
from vpeval.results.load import Source, load
from vpeval.results.records import Record, write_records


def compare(
    out: Path,
    sources: Sequence[Source | str | PathLike[str]],
    edition: str = "2024",
    versus: str = "",
    data: Path = Path("data"),
    resamples: int = 1000,
    seed: int = 0,
) -> str:
    """Write comparison.txt, whose text is returned, differences.jsonl and privacy_utility.* into directory `out`.

    Differences are those from system `versus` (the first with scores) on the same trials by the same attacker; they
    need the scores that the tables name. `data` holds the data directories, for the trials.
    """
    records, limits = load(sources), read_limits()
    rules = limits.rules.get(edition)
    parts = [significance.overview(records, edition)]
    scored = significance.scored_systems(sources, edition)
    if versus and versus not in scored:
        there = ", ".join(scored) or "none"
        raise InputError(f"no scores of system '{versus}' to compare with; there are those of: {there}")
    if len(scored) > 1:
        differences = significance.differences(scored, versus or next(iter(scored)), data, edition, resamples, seed)
        if differences:
            write_records(out / "differences.jsonl", differences)
            parts.append(significance.render_differences(differences, limits.significance))
    if rules and (standings := significance.ranking(records, rules)):
        parts.append(significance.render_ranking(standings, rules))
    text = "\n".join(parts)
    _draw(records, edition, rules.classes if rules else (), out)
    write_text(out / "comparison.txt", text)
    return text


def _draw(records: Sequence[Record], edition: str, classes: Sequence[float], out: Path) -> None:
    """Draw the plot, if there is anything to draw."""
    # matplotlib takes longer to start than everything else.
    from vpeval.figures.style import save
    from vpeval.results.tradeoff import privacy_utility

    try:
        figure = privacy_utility(records, edition, classes)
    except InputError as error:
        logging.warning(f"no plot: {error}")
        return
    save(figure, out, "privacy_utility")
