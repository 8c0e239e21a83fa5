"""Systems side by side: columns that pair like with like, attackers that some systems lack, and means over seeds.

A column has the numbers of all systems that were measured in one way: by the same attacker in the same condition, with
as many speakers and utterances, or by the same recogniser. Of the shares of speakers that are found there is one column
each, by the attack that was made on most systems and is the strongest of these.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from vpeval.core.run_names import base_and_seed
from vpeval.data.layout import first_few
from vpeval.editions.headline import headline_eer, is_eer, with_one_eer
from vpeval.records.metrics import OVERVIEW, VERIFICATION, describe, known_metrics, rank
from vpeval.records.names import ORIGINAL, OTHER_DATA, PUBLISHED, attack_model
from vpeval.records.record import Record
from vpeval.results.overview import means
from vpeval.results.text_tables import aligned, cell
from vpeval.results.worst import strength, worst_case

INFERRED = "inference_accuracy"
_SIZES = ("N", "L", "attribute", "estimator", "learnt_from")
_FEW = 4


@dataclass(frozen=True)
class Column:
    """The numbers of systems that were measured in one way; original speech may have them in its own condition."""

    title: str
    way: str
    of: Mapping[str, Record]

    @property
    def metric(self) -> str:
        """The metric of all numbers."""
        return next(iter(self.of.values())).metric


def partition_means(records: Sequence[Record], edition: str) -> list[Record]:
    """Means over the test sets, or those of development where there are no others, with one EER of every attack."""
    averages = means(records)
    tests = [record for record in averages if record.set == "test"]
    return with_one_eer(tests or [record for record in averages if record.set == "dev"], edition)


def columns(records: Sequence[Record], edition: str) -> list[Column]:
    """The strongest attack on most systems and the words first, then who is found, weaker attacks and other numbers.

    Those of published numbers alone come last.
    """
    shown = partition_means(records, edition)
    attacks = [_column(way, shown) for way in _ways(record for record in shown if is_eer(record.metric))]
    others = [
        _column(way, shown)
        for way in _ways(
            r for r in shown if OVERVIEW in describe(r.metric).shown and describe(r.metric).group != VERIFICATION
        )
    ]
    attacks.sort(key=_strongest_first)
    others.sort(key=lambda column: (column.metric != "wer", rank(column.metric), column.way))
    words = [column for column in others if column.metric == "wer"]
    rest = others[len(words) :]
    return sorted([*attacks[:1], *words, *_found(records), *attacks[1:], *rest], key=_is_published)


def _is_published(column: Column) -> bool:
    return all(PUBLISHED in record.notes for record in column.of.values())


def _way(record: Record) -> str:
    """How a number was measured."""
    sizes = {name: record.params[name] for name in _SIZES if name in record.params}
    place = "" if record.set in ("dev", "test") else record.set
    return json.dumps([record.metric, record.condition, record.model, place, sizes])


def _ways(records: Iterable[Record]) -> list[list[Record]]:
    """The numbers of anonymised speech, those that were measured in one way together."""
    found: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.system != ORIGINAL:
            found[_way(record)].append(record)
    return list(found.values())


def _column(own: Sequence[Record], records: Iterable[Record]) -> Column:
    """The column of numbers that were measured in one way; `records` may have the number of original speech."""
    one = own[0]
    before = [r for r in records if r.system == ORIGINAL and r.metric == one.metric and r.model == one.model]
    like = {name: one.params.get(name) for name in _SIZES}
    before = [r for r in before if all(r.params.get(name) == value for name, value in like.items())]
    metric = describe(one.metric)
    title = f"{metric.success.label} {metric.unit}" if metric.success else metric.label
    if one.metric == INFERRED:
        title = f"{one.params['attribute']} inferred {metric.unit}"
    sizes = [f"{name} = {one.params[name]}" for name in ("N", "L") if name in one.params]
    way = ", ".join(filter(None, (attack_model(one), one.model, *sizes)))
    return Column(title, way, {**{r.system: r for r in before[:1]}, **{r.system: r for r in own}})


def _strongest_first(column: Column) -> tuple[object, ...]:
    own = [record for record in column.of.values() if record.system != ORIGINAL]
    badness = fmean(describe(record.metric).better * record.value for record in own)
    return _is_published(column), -len(own), -strength(own[0]), badness, column.way


def _found(records: Iterable[Record]) -> list[Column]:
    """A column for every share of speakers found and for every attribute, among most speakers with the least speech."""
    records = [record for record in records if record.params.get("estimator") != "beta-binomial"]
    wanted = [metric.name for metric in known_metrics().values() if metric.success]
    found = []
    for name in (*sorted(wanted, key=lambda name: describe(name).key_place), INFERRED):
        own = [record for record in records if record.metric == name]
        for attribute in dict.fromkeys(record.params.get("attribute") for record in own):
            ways = _ways(record for record in own if record.params.get("attribute") == attribute)
            ways = [way for way in ways if isinstance(way[0].params.get("L"), int)]
            if ways:
                most = max(ways, key=_most_systems)
                alike = [way for way in ways if _most_systems(way) == _most_systems(most)]
                found.append(min((_column(way, own) for way in alike), key=_strongest_first))
    return found


def _most_systems(way: Sequence[Record]) -> tuple[int, int, int]:
    params = way[0].params
    return len(way), params.get("N", 0), -params["L"]


@dataclass(frozen=True)
class Lack:
    """A sentence about systems that lack an attack, and the command that makes it on the first of them."""

    sentence: str
    command: str


def lacking_attacks(records: Sequence[Record], edition: str) -> list[Lack]:
    """Systems that lack an attack that is the strongest on another: their verdicts may be too good.

    There is no verdict on published numbers, and attackers on other data are others.
    """
    records = [record for record in records if not {PUBLISHED, OTHER_DATA} & record.notes.keys()]
    eer = headline_eer((record.metric for record in records), edition)
    made: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for record in records:
        if record.metric == eer and record.system != ORIGINAL:
            made[record.system].add((record.attacker, record.condition))
    strongest: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for system in made:
        if worst := worst_case(records, system, eer):
            strongest[worst.attacker, worst.condition].append(system)
    found = []
    for (attacker, condition), others in strongest.items():
        if lack := [system for system, attacks in made.items() if (attacker, condition) not in attacks]:
            sentence = _lack(lack, f"{attacker} ({'-'.join(condition)})", others)
            found.append(Lack(sentence, _command(records, lack[0], attacker)))
    return found


def _lack(systems: Sequence[str], attacker: str, others: Sequence[str]) -> str:
    was, verdict = ("was", "its verdict") if len(systems) == 1 else ("were", "their verdicts")
    return (
        f"{first_few(systems, _FEW)} {was} not attacked by {attacker}, the strongest attacker on "
        f"{first_few(others, _FEW)}: {verdict} may be too good."
    )


def _command(records: Iterable[Record], name: str, attacker: str) -> str:
    """The command that makes an attack on a system."""
    own = [record for record in records if record.system == name]
    record = next((r for r in own if "anonymiser" in r.notes), own[0])
    system, seed = base_and_seed(name)
    words = ["./run.sh", *(["--recipe", record.recipe] if record.recipe else []), "--stage", "4"]
    if hook := str(record.notes.get("anonymiser", "")):
        words += ["--anonymizer", hook] if record.notes.get("anonymiser_sha256") else ["--anonymized", "DIR"]
    if options := str(record.notes.get("anon_options", "")):
        words += ["--anon-options", f"'{options}'"]
    words += ["--system", system, *(["--seed", str(seed)] if seed else []), "--attackers", attacker]
    return " ".join(words)


@dataclass(frozen=True)
class OverSeeds:
    """The mean of a number over runs of a system with different seeds, and its standard deviation."""

    system: str
    column: Column
    values: tuple[float, ...]

    @property
    def sort(self) -> float:
        """The mean in the unit that is shown."""
        return describe(self.column.metric).scale * fmean(self.values)

    @property
    def mean(self) -> str:
        """As the number is shown."""
        return describe(self.column.metric).typeset(fmean(self.values))

    @property
    def spread(self) -> str:
        """The standard deviation, as the number is shown."""
        return describe(self.column.metric).typeset(stdev(self.values))


def over_seeds(records: Sequence[Record], edition: str) -> list[OverSeeds]:
    """Every number of the columns, and the EER of the strongest attack, of systems with two or more seeds."""
    names = dict.fromkeys(record.system for record in records if record.system != ORIGINAL)
    runs: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        runs[base_and_seed(name)[0]].append(name)
    several = {base: own for base, own in runs.items() if len(own) > 1}
    if not several:
        return []
    eer = headline_eer((record.metric for record in records), edition)
    worst = {name: found for own in several.values() for name in own if (found := worst_case(records, name, eer))}
    shown = [Column(describe(eer).label, "strongest attack", worst), *columns(records, edition)]
    return [
        OverSeeds(base, column, tuple(column.of[name].value for name in own if name in column.of))
        for base, own in several.items()
        for column in shown
        if sum(name in column.of for name in own) > 1
    ]


def render_seeds(found: Sequence[OverSeeds]) -> str:
    """The table of means over seeds."""
    table = [["", "system", "attacker or recogniser", "mean", "standard deviation", "seeds"]]
    for one in found:
        row = [one.column.title, one.system, one.column.way, one.mean, one.spread, str(len(one.values))]
        table.append([text.replace("−", "-") for text in row])
    return f"Over seeds\n{aligned(table)}"


def render_found(found: Sequence[Column]) -> str:
    """The columns about speakers that are found, as a table with a line per system."""
    table = [["", "system", "attacker", "number"]]
    for column in found:
        table += [[column.title, name, column.way, cell(record)] for name, record in column.of.items()]
    return aligned(table)
