from dataclasses import replace

import pytest

from vpeval.core.errors import InputError
from vpeval.records.metrics import BY_SET, KEY, OVERVIEW, shown_in
from vpeval.records.record import Record
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


def wer(*numbers, **more):
    return Record("wer", *numbers, set="toy_dev_asr", recogniser="whisper", **more)


RECORDS = [
    asv("cllr", 1.5, "oo", "original", attacker="ecapa"),
    asv("eer_kaldi", 0.05, "oo", "original", interval=(0.04, 0.0625), attacker="ecapa"),
    asv("eer_kaldi", 0.5, "oa", "mcadams", attacker="ecapa"),
    asv("eer_kaldi", 0.25, "aa", "mcadams", attacker="ecapa"),
    wer(5.251, None, None, system="original", condition="o", notes={"source": "exp/a"}),
    wer(8.7, 8.0, 9.5, system="mcadams", condition="a", notes={"source": "exp/b"}),
    asv("linkability", 0.5, "aa", "mcadams", params={"N": 100, "L": 1}, notes={"chance": 0.01}),
    asv("linkability", 0.75, "aa", "mcadams", params={"N": 20, "L": 1}, notes={"chance": 0.05}),
]


def test_the_summary_of_a_small_run():
    assert (
        summary.render(RECORDS)
        == """\
Privacy: speaker verification (attacker ecapa)
                                                 original  mcadams  mcadams
                                 chance               o-o      o-a      a-a
toy_dev_trials_f  EER (Kaldi) %      50  5.00 [4.00,6.25]    50.00    25.00
                  Cllr bit            -             1.500        -        -

Utility (recogniser whisper)
                    original           mcadams
                           o                 a
toy_dev_asr  WER %      5.25  8.70 [8.00,9.50]

Other measures
                                 mcadams
                         chance      a-a
Linkability % N=20 L=1      5.0     75.0
Linkability % N=100 L=1     1.0     50.0

o-o: original enrolment and trials; o-a: anonymised trials; a-a: both anonymised. [95 % interval].
EER (Kaldi): the EER of VoicePrivacy 2020.
Chance: an attacker learns nothing; better privacy is nearer to it. Better utility: lower WER and CER, higher others.
Other measures: all speakers, or average of the test sets; N speakers, L utterances of each. DeID and
G_VD look at embeddings alone, whatever the attacker's back end.
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
    assert text.count("30.00 [20.00,40.00]") == 14


def test_several_attackers_get_columns_of_their_own():
    lines = summary.render([asv("eer_kaldi", 0.1, "aa", "x", attacker=a) for a in ("semi", "lazy")]).splitlines()
    assert lines[3].split() == ["chance", "lazy", "semi"]


def run(sets, attackers=("ecapa",), system="mine"):
    """All that a run of the recipe measures."""
    records = []
    for attacker in attackers:
        for condition in ("oo", "oa", "aa"):
            name = "original" if condition == "oo" else system
            tags = {"system": name, "condition": condition, "attacker": attacker}
            for set_name in sets:
                for metric in ("eer_kaldi", "eer_rocch", "min_cllr", "cllr", "dsys", "dsys_null", "zebra_population"):
                    records.append(Record(metric, 0.25, 0.2, 0.3, set=set_name, **tags))
            for n, length in ((20, 1), (20, "all"), (40, 1), (40, "all")):
                for metric in ("linkability", "singling_out", "one_minus_eer"):
                    params, notes = {"N": n, "L": length}, {"chance": 1 / n}
                    records.append(Record(metric, 0.5, 0.4, 0.6, params, notes=notes, set="toy_all", **tags))
            for estimator in ("empirical", "beta-binomial"):
                for metric in ("srd_max", "srd_mean", "srd_idr", "srd_rank_spread"):
                    params, notes = {"N": 40, "L": 1, "estimator": estimator}, {"floor": 0.1}
                    records.append(Record(metric, 0.5, 0.4, 0.6, params, notes=notes, set="toy_all", **tags))
        for metric in ("deid", "g_vd", "pitch_correlation"):
            for set_name in sets:
                records.append(Record(metric, 0.5, 0.4, 0.6, system=system, set=set_name, attacker=attacker))
    return records + RECORDS[4:6]


FOUR = [f"toy_{part}_trials_{gender}" for part in ("dev", "test") for gender in "fm"]
TWELVE = [f"{corpus}_{part}_trials_{g}{common}" for part in ("dev", "test") for g in "fm"
          for corpus, common in (("libri", ""), ("vctk", ""), ("vctk", "_common"))]  # fmt: skip


@pytest.mark.parametrize("sets", [FOUR, TWELVE])
@pytest.mark.parametrize("attackers", [("ecapa",), ("ecapa", "ecapa_mine")])
def test_a_run_with_everything_fits_a_screen(sets, attackers):
    lines = summary.render(run(sets, attackers)).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= summary.WIDTH


def test_many_sets_are_averaged_by_partition():
    text = summary.render(run(TWELVE))
    assert "dev (6 sets)   EER (Kaldi) %" in text
    assert "vctk" not in text


def test_of_sizes_the_easiest_and_the_hardest_case_are_shown():
    text = summary.render(run(FOUR))
    shown = [line[:26].rstrip() for line in text.splitlines() if line.startswith("Linkability")]
    assert shown == ["Linkability % N=20 L=all", "Linkability % N=40 L=1"]


def test_the_chance_level_of_d_sys_is_that_of_shuffled_labels():
    line = next(line for line in summary.render(run(FOUR)).splitlines() if line.startswith("D_sys"))
    assert line.split()[:2] == ["D_sys", "0.250"]


def test_a_recogniser_is_not_called_an_attacker():
    assert "Utility (recogniser whisper)\n" in summary.render(RECORDS)


def test_other_measures_are_those_of_the_strongest_attacker():
    records = run(FOUR, ("strong", "weak"))
    records = [replace(r, value=0.1) if r.metric == "eer_kaldi" and r.attacker == "strong" else r for r in records]
    assert "Other measures (attacker strong)" in summary.render(records)


def test_a_gender_is_named_where_the_set_does_not_name_it():
    text = summary.render([Record("eer_kaldi", 0.1, set="toy_dev_trials_mixed", gender="f", condition="oo")])
    assert "toy_dev_trials_mixed f" in text


def test_two_values_for_one_cell_are_refused():
    with pytest.raises(InputError, match="two values of eer_kaldi"):
        summary.render([asv("eer_kaldi", value, "oo", "original") for value in (0.1, 0.2)])


def test_no_records_are_refused():
    with pytest.raises(InputError, match="no records"):
        summary.render([])


def test_the_eer_is_that_of_the_edition():
    records = [
        asv(metric, value, "aa", "x", attacker=attacker)
        for metric, values in (("eer_kaldi", (0.1, 0.2)), ("eer_threshold", (0.3, 0.15)))
        for attacker, value in zip(("one", "two"), values, strict=True)
    ]
    records += [asv("dsys", value, "aa", "x", attacker=name) for name, value in (("one", 0.5), ("two", 0.6))]
    for edition, title, strongest in (("2020", "EER (Kaldi)", "one"), ("2026", "EER (threshold)", "two")):
        text = summary.render(records, edition)
        assert {
            line.split(" %")[0].split("  ")[-1] for line in text.splitlines() if "EER (" in line and " %" in line
        } == {title}
        assert f"{title}: the EER of VoicePrivacy {edition}.\n" in text
        assert f"Other measures (attacker {strongest})" in text


def test_the_eer_of_published_results_has_its_own_name():
    records = [
        *(asv(metric, 0.1, "aa", "mine") for metric in ("eer_kaldi", "eer_threshold", "eer_rocch")),
        asv("eer_threshold", 0.3, "aa", "published"),
    ]
    text = summary.render(records, "2020")
    rows = [line.split() for line in text.splitlines() if "EER (" in line and "50" in line]
    assert [row[-2:] for row in rows] == [["10.00", "-"], ["-", "30.00"]]
    assert "EER (Kaldi): the EER of VoicePrivacy 2020; EER (threshold): of results without it.\n" in text
    assert max(map(len, text.splitlines())) <= summary.WIDTH


def test_records_without_tags_are_shown_alone_and_beside_those_of_systems():
    bare = [Record("eer_kaldi", 0.1, 0.05, 0.2), Record("linkability", 0.4, params={"N": 20, "L": 1})]
    alone = summary.render(bare)
    assert alone.splitlines()[0] == "Numbers of no system"
    assert alone.splitlines()[2].split() == ["EER", "(Kaldi)", "%", "10.00", "[5.00,20.00]", "50"]
    wer = Record("wer", 5.0, system="s", set="toy_test_asr", condition="a")
    assert summary.render([wer, *bare]).endswith(alone)


def test_recognisers_have_columns_of_their_own_in_the_order_of_their_names():
    tags = {"system": "mcadams", "condition": "a", "set": "toy_dev_asr"}
    rates = [Record("wer", value, recogniser=name, **tags) for name, value in (("b", 2.0), ("a", 1.0))]
    pitch = Record("pitch_correlation", 0.5, system="mcadams", set="toy_dev_trials_f")
    text = summary.render([*rates, pitch])
    assert text.startswith("Utility\n")
    rows = [line.split()[-3:] for line in text.splitlines()[1:6]]
    assert rows[0] == ["mcadams"] * 3 and rows[1] == ["a"] * 3
    assert rows[3:] == [["0.500", "-", "-"], ["-", "1.00", "2.00"]]


def test_every_metric_of_a_description_has_its_place():
    names = {where: {metric.name for metric in shown_in(where)} for where in (KEY, OVERVIEW, BY_SET)}
    assert names[BY_SET] == {"eer_kaldi", "eer_threshold", "eer_rocch", "min_cllr", "cllr", "wer", "cer", "uar"}
    assert names[OVERVIEW] - names[BY_SET] == {"dsys_calibrated", "deid", "pitch_correlation", "g_vd"}
    assert names[KEY] - names[OVERVIEW] == {"linkability", "singling_out", "srd_idr"}
