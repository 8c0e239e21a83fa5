"""Attackers, similar systems and seeds of several runs on one system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from toy_recipe import make_toy

from vpeval.core.errors import InputError
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.records.names import UNRANKED, remarks
from vpeval.records.record import RECORDS, Record, write_records
from vpeval.results.load import load
from vpeval.stages import results
from vpeval.stages.scoring import verify


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_toy(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(**chosen: object) -> Plan:
    return make_plan(Settings(recipe="toy", **chosen))  # type: ignore[arg-type]


def attacked(plan: Plan) -> None:
    """Results of all attackers of a plan, as stage 6 leaves them."""
    for attack in plan.attacks:
        for pair in plan.recipe.asv_pairs:
            record = Record("eer_rocch", 0.1, set=pair.trials, **attack.tags)
            write_records(plan.verification_of(attack, pair) / RECORDS, [record])


def test_attackers_of_earlier_runs_take_part_whatever_the_order_of_runs(toy: Path) -> None:
    for system, lists in (("one", ("", "resnet f0")), ("two", ("resnet f0", ""))):
        for names in lists:
            attacked(planned(system=system, attackers=names))
        for names in lists:
            plan = planned(system=system, attackers=names)
            assert plan.names == ("ecapa", "f0", "resnet")
            assert plan.ranked["attacker"] == "ecapa"
    assert planned(system="three", attackers="resnet f0").names == ("resnet", "f0")


def test_the_order_that_was_asked_for_counts_where_it_is_no_addition(toy: Path) -> None:
    attacked(planned())
    plan = planned(attackers="resnet_plda resnet ecapa_plda ecapa", edition="2022")
    assert plan.names == ("resnet_plda", "resnet", "ecapa_plda", "ecapa")
    assert (plan.ranked["asv_eval"], plan.ranked["attacker"]) == ("resnet_plda", "ecapa_plda")


def test_only_an_attacker_trained_on_speech_of_the_system_is_ranked(toy: Path) -> None:
    ranked = {
        "ecapa f0": "ecapa",  # nobody: the attacker of original speech is shown
        "ecapa ecapa_plda_original ecapa_similar": "ecapa",
        "ecapa ecapa_plda f0": "ecapa_plda",
        "ecapa resnet_plda ecapa_plda f0 fusion": "ecapa_plda",
        "ecapa small_scratch ecapa_finetune ecapa_plda_original": "ecapa_finetune",
    }
    for names, expected in ranked.items():
        for edition in ("2022", "2024", "2026"):
            assert planned(attackers=names, edition=edition).ranked["attacker"] == expected, names
        assert planned(attackers=names, edition="2020").ranked["attacker"] == "ecapa"


def test_a_trained_attacker_of_an_earlier_run_is_ranked_rather_than_an_untrained_one(toy: Path) -> None:
    attacked(planned(attackers="resnet_plda"))
    assert planned(attackers="f0", edition="2024").ranked["attacker"] == "resnet_plda"


def test_results_say_that_nobody_was_trained_so(toy: Path) -> None:
    plan = planned(attackers="ecapa resnet", edition="2024", bootstrap=0)
    verify(plan)
    results.collect(plan)
    records = load([plan.run / results.TABLE])
    assert [remark for remark in remarks(records) if remark.startswith("not ranked: mcadams: no attacker was trained")]
    assert not any(UNRANKED in record.notes for record in records if record.system == "original")
    results._write_files(plan, plan.run)
    text = (plan.run / "result_for_rank").read_text()
    assert text.count("# not ranked: mcadams") == 1 and "ASV_eval^anon results" not in text


def test_results_of_another_system_or_of_original_speech_add_no_attacker(toy: Path) -> None:
    attacked(planned(system="other", attackers="resnet"))
    assert planned().names == ("ecapa",)


def test_an_attacker_is_left_out_on_request_and_the_plan_keeps_its_name(toy: Path) -> None:
    attacked(planned(attackers="ecapa resnet"))
    plan = planned(without="resnet")
    assert plan.names == ("ecapa",) and plan.left_out == ("resnet",)
    with pytest.raises(InputError, match="--without f0: no such attacker takes part; there are ecapa resnet"):
        planned(without="f0")
    with pytest.raises(InputError, match="leaves no attacker"):
        planned(without="ecapa resnet")
    with pytest.raises(InputError, match="in --attackers and in --without"):
        planned(attackers="ecapa", without="ecapa")


def test_results_of_an_attacker_whose_configuration_is_gone_are_not_ignored(toy: Path) -> None:
    plan = planned(attackers="ecapa resnet")
    attacked(replace(plan, attackers=(*plan.attackers, replace(plan.attackers[1], name="lost"))))
    with pytest.raises(InputError, match=r"attacker 'lost', whose configuration is gone.*--without lost"):
        planned()
    assert "lost" not in planned(without="lost").names


def test_a_similar_system_is_never_the_one_under_test(toy: Path) -> None:
    def trained_on(**chosen: object) -> str:
        plan = planned(attackers="ecapa_similar", **chosen)
        assert {attack.notes["attack_model_legal"] for attack in plan.attacks} == {"Semi-Informed"}
        return plan.attackers[0].trained_on

    assert trained_on() == "vtln"
    assert trained_on(anonymizer="vtln") == "mcadams"
    assert trained_on(anonymizer="vtln", system="mine") == "mcadams"
    assert trained_on(anonymizer="vtln", seed=2) == "mcadams"
    own = toy / "conf/asv/only.yaml"
    own.write_text("mode: backend\nstart: ecapa\nprofile: plda_few\ntrained_on: vtln\n")
    with pytest.raises(InputError, match=r"only.yaml: trains on vtln, which is the system under test"):
        planned(attackers="only", anonymizer="vtln")


@pytest.mark.parametrize("value", ["[]", "[vtln, vtln]", "[same]", "3", "[1]"])
def test_a_list_of_similar_systems_names_systems(toy: Path, value: str) -> None:
    own = toy / "conf/asv/own.yaml"
    own.write_text(f"mode: backend\nstart: ecapa\nprofile: plda_few\ntrained_on: {value}\n")
    with pytest.raises(InputError, match="'trained_on' must be same, original, a system, or a list"):
        planned(attackers="own")


def test_seeds_share_original_data_and_nothing_else(toy: Path) -> None:
    chosen = {"attackers": "ecapa ecapa_plda_original ecapa_plda ecapa_similar"}
    first, second = planned(**chosen), planned(**chosen, seed=1)
    assert (first.system, second.system) == ("mcadams", "mcadams_seed1")
    assert second.original("toy_dev_enrolls") == first.original("toy_dev_enrolls")
    assert second.anonymised("toy_dev_enrolls") == Path("data/toy_dev_enrolls_mcadams_seed1")
    models = [[attacker.instance(plan.system) for attacker in plan.attackers] for plan in (first, second)]
    assert models[0] == ["ecapa", "ecapa_plda_original", "ecapa_plda-mcadams", "ecapa_similar-vtln"]
    assert models[1] == [
        "ecapa",
        "ecapa_plda_original_seed1",
        "ecapa_plda-mcadams_seed1",
        "ecapa_similar-vtln_seed1",
    ]
    places = [
        {plan.verification_of(attack, pair) for attack in plan.attacks for pair in plan.recipe.asv_pairs}
        for plan in (first, second)
    ]
    assert not places[0] & places[1] and len(places[0]) == len(places[1])
    assert first.trained_recognisers != second.trained_recognisers
    assert second.encoders().keys() == first.encoders().keys()  # of one pretrained encoder
    with pytest.raises(InputError, match="--seed gives such names"):
        planned(system="mine_seed4")


def test_results_of_fusions_on_original_speech_belong_to_the_run(toy: Path) -> None:
    plan = planned(attackers="ecapa resnet fusion")
    runs = {attack.run for attack in plan.attacks if attack.condition == "oo"}
    assert runs == {plan.run_of("original"), plan.run}
    assert {attack.run for attack in plan.attacks if attack.members} == {plan.run}
