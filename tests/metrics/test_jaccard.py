from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from vpeval.metrics.jaccard import extreme_speakers, jaccard


def test_the_lists_hold_the_highest_and_the_lowest_scores():
    scores = {f"s{k}": k / 10 for k in range(10)}
    found = extreme_speakers(scores, 0.2)
    assert found.easy == {"s8", "s9"}
    assert found.hard == {"s0", "s1"}


def test_speakers_who_tie_with_the_last_of_a_list_belong_to_it():
    found = extreme_speakers({"a": 1, "b": 1, "c": 1, "d": 0.5, "e": 0}, 0.2)
    assert found.easy == {"a", "b", "c"}
    assert found.hard == {"e"}


def test_a_list_is_of_use_if_at_least_half_of_it_would_be_there_without_ties():
    twice = extreme_speakers({"a": 1, "b": 1, "c": 0.5, "d": 0, "e": 0, "f": 0}, 0.2)
    assert twice.size == 1
    assert twice.usable("easy") == {"a", "b"}
    assert twice.usable("hard") is None
    same = extreme_speakers(dict.fromkeys("abcdefgh", 1.0))
    assert (same.size, same.easy, same.usable("easy"), same.usable("hard")) == (2, set("abcdefgh"), None, None)


def test_a_list_is_never_empty():
    assert extreme_speakers({"a": 0.3, "b": 0.2}, 0.1).easy == {"a"}


def test_a_quantile_beyond_a_half_is_an_error():
    with pytest.raises(ValueError, match="quantile"):
        extreme_speakers({"a": 1}, 0.6)


def test_the_overlap_is_the_share_of_the_union():
    assert jaccard({"a", "b", "c"}, {"b", "c", "d"}, 10).value == 0.5
    assert jaccard({"a"}, {"b"}, 10).value == 0
    assert jaccard({"a"}, {"a"}, 10).value == 1


@given(st.integers(1, 7), st.data())
def test_the_chance_level_is_the_mean_over_all_lists_of_that_size(n, data):
    a = data.draw(st.integers(1, n))
    b = data.draw(st.integers(1, n))
    speakers = [f"s{k}" for k in range(n)]
    overlaps = [jaccard(speakers[:a], other, n).value for other in combinations(speakers, b)]
    assert jaccard(speakers[:a], speakers[:b], n).chance == pytest.approx(sum(overlaps) / len(overlaps))


def test_the_chance_level_of_large_lists_is_about_q_over_two_minus_q():
    speakers = [f"s{k}" for k in range(1000)]
    assert jaccard(speakers[:100], speakers[:100], 1000).chance == pytest.approx(0.1 / 1.9, rel=0.01)


def test_the_chance_level_of_thousands_of_speakers_is_the_hypergeometric_mean():
    a, b, n = 5506, 11012, 22024
    speakers = [f"s{k}" for k in range(n)]
    both = np.arange(min(a, b) + 1)
    wanted = float(hypergeom.pmf(both, n, a, b) @ (both / (a + b - both)))
    assert jaccard(speakers[:a], speakers[:b], n).chance == pytest.approx(wanted)
