import pytest

from vpeval.errors import InputError
from vpeval.records import Record
from vpeval.results import summary


def asv(metric, value, condition, system, gender="f", interval=(None, None), **more):
    return Record(
        metric,
        value,
        *interval,
        system=system,
        set=f"toy_dev_trials_{gender}",
        gender=gender,
        condition=condition,
        **more,
    )


RECORDS = [
    asv("cllr", 1.5, "oo", "original", attacker="ecapa"),
    asv("eer_kaldi", 0.05, "oo", "original", interval=(0.04, 0.0625), attacker="ecapa"),
    asv("eer_kaldi", 0.5, "oa", "mcadams", attacker="ecapa"),
    asv("eer_kaldi", 0.25, "aa", "mcadams", attacker="ecapa"),
    Record("wer", 5.251, system="original", set="toy_dev_asr", condition="o", params={"source": "exp/a"}),
    Record("wer", 8.7, 8.0, 9.5, system="mcadams", set="toy_dev_asr", condition="a", params={"source": "exp/b"}),
    asv("linkability", 0.5, "aa", "mcadams", params={"N": 100, "L": 1}),
    asv("linkability", 0.75, "aa", "mcadams", params={"N": 20, "L": 1}),
]


def test_the_summary_of_a_small_run():
    assert (
        summary.render(RECORDS)
        == """\
Privacy: speaker verification (attacker ecapa)
                                  original  mcadams  mcadams
                                       o-o      o-a      a-a
toy_dev_trials_f  EER %  5.00 [4.00, 6.25]    50.00    25.00
                  Cllr               1.500        -        -

Utility: speech recognition
                    original            mcadams
                           o                  a
toy_dev_asr  WER %      5.25  8.70 [8.00, 9.50]

Other measures
                                     mcadams
                                         a-a
toy_dev_trials_f  linkability N=20     0.750
                  linkability N=100    0.500

o-o: original enrolment and trials; o-a: anonymised trials; a-a: both anonymised.
EER: eer_kaldi, the one of the VoicePrivacy results files. Brackets: interval over speakers.
Chance level of the EER: 50 %. Higher EER = better privacy; lower WER = better utility.
"""
    )


def test_the_order_of_the_records_does_not_matter():
    assert summary.render(RECORDS[::-1]) == summary.render(RECORDS)


def test_many_systems_continue_below_within_the_width():
    systems = [f"system{i}" for i in range(7)]
    records = [asv("eer_kaldi", 0.3, c, s, interval=(0.2, 0.4)) for s in systems for c in ("oa", "aa")]
    text = summary.render(records)
    assert max(map(len, text.splitlines())) <= summary.WIDTH
    assert all(text.count(system) == 2 for system in systems)
    assert text.count("30.00 [20.00, 40.00]") == 14


def test_several_attackers_get_columns_of_their_own():
    lines = summary.render([asv("eer_kaldi", 0.1, "aa", "x", attacker=a) for a in ("semi", "lazy")]).splitlines()
    assert lines[3].split() == ["lazy", "semi"]


def test_a_gender_is_named_where_the_set_does_not_tell_it():
    text = summary.render([Record("eer_kaldi", 0.1, set="toy_dev_trials_mixed", gender="f", condition="oo")])
    assert "toy_dev_trials_mixed f" in text


def test_two_values_for_one_cell_are_refused():
    with pytest.raises(InputError, match="two values of eer_kaldi"):
        summary.render([asv("eer_kaldi", value, "oo", "original") for value in (0.1, 0.2)])


def test_no_records_are_refused():
    with pytest.raises(InputError, match="no records"):
        summary.render([])
