from pathlib import Path

import pytest

from vpeval.asv.attackers import FUSION, Attacker, read_attacker
from vpeval.core.errors import InputError
from vpeval.networks.configs import config_files, config_home, config_names, find_config

CONF = Path(__file__).parents[2] / "conf/asv"


def attacker(trained_on, mode="backend"):
    return Attacker("x", mode, "ecapa", "p", trained_on)


@pytest.mark.parametrize(
    ("condition", "trained_on", "vpc", "legal"),
    [
        ("oo", "original", "unprotected", "Original"),
        ("oa", "original", "ignorant", "Ignorant"),
        ("aa", "original", "lazy-informed", "none"),
        ("aa", "same", "semi-informed", "Informed"),
        ("aa", "mcadams", "semi-informed", "Informed"),
        ("aa", "vtln", "none", "Semi-Informed"),
    ],
)
def test_both_vocabularies_name_the_attack(condition, trained_on, vpc, legal):
    assert attacker(trained_on).attack(condition, "mcadams") == (vpc, legal)


def test_who_trained_on_anonymised_speech_compares_anonymised_speech():
    assert attacker("same").conditions == ("aa",)
    assert attacker("original").conditions == ("oo", "oa", "aa")


def test_an_attacker_has_a_model_for_every_system_that_it_trained_on():
    assert attacker("same").instance("mcadams") == "x-mcadams"
    assert attacker("vtln").instance("mcadams") == "x-vtln"
    assert attacker("original").instance("mcadams") == "x"


def test_a_back_end_scores_the_embeddings_of_its_encoder():
    assert attacker("same").embeddings("mcadams") == "ecapa"
    assert attacker("same", "finetune").embeddings("mcadams") == "x-mcadams"


def test_an_encoder_is_an_attacker_as_it_is():
    expected = Attacker("ecapa", "pretrained", "ecapa", "", "original", representation="ecapa")
    assert read_attacker(CONF / "ecapa.yaml") == expected


def test_attackers_that_hear_the_same_of_speech_share_a_representation():
    found = {name: read_attacker(CONF / f"{name}.yaml").representation for name in config_names(CONF)}
    assert found["ecapa"] == found["ecapa_finetune"] == found["ecapa_plda"] == "ecapa"
    assert found["nontimbral"] == found["nontimbral_anon"] == "nontimbral"
    assert found["units"] == found["units_anon"] == "units"


@pytest.mark.parametrize("name", config_names(CONF))
def test_every_shipped_attacker_starts_from_a_shipped_encoder_and_profile(name):
    found = read_attacker(CONF / f"{name}.yaml")
    if found.mode == FUSION:
        assert found.members == ()
        return
    assert (CONF / f"encoders/{found.start}.yaml").is_file()
    assert found.mode == "pretrained" or (CONF / "train" / f"{found.profile}.yaml").is_file()


def test_a_wrong_name_is_answered_with_the_right_ones(tmp_path):
    (tmp_path / "a.yaml").write_text("mode: magic\nstart: ecapa\nprofile: p\ntrained_on: same\n")
    with pytest.raises(InputError, match=r"b.yaml: no such attacker; there are a"):
        read_attacker(tmp_path / "b.yaml")
    with pytest.raises(
        InputError, match="'mode' must be one of scratch, finetune, backend, units, nuisance, fusion, not 'magic'"
    ):
        read_attacker(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ("[ecapa]", "must be two or more different attackers"),
        ("[ecapa, ecapa]", "must be two or more different attackers"),
        ("[ecapa, 7]", "must be names of other attackers, not 7"),
        ("[ecapa, f]", "must be names of other attackers, not 'f'"),
        ("ecapa", "'members' must be of type list"),
    ],
)
def test_a_fusion_that_is_none_is_refused(tmp_path, members, complaint):
    (tmp_path / "f.yaml").write_text(f"mode: fusion\nmembers: {members}\n")
    with pytest.raises(InputError, match=complaint):
        read_attacker(tmp_path / "f.yaml")


def test_embeddings_depend_on_the_weights_beside_the_configuration(tmp_path):
    (tmp_path / "encoder.yaml").write_text("encoder: ecapa\nmodel: model.ckpt\n")
    (tmp_path / "model.ckpt").write_bytes(b"")
    assert config_files(tmp_path / "encoder.yaml") == [tmp_path / "encoder.yaml", tmp_path / "model.ckpt"]
    assert config_files(CONF / "encoders/ecapa.yaml") == [CONF / "encoders/ecapa.yaml"]


def test_an_own_yaml_is_found_beside_the_shipped_ones_and_goes_before_them(tmp_path):
    for part, text in (("encoders/a", "encoder: f0_histogram\n"), ("attackers/b", ""), ("mine", "")):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / f"{part}.yaml").write_text(text or "mode: backend\nstart: a\nprofile: p\ntrained_on: same\n")
    assert config_names(tmp_path) == ["a", "b", "mine"]
    assert find_config(tmp_path / "a.yaml") == tmp_path / "encoders/a.yaml"
    assert find_config(tmp_path / "b.yaml") == tmp_path / "attackers/b.yaml"
    assert find_config(tmp_path / "mine.yaml") == tmp_path / "mine.yaml"
    assert config_home(tmp_path / "attackers/b.yaml") == config_home(tmp_path / "mine.yaml") == tmp_path
    (tmp_path / "a.yaml").write_text("encoder: f0_histogram\n")
    assert find_config(tmp_path / "a.yaml") == tmp_path / "a.yaml"
