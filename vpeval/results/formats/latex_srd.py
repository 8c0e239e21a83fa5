"""The LaTeX table of similarity rank disclosure: every representation, system and estimator.

It joins Tables 1 and 2 of Chandra et al. (arXiv 2605.07291). A representation (speaker embeddings, F0, units …) has a
block of rows by estimator, with a row per system; on the left are attackers trained on original speech, on the right
those trained on anonymised speech. Beside the first block stands the EER of the strongest attacker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vpeval.records.metrics import describe
from vpeval.records.record import Record
from vpeval.results.formats.latex_cells import heading, in_order, intervals, put, row_of, table
from vpeval.results.formats.tex import Tex, escape
from vpeval.results.headline import headline_eer
from vpeval.results.representations import TRAINED, representation, trained_on

METRICS = ("srd_max", "srd_mean", "srd_idr", "srd_rank_spread")
ESTIMATORS = ("empirical", "beta-binomial")


@dataclass
class _Block:
    """The attackers of one representation by what they were trained on, and their numbers."""

    attackers: dict[str, str] = field(default_factory=dict)
    found: dict[tuple[str, str, str, str], Record] = field(default_factory=dict)

    def takes(self, record: Record) -> bool:
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
    chosen = [record for record in records if record.metric in METRICS]
    if not chosen:
        return ""
    systems = in_order(record.system for record in chosen)
    trainings = [name for name in TRAINED if any(trained_on(record) == name for record in chosen)]
    eers = {system: eer for system, eer in _strongest_eers(means, edition).items() if system in systems}
    width = 1 + len(METRICS) * len(trainings) + bool(eers)
    rows: list[list[str]] = []
    beside = eers
    for title, block in _blocks(chosen).items():
        for estimator in ESTIMATORS:
            if not any(key[0] == estimator for key in block.found):
                continue
            rows += [[]] if rows else []
            rows.append([Tex(rf"\multicolumn{{{width}}}{{l}}{{\emph{{{escape(title)}}}, {estimator}}}")])
            rows += _rows(block, estimator, trainings, systems, beside if eers else None)
            beside = {}
    head = [heading(describe(metric)) for metric in METRICS] * len(trainings)
    over = [Tex(rf"\multicolumn{{{len(METRICS)}}}{{c}}{{trained on {name} speech}}") for name in trainings]
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
        block = next((block for block in own if block.takes(record)), None)
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
    """A row per system that the block knows; `eers` are None where the table has no column for them."""
    known = [system for system in systems if any(key[0] == estimator and key[3] == system for key in block.found)]
    columns = [
        row_of(block.column(estimator, training, metric), known, describe(metric))
        for training in trainings
        for metric in METRICS
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
