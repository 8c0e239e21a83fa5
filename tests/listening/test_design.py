"""The design: balance, no repetition, order, and dependence on the seed only."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import SYSTEMS, toy_material

from vpeval.core.errors import InputError
from vpeval.listening.design import DesignOptions, draw_design, williams
from vpeval.listening.material import choose_partition, load_material, parse_pairs, recipe_pairs


@pytest.fixture(scope="module")
def material(data):
    return toy_material(data)


def ratings(pages):
    return [page for page in pages if page.kind == "rating"]


@pytest.mark.parametrize("systems", range(2, 12))
def test_a_williams_square_has_every_system_everywhere_and_after_every_other_equally_often(systems):
    rows = williams(systems)
    for column in zip(*rows, strict=True):
        assert len(set(Counter(column).values())) == 1 and len(set(column)) == systems
    followers = Counter((a, b) for row in rows for a, b in pairwise(row))
    assert len(followers) == systems * (systems - 1) and len(set(followers.values())) == 1


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), listeners=st.integers(1, 9), half=st.integers(1, 2), boards=st.integers(0, 2))
def test_every_listener_hears_every_system_equally_often_with_both_kinds_of_pairs(
    material, seed, listeners, half, boards
):
    options = DesignOptions(listeners, 2 * half, boards=boards, board_spks=2, board_utts=2)
    pages = draw_design(material, options, seed)
    for listener in range(listeners):
        own = ratings(page for page in pages if page.listener == listener)
        counts = Counter((page.system, page.label) for page in own)
        assert counts == {(s, label): half for s in ("original", *SYSTEMS) for label in ("target", "nontarget")}
        by_gender = Counter((page.label, page.gender) for page in own)
        assert max(by_gender.values()) - min(by_gender.values()) <= 1 and len(by_gender) == 4
        assert {page.gender for page in own} == {"f", "m"}
        played = [c.utt for page in pages if page.listener == listener for c in page.clips if c.set]
        assert len(played) == len(set(played))
        assert [page.position for page in pages if page.listener == listener] == list(range(len(own) + boards + 7))


def test_systems_meet_all_sets_equally_often_and_the_same_trials(material):
    pages = ratings(draw_design(material, DesignOptions(24, 4, boards=0)))
    counts = Counter((page.system, page.set, page.label) for page in pages)
    assert set(counts.values()) == {24}
    trials = {s: Counter((p.clips[0].utt, p.spks[1]) for p in pages if p.system == s) for s in ("original", *SYSTEMS)}
    shared = sum((trials["original"] & trials["zorro"]).values())
    assert shared >= 0.8 * sum(trials["original"].values())
    spks = Counter(page.spks[0] for page in pages)
    assert max(spks.values()) <= 1.5 * min(spks.values())


def test_every_system_comes_at_every_place_of_a_block_equally_often(material):
    pages = ratings(draw_design(material, DesignOptions(12, 2, boards=0)))
    places = Counter(
        (page.system, i % 3)
        for listener in range(12)
        for i, page in enumerate(p for p in pages if p.listener == listener)
    )
    assert set(places.values()) == {8}


def test_enrolment_is_always_original_and_labels_are_true(material):
    for page in ratings(draw_design(material, DesignOptions(6, 4))):
        assert page.clips[1].system == "original" and page.clips[1].set == "toy_test_enrolls"
        assert page.clips[0].system == page.system
        assert (page.spks[0] == page.spks[1]) == (page.label == "target")
        assert page.clips[1].utt.split("-")[0] == page.spks[1]


def test_boards_go_round_systems_and_hold_as_many_utterances_of_every_speaker(material):
    boards = [
        p
        for p in draw_design(material, DesignOptions(12, 2, boards=1, board_spks=3, board_utts=2))
        if p.kind == "board"
    ]
    assert Counter((page.system, page.set) for page in boards) == {
        (s, f"toy_test_trials_{g}"): 2 for s in ("original", *SYSTEMS) for g in "fm"
    }
    assert all(set(Counter(page.spks).values()) == {2} and len(set(page.spks)) == 3 for page in boards)


def test_the_draw_depends_on_the_seed_only(data):
    one, again = (draw_design(toy_material(data), DesignOptions(5)) for _ in range(2))
    assert one == again != draw_design(toy_material(data), DesignOptions(5), seed=1)


def test_too_few_utterances_are_named(material):
    with pytest.raises(InputError, match=r"too few utterances.*--per-system"):
        draw_design(material, DesignOptions(2, 30, boards=0))
    with pytest.raises(InputError, match="--board-spks"):
        draw_design(material, DesignOptions(2, board_spks=5))
    with pytest.raises(InputError, match="even number"):
        draw_design(material, DesignOptions(2, 3))


def test_the_sets_of_a_recipe_are_chosen_by_partition():
    name, pairs = recipe_pairs(Path(__file__).parents[2] / "egs/mini/recipe.conf")
    assert name == "mini" and len(pairs) == 4
    test = [("mini_test_enrolls", "mini_test_trials_f"), ("mini_test_enrolls", "mini_test_trials_m")]
    assert choose_partition(pairs, "test") == test
    assert choose_partition(pairs, "all") == pairs
    with pytest.raises(InputError, match="partition 'tset'"):
        choose_partition(pairs, "tset")
    with pytest.raises(InputError, match="not a pair of sets"):
        parse_pairs(["a"])


def test_missing_data_and_wrong_names_are_errors(data, tmp_path):
    pair = [("toy_test_enrolls", "toy_test_trials_f")]
    with pytest.raises(InputError, match="toy_test_trials_f_nobody"):
        load_material(data, "toy", pair, ["nobody"])
    with pytest.raises(InputError, match="name at least one system"):
        load_material(data, "toy", pair, [])
    with pytest.raises(InputError, match="named twice"):
        load_material(data, "toy", pair, ["zorro", "zorro"])
    with pytest.raises(InputError, match="not a valid system name"):
        load_material(data, "toy", pair, ["../x"])
