"""Several attackers and their fusion through plan, stages and results, on vectors that stand for embeddings."""

import json
import logging

import numpy as np
import pytest
from toy_recipe import make_toy

from vpeval.asv.fusion import read_weights
from vpeval.core.errors import InputError
from vpeval.measures.verification import FusionWeights, verifications
from vpeval.plan.plan import Settings, make_plan
from vpeval.records.record import read_records
from vpeval.results import summary
from vpeval.results.load import load
from vpeval.stages import results
from vpeval.stages.scoring import measure_legal_criteria, verify


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("toy")
    make_toy(root)
    return root


@pytest.fixture
def toy(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def planned(attackers, **more):
    return make_plan(Settings(recipe="toy", attackers=attackers, **more))


@pytest.fixture
def measured(toy):
    plan = planned("ecapa fusion resnet")
    verify(plan)
    measure_legal_criteria(plan)
    return plan


def eers(plan, condition, attacker, partition="test"):
    found = [
        record
        for result in verifications(plan)
        for record in read_records(result.out / "records.jsonl")
        if record.metric == "eer_rocch" and (record.condition, record.attacker) == (condition, attacker)
    ]
    return [record for record in found if f"_{partition}_" in record.set]


def test_a_fusion_hears_what_both_encoders_hear(measured):
    for condition in ("oo", "oa", "aa"):
        fused, *members = (
            np.mean([r.value for r in eers(measured, condition, attacker)])
            for attacker in ("fusion", "ecapa", "resnet")
        )
        assert fused < min(members)


def test_a_fusion_attacks_wherever_two_others_do_and_is_called_after_the_best_informed(toy):
    plan = planned("ecapa ecapa_plda resnet ecapa_similar fusion")
    fused = {a.condition: a for a in plan.attacks if a.attacker.name == "fusion"}
    assert {c: [m.attacker.name for m in a.members] for c, a in fused.items()} == {
        "oo": ["ecapa", "resnet"],
        "oa": ["ecapa", "resnet"],
        "aa": ["ecapa", "ecapa_plda", "resnet", "ecapa_similar"],
    }
    assert [a.notes["attack_model"] for a in fused.values()] == ["unprotected", "ignorant", "semi-informed"]
    assert planned("ecapa ecapa_similar fusion").attacks[-1].notes["attack_model_legal"] == "Semi-Informed"


def test_weights_are_learnt_on_development_sets_and_test_trials_do_not_matter(measured):
    attack = next(a for a in measured.attacks if a.members and a.condition == "aa")
    weights = read_weights(attack.weights)
    assert set(weights.attackers) == {"ecapa", "resnet"}
    assert (weights.weights > 0).all()
    inputs = FusionWeights(measured, attack).inputs
    assert inputs
    assert not any("_test_" in str(path) for path in inputs)


def test_scores_of_test_trials_are_the_weighted_sum_of_those_of_the_members(measured):
    def scores(attacker):
        result = next(
            p
            for p in verifications(measured)
            if (p.attack.attacker.name, p.attack.condition, p.pair.trials) == (attacker, "oa", "toy_test_trials_m")
        )
        return np.array([float(line.split()[2]) for line in (result.out / "scores").read_text().splitlines()])

    attack = next(a for a in measured.attacks if a.members and a.condition == "oa")
    fusion = read_weights(attack.weights)
    assert scores("fusion") == pytest.approx(fusion(np.stack([scores("ecapa"), scores("resnet")], axis=1)))


def test_legal_metrics_of_a_fusion_find_more_speakers_than_those_of_its_members(measured):
    def linked(attacker):
        records = read_records(measured.run / f"linkability_{attacker}-oa" / "records.jsonl")
        return next(
            r for r in records if r.metric == "one_minus_eer" and r.params == {"N": 20, "L": 1, "estimator": "rocch"}
        )

    assert linked("fusion").value > max(linked("ecapa").value, linked("resnet").value)


def test_the_strongest_of_all_attacks_is_chosen_and_told(measured):
    (record,) = (
        r for r in read_records(measured.run / "strongest-test/records.jsonl") if r.params["eer"] == "eer_kaldi"
    )
    assert (record.notes["attackers"], record.notes["attacks"], record.notes["sets"]) == (3, 6, 2)
    assert record.lower <= record.value <= record.upper
    means = {
        (attacker, condition): np.mean([r.value for r in eers(measured, condition, attacker)])
        for attacker in measured.names
        for condition in ("oa", "aa")
    }
    rocch = next(
        r for r in read_records(measured.run / "strongest-test/records.jsonl") if r.params["eer"] == "eer_rocch"
    )
    assert rocch.value == pytest.approx(min(means.values()))
    findings = json.loads((measured.run / "audit.json").read_text())
    sentences = [finding["sentence"] for finding in findings if finding["check"] == "f"]
    assert any("is the strongest of 6 attacks by 3 attackers" in sentence for sentence in sentences)
    assert sum("does not do worse than its best member" in sentence for sentence in sentences) == 3


def test_tables_have_the_fusion_beside_its_members(measured):
    results.collect(measured)
    records = load([measured.run / "results.jsonl"])
    text = summary.render(records)
    assert all(name in text for name in ("fusion", "ecapa", "resnet"))
    assert "mcadams: " in text
    assert "is the strongest of 6 attacks by 3 attackers: EER (Kaldi) %" in text
    results._write_files(measured, measured.run)
    assert all("fusion" in path.read_text() for path in sorted((measured.run / "latex").rglob("ASV_*.tex")))
    assert "fusion" not in measured.ranked.values()


def test_nothing_is_made_twice(measured, caplog):
    with caplog.at_level(logging.INFO):
        verify(measured)
        measure_legal_criteria(measured)
    assert "EER" not in caplog.text
    assert "results up to date, skipped" in caplog.text


def test_without_development_sets_there_is_no_fusion(tmp_path, monkeypatch):
    make_toy(tmp_path, ("test",))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="learns its weights on development sets, and recipe toy has none"):
        planned("ecapa resnet fusion")


@pytest.mark.parametrize("attackers", ["fusion", "ecapa fusion", "fusion ecapa_plda"])
def test_a_fusion_of_less_than_two_is_refused(toy, attackers):
    with pytest.raises(InputError, match="there are no two among"):
        planned(attackers, system="other")


def test_a_member_that_is_not_in_the_run_is_named(toy):
    path = toy / "conf/asv/mine.yaml"
    path.write_text("mode: fusion\nmembers: [ecapa, f0]\n")
    try:
        with pytest.raises(InputError, match=r"mine.yaml: attacker 'f0' is a member, but not among the attackers"):
            planned("ecapa resnet mine")
    finally:
        path.unlink()
