import pytest
from result_samples import RESULTS_2022, SUMMARY_2022

from vpeval.core.errors import InputError
from vpeval.editions import vpc2022
from vpeval.records.record import Record


@pytest.fixture
def write(tmp_path):
    def write_text(text):
        (tmp_path / "results").write_text(text)
        return tmp_path / "results"

    return write_text


def test_writing_what_was_read_gives_the_same_bytes(write):
    assert vpc2022.render(vpc2022.read(write(RESULTS_2022))) == RESULTS_2022
    assert vpc2022.render_summary(vpc2022.read_summary(write(SUMMARY_2022))) == SUMMARY_2022


def test_the_order_of_the_records_does_not_matter(write):
    assert vpc2022.render(reversed(vpc2022.read(write(RESULTS_2022)))) == RESULTS_2022
    assert vpc2022.render_summary(reversed(vpc2022.read_summary(write(SUMMARY_2022)))) == SUMMARY_2022


def test_pitch_correlations_come_with_their_deviation_and_belong_to_the_system(write):
    f, m = (r for r in vpc2022.read(write(RESULTS_2022), "mcadams") if r.metric == "pitch_correlation")
    assert (f.value, f.notes, f.system, f.set, f.gender) == (
        0.8244,
        {"std": 0.0817},
        "mcadams",
        "toy_dev_trials_f",
        "f",
    )
    assert m.value == -0.01


def test_the_attacker_is_given_but_the_path_names_the_recogniser(write):
    records = vpc2022.read(write(RESULTS_2022), attacker="ASV_eval")
    assert {r.attacker for r in records if r.metric == "eer_kaldi"} == {"ASV_eval"}
    assert [(r.condition, r.recogniser) for r in records if r.metric == "wer"] == [
        ("o", "ASR_eval"),
        ("o", "ASR_eval"),
        ("a", "ASR_eval_anon"),
    ]


def test_a_summary_has_original_data_from_one_attacker_and_anonymised_data_from_the_other(write):
    records = vpc2022.read_summary(write(SUMMARY_2022), "mine")
    assert {(r.system, r.attacker, r.condition) for r in records if r.metric == "eer_kaldi"} == {
        ("original", "ASV_eval", "oo"),
        ("mine", "ASV_eval_anon", "aa"),
    }


def test_the_averages_have_the_weights_of_the_challenge(write):
    records = vpc2022.read_summary(write(SUMMARY_2022))
    doubled = [Record(**{**vars(r), "value": r.value / 2}) if r.metric == "eer_kaldi" else r for r in records]
    assert "Weighted average EER dev anon: 12.500\n" in vpc2022.render_summary(doubled)


def test_an_average_that_lies_between_two_printed_numbers_is_rounded_to_the_even_one():
    eers = {"toy_dev_trials_f": 0.10001, "toy_dev_trials_m": 0.1}
    records = [Record("eer_kaldi", v, set=s, condition="oo", system="original") for s, v in eers.items()]
    assert vpc2022.render_summary(records).endswith("orig: 10.000\n")
    records[0] = Record("eer_kaldi", 0.02003, set="toy_dev_trials_f", condition="oo", system="original")
    records[1] = Record("eer_kaldi", 0.02, set="toy_dev_trials_m", condition="oo", system="original")
    assert vpc2022.render_summary(records).endswith("orig: 2.002\n")


def test_records_without_a_standard_deviation_of_pitch_have_no_line():
    wer = Record("wer", 4.0, set="toy_dev_asr", condition="o", system="original")
    wer = Record(**{**vars(wer), "counts": {"ins": 0, "del": 0, "sub": 1, "ref_words": 25}})
    pitch = Record("pitch_correlation", 0.5, set="toy_dev_trials_f", system="x")
    assert "Pitch" not in vpc2022.render([wer, pitch])


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("EER: 8%", "EER: 9%", 16, "the average does not follow from the numbers above, which give 5.121"),
        ("Weighted average EER dev anon: 25.000\n", "", 20, "ends without 'Weighted average EER dev anon'"),
        ("EER dev anon", "EER test anon", 21, "ends without 'Weighted average EER dev anon'"),
        ("libri_dev_trials_m  Pitch", "libri_dev_trials_f  Pitch", 13, "a second pitch correlation"),
        ("libri_dev_trials_f  Gain of voice", "Gain of voice", 14, "is no line of a VPC 2022 results summary"),
        ("Weighted average EER dev orig: 4.621", "Weighted average EER dev orig: 4.6", 16, "cut short?"),
    ],
)
def test_a_summary_that_contradicts_itself_is_refused_with_the_line(write, old, new, line, message):
    path = write(SUMMARY_2022.replace(old, new))
    with pytest.raises(InputError) as error:
        vpc2022.read_summary(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert message in str(error.value)


def test_two_attackers_without_a_name_of_the_challenge_are_refused():
    records = [Record("eer_kaldi", 0.1, set="toy_dev_trials_f", condition="aa", system="x", attacker=a) for a in "ab"]
    with pytest.raises(InputError, match=r"two values of eer_kaldi for toy_dev_trials_f aa \(a, b\)"):
        vpc2022.render_summary(records)
