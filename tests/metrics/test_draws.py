from fractions import Fraction
from itertools import combinations

import pytest

from vpeval.metrics.linkability import none_drawn, picked


@pytest.mark.parametrize("n_all", [2, 3, 6, 9])
def test_both_expectations_are_means_over_every_crowd(n_all):
    for n in range(1, n_all + 1):
        nobody, one = none_drawn(n_all, n), picked(n_all, n)
        for k in range(n_all):
            crowds = [sum(who < k for who in others) for others in combinations(range(n_all - 1), n - 1)]
            assert nobody[k] == pytest.approx(float(Fraction(sum(h == 0 for h in crowds), len(crowds))), abs=1e-14)
            assert one[k] == pytest.approx(float(sum(Fraction(1, 1 + h) for h in crowds) / len(crowds)), abs=1e-14)
