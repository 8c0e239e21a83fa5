"""Invented results of a listening test of any number of systems, as `local/listening_test.py analyse` writes them."""

import json
from itertools import combinations

import numpy as np

from vpeval.core.seeds import generator
from vpeval.figures.run_results import load_results
from vpeval.listening.ratings import ATTACKER, GROUPS, VERIFICATION
from vpeval.metrics.paired import holm, mann_whitney
from vpeval.metrics.scores import pool
from vpeval.records.record import Record, write_records

CELLS = [(f"{corpus}_test_trials_{g}{more}", g) for corpus, more in (("libri", ""), ("vctk", ""), ("vctk", "_common")) for g in "fm"]  # fmt: skip


def system_names(count):
    """The names of some systems, short and long ones."""
    long = ["my_system_with_a_name", "formant_f0", "xvector_pool"]
    return [*long[: min(count, 3)], *(f"sys{k:02d}" for k in range(count - 3))]


def scores_of(system, place, ratings=24):
    """Scores of a system by group and cell; the further its place, the less natural it is."""
    rng = generator(0, "toy listening", system)
    shift = {"naturalness": -0.03, "intelligibility": -0.02, "similarity_same": -0.025, "similarity_different": 0.0}
    start = {"naturalness": 0.75, "intelligibility": 0.7, "similarity_same": 0.8, "similarity_different": 0.25}
    groups = {}
    for group in GROUPS:
        centre = start[group] + shift[group] * place - 0.15 * bool(place) * (group != "similarity_different")
        drawn = np.clip(rng.normal(centre, 0.18, (len(CELLS), ratings)), 0, 1).round(2)
        groups[group] = {f"{name} {g}": row.tolist() for (name, g), row in zip(CELLS, drawn, strict=True)}
    points = rng.normal(size=(12, 2))
    board = {"points": points.tolist(), "speakers": [1 + k // 3 for k in range(12)], "listeners": 7}
    distances = {name: rng.gamma(4, 0.2 + 0.1 * k, 60).tolist() for k, name in enumerate(("same", "different"))}
    return {"groups": groups, "simulated": False, "distances": distances, "map": board}


def listened(root, count, original=True, alpha=0.01, **notes):
    """Write the results of `count` systems and of original speech below `root`, and load them; all have the notes."""
    systems = [*(["original"] if original else []), *system_names(count)]
    content = {system: scores_of(system, place) for place, system in enumerate(systems)}
    pairs, tests = [], []
    for group in GROUPS:
        for versus, system in combinations(systems, 2):
            pairs.append((group, versus, system))
            tests.append(mann_whitney(all_scores(content[system], group), all_scores(content[versus], group)))
    corrected = holm([test.p_value for test in tests])
    for system in systems:
        records = [*_means(system, content[system]), *_verification(system, content[system])]
        for (group, versus, own), test, p in zip(pairs, tests, corrected, strict=True):
            if own == system:
                value = all_scores(content[own], group).mean() - all_scores(content[versus], group).mean()
                params = {"group": group, "versus": versus, "scores": "normalised rank"}
                own_notes = {"p_value": test.p_value, "p_holm": float(p), "alpha": alpha}
                difference = Record("listening_difference", value, params=params, notes=own_notes)
                records.append(difference.tagged(tags(system)))
        (root / system).mkdir(parents=True)
        (root / system / "scores.json").write_text(json.dumps(content[system]))
        heard = [
            r.with_files({"listening": "scores.json"}).with_notes(notes) for r in records if r.attacker == ATTACKER
        ]
        others = [record for record in records if record.attacker != ATTACKER]
        write_records(root / system / "results.jsonl", [*heard, *others])
    return load_results([root / system for system in systems])


def all_scores(content, group):
    return np.concatenate(list(content["groups"][group].values()))


def tags(system, attacker=ATTACKER):
    condition = "oo" if system == "original" else "oa"
    return {"recipe": "toy", "system": system, "attacker": attacker, "condition": condition}


def _means(system, content):
    for group in GROUPS:
        mean = all_scores(content, group).mean()
        yield Record(f"listening_{group}", mean, params={"scores": "normalised rank"}).tagged(tags(system))
    notes = {"chance": 0.4}
    yield Record("listening_cluster_accuracy", 0.6, 0.5, 0.7, notes=notes).tagged(tags(system))


def _verification(system, content):
    for name, gender in CELLS:
        cell = {"set": name, "gender": gender}
        own = [np.array(content["groups"][g][f"{name} {gender}"]) for g in ("similarity_same", "similarity_different")]
        for metric, (objective, function) in VERIFICATION.items():
            value = function(pool(*own))
            params = {"estimator": objective, "scores": "normalised rank"}
            yield Record(metric, value, params=params).tagged({**tags(system), **cell})
            yield Record(objective, 0.9 * value).tagged({**tags(system, "ecapa"), **cell})
