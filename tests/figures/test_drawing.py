import re

from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from vpeval.figures import drawing
from vpeval.records.names import IGNORANT, LAZY, SEMI


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
    light = [sum(to_rgb(drawing.shade("#0a6fb5", model))) for model in (IGNORANT, LAZY, SEMI)]
    assert light == sorted(light, reverse=True)


def test_every_shade_of_every_system_has_a_counterpart_on_a_dark_page():
    known = drawing.dark_colours()
    for colour in drawing.PALETTE:
        for model in drawing.MARKERS:
            assert drawing.shade(colour, model) in known
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in [*known, *known.values()])
