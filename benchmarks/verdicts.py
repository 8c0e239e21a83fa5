#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Measure which grades the verdict gives to systems whose protection is known, for few and more speakers and attackers.

Usage: benchmarks/verdicts.py [<samples>]
 e.g.: benchmarks/verdicts.py 400 >grades.md

Prints the table of docs/metrics.md. A system is a difference between the scores of same and different speakers: none (a
perfect anonymiser), that of original speech (an identity, which has the very scores of original speech), and three
between. All attackers are equally strong, which is when the choice among them flatters the strongest most. Every sample
has new speakers, whose EER, linked and identified shares are graded; the true grade is that of the mean values of all
samples.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.figures.run_results import Entry, Results
from vpeval.measures.strongest import STRONGEST
from vpeval.metrics.intervals import share_intervals
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.scores import pool
from vpeval.metrics.strongest import strongest
from vpeval.metrics.verification import EERS
from vpeval.records.limits import read_limits
from vpeval.records.names import ORIGINAL, SEMI
from vpeval.records.record import Record
from vpeval.report.grades import GradedNumber, Grades, overall
from vpeval.report.verdict import judge

SYSTEMS = {"identity": 6.0, "much disclosed": 2.2, "some disclosed": 1.3, "little disclosed": 0.6, "perfect": 0.0}
SPEAKERS, ATTACKERS = (6, 20, 40), (1, 4, 8)
METRIC = "eer_threshold"
UTTS, RESAMPLES = 4, 100


@dataclass(frozen=True)
class Cell:
    """The grades of all samples of a system, and the true ones."""

    truth: Grades
    found: Counter[Grades]

    def share(self, *grades: int) -> float:
        """How often the verdict is just one of these grades."""
        return sum(n for one, n in self.found.items() if one.one in grades) / self.found.total()

    @property
    def wrong(self) -> float:
        """How often the true grade is none of those left open."""
        outside = (n for one, n in self.found.items() if not one.worst <= self.truth.worst <= one.best)
        return sum(outside) / self.found.total()


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    heads = " | ".join(f"{k} attacker{'s' * (k > 1)}" for k in ATTACKERS)
    print(f"| system | speakers | true grade | {heads} | true grade excluded, % |")
    print("|---|---|---|" + "---|" * (len(ATTACKERS) + 1))
    for system in SYSTEMS:
        for speakers in SPEAKERS:
            cells = [study(system, speakers, attackers, samples) for attackers in ATTACKERS]
            usual = [f"{one.words} ({100 * n / samples:.0f} %)" for c in cells for one, n in c.found.most_common(1)]
            wrong = ", ".join(f"{100 * cell.wrong:.1f}" for cell in cells)
            print(f"| {system} | {speakers} | {cells[0].truth.words} | {' | '.join(usual)} | {wrong} |", flush=True)


def study(system: str, speakers: int, attackers: int, samples: int) -> Cell:
    """The verdicts on samples of a system."""
    rng = np.random.default_rng([list(SYSTEMS).index(system), speakers, attackers])
    limits, found, records = read_limits().verdict, Counter[Grades](), []
    for _ in range(samples):
        own = list(attacked(rng, SYSTEMS[system], speakers, attackers))
        records += own
        original = own if system == "identity" else attacked(rng, SYSTEMS["identity"], speakers, attackers)
        before = [r.tagged({"system": ORIGINAL, "condition": "oo"}) for r in original if r.metric != STRONGEST]
        results = Results([Entry(record, Path(), SEMI) for record in (*own, *before)], [], Path())
        grades = judge(results, "s", "2024", METRIC, limits).grades
        assert grades is not None
        found[grades] += 1
    return Cell(_truth(records, speakers), found)


def _truth(records: list[Record], speakers: int) -> Grades:
    limits, chance = read_limits().verdict, 1 / speakers
    shares = tuple(chance + limit * (1 - chance) for limit in limits.found)
    numbers = []
    for metric, steps in ((METRIC, limits.eer), ("linkability", shares), ("srd_idr", shares)):
        mean = float(np.mean([record.value for record in records if record.metric == metric]))
        numbers.append(GradedNumber(mean, mean, mean, steps))
    return overall(numbers)


def attacked(rng: np.random.Generator, shift: float, speakers: int, attackers: int) -> Iterator[Record]:
    """The numbers of all attacks on new speakers."""
    notes = {"attack_model": SEMI}
    tags = {"system": "s", "condition": "aa"}
    scored = {f"a{k}": trials(rng, speakers, shift) for k in range(attackers)}
    for name, one in scored.items():
        eer = EERS[METRIC](pool(one.score[one.is_target], one.score[~one.is_target]))
        yield Record(
            METRIC, eer, counts={"speakers": speakers}, notes=notes, set="x_test_trials", attacker=name, **tags
        )
    best = strongest({name: [one] for name, one in scored.items()}, METRIC, RESAMPLES, int(rng.integers(2**31)))
    about = {"chosen": best.attack, "chosen_condition": "aa", "attackers": attackers, "attacks": attackers, "sets": 1}
    choice = Record(STRONGEST, best.eer, params={"eer": METRIC}, notes={**notes, **about}, set="x_test", system="s")
    yield choice.with_interval(best.interval)
    for metric in ("linkability", "srd_idr"):
        for name in scored:
            values = found(trials(rng, speakers, shift), speakers)
            params = {"N": speakers, "L": 1}
            size = {"counts": {"test_speakers": speakers}, "notes": {**notes, "chance": 1 / speakers}}
            record = Record(metric, float(values.mean()), params=params, **size, set="x_all", attacker=name, **tags)
            yield record.with_interval(share_intervals(values[:, None])[0])


def trials(rng: np.random.Generator, n: int, shift: float) -> ScoredTrials:
    """Every speaker against every utterance; scores vary with both speakers, their pair, the utterance and chance."""
    enroll, utt = np.divmod(np.arange(n * n * UTTS), n * UTTS)
    speaker = utt // UTTS
    own = enroll == speaker
    score = rng.normal(0, 0.4, n)[enroll] + rng.normal(0, 0.4, n)[speaker] + rng.normal(0, 0.4, (n, n))[enroll, speaker]
    score += rng.normal(0, 0.3, n * UTTS)[utt] + rng.normal(0, 0.8, len(enroll))
    score[own] += shift + (rng.normal(0, 0.5, n)[enroll[own]] if shift else 0)
    return ScoredTrials(score, own, enroll, speaker)


def found(scored: ScoredTrials, n: int) -> np.ndarray:
    """The share of the utterances of every speaker that are nearest to this speaker."""
    nearest = scored.score.reshape(n, n * UTTS).argmax(axis=0)
    share: np.ndarray = (nearest == np.repeat(np.arange(n), UTTS)).reshape(n, UTTS).mean(axis=1)
    return share


if __name__ == "__main__":
    main()
