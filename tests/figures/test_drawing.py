import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from vpeval.figures import drawing
from vpeval.records.names import ATTACK_MODELS


def test_a_system_has_one_colour_whatever_stands_beside_it():
    alone = drawing.system_colours(["mcadams"])["mcadams"]
    assert drawing.system_colours(["original", "mcadams"])["mcadams"] == alone
    assert drawing.system_colours(["mcadams", "original"])["mcadams"] == alone


@given(st.sets(st.text(min_size=1, max_size=8), max_size=len(drawing.PALETTE)))
def test_up_to_eight_systems_have_different_colours(systems):
    colours = drawing.system_colours(systems)
    assert len({colours[system] for system in systems}) == len(systems)


def test_original_data_are_neutral_and_more_systems_than_colours_still_get_one():
    colours = drawing.system_colours([f"system{k}" for k in range(20)])
    assert colours["original"] == drawing.NEUTRAL
    assert len(colours) == 21


def test_a_stronger_attacker_is_darker():
    light = [sum(to_rgb(drawing.model_colour(model))) for model in ATTACK_MODELS]
    assert light == sorted(light, reverse=True)


@pytest.mark.parametrize("recipe", ["", "vpc2020"])
@given(more=st.sets(st.text(min_size=1, max_size=8), max_size=10))
def test_twenty_systems_differ_in_colour_or_marker(recipe, more):
    systems = {"original", *(drawing.PUBLISHED_FAMILIES["vpc2020"] if recipe else [f"s{k}" for k in range(16)]), *more}
    styles = drawing.system_styles(systems, recipe)
    assert len({styles[system] for system in systems}) == len(systems)


def test_systems_of_a_baseline_have_its_colour():
    styles = drawing.system_styles(["B1", "B2", "D1", "M1", "I1"], "vpc2020")
    red, _, blue = zip(*(to_rgb(styles[name].colour) for name in ("B1", "M1", "B2", "D1")), strict=True)
    assert all(b > r for r, b in zip(red[:2], blue[:2], strict=True))
    assert all(r > b for r, b in zip(red[2:], blue[2:], strict=True))
    assert drawing.name_colour("M1", "vpc2020") == drawing.name_colour("B1", "vpc2020")
    assert drawing.name_colour("B1", "vpc2024") == drawing.INK  # another baseline, which has the same name


def test_every_colour_has_a_counterpart_on_a_dark_page():
    known = drawing.dark_colours()
    styles = drawing.system_styles([*drawing.PUBLISHED_FAMILIES["vpc2020"], "I1", "K2"], "vpc2020")
    wanted = [drawing.model_colour(model) for model in ATTACK_MODELS] + [style.colour for style in styles.values()]
    assert set(wanted) <= set(known)
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in [*known, *known.values()])
