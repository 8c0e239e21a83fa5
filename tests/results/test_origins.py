"""Numbers of several recipes and publications side by side: names, marks, and what is not ranked."""

from dataclasses import replace
from pathlib import Path

import pytest

from vpeval.editions.base import rules_for
from vpeval.records.names import OTHER_DATA, PUBLICATION, PUBLISHED
from vpeval.records.record import Record, write_records
from vpeval.results.load import Source, load
from vpeval.results.origins import footnotes, mark, told_apart, without_foreign_original
from vpeval.results.overview import means, overview, ranking
from vpeval.results.published import baselines_file
from vpeval.results.summary import render


def run(system, recipe="vpc2024", corpora=("libri",), attacker="ecapa", value=0.3):
    """The records of a run with one attacker."""
    names = [f"{corpus}_test_trials_{gender}" for corpus in corpora for gender in "fm"]
    common = {"recipe": recipe, "system": system, "attacker": attacker}
    notes = {"attack_model": "semi-informed", "files": {"scores": "scores"}}
    original = {**common, "system": "original", "condition": "oo"}
    return [
        *(Record("eer_threshold", 0.01, set=name, gender=name[-1], **original) for name in names),
        *(
            Record("eer_threshold", value, 0.1, 0.5, set=name, gender=name[-1], condition="aa", notes=notes, **common)
            for name in names
        ),
        *(
            Record("wer", 5.0, set=f"{corpus}_test_asr", condition="a", recipe=recipe, system=system, recogniser="r")
            for corpus in corpora
        ),
    ]


def publish(records, name):
    notes = {PUBLISHED: f"{name} on a page", PUBLICATION: name}
    return [Record(**{**vars(r), "lower": None, "upper": None, "notes": {**r.notes, **notes}}) for r in records]


def systems_of(records):
    return list(dict.fromkeys(record.system for record in records))


def test_records_of_one_origin_stay_as_they_are():
    own = run("mine")
    assert told_apart(own) == own
    assert told_apart([]) == []


def test_only_names_of_different_origins_are_changed():
    found = told_apart([*publish(run("B1"), "published 2024"), *publish(run("B2"), "published 2024"), *run("B1")])
    assert systems_of(found) == ["original", "B1 (published 2024)", "B2", "B1"]
    published = [record for record in found if PUBLISHED in record.notes]
    assert {record.attacker for record in published} == {"ecapa (2024)", ""}
    assert {record.recogniser for record in published} == {"r (2024)", ""}
    assert {record.attacker for record in found if PUBLISHED not in record.notes} == {"ecapa", ""}


def test_two_publications_both_get_their_names():
    found = told_apart([*publish(run("B1"), "published 2020"), *publish(run("B1", value=0.2), "published 2022")])
    assert systems_of(found) == ["original", "B1 (published 2020)", "B1 (published 2022)"]


def test_the_system_of_another_recipe_gets_its_name():
    found = told_apart([*run("mine"), *run("mine", "mini", ["mini"])])
    assert systems_of(found) == ["original", "mine", "mine (mini)"]
    assert {record.notes.get(OTHER_DATA) for record in found if record.recipe == "mini"} == {"mini"}


def test_the_strongest_attack_on_the_system_of_another_recipe_names_its_attacker():
    chosen = {"chosen": "ecapa", "chosen_condition": "aa", "sets": 2}
    strongest = [
        Record("strongest_attack", 0.3, 0.15, 0.45, {"eer": "eer_threshold"}, {}, chosen, recipe, "mine", name)
        for recipe, name in (("vpc2024", "libri_test"), ("mini", "mini_test"))
    ]
    found = told_apart([*run("mine"), *run("mine", "mini", ["mini"]), *strongest])
    assert [record.notes["chosen"] for record in found[-2:]] == ["ecapa", "ecapa (mini)"]
    eers = [record for record in means(found) if record.metric == "eer_threshold" and record.condition == "aa"]
    assert [(record.lower, record.upper) for record in eers] == [(0.15, 0.45)] * 2


def test_records_without_a_recipe_belong_to_the_first_one():
    own = [*run("mine", ""), *run("other")]
    assert told_apart(own) == own


@pytest.mark.parametrize(
    ("corpora", "other"), [(["libri"], set()), (["libri", "vctk"], {"libri, vctk"}), (["mini"], {"mini"})]
)
def test_numbers_that_are_not_on_the_same_sets_are_on_other_data(corpora, other):
    found = told_apart([*run("mine"), *publish(run("B1", corpora=corpora), "published 2020")])
    assert {r.notes[OTHER_DATA] for r in found if OTHER_DATA in r.notes} == other
    assert not any(OTHER_DATA in record.notes for record in found if PUBLISHED not in record.notes)


def test_sets_that_were_drawn_anew_are_other_data():
    own = [record.with_notes({"protocol": "rebuilt"}) for record in run("mine")]
    found = told_apart([*own, *publish(run("B1"), "published 2024")])
    assert {record.notes.get(OTHER_DATA) for record in found if PUBLISHED in record.notes} == {"libri"}


def test_a_published_average_is_over_the_sets_of_its_publication():
    average = Record("eer_threshold", 0.2, set="test", recipe="vpc2024", system="B9", condition="aa", attacker="a")
    for corpora, other in ((["libri"], None), (["libri", "vctk"], "libri, vctk")):
        found = told_apart([*run("mine"), *publish([*run("B1", corpora=corpora), average], "published 2024")])
        assert found[-1].notes.get(OTHER_DATA) == other
        assert means(found)[-1].value == 0.2


def test_a_metric_that_nobody_else_has_is_on_the_same_data_if_its_sets_are_those_of_the_others():
    for corpora, other in ((["libri"], None), (["vctk"], "vctk"), (["libri", "vctk"], "libri, vctk")):
        sets = [f"{corpus}_test_trials_{gender}" for corpus in corpora for gender in "fm"]
        more = [Record("dsys", 0.2, set=name, system="B1", condition="aa") for name in sets]
        found = told_apart([*run("mine"), *publish(more, "published 2024")])
        assert {record.notes.get(OTHER_DATA) for record in found if record.metric == "dsys"} == {other}


def test_estimators_of_the_eer_are_compared_with_each_other():
    kaldi = [replace(r, metric="eer_kaldi") for r in run("B1", corpora=["libri", "vctk"]) if r.attacker]
    found = told_apart([*run("mine"), *publish(kaldi, "published 2022")])
    assert found[-1].notes[OTHER_DATA] == "libri, vctk"


def test_published_numbers_of_original_speech_can_be_left_to_own_ones():
    own, published = run("mine"), publish(run("B1"), "published 2024")
    assert without_foreign_original(published) == published
    found = without_foreign_original([*own, *published])
    assert found == [*own, *(record for record in published if record.system == "B1")]


def test_marks_say_what_is_published_and_what_is_on_other_data():
    published = Record("wer", 3.0, notes={PUBLISHED: "a page"})
    assert [mark(record) for record in (Record("wer", 3.0), published)] == ["", "†"]
    other = published.with_notes({OTHER_DATA: "libri, vctk"})
    assert mark(other) == "†‡"
    assert footnotes([published, other, Record("wer", 3.0)]) == [
        "† published: a page",
        "‡ measured on other data (libri, vctk), so not ranked",
    ]
    assert footnotes([Record("wer", 3.0)]) == []


def test_the_overview_marks_published_numbers_and_has_no_interval_of_them():
    text = overview(told_apart([*run("mine"), *publish(run("B1", value=0.2), "published 2024")]), "2024")
    lines = [line for line in text.splitlines() if "a-a" in line]
    assert ["30.00 [" in line and "†" not in line for line in lines if "mine" in line] == [True]
    assert [line.endswith("20.00†") for line in lines if "B1" in line] == [True]
    assert text.endswith("† published: published 2024 on a page\n")


def test_the_summary_marks_published_numbers():
    text = render(told_apart([*run("mine"), *publish(run("B1", value=0.2), "published 2024")]), "2024")
    assert "30.00 [10.00,50.00]" in text
    assert "20.00†" in text
    assert text.endswith("† published: published 2024 on a page\n")


def test_published_numbers_of_the_same_data_are_ranked_and_those_of_other_data_are_not():
    own = run("mine", value=0.25)
    for corpora, expected in ((["libri"], ["B1", "mine"]), (["libri", "vctk"], ["mine"])):
        records = told_apart([*own, *publish(run("B1", corpora=corpora, value=0.45), "published 2024")])
        assert [standing.system for standing in ranking(records, rules_for("2024"))] == expected
        assert "B1" in overview(records, "2024")


@pytest.fixture
def own(tmp_path) -> Path:
    write_records(tmp_path / "results.jsonl", [*run("B2"), *run("mine", value=0.2)])
    return tmp_path / "results.jsonl"


def test_baselines_of_all_editions_stand_beside_a_run_without_replacing_a_number(own):
    alone = load([own])
    found = load([own, *(baselines_file(edition) for edition in ("2020", "2022", "2024", "2026"))])
    assert [record for record in found if PUBLISHED not in record.notes] == alone
    names = systems_of(found)
    assert names[:3] == ["original", "B2", "mine"]
    assert {f"B2 (published {edition})" for edition in ("2020", "2022", "2024", "2026")} <= set(names)
    assert "B6" in names  # nobody else has it
    tests = [record for record in found if record.metric == "eer_threshold" and "_test_" in record.set]
    assert {record.recipe for record in tests if OTHER_DATA in record.notes} == {"vpc2026"}
    standings = {standing.system for standing in ranking(found, rules_for("2024"))}
    assert {"B2", "mine", "B2 (published 2024)", "B6"} <= standings
    assert not any("2020" in name or "2022" in name or "2026" in name for name in standings)
    assert "† published: RESULTS_baseline" in overview(found, "2024")


def test_a_result_file_of_others_is_published(own, tmp_path):
    path = tmp_path / "RESULTS_pool"
    path.write_text("ASR-libri_test_asr_anon\n  %WER 8.00 [ 2 / 25, 0 ins, 0 del, 2 sub ]\n")
    found = {record.system: record for record in load([own, Source(path, "mine")]) if record.metric == "wer"}
    assert found["mine (published)"].notes == {PUBLISHED: "RESULTS_pool"}
    assert found["mine"].value == 5.0
