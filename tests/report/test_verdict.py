import re
from dataclasses import replace
from pathlib import Path

import pytest

from vpeval.asv.attackers import Attacker
from vpeval.figures.run_results import Entry, Results
from vpeval.records.limits import read_limits
from vpeval.records.names import attack_model
from vpeval.records.record import Record
from vpeval.report.grades import GRADES, WORDS, Grades
from vpeval.report.verdict import judge

LIMITS = read_limits().verdict


def judged(results, system):
    return judge(results, system, "2024", "eer_threshold", LIMITS)


def results(*records, trained_on="original"):
    attacker = Attacker("a", "backend", "ecapa", "plda", trained_on)
    return Results([Entry(r, Path(), attack_model(r, attacker)) for r in records], [], Path())


def eer(value, condition="aa", system="s", set_name="toy_test_trials_f", ends=None, attacker="a"):
    """An EER of 12 speakers; without `ends`, of an interval without width."""
    tags = {"system": "original" if condition == "oo" else system, "set": set_name, "condition": condition}
    return Record("eer_threshold", value, *(ends or (value, value)), counts={"speakers": 12}, attacker=attacker, **tags)


def found(value, n=20, metric="linkability", condition="aa", ends=None, attacker="a"):
    params, notes = {"N": n, "L": 1}, {"chance": 1 / n}
    tags = {"system": "original" if condition == "oo" else "s", "set": "toy_all", "condition": condition}
    counts = {"test_speakers": n}
    ends = ends or (value, value)
    return Record(metric, value, *ends, params=params, notes=notes, counts=counts, attacker=attacker, **tags)


@pytest.mark.parametrize(
    ("value", "grade"), [(0.04, 0), (0.05, 1), (0.0625, 1), (0.1, 2), (0.25, 3), (0.34, 4), (0.4, 5), (0.6, 5)]
)
def test_the_eer_is_graded_in_the_classes_of_the_challenge_and_below_them_by_original_speech(value, grade):
    verdict = judged(results(eer(value), trained_on="same"), "s")
    assert verdict.grade == grade
    assert verdict.headline == f"s {GRADES[grade]} against the semi-informed attacker"


@pytest.mark.parametrize(("value", "grade"), [(0.96, 0), (0.69, 1), (0.5, 2), (0.25, 3), (0.14, 4), (0.05, 5)])
def test_the_share_of_speakers_found_is_graded_beyond_chance(value, grade):
    verdict = judged(results(found(value), trained_on="same"), "s")
    assert verdict.grade == grade
    assert verdict.evidence == ((f"{100 * value:.1f} % linked among 20 speakers by semi-informed a", WORDS[grade]),)


def test_the_verdict_says_what_it_rests_on_the_worst_number_first():
    verdict = judged(results(eer(0.34), found(0.69, metric="srd_idr"), found(0.26), trained_on="same"), "s")
    assert verdict.grade == 1
    assert verdict.short == "hardly protects"
    assert verdict.evidence == (
        ("69.00 % identified among 20 speakers by semi-informed a", "hardly"),
        ("26.0 % linked among 20 speakers by semi-informed a", "in part"),
        ("EER (threshold) 34.00 % against semi-informed a", "well"),
    )
    assert verdict.rests_on.startswith(
        "The verdict is the worst of 3 grades: 69.00 % [69.00, 69.00] identified among 20 speakers by the"
    )
    grades = [tile.grade for tile in verdict.tiles]
    assert grades == ["well: 30 to 40 %", "in part: 14.5 to 28.7 %", "hardly: 52.5 to 90.5 %"]


def test_the_attackers_of_the_headline_are_defined():
    verdict = judged(results(eer(0.1), trained_on="same"), "s")
    (sentence,) = verdict.attackers
    assert sentence.startswith("The semi-informed attacker a (Informed in the legal framework) has recordings")
    assert "trained on other speakers, with speech of the same system" in sentence
    (sentence,) = judged(results(eer(0.1, "oa")), "s").attackers
    assert "does not know that the other speech is anonymised" in sentence
    assert "with original speech" in sentence


def test_the_strongest_attacker_counts():
    verdict = judged(results(eer(0.45, "oa"), eer(0.12, "aa")), "s")
    assert "against the lazy-informed attacker" in verdict.headline
    assert "12.00 %" in verdict.sentences[0]


def test_the_number_of_attacks_is_shown_with_an_interval_that_accounts_for_the_choice():
    notes = {"chosen": "a", "chosen_condition": "aa", "attack_model": "lazy-informed", "attackers": 1, "attacks": 2}
    chosen = Record(
        *("strongest_attack", 0.12, 0.04, 0.21),
        params={"eer": "eer_threshold"},
        notes={**notes, "sets": 1},
        system="s",
        set="toy_test",
    )
    other = replace(chosen, params={"eer": "eer_kaldi"}, lower=0.0)
    verdict = judged(results(eer(0.45, "oa"), eer(0.12, "aa"), chosen, other), "s")
    assert "in 12.00 % [4.00, 21.00] of the cases" in verdict.sentences[0]
    assert "the strongest of 2 attacks by 1 attacker; the interval accounts for this choice" in verdict.sentences[0]
    assert "the strongest of 2 attacks by 1 attacker" in verdict.tiles[0].note
    assert verdict.tiles[0].interval == "[4.00, 21.00]"
    assert "It is the only attack." in judged(results(eer(0.12)), "s").sentences[0]


def test_only_test_sets_count_where_there_are_some():
    verdict = judged(results(eer(0.05, set_name="toy_dev_trials_f"), eer(0.15), trained_on="same"), "s")
    assert verdict.grade == 2


def test_speakers_that_are_found_outweigh_a_good_eer():
    verdict = judged(results(eer(0.41), found(0.69), trained_on="same"), "s")
    assert verdict.grade == 1
    assert any("By its EER alone" in caveat for caveat in verdict.caveats)


def test_linking_at_chance_is_strong_protection():
    assert judged(results(eer(0.48), found(0.05), trained_on="same"), "s").grade == 5


def test_without_an_attacker_trained_on_the_system_nothing_is_called_more_than_partly_protective():
    verdict = judged(results(eer(0.48), found(0.05)), "s")
    assert verdict.grade == 3
    assert "semi-informed" in verdict.caveats[0]


def test_a_system_without_privacy_numbers_gets_no_grade():
    wer = Record("wer", 12.0, system="s", set="toy_test_asr", condition="a")
    verdict = judged(results(wer), "s")
    assert verdict.grade is None
    assert verdict.headline == "s: privacy was not measured"
    assert verdict.sentences == ("12.00 % of the words are misrecognised.",)


def test_word_errors_are_the_mean_over_corpora_as_in_the_challenge_and_on_the_terminal():
    records = [
        Record("wer", rate, rate - 1, rate + 1, system=system, set=f"toy{n}_test_asr", condition=condition)
        for system, condition, rates in (("original", "o", (2.0, 4.0)), ("s", "a", (10.0, 20.0)))
        for n, rate in enumerate(rates)
    ]
    verdict = judged(results(*records), "s")
    ends = "[14.29, 15.71]"
    assert verdict.sentences == (
        f"Recognition errors rise from 3.00 % to 15.00 % {ends} of the words (WER, mean over 2 test sets).",
    )
    assert (verdict.tiles[0].interval, verdict.tiles[0].note) == (ends, "original speech 3.00 %, +12.00 points")


def test_sets_count_as_in_the_challenge():
    sets = {"libri_test_trials_f": 0.1, "vctk_test_trials_f": 0.2, "vctk_test_trials_f_common": 0.4}
    verdict = judged(results(*(eer(value, set_name=name) for name, value in sets.items())), "s")
    mean = 0.5 * 10 + 0.5 * (0.8 * 20 + 0.2 * 40)
    assert (
        f"in {mean:.2f} % [17.00, 17.00] of the cases: EER (threshold), mean over 3 test sets" in verdict.sentences[0]
    )


def test_being_linked_and_being_identified_are_explained_if_both_are_shown():
    assert judged(results(eer(0.3), found(0.26), found(0.69, metric="srd_idr")), "s").explanations
    assert not judged(results(eer(0.3), found(0.26)), "s").explanations


def test_tiles_place_system_and_original_between_no_privacy_and_chance():
    verdict = judged(results(eer(0.05, "oo"), eer(0.25), found(1.0, condition="oo"), found(0.525)), "s")
    places = [(tile.original, tile.system) for tile in verdict.tiles]
    assert places[0] == pytest.approx((0.1, 0.5))
    assert places[1] == pytest.approx((0, 0.5))


def test_original_speech_alone_is_not_graded_as_a_system():
    verdict = judged(results(eer(0.02, "oo")), "original")
    assert verdict.headline == "The original speech is not protected"
    assert verdict.caveats == ()


def test_word_errors_of_one_recogniser_are_compared_and_genders_do_not_count_twice():
    def wer(value, system, attacker, gender="", **params):
        condition = "o" if system == "original" else "a"
        tags = {"system": system, "set": "toy_test_asr", "condition": condition, "attacker": attacker}
        return Record("wer", value, counts={"ref_words": 100}, params=params, gender=gender, **tags)

    records = [
        wer(50.0, "s", "ASR_eval_anon"),
        *(wer(10.0, name, "whisper", normalizer="vpc2020") for name in ("original", "s")),
        wer(99.0, "s", "whisper", "f", normalizer="vpc2020"),
        *(wer(40.0, name, "whisper", normalizer="none") for name in ("original", "s")),
    ]
    assert judged(results(*records), "s").sentences == (
        "Recognition errors go from 10.00 % to 10.00 % of the words (WER, of the test set).",
    )


def wer(value, system="s", set_name="toy_test_asr"):
    tags = {"system": system, "set": set_name, "condition": "o" if system == "original" else "a"}
    return Record("wer", value, counts={"ref_words": 100}, recogniser="asr", **tags)


def test_a_system_that_destroys_the_words_gets_no_good_grade():
    verdict = judged(results(eer(0.5), wer(98.0), wer(4.0, "original"), trained_on="same"), "s")
    assert verdict.headline == "s destroys the speech"
    assert any("silence or noise" in caveat for caveat in verdict.caveats)


def test_words_are_lost_that_the_same_recogniser_understands_in_original_speech():
    assert "destroys" not in judged(results(eer(0.5), wer(80.0), wer(45.0, "original")), "s").headline


@pytest.mark.parametrize("after", [7.0, 102.0])
def test_there_is_no_verdict_on_utility_where_original_speech_is_not_understood(after):
    verdict = judged(results(eer(0.5), wer(after), wer(102.0, "original"), trained_on="same"), "s")
    why = "no verdict on utility: asr misrecognises 102.00 % of the words of original speech"
    assert verdict.headline == f"s protects the speakers strongly against the semi-informed attacker; {why}"
    assert verdict.short == "protects strongly; utility not known"
    assert any(why in caveat for caveat in verdict.caveats)


def test_one_set_of_original_speech_that_is_not_understood_is_enough():
    sets = {"toy1_test_asr": 60.0, "toy2_test_asr": 4.0}
    records = [wer(value, system, name) for name, value in sets.items() for system in ("original", "s")]
    assert "asr misrecognises 60.00 % of the words" in judged(results(*records), "s").headline


def test_without_original_speech_high_word_errors_are_no_verdict_and_no_silence():
    verdict = judged(results(eer(0.5), wer(98.0), trained_on="same"), "s")
    assert "no verdict on utility: 98.00 % of the words are misrecognised" in verdict.headline
    assert "utility" not in judged(results(eer(0.5), wer(10.0), trained_on="same"), "s").headline


def test_the_verdict_says_what_the_intervals_leave_open_the_worse_end_first():
    verdict = judged(results(eer(0.4, ends=(0.12, 0.6)), trained_on="same"), "s")
    assert (verdict.grade, verdict.grades) == (None, Grades(2, 5))
    assert verdict.headline == (
        "s protects the speakers between weakly and strongly against the semi-informed attacker: 12 speakers cannot tell"
    )
    assert verdict.short == "protects between weakly and strongly"
    assert verdict.evidence[0][1] == "between weakly and strongly"
    assert verdict.tiles[0].grade == "between weakly and strongly: 10 % or more"


def test_the_verdict_says_how_many_speakers_would_tell():
    verdict = judged(results(eer(0.15, ends=(0.05, 0.25)), trained_on="same"), "s")
    assert verdict.grades == Grades(1, 3)
    (caveat,) = verdict.caveats
    number = int(re.search(r"About (\d+) speakers instead of 12 would tell", caveat)[1])
    assert 40 <= number <= 65, "an interval of a half of its width or so stays between 10 and 20 %"
    (caveat,) = judged(results(eer(0.2, ends=(0.1, 0.3)), trained_on="same"), "s").caveats
    assert "so near to a limit" in caveat


def test_a_number_without_an_interval_leaves_all_grades_open():
    verdict = judged(results(replace(eer(0.45), lower=None, upper=None), trained_on="same"), "s")
    assert verdict.grades == Grades(0, 5)
    assert "between not at all and strongly" in verdict.headline
    assert "without an interval" in verdict.caveats[0]
    certain = found(0.69)
    assert judged(results(replace(eer(0.45), lower=None, upper=None), certain), "s").grades == Grades(0, 1)


def test_the_interval_of_a_share_accounts_for_the_choice_among_attacks():
    ends = (0.30, 0.75)
    alone = judged(results(found(0.5, ends=ends), trained_on="same"), "s")
    several = [found(0.5, ends=ends), *(found(0.3, ends=(0.1, 0.8), attacker=name) for name in "bcdefgh")]
    verdict = judged(results(*several, trained_on="same"), "s")
    assert (alone.grades, verdict.grades) == (Grades(1, 2), Grades(1, 3))
    assert verdict.tiles[0].interval == "[21.6, 80.0]"


def test_a_medium_grade_at_best_bounds_both_ends():
    assert judged(results(eer(0.4, ends=(0.12, 0.6))), "s").grades == Grades(2, 3)
    assert judged(results(eer(0.45, ends=(0.32, 0.6))), "s").grade == 3
