"""The beam search against an enumeration of all paths."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.asr.ctc import BeamSearch
from vpeval.asr.lm import BEGIN, END, UNKNOWN, NGram
from vpeval.asr.lm_estimation import estimate

LABELS = ["<blank>", " ", "a", "b"]
BLANK = 0


def all_texts(logprobs):
    """ln P of every text: the sum over the paths that collapse to it."""
    mass = defaultdict(float)
    for path in product(range(len(LABELS)), repeat=len(logprobs)):
        kept = [i for i, before in zip(path, (None, *path), strict=False) if i != before and i != BLANK]
        text = " ".join("".join(LABELS[i] for i in kept).split())
        mass[text] += math.exp(sum(logprobs[t][i] for t, i in enumerate(path)))
    return {text: math.log(p) for text, p in mass.items()}


def random_logprobs(seed, frames=5):
    logits = np.random.default_rng(seed).normal(size=(frames, len(LABELS)))
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_with_a_wide_beam_every_text_has_the_sum_of_its_paths(seed):
    logprobs = random_logprobs(seed)
    expected = all_texts(logprobs)
    found = {
        one.words: one.acoustic for one in BeamSearch(LABELS, BLANK, acoustic_scale=1.0, beam=9999)(logprobs, 9999)
    }
    # Blanks at the ends and doubled ones are written alike, so the search merges some labellings early.
    assert found.keys() == expected.keys()
    best = max(expected, key=expected.__getitem__)
    assert found[best] == pytest.approx(expected[best], abs=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([0.5, 2.0, 8.0]), st.sampled_from([0.0, 1.0]))
def test_with_a_language_model_the_best_text_is_that_of_the_enumeration(seed, lmwt, wip):
    lm = estimate([["a", "b"], ["ab"], ["a", "a"], ["b"]], 2)
    logprobs = random_logprobs(seed)

    def total(text, acoustic):
        return 3 * acoustic + lmwt * (lm.sentence(text.split()) - wip * len(text.split()))

    expected = all_texts(logprobs)
    best = max(expected, key=lambda text: total(text, expected[text]))
    search = BeamSearch(LABELS, BLANK, lm, lmwt, wip, acoustic_scale=3.0, beam=9999)
    assert search(logprobs)[0].words == best


def test_a_language_model_chooses_between_equally_likely_letters():
    logprobs = np.log(np.array([[0.02, 0.02, 0.48, 0.48]]))
    lm = estimate([["b"], ["b"], ["b"], ["a"]], 1)
    assert BeamSearch(LABELS, BLANK, lm)(logprobs)[0].words == "b"


LN_BACKOFF, LN_UNKNOWN, LN_A, LN_UNKNOWN_AFTER_A = map(math.log, (0.5, 0.05, 0.4, 0.2))
BY_HAND = NGram(
    2,
    {(END,): -2.0, ("a",): LN_A, ("ab",): -1.5, (UNKNOWN,): LN_UNKNOWN, ("a", UNKNOWN): LN_UNKNOWN_AFTER_A},
    {(BEGIN,): LN_BACKOFF},
)


def kept_prefix(frames: list[dict[str, float]], lmwt: float, wip: float = 0.0) -> str:
    """The text that a beam of one prefix ends with; a frame has the log-probabilities of its labels."""
    labels = [*LABELS, "c"]
    logprobs = np.array([[frame.get(label, -50.0) for label in labels] for frame in frames])
    [only] = BeamSearch(labels, BLANK, BY_HAND, lmwt, wip, acoustic_scale=10.0, beam=1)(logprobs, 9)
    return only.words


@pytest.mark.parametrize(
    ("before", "logprob"),
    [([], LN_BACKOFF + LN_UNKNOWN), ([{"a": 0.0}, {" ": 0.0}], LN_UNKNOWN_AFTER_A)],
    ids=["at the beginning", "after a word"],
)
def test_letters_that_begin_no_known_word_cost_the_weighted_probability_of_an_unknown_word(before, logprob):
    # The acoustics prefer c, which begins no word, to a, which begins two, by 10 · (2 - 1).
    frames = [*before, {"a": -2.0, "c": -1.0}]
    even = 10 / -logprob
    assert kept_prefix(frames, 0.99 * even).endswith("c")
    assert kept_prefix(frames, 1.01 * even).endswith("a")


def test_a_complete_word_adds_its_weighted_probability_less_the_insertion_penalty():
    # The acoustics prefer the end of the word "a" to its continuation "ab" by 10 · (2 - 1).
    frames = [{"a": 0.0}, {" ": -1.0, "b": -2.0}]
    for lmwt in (2.0, 5.0):
        even = 10 / lmwt + LN_BACKOFF + LN_A
        assert kept_prefix(frames, lmwt, even - 0.01) == "a"
        assert kept_prefix(frames, lmwt, even + 0.01) == "ab"


def test_a_letter_repeats_only_across_a_blank():
    certain = np.full((3, 4), -50.0)
    certain[[0, 1, 2], [2, 0, 2]] = 0
    assert BeamSearch(LABELS, BLANK)(certain)[0].words == "aa"
    certain[1] = certain[0]
    assert BeamSearch(LABELS, BLANK)(certain)[0].words == "a"


def test_hypotheses_come_best_first_and_no_more_than_asked_for():
    found = BeamSearch(LABELS, BLANK)(random_logprobs(1, frames=8), 5)
    assert len(found) == 5
    assert [one.acoustic for one in found] == sorted((one.acoustic for one in found), reverse=True)
    assert len({one.words for one in found}) == 5


def test_pieces_of_words_that_begin_with_a_blank_part_words():
    labels = ["<blank>", " good", " day", "s"]
    certain = np.full((3, 4), -50.0)
    certain[[0, 1, 2], [1, 2, 3]] = 0
    assert BeamSearch(labels, BLANK)(certain)[0].words == "good days"


def test_no_frames_give_no_words():
    assert BeamSearch(LABELS, BLANK)(np.zeros((0, 4)))[0].words == ""
