"""Inference, side information and use cases through plan and stage 8, on vectors that stand for embeddings."""

import pytest
from toy_recipe import make_toy

from vpeval.core.errors import InputError
from vpeval.plan.plan import Settings, make_plan
from vpeval.records.record import read_records
from vpeval.stages.base import results, step_of
from vpeval.stages.scoring import measure_legal_criteria


@pytest.fixture
def toy(tmp_path, monkeypatch):
    make_toy(tmp_path)
    for part in ("dev", "test"):
        for kind in ("enrolls", "trials_f", "trials_m"):
            data = tmp_path / f"data/toy_{part}_{kind}"
            speakers = [line.split()[0] for line in (data / "spk2gender").read_text().splitlines()]
            (data / "spk2age").write_text("".join(f"{spk} {20 + int(spk[-1])}\n" for spk in speakers))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(**more):
    plan = make_plan(Settings(recipe="toy", attackers="ecapa", **more))
    measure_legal_criteria(plan)
    return [record for result in results(plan, 8) for record in read_records(result.out / "records.jsonl")]


def test_every_condition_has_its_attacker_on_every_attribute(toy):
    found = [r for r in measured() if r.metric == "inference_bits"]
    kinds = {(r.condition, r.notes["attack_model"], r.params["attribute"], r.params["L"]) for r in found}
    models = {"oo": "unprotected", "oa": "ignorant", "aa": "informed"}
    assert kinds == {(c, m, a, n) for c, m in models.items() for a in ("age", "gender") for n in (1, "all")}
    assert {r.system for r in found if r.condition == "oo"} == {"original"}


def test_side_information_is_every_table_and_all_of_them(toy):
    found = [r for r in measured() if r.metric in ("linkability_side", "singling_out_side")]
    groups = {(r.params["side"], r.params["groups"]) for r in found}
    assert groups == {("gender", 2), ("age", 2), ("age", 4), ("age", 5), ("age+gender", 10)}
    plain = {(r.condition, r.params["N"]): r.value for r in measured() if r.metric == "linkability"}
    for record in (r for r in found if r.metric == "linkability_side" and r.params["L"] == "all"):
        assert record.value >= plain[record.condition, record.params["N"]]


def test_a_use_case_is_measured_where_it_can_be_and_else_extrapolated_or_left_out(toy):
    small = measured(population=6, utterances=2)
    assert {6} <= {r.params["N"] for r in small if r.metric == "linkability"}
    assert {2} <= {r.params["L"] for r in small if r.metric == "linkability"}
    large = measured(population=500)
    errors = [r for r in large if r.metric == "linkability_extrapolation_error"]
    beyond = {(r.condition, r.params["L"]) for r in large if r.metric == "linkability_extrapolated"}
    assert beyond == {(r.condition, r.params["L"]) for r in errors if r.notes["holds"]}
    assert {500} <= {r.params["N"] for r in large if r.metric == "attributes_found"}


def test_a_crowd_of_one_is_refused(toy):
    with pytest.raises(InputError, match="--population 1"):
        make_plan(Settings(recipe="toy", attackers="ecapa", population=1))


def test_tables_that_change_make_the_numbers_anew(toy):
    measured()
    plan = make_plan(Settings(recipe="toy", attackers="ecapa"))
    assert all(step_of(result).is_current() for result in results(plan, 8))
    (toy / "data/toy_dev_enrolls/spk2age").write_text((toy / "data/toy_dev_enrolls/spk2age").read_text() + "\n")
    assert not any(step_of(result).is_current() for result in results(plan, 8))
