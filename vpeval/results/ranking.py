"""The ranking of the challenges: classes of a minimum EER, and the utility inside a class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vpeval.records.attacks import LAZY, SEMI, attack_model
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record
from vpeval.results.headline import EERS, eer_of, with_one_eer
from vpeval.results.limits import Rules
from vpeval.results.overview import aligned, cell, means


@dataclass(frozen=True)
class Standing:
    """A system in a ranking: its EER against the attacker that counts, its class, and its place by every utility."""

    system: str
    model: str
    attacker: str
    eer: Record
    least_eer: float | None
    utility: Mapping[str, Record]
    places: Mapping[str, int]
    note: str = ""


def ranking(records: Iterable[Record], rules: Rules) -> list[Standing]:
    """Systems by class, the highest first, then by the first utility; those below every threshold come last."""
    tests = [record for record in means(records) if record.set == "test"]
    standings = []
    for system in dict.fromkeys(r.system for r in tests if r.system != ORIGINAL):
        own = [record for record in tests if record.system == system]
        if eer := _counting_eer(own, rules):
            standings.append(_standing(system, own, eer, rules))
    classes = defaultdict(list)
    for standing in standings:
        classes[standing.least_eer].append(standing)
    return [s for least in sorted(classes, key=lambda c: -(c or 0)) for s in _placed(classes[least], rules)]


def render_ranking(standings: Sequence[Standing], rules: Rules) -> str:
    """The ranking as a table, with a word on what it rests on."""
    eer = describe(eer_of(rules.edition)).label
    heads = ["class", "system", "attack", "attacker", eer, *(describe(name).label for name in rules.utility), ""]
    table = [heads]
    for s in standings:
        name = f">= {100 * s.least_eer:g} %" if s.least_eer is not None else "none"
        cells = [
            f"{s.places[metric]}. {cell(s.utility[metric])}" if metric in s.places else "-" for metric in rules.utility
        ]
        table.append([name, s.system, s.model, s.attacker, cell(s.eer), *cells, s.note])
    steps = "/".join(f"{100 * least:g}" for least in rules.classes)
    note = (
        f"Minimum-EER classes {steps} % (thresholds unconfirmed), utility inside a class; averages of the test sets.\n"
    )
    return f"Ranking by the rules of VoicePrivacy {rules.edition}\n{aligned(table)}{note}"


def _counting_eer(own: Sequence[Record], rules: Rules) -> Record | None:
    """The EER that counts: of the semi-informed attacker, else of the lazy-informed one, against the best of them."""
    eers = [r for r in with_one_eer(own, rules.edition) if r.metric in EERS]
    for model in (SEMI, LAZY):
        if found := [record for record in eers if attack_model(record) == model]:
            return min(found, key=lambda record: record.value)
    return None


def _standing(system: str, own: Sequence[Record], eer: Record, rules: Rules) -> Standing:
    reached = [least for least in rules.classes if eer.value >= least]
    utility = {r.metric: r for r in own if r.metric in rules.utility and r.condition == "a"}
    notes = [] if attack_model(eer) == SEMI else ["no semi-informed attacker: not what the challenge ranks"]
    if eer.metric != eer_of(rules.edition):
        notes.append(f"by its {describe(eer.metric).title}: the results have no other")
    if rules.pitch:
        pitch = next((r.value for r in own if r.metric == "pitch_correlation"), None)
        if pitch is None:
            notes.append("pitch correlation unknown")
        elif pitch <= rules.pitch:
            notes.append(f"pitch correlation {pitch:.3f} is not above {rules.pitch:g}")
    least = reached[-1] if reached else None
    return Standing(system, attack_model(eer), eer.attacker, eer, least, utility, {}, "; ".join(notes))


def _placed(standings: Sequence[Standing], rules: Rules) -> list[Standing]:
    """The systems of a class with their places; equal values share a place."""
    places: dict[str, dict[str, int]] = {s.system: {} for s in standings}
    for metric in rules.utility:
        values = {
            s.system: -describe(metric).better * s.utility[metric].value for s in standings if metric in s.utility
        }
        for system, value in values.items():
            places[system][metric] = 1 + sum(other < value for other in values.values())
    placed = [replace(s, places=places[s.system]) for s in standings]
    return sorted(placed, key=lambda s: (s.places.get(rules.utility[0], len(placed) + 1), s.system))
