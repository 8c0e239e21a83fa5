"""What an attacker that fine-tunes has chosen decides what the stages after the training use."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_recipe import make_toy

from vpeval.asv import backend
from vpeval.asv.backend import Settings
from vpeval.asv.choice import BACKEND, FILE, FINE_TUNED, UNCHANGED, Choice, write_choice
from vpeval.core.errors import InputError
from vpeval.embeddings.plda import Prior
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.plan.plan import Plan, make_plan
from vpeval.plan.plan import Settings as Options
from vpeval.records.record import RECORDS, Record, read_records
from vpeval.stages.base import results
from vpeval.stages.scoring import verify

EMBEDDINGS = Path("exp/toy/embeddings")
MODEL = Path("exp/toy/asv/ecapa_finetune-mcadams")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_toy(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(attackers: str = "ecapa ecapa_finetune") -> Plan:
    return make_plan(Options(recipe="toy", attackers=attackers, bootstrap=0)).prepared()


def choose(chosen: str) -> Plan:
    """The plan after a training that chose so."""
    write_choice(MODEL / FILE, Choice(chosen, 12, 12, 2, {BACKEND: 0.1, FINE_TUNED: 0.2, UNCHANGED: 0.3}))
    train = read_embeddings(EMBEDDINGS / "ecapa/toy_dev_enrolls_mcadams")
    backend.save(MODEL / "backend.npz", backend.estimate(train, Settings(0, 5, Prior(5.0, 5.0))).backend)
    return planned()


def scored(plan: Plan) -> dict[str, list[Record]]:
    """The EERs of stage 6 on anonymised speech, by attacker."""
    found: dict[str, list[Record]] = {}
    for result in results(plan, 6):
        for record in read_records(result.out / RECORDS) if RECORDS in result.files else ():
            if record.metric == "eer_rocch" and record.condition == "aa":
                found.setdefault(record.attacker, []).append(record)
    return found


def test_before_the_training_the_encoder_is_expected_to_be_fine_tuned(toy: Path) -> None:
    plan = planned()
    assert plan.encoders()["ecapa_finetune-mcadams"] == MODEL / "encoder.yaml"
    assert choose(FINE_TUNED).encoders() == plan.encoders()


def test_a_back_end_scores_the_vectors_of_the_original_encoder(toy: Path) -> None:
    plan = choose(BACKEND)
    attack = next(attack for attack in plan.attacks if attack.attacker.name == "ecapa_finetune")
    assert (attack.embeddings, attack.backend) == (EMBEDDINGS / "ecapa", MODEL / "backend.npz")
    assert list(plan.encoders()) == ["ecapa"]
    assert {one.attacker.name for one in plan.voice_encoders} == {"ecapa"}
    assert "srd_ecapa_finetune-aa" in {result.out.name for result in results(plan, 9)}
    verify(plan)
    found = scored(plan)
    assert {record.notes["scoring"] for record in found["ecapa_finetune"]} == {"plda"}
    assert {record.notes["attack_model"] for record in found["ecapa_finetune"]} == {"semi-informed"}
    assert {record.notes["fine_tuning"] for record in found["ecapa_finetune"]} == {
        "back end on the original encoder: EER 10.0 % of 12 held-out training speakers (fine-tuned encoder 20.0 %, "
        "original encoder 30.0 %)"
    }
    assert "fine_tuning" not in found["ecapa"][0].notes


def test_an_encoder_that_stays_is_compared_by_cosines(toy: Path) -> None:
    plan = choose(UNCHANGED)
    assert list(plan.encoders()) == ["ecapa"]
    verify(plan)
    found = scored(plan)
    assert [r.value for r in found["ecapa_finetune"]] == [r.value for r in found["ecapa"]]
    assert {record.notes["scoring"] for record in found["ecapa_finetune"]} == {"cosine"}


def test_another_choice_makes_the_results_again(toy: Path) -> None:
    verify(choose(BACKEND))
    before = [record.value for record in scored(planned())["ecapa_finetune"]]
    verify(choose(UNCHANGED))
    assert [record.value for record in scored(planned())["ecapa_finetune"]] != before


def test_a_model_that_was_trained_without_a_choice_is_not_used(toy: Path) -> None:
    plan = choose(BACKEND)
    verify(plan)
    (MODEL / FILE).unlink()
    (EMBEDDINGS / "ecapa_finetune-mcadams").symlink_to("ecapa")  # as an older version left it
    with pytest.raises(InputError, match=r"choice\.json: is missing; stage 4 makes it"):
        verify(planned())
