import pytest

from vpeval.records.names import SetName, set_title


@pytest.mark.parametrize(
    ("name", "corpus", "partition", "role", "gender", "subset", "system"),
    [
        ("libri_dev_trials_f", "libri", "dev", "trials", "f", "", ""),
        ("vctk_test_trials_m_common_anon", "vctk", "test", "trials", "m", "common", "anon"),
        ("vctk_dev_trials_f_all", "vctk", "dev", "trials", "f", "all", ""),
        ("libri_dev_enrolls_mcadams", "libri", "dev", "enrolls", "", "", "mcadams"),
        ("libri_dev_asr_my_system", "libri", "dev", "asr", "", "", "my_system"),
        ("de_test_trials_mixed_BM1", "de", "test", "trials", "", "", "BM1"),
        ("demo_trials_f", "demo", "test", "trials", "f", "", ""),
        ("IEMOCAP_test", "IEMOCAP", "test", "", "", "", ""),
    ],
)
def test_a_name_is_parsed(name, corpus, partition, role, gender, subset, system):
    parts = SetName.parse(name)
    assert (parts.corpus, parts.partition, parts.role) == (corpus, partition, role)
    assert (parts.gender, parts.subset, parts.system) == (gender, subset, system)
    assert name == parts.base + (f"_{system}" if system else "")


def test_another_name_is_none_of_the_challenge():
    assert SetName.parse("train-clean-360") is None


def test_set_names_become_words():
    assert set_title("vctk_dev_trials_f_common") == "vctk dev common, female"
    assert set_title("vctk_dev_trials_f_common", gender=False) == "vctk dev common"
    assert set_title("mini_all") == "mini all"
