from dataclasses import replace

import pytest

from vpeval.asv.attackers import Attacker
from vpeval.records.names import attack_model
from vpeval.records.record import Record


def record(condition, attacker="ecapa"):
    return Record("eer_kaldi", 0.1, system="mcadams", condition=condition, attacker=attacker)


@pytest.mark.parametrize(
    ("condition", "trained_on", "model"),
    [
        ("oo", "original", "unprotected"),
        ("oa", "original", "ignorant"),
        ("aa", "original", "lazy-informed"),
        ("aa", "same", "semi-informed"),
        ("aa", "mcadams", "semi-informed"),
        ("aa", "vtln", "similar-system"),
        ("", "original", ""),
        ("a", "original", ""),
    ],
)
def test_condition_and_training_data_make_the_attack_model(condition, trained_on, model):
    attacker = Attacker("ecapa", "backend", "ecapa", "plda", trained_on)
    assert attack_model(record(condition), attacker) == model


def test_what_a_record_states_counts_before_anything_else():
    noted = replace(record("aa"), notes={"attack_model": "semi-informed"})
    assert attack_model(noted) == "semi-informed"
    assert attack_model(replace(noted, notes={"attack_model": "none"})) == "similar-system"


def test_an_attacker_of_a_published_result_is_known_by_its_name():
    assert attack_model(record("aa", "ASV_eval_anon")) == "semi-informed"
    assert attack_model(record("aa", "ASV_eval")) == "lazy-informed"
