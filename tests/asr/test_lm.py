import gzip
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.asr.lm import BEGIN, END, UNKNOWN, read_arpa, write_arpa
from vpeval.asr.lm_estimation import estimate
from vpeval.core.errors import InputError

sentences = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=1, max_size=8)


def test_a_bigram_is_what_the_formula_gives_by_hand():
    lm = estimate([["a", "b"], ["a"]], order=2)
    # 5 tokens (a a b </s> </s>) of 3 kinds, vocabulary a b </s> <unk>; after "a": b once, </s> once.
    b = (1 + 3 / 4) / (5 + 3)
    assert math.exp(lm.score((), "b")[0]) == pytest.approx(b)
    assert math.exp(lm.score(("a",), "b")[0]) == pytest.approx((1 + 2 * b) / (2 + 2))
    assert math.exp(lm.score(("b",), "b")[0]) == pytest.approx(1 / (1 + 1) * b)


@settings(max_examples=40)
@given(sentences, st.integers(1, 4), st.integers(1, 3))
def test_probabilities_sum_to_one_after_any_history_pruned_or_not(text, order, min_count):
    lm = estimate(text, order, min_count)
    everything = [*lm.words, END, UNKNOWN]
    for history in ([], [BEGIN], ["a"], [BEGIN, "a"], ["b", "a", "d"], [UNKNOWN, "c"]):
        context = lm._cut(tuple(history))
        assert sum(math.exp(lm.score(context, word)[0]) for word in everything) == pytest.approx(1)


def test_unknown_words_have_the_probability_of_unk_and_are_remembered_as_it():
    lm = estimate([["a", "b"]], order=2)
    assert lm.score((BEGIN,), "zebra") == lm.score((BEGIN,), UNKNOWN)
    assert lm.score((BEGIN,), "zebra")[1] == (UNKNOWN,)
    assert "zebra" not in lm
    assert "a" in lm


def test_a_pruned_model_is_smaller_and_fits_its_text_worse():
    text = [["a", "b", "c"], ["a", "b", "d"], ["d", "c"]] * 2 + [["b", "d", "a"]]
    large, small = estimate(text, 3), estimate(text, 3, min_count=2)
    assert len(small.logprob) < len(large.logprob)
    assert small.perplexity(text) > large.perplexity(text)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_an_arpa_file_gives_back_the_model_plain_or_gzipped(tmp_path, order):
    lm = estimate([["a", "b"], ["b", "b", "a"], ["ä"]], order)
    write_arpa(tmp_path / "lm.arpa", lm)
    (tmp_path / "lm.arpa.gz").write_bytes(gzip.compress((tmp_path / "lm.arpa").read_bytes()))
    for name in ("lm.arpa", "lm.arpa.gz"):
        back = read_arpa(tmp_path / name)
        assert back.order == order
        for sentence in (["a", "b"], ["ä", "a"], ["x"], []):
            assert back.sentence(sentence) == pytest.approx(lm.sentence(sentence), abs=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "is not a whole ARPA language model"),
        ("\\1-grams:\n-1 a\n", "is not a whole ARPA language model"),
        ("\\1-grams:\n-1 a b c\n\\end\\\n", ":2: is not an n-gram of order 1"),
        ("\\1-grams:\none a\n\\end\\\n", ":2: log-probability and back-off weight must be numbers"),
    ],
)
def test_a_file_that_is_no_model_is_refused_with_its_line(tmp_path, text, message):
    (tmp_path / "lm").write_text(text)
    with pytest.raises(InputError, match=message):
        read_arpa(tmp_path / "lm")


def test_a_missing_file_names_the_script_that_makes_it(tmp_path):
    with pytest.raises(InputError, match="no such language model; make it with"):
        read_arpa(tmp_path / "lm")


def test_no_text_gives_no_model():
    with pytest.raises(InputError, match="no text"):
        estimate([], 2)
