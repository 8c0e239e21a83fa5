import pytest

from vpeval.asr.lm_estimation import estimate
from vpeval.asr.nbest import Hypothesis, read_nbest, write_nbest
from vpeval.asr.rescoring import Rescorer, Weights, tune
from vpeval.core.errors import InputError
from vpeval.data.text import vpc2020

LM = estimate([["GOOD", "DAY"], ["GOOD", "DAY"], ["BAD", "DAYS"]], 2)
NBEST = {
    "u1": [Hypothesis("good bay", -10.0), Hypothesis("good day", -20.0), Hypothesis("", -80.0)],
    "u2": [Hypothesis("bad days", -5.0), Hypothesis("bad day s", -4.0)],
}
REFS = {"u1": "GOOD DAY", "u2": "BAD DAYS", "u3": "LEFT OUT"}


def test_a_list_survives_a_file(tmp_path):
    write_nbest(tmp_path / "nbest", NBEST)
    assert (tmp_path / "nbest").read_text().splitlines()[:3] == [
        "u1 -10.0000 good bay",
        "u1 -20.0000 good day",
        "u1 -80.0000",
    ]
    assert read_nbest(tmp_path / "nbest") == NBEST


def test_a_line_without_score_is_an_error_with_its_number(tmp_path):
    (tmp_path / "nbest").write_text("u1 -1.0 good\nu1 good day\n")
    with pytest.raises(InputError, match=r"nbest:2: is no hypothesis"):
        read_nbest(tmp_path / "nbest")


def test_the_winner_has_the_greatest_sum_of_scores():
    rescorer = Rescorer(NBEST, LM, vpc2020)
    for weights in (Weights(0, 0), Weights(5, 0.0), Weights(9, 2.0)):
        for utt, winner in rescorer.texts(weights).items():
            totals = {}
            for one in NBEST[utt]:
                words = vpc2020(one.words)
                totals[" ".join(words)] = one.acoustic + weights.lmwt * (LM.sentence(words) - weights.wip * len(words))
            assert winner == max(totals, key=totals.__getitem__)


def test_without_weight_the_acoustics_decide_and_with_much_the_language_model():
    rescorer = Rescorer(NBEST, LM, vpc2020)
    assert rescorer.texts(Weights(0, 0)) == {"u1": "GOOD BAY", "u2": "BAD DAY S"}
    assert rescorer.texts(Weights(20, 0))["u2"] == "BAD DAYS"


def test_tuning_takes_the_first_weights_with_the_fewest_errors():
    grid = [Weights(lmwt, 0.0) for lmwt in (0, 5, 9, 10)]
    tuning = tune(Rescorer(NBEST, LM, vpc2020), REFS, vpc2020, grid)
    errors = [tuning.errors[weights].errors for weights in grid]
    assert errors[0] == 3
    assert tuning.best == grid[errors.index(min(errors))]
    assert errors[1:] == [0, 0, 0]
    assert not tuning.at_edge
    assert tune(Rescorer(NBEST, LM, vpc2020), REFS, vpc2020, grid[:2]).at_edge


def test_a_hypothesis_without_reference_is_refused():
    with pytest.raises(InputError, match="hypothesis 'u1' has no reference"):
        tune(Rescorer(NBEST, LM, vpc2020), {}, vpc2020, [Weights(7, 0)])
