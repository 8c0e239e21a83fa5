"""LaTeX tables of similarity rank disclosure: Tables 1 and 2 of Chandra et al. (arXiv 2605.07291).

Table 1 has the ranks themselves (`srd`), Table 2 beta-binomial distributions fitted to them (`srd_beta_binomial`). A
block of rows, one for each system, shows two attackers side by side who represent speech alike (speaker embeddings, F0,
units …) and compare it alike (by cosines, distances or log-likelihood ratios): on the left the one trained on original
speech, on the right the one trained on anonymised speech. The EER of a half is that of its attacker. So every column of
a block is about one attacker, whom the block names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from vpeval.editions.headline import headline_eer
from vpeval.measures.disclosure import DISCLOSURES, LLR
from vpeval.records.metrics import describe
from vpeval.records.names import SEMI, SIMILAR, TRAINED, attack_model, representation, trained_on
from vpeval.records.record import Record
from vpeval.records.tex import Tex, escape
from vpeval.results.latex_layout import (
    Column,
    Row,
    Title,
    heading,
    in_order,
    intervals,
    marks,
    put,
    row_of,
    typeset,
)

_TABLES = {"srd": "empirical", "srd_beta_binomial": "beta-binomial"}
_FROM = {
    "empirical": "from the ranks themselves",
    "beta-binomial": "from beta-binomial distributions fitted to the ranks",
}
_EER = Tex(r"EER, \% $\uparrow$")
_COMPARED = {"cosine": "cosines", "euclidean": "distances", LLR: "log-likelihood ratios"}


@dataclass(frozen=True)
class _Block:
    """An attacker for each kind of training speech, of one representation and similarity."""

    representation: str
    similarity: str
    attackers: tuple[str, str]
    similar: bool
    """Whether the second one was trained on speech of a similar system."""

    @property
    def title(self) -> Title:
        """What is compared, and by whom."""
        names = [
            f"{escape(name)} ({training}{', similar system' * (self.similar and training == TRAINED[1])})"
            for training, name in zip(TRAINED, self.attackers, strict=True)
            if name
        ]
        how = f", {_COMPARED.get(self.similarity, escape(self.similarity))}" if self.similarity else ""
        return Title(rf"\emph{{{escape(self.representation)}}}{how}: {', '.join(names)}")

    def has(self, record: Record) -> bool:
        """Whether a number is one of its attackers'."""
        own = (self.representation, self.similarity) == _kind(record)
        return own and record.attacker == self.attackers[TRAINED.index(trained_on(record))]


def _kind(record: Record) -> tuple[str, str]:
    return representation(record), str(record.params.get("similarity", ""))


def srd_tables(records: Iterable[Record], means: Iterable[Record], edition: str) -> dict[str, str]:
    """LaTeX source by table name; `means` are averages of verification over the test sets."""
    chosen = [record for record in records if record.metric in DISCLOSURES]
    eers = _eers(means, edition)
    found = {}
    for name, estimator in _TABLES.items():
        own = [record for record in chosen if record.params.get("estimator") == estimator]
        if own:
            found[name] = _table(own, eers, estimator, name)
    return found


def _eers(means: Iterable[Record], edition: str) -> list[Record]:
    """The EERs on anonymised speech, or original speech alone, as the ranks are."""
    means = [record for record in means if record.condition in ("oo", "aa")]
    metric = headline_eer((record.metric for record in means), edition)
    return [record for record in means if record.metric == metric]


def _table(records: Sequence[Record], eers: Sequence[Record], estimator: str, name: str) -> str:
    systems = in_order(record.system for record in records)
    blocks = _blocks(records)
    shown = [
        record
        for record in eers
        if record.system in systems and any(record.attacker in block.attackers for block in blocks)
    ]
    trainings = [training for training in TRAINED if any(trained_on(record) == training for record in records)]
    halves = [
        (training, [*DISCLOSURES, *dict.fromkeys(r.metric for r in shown if trained_on(r) == training)])
        for training in trainings
    ]
    marked = marks([*records, *shown])
    columns = [Column(("", "System"), "l")]
    for training, metrics in halves:
        head = f"trained on {training} speech"
        columns += [Column((head, heading(describe(m)) if m in DISCLOSURES else _EER)) for m in metrics]
    rows: list[Row] = []
    for block in blocks:
        own = [record for record in records if block.has(record)]
        known = [system for system in systems if any(record.system == system for record in own)]
        cells = [_column(block, own, shown, training, metric, known) for training, ms in halves for metric in ms]
        rows += [[]] if rows else []
        rows.append(block.title)
        rows += [[marked.name(system), *row] for system, *row in zip(known, *cells, strict=True)]
    title = escape(describe(shown[0].metric).title) if shown else ""
    eer = f" {title}: of the same attackers, mean of the test sets." if shown else ""
    caption = (
        f"Similarity rank disclosure {_FROM[estimator]}: maximum and mean disclosure in bit, identification rate and "
        f"rank spread{intervals([*records, *shown])}. A block names its attackers.{eer}{marked.sentence}"
    )
    return typeset(columns, 1, rows, caption, f"tab:{name.replace('_', '-')}")


def _column(
    block: _Block, own: Sequence[Record], eers: Sequence[Record], training: str, metric: str, systems: Sequence[str]
) -> list[str]:
    """The numbers of one attacker: all systems, original speech among them."""
    attacker = block.attackers[TRAINED.index(training)]
    cells: dict[str, Record] = {}
    for record in own if metric in DISCLOSURES else eers:
        if record.metric == metric and record.attacker == attacker and trained_on(record) == training:
            put(cells, record.system, record, record)
    return row_of(cells, systems, describe(metric)) if attacker else [Tex()] * len(systems)


def _blocks(records: Sequence[Record]) -> list[_Block]:
    """The blocks, those with both halves first; who was trained on speech of the system comes before similar ones."""
    sides: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for record in records:
        own = sides.setdefault(_kind(record), {training: {} for training in TRAINED})[trained_on(record)]
        model = attack_model(record)
        own[record.attacker] = SEMI if SEMI in (model, own.get(record.attacker)) else model
    blocks = []
    for kind, both in sides.items():
        original, anonymised = both[TRAINED[0]], both[TRAINED[1]]
        ranked = sorted(anonymised, key=lambda name: anonymised[name] != SEMI)
        for left, right in zip_longest(original, ranked, fillvalue=""):
            blocks.append(_Block(*kind, (left, right), anonymised.get(right) == SIMILAR))
    return sorted(blocks, key=lambda block: not all(block.attackers))
