"""Whoever says nothing about chance gets what the documented tables were made with."""

import inspect

import pytest

from vpeval.metrics import (
    intervals,
    linkability,
    one_minus_eer,
    score_metrics,
    similarity,
    singling_out,
    srd,
    strongest,
    verification,
    wer,
)

MODULES = (
    *(score_metrics, intervals, linkability, one_minus_eer, similarity, singling_out, srd, strongest),
    *(verification, wer),
)
FUNCTIONS = [
    pytest.param(function, id=f"{module.__name__}.{name}")
    for module in MODULES
    for name, function in inspect.getmembers(module, callable)
    if getattr(function, "__module__", "") == module.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_seed_is_zero_and_speakers_are_drawn_a_thousand_times(function):
    expected = {"seed": 0, "draw": 0, "draws": 0, "resamples": 1000, "runs": 1000}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in expected and parameter.default is not inspect.Parameter.empty:
            assert parameter.default == expected[name], name
