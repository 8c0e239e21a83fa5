"""Made-up results of any number of systems, in memory: verification by three attack models, voice similarity and WER."""

from pathlib import Path

import numpy as np

from vpeval.figures.run_results import Entry, Results
from vpeval.records.names import IGNORANT, LAZY, ORIGINAL, PUBLISHED, SEMI, UNPROTECTED
from vpeval.records.record import Record

SUPPLEMENT = Path(__file__).parents[3] / "shared/reference/published_results/2020/supplement_tables.tsv"
SETS = {f"toy_{part}_trials_{gender}": gender for part in ("dev", "test") for gender in "fm"}
ATTACKS = {UNPROTECTED: ("oo", 0.03), IGNORANT: ("oa", 0.42), LAZY: ("aa", 0.25), SEMI: ("aa", 0.12)}
"""The condition of an attack model, and the mean of its EERs."""


def system_names(count):
    """Names of systems, every fifth of them long."""
    return [
        f"another_anonymiser_with_a_long_name_{k}" if k % 5 == 4 else f"{'BACK'[k % 4]}{k}c{k}" for k in range(count)
    ]


def make_results(count, published=0, interval=0.02):
    """The results of `count` systems, the last ones of them published."""
    names = system_names(count)
    entries = []
    for place, name in enumerate([ORIGINAL, *names]):
        rng = np.random.default_rng(place)
        notes = {PUBLISHED: "a paper"} if place > count - published else {}
        width = None if notes else interval
        for attack, (condition, mean) in ATTACKS.items():
            if (name == ORIGINAL) == (attack == UNPROTECTED):
                for set_name, gender in SETS.items():
                    tags = {"system": name, "set": set_name, "gender": gender, "condition": condition}
                    attacker = "anon" if attack == SEMI else "orig"
                    values = verification(float(mean * rng.uniform(0.6, 1.3)))
                    entries += [
                        entry(metric, value, width, notes, attack, attacker=attacker, **tags)
                        for metric, value in values.items()
                    ]
        if name != ORIGINAL:
            for set_name, gender in SETS.items():
                tags = {"system": name, "set": set_name, "gender": gender, "attacker": "encoder"}
                entries.append(entry("g_vd", -8 * float(rng.random()), width, notes, **tags))
                entries.append(entry("deid", 1 - 0.6 * float(rng.random()), width, notes, **tags))
        rate = 4 + 6 * float(rng.random()) ** 2
        tags = {"system": name, "set": "toy_test_asr", "condition": "o" if name == ORIGINAL else "a"}
        entries.append(entry("wer", rate, width and 10 * width, notes, recogniser="asr", **tags))
    return Results(entries, [], Path())


def verification(eer):
    """Metrics that go with an EER."""
    return {
        "eer_kaldi": eer,
        "eer_threshold": eer,
        "min_cllr": min(1, 2.4 * eer),
        "cllr": 100 * eer**2 + 0.1,
        "dsys": max(0.02, 1 - 2.2 * eer),
        "zebra_population": max(0.001, 0.7 - 1.6 * eer),
        "zebra_individual": 4 - 7 * eer,
    }


def entry(metric, value, width, notes, attack="", **tags):
    ends = (None, None) if width is None else (value - width, value + width)
    record = Record(metric, value, *ends, notes={**notes, **({"tag": "B"} if metric == "zebra_individual" else {})})
    return Entry(record.tagged({"recipe": "toy", **tags}), Path(), attack)


def points(axis):
    """All points of a panel."""
    return sorted(
        (float(x), float(y)) for line in axis.lines if line.get_marker() != "None" for x, y in line.get_xydata()
    )
