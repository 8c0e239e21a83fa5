from dataclasses import replace

import pytest

from vpeval.records.record import Record
from vpeval.results import latex, overview, summary
from vpeval.results.worst import key_numbers, original_baseline, utility, with_choice, worst_case


def number(metric, value, system="s", condition="aa", attacker="a", set_name="toy_test_trials_f", **more):
    return Record(metric, value, system=system, set=set_name, condition=condition, attacker=attacker, **more)


def sized(value, n, length, attacker="a"):
    notes = {"chance": 1 / n}
    return number(
        "linkability", value, attacker=attacker, set_name="toy_all", params={"N": n, "L": length}, notes=notes
    )


def test_the_most_successful_attack_counts_whichever_way_the_metric_points():
    eers = [number("eer_kaldi", 0.3, attacker="weak"), number("eer_kaldi", 0.1, attacker="strong")]
    links = [sized(0.2, 20, 1, "weak"), sized(0.7, 20, 1, "strong")]
    assert worst_case(eers, "s", "eer_kaldi").attacker == "strong"
    assert worst_case(links, "s", "linkability").attacker == "strong"


def test_all_speakers_and_the_least_speech_count():
    found = worst_case([sized(0.9, 5, 1), sized(0.4, 20, 1), sized(0.8, 20, 3)], "s", "linkability")
    assert found.value == 0.4


def test_an_eer_has_the_interval_that_knows_of_the_choice_if_that_is_of_the_same_attack():
    eer = number("eer_kaldi", 0.1, lower=0.08, upper=0.13)
    notes = {"chosen": "a", "chosen_condition": "aa", "attack_model": "lazy-informed", "attackers": 1, "attacks": 2}
    chosen = Record(
        "strongest_attack",
        0.1,
        0.05,
        0.12,
        {"eer": "eer_kaldi"},
        notes={**notes, "sets": 1},
        system="s",
        set="toy_test",
    )
    assert worst_case([eer, chosen], "s", "eer_kaldi").lower == 0.05
    assert worst_case([eer, chosen.with_notes({"chosen": "b"})], "s", "eer_kaldi").lower == 0.08


def test_the_baseline_is_original_speech_by_its_own_strongest_attacker():
    original = [
        number("eer_kaldi", 0.02, "original", "oo", "other"),
        number("eer_kaldi", 0.04, "original", "oo", "a"),
    ]
    assert original_baseline(original, number("eer_kaldi", 0.1, attacker="a")).attacker == "other"
    weak = replace(sized(1 / 3, 6, 1, "f0"), system="original", condition="oo")
    strong = replace(weak, value=1.0, attacker="ecapa")
    assert original_baseline([weak, strong], sized(1 / 3, 6, 1, "f0")).value == 1.0


def test_utility_is_by_one_recogniser_with_the_large_language_model():
    def wer(value, system, attacker, **params):
        return number("wer", value, system, "a", attacker, "toy_test_asr", params=params)

    records = [
        wer(1, "s", "only ours"),
        *(wer(value, system, "asr", lm="small") for system, value in (("original", 5), ("s", 9))),
        *(wer(value, system, "asr", lm="large") for system, value in (("original", 3), ("s", 6))),
        replace(wer(99, "s", "asr", lm="large"), gender="f"),
    ]
    assert {name: r.value for name, r in utility(records, ["original", "s"], "wer").items()} == {"original": 3, "s": 6}


def test_there_are_at_most_ten_numbers_and_the_unbiased_d_sys_is_among_them():
    metrics = (
        *("eer_kaldi", "eer_threshold", "min_cllr", "cllr", "dsys", "dsys_calibrated", "linkability", "singling_out"),
        *("srd_idr", "srd_max", "wer", "uar", "pitch_correlation", "g_vd", "deid"),
    )
    found = key_numbers([number(metric, 0.2) for metric in metrics], ["original", "s"], "2024")
    assert [one.metric.name for one in found] == [
        *("eer_threshold", "min_cllr", "dsys_calibrated", "linkability", "singling_out", "srd_idr"),
        *("wer", "uar", "pitch_correlation", "g_vd"),
    ]
    published = key_numbers([number("dsys", 0.2)], ["s"], "2024")
    assert [one.metric.name for one in published] == ["dsys"]


@pytest.mark.parametrize(
    ("sets", "mean"), [(("toy_dev_trials_f", "toy_test_trials_f"), 0.4), (("toy_dev_trials_f",), 0.2)]
)
def test_test_sets_count_and_those_of_development_where_there_are_no_others(sets, mean):
    values = {"toy_dev_trials_f": 0.2, "toy_test_trials_f": 0.4}
    assert worst_case([number("min_cllr", values[name], set_name=name) for name in sets], "s", "min_cllr").value == mean


def attacked(attacker, values, **more):
    return [
        number("eer_kaldi", value, attacker=attacker, set_name=f"toy_test_trials_{gender}", gender=gender, **more)
        for gender, value in zip("fm", values, strict=True)
    ]


def strongest(value, sets=2, chosen="a"):
    notes = {"chosen": chosen, "chosen_condition": "aa", "attack_model": "lazy-informed", "attackers": 2, "attacks": 2}
    return Record(
        *("strongest_attack", value, 0.0222, 0.3333, {"eer": "eer_kaldi"}),
        notes={**notes, "sets": sets},
        system="s",
        set="toy_test",
    )


def test_the_strongest_attack_has_one_interval_in_all_views():
    interval = {"lower": 0.01, "upper": 0.4}
    words = [Record("wer", 5.0, system=name, set="toy_test_asr", condition="a", recogniser="asr") for name in "st"]
    others = [replace(record, system="t") for record in attacked("a", (0.3, 0.4), **interval)]
    attacks = [*attacked("a", (0.1, 0.2), **interval), *attacked("b", (0.3, 0.3), **interval)]
    records = [*attacks, *others, *words, strongest(0.15)]
    shown = "15.00 [2.22,33.33]"
    assert shown in overview.overview(records, "2020")
    many = [replace(r, set=f"c{k}_{r.set}") for k in range(9) for r in attacks]
    assert "15.00 [2.22,33.33]" in summary.render([*many, replace(strongest(0.15, 18), set="all_test")], "2020")
    assert r"15.00 {\scriptsize [2.22, 33.33]}" in latex.tables(records, "2020")["systems_test"].replace(
        "\\textbf{", ""
    )
    worst = key_numbers(records, ["s"], "2020")[0].of["s"]
    assert (worst.lower, worst.upper, worst.notes["attacks"]) == (0.0222, 0.3333, 2)


def test_the_interval_of_a_choice_is_not_that_of_another_number():
    one = number("eer_kaldi", 0.15, lower=0.1, upper=0.2)
    assert worst_case([one, strongest(0.15, sets=1)], "s", "eer_kaldi").lower == 0.0222
    assert with_choice([one], [strongest(0.15, sets=1)])[0].lower == 0.0222, "a partition of one set"
    assert with_choice([one], [strongest(0.15, sets=2)])[0].lower == 0.1, "one of two sets"
    assert worst_case([one, strongest(0.16, sets=1)], "s", "eer_kaldi").lower == 0.1, "of other trials"


def test_of_equal_numbers_that_of_the_chosen_attack_counts_else_that_of_the_stronger_model():
    equal = [number("eer_kaldi", 0.15, attacker=name) for name in "ab"]
    assert worst_case([*equal, strongest(0.15, 1, "b")], "s", "eer_kaldi").attacker == "b"
    weaker, stronger = (
        number("linkability", 0.5, attacker=name, notes={"attack_model": model})
        for name, model in (("a", "lazy-informed"), ("b", "semi-informed"))
    )
    assert worst_case([weaker, stronger], "s", "linkability").attacker == "b"
