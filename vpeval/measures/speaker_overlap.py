"""Whether the same speakers stay easy, or hard, across L, attackers and systems (Speaker-Linkability)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from vpeval.core.errors import InputError
from vpeval.measures.base import SpeakerValue
from vpeval.metrics.jaccard import KINDS, QUANTILE, Extremes, Overlap, extreme_speakers, jaccard
from vpeval.records.metrics import SPEAKERS, Metric
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record

_SHARE = {"group": SPEAKERS, "range": (0.0, 1.0), "requires": ("across", "chance")}
METRICS = tuple(
    Metric(f"jaccard_{kind}{suffix}", f"{title}, {kind}", text.format(kind), **_SHARE)  # type: ignore[arg-type]
    for suffix, title, text in (
        ("", "Overlap", "The Jaccard overlap of the lists of {} speakers of two contexts."),
        ("_mean", "Mean overlap", "The mean overlap of {} speakers over pairs of contexts."),
    )
    for kind in KINDS
)


@dataclass(frozen=True, order=True)
class Context:
    """Under what circumstances the speakers were scored.

    With original speech, other attack models are possible than with a system: across these two, `attack_model` is not
    compared.
    """

    system: str
    attacker: str
    n_utts: str
    attack_model: str = ""

    def differs_in(self, other: Context) -> list[str]:
        """The names of the circumstances that differ."""
        found = [name for name in ("system", "attacker", "n_utts") if getattr(self, name) != getattr(other, name)]
        same_speech = (self.system == ORIGINAL) == (other.system == ORIGINAL)
        if same_speech and self.attack_model != other.attack_model and "attacker" not in found:
            found.append("attacker")
        return found

    def __str__(self) -> str:
        return f"{self.system}/{self.attacker} L={self.n_utts}"


@dataclass(frozen=True)
class Lists:
    """Easy and hard speakers in every context, among N; `speakers` is how many were ranked."""

    n: int
    extremes: Mapping[Context, Extremes]
    speakers: Mapping[Context, int]

    def usable(self, kind: str) -> dict[Context, frozenset[str]]:
        """The lists of a kind (`KINDS`) that are not mostly ties."""
        found = {context: ends.usable(kind) for context, ends in self.extremes.items()}
        return {context: speakers for context, speakers in found.items() if speakers is not None}

    def refused(self) -> list[str]:
        """The lists that are mostly ties, in words."""
        return [
            f"{kind} speakers of {context}: {len(getattr(ends, kind))} of {self.speakers[context]}"
            for context, ends in self.extremes.items()
            for kind in KINDS
            if ends.usable(kind) is None
        ]


def find_lists(
    values: Iterable[tuple[Context, SpeakerValue]], metric: str, n: int | None = None, quantile: float = QUANTILE
) -> Lists:
    """The easy and the hard speakers of every context; `values` have the contexts that they belong to.

    `n` None takes the number of speakers N, of those that all contexts have, with most lists that are not mostly ties;
    of several the smallest, as linkability is either 0 or 1 at the largest.
    """
    tables: dict[Context, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for context, value in values:
        if value.metric == metric:
            tables[context][value.N][value.speaker] = value.score
    if not tables:
        raise InputError(f"no value of '{metric}' in these files; choose another --metric")
    for context, table in sorted(tables.items()):
        if n is not None and n not in table:
            raise InputError(f"{context} has no values at N = {n}; it has N = {', '.join(map(str, sorted(table)))}")
    common = set.intersection(*(set(table) for table in tables.values()))
    if not common:
        raise InputError("there is no number of speakers N that all contexts have; compare results of one corpus")
    found = [_lists_at(tables, size, quantile) for size in (sorted(common) if n is None else [n])]
    return max(found, key=lambda lists: sum(len(lists.usable(kind)) for kind in KINDS))


def _lists_at(tables: Mapping[Context, Mapping[int, Mapping[str, float]]], n: int, quantile: float) -> Lists:
    scores = {context: table[n] for context, table in sorted(tables.items())}
    extremes = {context: extreme_speakers(each, quantile) for context, each in scores.items()}
    return Lists(n, extremes, {context: len(each) for context, each in scores.items()})


@dataclass(frozen=True)
class Pair:
    """The overlap of the lists of a kind in two contexts, which differ in one circumstance."""

    across: str
    kind: str
    a: Context
    b: Context
    overlap: Overlap
    counts: Mapping[str, int]


def pairs(lists: Lists) -> Iterator[Pair]:
    """All pairs of contexts that differ in one circumstance, of both kinds; lists that are mostly ties take no part."""
    usable = {kind: lists.usable(kind) for kind in KINDS}
    for a, b in combinations(lists.extremes, 2):
        if len(axis := a.differs_in(b)) != 1:
            continue
        n = max(lists.speakers[a], lists.speakers[b])
        for kind, found in usable.items():
            if a in found and b in found:
                one, two = found[a], found[b]
                counts = {"a": len(one), "b": len(two), "both": len(one & two), "speakers": n}
                yield Pair(axis[0], kind, a, b, jaccard(one, two, n), counts)


def overlap_records(lists: Lists) -> list[Record]:
    """Jaccard overlaps of all contexts that differ in one circumstance, then their mean per circumstance."""
    records: list[Record] = []
    means: dict[tuple[str, str], list[Overlap]] = defaultdict(list)
    for pair in pairs(lists):
        params = {"across": pair.across, "a": str(pair.a), "b": str(pair.b), "N": lists.n}
        notes = {"chance": pair.overlap.chance}
        records.append(
            Record(f"jaccard_{pair.kind}", pair.overlap.value, params=params, counts=pair.counts, notes=notes)
        )
        means[f"jaccard_{pair.kind}_mean", pair.across].append(pair.overlap)
    for (metric, across), group in sorted(means.items()):
        chance = sum(overlap.chance for overlap in group) / len(group)
        value = sum(overlap.value for overlap in group) / len(group)
        params, counts = {"across": across, "N": lists.n}, {"pairs": len(group)}
        records.append(Record(metric, value, params=params, counts=counts, notes={"chance": chance}))
    return records
