"""Whether the same speakers stay easy, or hard, across L, attackers and systems (Speaker-Linkability)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from vpeval.core.errors import InputError
from vpeval.measures.base import SpeakerValue
from vpeval.metrics.jaccard import Extremes, extreme_speakers, jaccard
from vpeval.records.metrics import SPEAKERS, Metric
from vpeval.records.record import Record

_SHARE = {"group": SPEAKERS, "range": (0.0, 1.0), "requires": ("across", "chance")}
METRICS = tuple(
    Metric(f"jaccard_{kind}{suffix}", f"{title}, {kind}", text.format(kind), **_SHARE)  # type: ignore[arg-type]
    for suffix, title, text in (
        ("", "Overlap", "The Jaccard overlap of the lists of {} speakers of two contexts."),
        ("_mean", "Mean overlap", "The mean overlap of {} speakers over pairs of contexts."),
    )
    for kind in ("easy", "hard")
)


@dataclass(frozen=True, order=True)
class Context:
    """Under what circumstances the speakers were scored."""

    system: str
    attacker: str
    n_utts: str

    def differs_in(self, other: Context) -> list[str]:
        """The names of the circumstances that differ."""
        return [name for name in vars(self) if getattr(self, name) != getattr(other, name)]

    def __str__(self) -> str:
        return f"{self.system}/{self.attacker} L={self.n_utts}"


def find_extremes(
    values: Iterable[tuple[str, str, SpeakerValue]], metric: str, n: int | None, quantile: float
) -> tuple[dict[Context, Extremes], dict[Context, int]]:
    """Easy and hard speakers, and the number of speakers, in every context.

    `values` are (system, attacker, value); `n` None takes the smallest N of a context: at the largest, linkability is
    either 0 or 1 and speakers can hardly be ranked.
    """
    tables: dict[Context, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for system, attacker, value in values:
        if value.metric == metric:
            tables[Context(system, attacker, value.L)][value.N][value.speaker] = value.value
    if not tables:
        raise InputError(f"no value of '{metric}' in these files; choose another --metric")
    extremes, sizes = {}, {}
    for context, table in sorted(tables.items()):
        if n is not None and n not in table:
            raise InputError(f"{context} has no values at N = {n}; it has N = {', '.join(map(str, sorted(table)))}")
        scores = table[min(table) if n is None else n]
        extremes[context], sizes[context] = extreme_speakers(scores, quantile), len(scores)
    return extremes, sizes


def overlap_records(extremes: Mapping[Context, Extremes], sizes: Mapping[Context, int]) -> list[Record]:
    """Jaccard overlaps of all contexts that differ in one circumstance, then their mean per circumstance."""
    records: list[Record] = []
    means: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for a, b in combinations(extremes, 2):
        if len(axis := a.differs_in(b)) != 1:
            continue
        for kind in ("easy", "hard"):
            lists = getattr(extremes[a], kind), getattr(extremes[b], kind)
            n = max(sizes[a], sizes[b])
            overlap = jaccard(*lists, n)
            params = {"across": axis[0], "a": str(a), "b": str(b)}
            notes = {"chance": overlap.chance}
            counts = {"a": len(lists[0]), "b": len(lists[1]), "both": len(lists[0] & lists[1]), "speakers": n}
            record = Record(f"jaccard_{kind}", overlap.value, params=params, counts=counts, notes=notes)
            records.append(record)
            means[record.metric, axis[0]].append(record)
    for (metric, across), group in sorted(means.items()):
        chance = sum(record.notes["chance"] for record in group) / len(group)
        value = sum(record.value for record in group) / len(group)
        counts = {"pairs": len(group)}
        records.append(
            Record(f"{metric}_mean", value, params={"across": across}, counts=counts, notes={"chance": chance})
        )
    return records
