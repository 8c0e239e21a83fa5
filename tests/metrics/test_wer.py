import random

import jiwer
import kaldialign
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.text import NORMALIZERS, vpc2020, vpc2024, vpc2026
from vpeval.metrics.intervals import multiplicities, ratio_interval
from vpeval.metrics.paired import Assessed, assess
from vpeval.metrics.wer import ErrorCounts, count_errors, paired_test, score_texts, speaker_interval, sum_by_speaker

words = st.lists(st.sampled_from("abc"), max_size=14)
pairs = st.lists(st.tuples(words, words), min_size=1, max_size=6)


def kaldi(ref, hyp):
    counts = kaldialign.edit_distance(ref, hyp)
    return [counts["ins"], counts["del"], counts["sub"], len(ref)]


@given(pairs)
def test_the_split_into_insertions_deletions_and_substitutions_is_that_of_kaldi(texts):
    refs, hyps = zip(*texts, strict=True)
    assert count_errors(refs, hyps).tolist() == [kaldi(ref, hyp) for ref, hyp in texts]


@given(pairs)
def test_the_total_is_that_of_jiwer(texts):
    texts = [(ref, hyp) for ref, hyp in texts if ref] or [(["a"], ["b"])]
    refs, hyps = zip(*texts, strict=True)
    theirs = jiwer.process_words([" ".join(ref) for ref in refs], [" ".join(hyp) for hyp in hyps])
    ours = ErrorCounts.from_counts(count_errors(refs, hyps))
    assert ours.errors == theirs.insertions + theirs.deletions + theirs.substitutions
    assert ours.rate == pytest.approx(100 * theirs.wer)


@pytest.mark.parametrize("error_rate", [0.02, 0.3, 0.95])
def test_long_utterances_of_any_error_rate_are_split_as_by_kaldi(error_rate):
    rng = random.Random(error_rate)
    refs = [[str(rng.randrange(30)) for _ in range(rng.randrange(150))] for _ in range(25)]
    hyps = [[w for w in ref for _ in range(rng.choice((0, 1, 2)) if rng.random() < error_rate else 1)] for ref in refs]
    hyps[0] = hyps[0] + ["loop"] * 400  # a recogniser that got stuck
    assert count_errors(refs, hyps).tolist() == [kaldi(ref, hyp) for ref, hyp in zip(refs, hyps, strict=True)]


def test_an_insertion_and_a_deletion_are_preferred_to_two_substitutions():
    assert count_errors([["a", "b"]], [["b", "c"]]).tolist() == [[1, 1, 0, 2]]


@given(words, words)
def test_swapping_reference_and_hypothesis_keeps_the_number_of_errors(one, other):
    assert count_errors([one], [other])[0, :3].sum() == count_errors([other], [one])[0, :3].sum()


def test_an_empty_reference_makes_insertions_and_an_empty_hypothesis_deletions():
    assert count_errors([[], ["a", "b"], []], [["a"], [], []]).tolist() == [[1, 0, 0, 0], [0, 2, 0, 2], [0, 0, 0, 0]]


def test_no_utterances_have_no_errors():
    assert ErrorCounts.from_counts(count_errors([], [])) == ErrorCounts()
    assert ErrorCounts().rate == 0


def test_insertions_into_nothing_are_an_infinite_rate():
    assert ErrorCounts(insertions=1).rate == float("inf")


def test_strings_are_compared_by_character():
    assert count_errors(["kitten"], ["sitting"]).tolist() == [[1, 0, 2, 6]]


def test_counts_add_up_and_print_as_kaldi_does():
    total = ErrorCounts(1, 2, 3, words=50, utts=4) + ErrorCounts(0, 1, 0, words=50, utts=1)
    assert total == ErrorCounts(1, 3, 3, 100, 5)
    assert str(total) == "%WER 7.00 [ 7 / 100, 1 ins, 3 del, 3 sub ]"


def test_different_numbers_of_references_and_hypotheses_are_refused():
    with pytest.raises(ValueError, match="1 references but 0 hypotheses"):
        count_errors([["a"]], [])


def test_a_missing_hypothesis_counts_as_deleted_and_is_named():
    score = score_texts({"u1": "a b", "u2": "c"}, {"u2": "c"}, vpc2020)
    assert score.missing == ("u1",)
    assert score.words.tolist() == [[0, 2, 0, 2], [0, 0, 0, 1]]
    assert score.characters.tolist() == [[0, 3, 0, 3], [0, 0, 0, 1]]


def test_an_unknown_hypothesis_is_an_error_unless_allowed():
    with pytest.raises(InputError, match="hypothesis 'x1' and 1 more have no reference"):
        score_texts({"u1": "a"}, {"u1": "a", "x1": "b", "x2": "c"}, vpc2020)
    score = score_texts({"u1": "a"}, {"u1": "a", "x1": "b"}, vpc2020, allow_extra=True)
    assert score.utts == ("u1",)
    assert score.words.tolist() == [[0, 0, 0, 1]]


def test_speakers_are_summed_and_sorted():
    counts = np.array([[1, 0, 0, 5], [0, 2, 0, 5], [0, 0, 3, 10]])
    assert sum_by_speaker(counts, ["s2", "s1", "s2"]) == {
        "s1": ErrorCounts(0, 2, 0, 5, 1),
        "s2": ErrorCounts(1, 0, 3, 15, 2),
    }


def test_speakers_with_one_rate_do_not_show_that_all_others_have_it_too():
    interval = speaker_interval({f"s{i}": ErrorCounts(3 * i, words=30 * i, utts=5 * i) for i in range(1, 6)})
    assert interval.lower < 8
    assert interval.upper > 13


def test_no_error_of_few_speakers_is_no_proof_of_none():
    interval = speaker_interval({f"s{i}": ErrorCounts(words=100, utts=10) for i in range(6)})
    assert interval.lower == 0
    assert 3 < interval.upper < 15


def test_the_interval_lies_around_the_rate():
    rng = np.random.default_rng(1)
    speakers = {f"s{i}": ErrorCounts(int(rng.integers(20)), words=100, utts=1) for i in range(30)}
    rate = sum(speakers.values(), ErrorCounts()).rate
    interval = speaker_interval(speakers)
    assert rate - 4 < interval.lower < rate < interval.upper < rate + 4


def test_two_speakers_have_no_interval_and_a_reason():
    interval = speaker_interval({"s1": ErrorCounts(10, words=10), "s2": ErrorCounts(0, words=90)})
    assert (interval.lower, interval.upper) == (None, None)
    assert "2 speakers" in interval.notes["no_interval"]


def test_a_system_does_not_differ_from_itself():
    counts = np.array([[1, 0, 2, 10], [0, 0, 0, 5], [1, 1, 1, 7], [0, 0, 0, 9]])
    assert paired_test(counts, counts, ["s1", "s2", "s3", "s4"]) == Assessed(0, 0, 0, 1)


def test_a_system_that_is_worse_for_every_speaker_is_significantly_worse():
    rng = np.random.default_rng(0)
    good = np.array([[0, 0, int(rng.integers(3)), 50] for _ in range(30)])
    bad = good + np.array([2, 0, 1, 0])
    bad[0, 0] += 1
    found = paired_test(bad, good, [f"s{i}" for i in range(30)])
    assert found.value == pytest.approx(6 + 100 / 1500)
    assert found.lower > 0
    assert found.p_value < 0.01
    back = paired_test(good, bad, [f"s{i}" for i in range(30)])
    assert (back.value, back.p_value) == (pytest.approx(-found.value), pytest.approx(found.p_value))


def test_noise_is_rarely_significant():
    rng = np.random.default_rng(0)
    p_values = []
    for seed in range(60):
        one, other = (np.array([[0, 0, int(n), 20] for n in rng.poisson(3, 40)]) for _ in range(2))
        p_values.append(paired_test(one, other, [f"u{i}" for i in range(40)], resamples=400, seed=seed).p_value)
    assert sum(p < 0.05 for p in p_values) <= 8


def test_systems_scored_on_different_references_are_not_compared():
    with pytest.raises(ValueError, match="same references"):
        paired_test(np.array([[0, 0, 0, 5]]), np.array([[0, 0, 0, 6]]), ["s"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("At seven o'Clock.", "AT SEVEN O'CLOCK"),
        ("Well-known, «quoted» — and 3,000 more…", "WELL KNOWN QUOTED AND 3000 MORE"),
        ("'Tis the dogs' don’t", "TIS THE DOGS DON'T"),
        ("café na\u0308ive", "CAFÉ NÄIVE"),
        ("  …  ", ""),
    ],
)
def test_vpc2020_keeps_letters_digits_and_inner_apostrophes_in_upper_case(text, expected):
    assert " ".join(vpc2020(text)) == expected


def test_vpc2024_splits_on_single_spaces_and_changes_nothing():
    assert vpc2024("A b.  c") == ["A", "b.", "", "c"]
    assert vpc2024("") == []


def test_vpc2026_lowers_and_deletes_the_listed_punctuation():
    assert vpc2026('Die «Straße»  (ist) "gut-gebaut"; l\'eau!') == ["die", "straße", "ist", "gutgebaut", "l'eau"]


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=st.text(st.characters(max_codepoint=0x24F) | st.sampled_from("'’—–…«»-"), max_size=30))
def test_normalising_twice_changes_nothing(name, text):
    once = NORMALIZERS[name](text)
    assert NORMALIZERS[name](" ".join(once)) == once


def test_resamples_without_a_reference_word_tell_nothing():
    # Only speaker s1 has words: resamples without s1 have no rate, and all others have that of s1.
    counts, others = (np.array([[n, 0, 1, 10], *[[0, 0, 0, 0]] * 3]) for n in (1, 0))
    assert paired_test(counts, others, ["s1", "s2", "s3", "s4"]) == Assessed(10, 10, 10, 0.125)


def test_a_difference_is_assessed_by_its_values_for_drawn_speakers():
    counts, others = np.array([[0, 0, n, 10] for n in (9, 0, 5, 3)]), np.array([[0, 0, n, 10] for n in (0, 6, 1, 1)])
    found = paired_test(counts, others, ["s1", "s2", "s3", "s4"], resamples=400, seed=3)
    drawn = multiplicities(4, 400, generator(3, "wer difference"))
    assert found == assess(22.5, 100 * drawn @ [9, -6, 4, 2] / 40, 4)


def test_units_are_drawn_with_all_their_utterances():
    # Five utterances of one speaker are one unit: there is nothing to draw.
    counts, others = np.array([[0, 0, 5, 10]] * 5), np.array([[0, 0, 0, 10]] * 5)
    assert paired_test(counts, others, ["s"] * 5) == Assessed(50)
    assert paired_test(counts, others, list("abcde")).lower == 50


def test_a_speaker_interval_is_that_of_errors_per_word_in_percent():
    speakers = {f"s{n}": ErrorCounts(n, 1, n, words=50 + n, utts=3) for n in range(5)}
    found = speaker_interval(speakers)
    plain = ratio_interval([2 * n + 1 for n in range(5)], [50 + n for n in range(5)], 15)
    assert (found.lower, found.upper) == pytest.approx((100 * plain.lower, 100 * plain.upper))
