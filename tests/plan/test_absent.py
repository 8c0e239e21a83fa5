"""What a corpus lacks is left out of the plan, and the rest stays."""

from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.corpora.protocol import Status, write_protocol
from vpeval.plan.absent import without_absent
from vpeval.plan.recipe import Joined, Pair, Recipe

RECIPE = Recipe(
    "toy",
    (Pair("x_enrolls", "x_trials_f"), Pair("x_enrolls", "x_trials_m")),
    (Joined("x_asr", ("x_trials_f", "x_trials_m")),),
    ("ecapa",),
    train_sets=("x_train",),
    pool_sets=("x_pool",),
    emotion_sets=(Joined("emo", ("emo",)),),
)


def test_without_a_note_nothing_is_left_out(tmp_path: Path) -> None:
    assert without_absent(RECIPE, tmp_path) == RECIPE


def test_absent_sets_are_left_out_wherever_they_are_named(tmp_path: Path) -> None:
    names = ("x_trials_m", "x_pool", "emo")
    write_protocol(
        tmp_path, "toy", {name: Status("absent", "not there") for name in names} | {"x_train": Status("whole")}
    )
    left = without_absent(RECIPE, tmp_path)
    assert left.asv_pairs == (Pair("x_enrolls", "x_trials_f"),)
    assert left.asr_sets == (Joined("x_asr", ("x_trials_f",)),)
    assert (left.train_sets, left.pool_sets, left.emotion_sets) == (("x_train",), (), ())


def test_sets_without_text_are_not_recognised(tmp_path: Path) -> None:
    for name in ("x_trials_f", "x_trials_m"):
        (tmp_path / name).mkdir()
    assert without_absent(RECIPE, tmp_path).asr_sets == ()
    assert without_absent(RECIPE, tmp_path).asv_pairs == RECIPE.asv_pairs


def test_a_recipe_of_which_no_pair_is_left_is_an_error(tmp_path: Path) -> None:
    write_protocol(tmp_path, "toy", {"x_enrolls": Status("absent")})
    with pytest.raises(InputError, match=r"toy\.protocol: none of the pairs of recipe toy is there"):
        without_absent(RECIPE, tmp_path)
