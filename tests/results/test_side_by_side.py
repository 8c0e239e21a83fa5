"""Columns that pair like with like, attackers that some systems lack, and means over seeds."""

from statistics import stdev

import pytest

from vpeval.records.record import Record
from vpeval.results.side_by_side import columns, lacking_attacks, over_seeds, render_seeds


def attack(system, value, attacker="ecapa_plda", model="semi-informed", metric="eer_threshold", **more):
    tags = {"system": system, "set": "toy_test_trials_f", "condition": "aa", "attacker": attacker, "recipe": "toy"}
    return Record(metric, value, notes={"attack_model": model, **more}, **tags)


def words(system, value):
    condition = "o" if system == "original" else "a"
    return Record("wer", value, system=system, set="toy_test_asr", condition=condition, recogniser="asr", recipe="toy")


def linked(system, value, attacker="ecapa_plda", n=20, length=1, metric="linkability"):
    notes = {"attack_model": "semi-informed", "chance": 1 / n}
    tags = {"system": system, "set": "toy_all", "condition": "aa", "attacker": attacker, "recipe": "toy"}
    return Record(metric, value, params={"N": n, "L": length}, notes=notes, **tags)


STUDY = [
    attack("a", 0.1),
    attack("a", 0.05, "my_spectrum"),
    attack("b", 0.2),
    words("original", 3.0),
    words("a", 5.0),
    words("b", 6.0),
    linked("a", 0.5),
    linked("a", 0.9, "my_spectrum"),
    linked("a", 0.7, n=5, length="all"),
    linked("a", 0.6, length=3),
    linked("b", 0.3),
    linked("b", 0.4, length=3),
]


def test_a_column_has_the_numbers_of_one_attack_and_size():
    found = {
        (column.title, column.way): {s: r.value for s, r in column.of.items()} for column in columns(STUDY, "2024")
    }
    assert found == {
        ("EER (threshold) %", "semi-informed, ecapa_plda"): {"a": 0.1, "b": 0.2},
        ("WER %", "asr"): {"original": 3.0, "a": 5.0, "b": 6.0},
        ("Linked %", "semi-informed, ecapa_plda, N = 20, L = 1"): {"a": 0.5, "b": 0.3},
        ("EER (threshold) %", "semi-informed, my_spectrum"): {"a": 0.05},
    }
    assert next(iter(found))[1].endswith("ecapa_plda"), "the attack on most systems comes first"


def test_estimators_of_the_eer_are_not_mixed_in_a_column():
    found = columns([*STUDY, attack("c", 0.3, metric="eer_kaldi")], "2024")
    assert [(c.metric, list(c.of)) for c in found if c.metric.startswith("eer")] == [
        ("eer_threshold", ["a", "b"]),
        ("eer_threshold", ["a"]),
        ("eer_kaldi", ["c"]),
    ]


def test_original_speech_has_its_own_condition_by_the_same_attacker_and_size():
    own = linked("original", 1.0)
    others = [linked("original", 0.8, "other"), linked("original", 0.7, n=5)]
    found = next(column for column in columns([*STUDY, *others, own], "2024") if column.title == "Linked %")
    assert found.of["original"] is own


def test_attackers_that_a_system_lacks_are_named_with_the_command_that_adds_them():
    made_by = {"anonymiser": "my/hook.py", "anonymiser_sha256": "12", "anon_options": "--alpha 0.8"}
    (lack,) = lacking_attacks([*STUDY, attack("b_seed2", 0.2, **made_by)], "2024")
    assert lack.sentence == (
        "b, b_seed2 were not attacked by my_spectrum (a-a), the strongest attacker on a: their verdicts may be too good."
    )
    assert lack.command == "./run.sh --recipe toy --stage 4 --system b --attackers my_spectrum"
    seeded = [record for record in STUDY if record.system == "a"] + [attack("b_seed2", 0.2, **made_by)]
    (lack,) = lacking_attacks(seeded, "2024")
    assert lack.command == (
        "./run.sh --recipe toy --stage 4 --anonymizer my/hook.py --anon-options '--alpha 0.8' --system b --seed 2 "
        "--attackers my_spectrum"
    )
    assert lacking_attacks([r for r in STUDY if r.attacker != "my_spectrum"], "2024") == []


def test_numbers_of_several_seeds_have_a_mean_and_a_standard_deviation():
    values = {"a": 0.1, "a_seed1": 0.12, "a_seed2": 0.17}
    records = [attack(name, value) for name, value in values.items()] + [words("a", 5.0), attack("b", 0.3)]
    found = {(one.column.way, one.column.metric): one for one in over_seeds(records, "2024")}
    assert set(found) == {
        ("strongest attack", "eer_threshold"),
        ("semi-informed, ecapa_plda", "eer_threshold"),
    }, "numbers of one seed have no spread"
    one = found["strongest attack", "eer_threshold"]
    assert (one.system, one.values) == ("a", (0.1, 0.12, 0.17))
    assert one.mean == "13.00"
    assert float(one.spread) == pytest.approx(100 * stdev(values.values()), abs=0.005)
    assert render_seeds([one]).splitlines()[2].split() == [
        *("EER", "(threshold)", "%", "a", "strongest", "attack", "13.00", "3.61", "3"),
    ]
    assert over_seeds([attack("a", 0.1), attack("b", 0.2)], "2024") == []
