"""Numbers of several runs: like is compared with like, and what is left out is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.records.names import ORIGINAL, PUBLISHED
from vpeval.records.record import DATA_DIGEST, MODEL_DIGEST, Record
from vpeval.results.comparable import Comparable
from vpeval.results.comparable import comparable as comparable_tables

TRIALS = "toy_test_trials_f"


def eer(system: str, value: float = 0.2, **more: object) -> Record:
    notes = {"attack_model": "lazy-informed", "scoring": "cosine", "calibration": "none", **more.pop("notes", {})}  # type: ignore[dict-item]
    tags = {"set": TRIALS, "condition": "aa", "attacker": "ecapa", "recipe": "toy"} | more
    return Record("eer_rocch", value, system=system, notes=notes, **tags)  # type: ignore[arg-type]


def wer(system: str, rules: str = "vpc2020") -> Record:
    return Record("wer", 9.0, system=system, set="toy_test_asr", recogniser="r", params={"normalizer": rules})


def comparable(tables: Sequence[Sequence[Record]]) -> Comparable:
    return comparable_tables({Path(f"{number}.jsonl"): table for number, table in enumerate(tables)})


def kept(tables: Sequence[Sequence[Record]], metric: str = "eer_rocch") -> list[str]:
    return [record.system for record in comparable(tables).records if record.metric == metric]


def test_runs_that_are_alike_lose_nothing() -> None:
    shared = eer(ORIGINAL, 0.01, condition="oo", notes={"attack_model": "unprotected"})
    found = comparable([[shared, eer("a"), wer("a")], [shared, eer("b"), wer("b")]])
    assert [record.system for record in found.records] == [ORIGINAL, "a", "a", "b", "b"]
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ({"calibration": "dev"}, "ecapa has calibration dev for c, not none"),
        ({"scoring": "plda"}, "ecapa was scored as plda for c, not as cosine"),
        ({MODEL_DIGEST: "2"}, "ecapa is another model for c"),
    ],
)
def test_a_clash_leaves_out_a_number_and_never_a_system(notes: dict[str, str], words: str) -> None:
    usual = {MODEL_DIGEST: "1"}
    for order in ("abc", "cab"):
        tables = [[eer(name, notes=usual | (notes if name == "c" else {})), wer(name)] for name in order]
        found = comparable(tables)
        assert sorted(record.system for record in found.records) == ["a", "a", "b", "b", "c"]
        assert len(found.left_out) == 1 and words in found.left_out[0]


def test_attackers_that_were_trained_on_each_system_are_different_models() -> None:
    semi = {"attack_model": "semi-informed"}
    assert kept([[eer("a", notes=semi | {MODEL_DIGEST: "1"})], [eer("b", notes=semi | {MODEL_DIGEST: "2"})]]) == [
        "a",
        "b",
    ]


def test_fusions_of_other_members_are_other_attackers() -> None:
    tables = [[eer(name, notes={"members": members})] for name, members in (("a", "x y"), ("b", "x z"))]
    found = comparable(tables)
    assert [record.system for record in found.records] == ["a"]
    assert "fuses x z for b, not x y" in found.left_out[0]


def test_words_that_were_counted_by_other_rules_are_left_out() -> None:
    tables = [[wer("a", "x"), eer("a")], [wer("b", "y"), eer("b")], [wer("c", "y"), eer("c")]]
    assert kept(tables, "wer") == ["b", "c"] and kept(tables) == ["a", "b", "c"]
    assert "a was counted by the text rules x, not by y" in comparable(tables).left_out[0]


def test_means_are_over_the_same_sets() -> None:
    tables = [[eer("a"), eer("a", set="toy_test_trials_m")], [eer("b")], [eer("c"), eer("c", set="toy_test_trials_m")]]
    assert kept(tables) == ["a", "a", "c", "c"]
    (sentence,) = comparable(tables).left_out
    assert sentence.startswith("b was not measured on the same sets as others (toy_test_trials_m)")


def test_two_values_for_a_number_of_original_speech_leave_out_that_number() -> None:
    def original(value: float, attacker: str) -> Record:
        return eer(ORIGINAL, value, condition="oo", attacker=attacker, notes={"attack_model": "unprotected"})

    tables = [[original(0.1, "x"), original(value, "y"), eer(name)] for name, value in (("a", 0.2), ("b", 0.3))]
    found = comparable(tables)
    assert [(record.system, record.attacker) for record in found.records] == [
        (ORIGINAL, "x"),
        ("a", "ecapa"),
        ("b", "ecapa"),
    ]
    assert "by y of original speech differs between runs: 1 numbers are left out" in found.left_out[0]


def test_published_numbers_of_original_speech_are_rounded() -> None:
    tables = [[Record("wer", value, system=ORIGINAL, set="x", notes={PUBLISHED: "somewhere"})] for value in (8.48, 8.5)]
    found = comparable(tables)
    assert [record.value for record in found.records] == [8.48]
    assert "differ between the files; the first ones are used" in found.left_out[0]


def test_original_speech_of_other_seeds_is_no_clash() -> None:
    def table(system: str, value: float) -> list[Record]:
        return [eer(ORIGINAL, value, condition="oo", notes={"attack_model": "unprotected"}), eer(system)]

    found = comparable([table("a", 0.1), table("a_seed1", 0.2), table("b", 0.1)])
    assert [(r.system, r.value) for r in found.records if r.system == ORIGINAL] == [(ORIGINAL, 0.1)]
    assert [r.system for r in found.records if r.system != ORIGINAL] == ["a", "a_seed1", "b"]
    assert found.left_out == ()
    assert [r.value for r in comparable([table("a_seed2", 0.3)]).records if r.system == ORIGINAL] == [0.3]


def test_two_values_for_a_number_of_a_system_are_an_error() -> None:
    with pytest.raises(InputError, match="a second, different eer_rocch for a toy_test_trials_f aa"):
        comparable([[eer("a", 0.1)], [eer("a", 0.2)]])


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ({"calibration": "dev"}, "calibration of attacker 'ecapa' is none for some"),
        ({MODEL_DIGEST: "2"}, "the same model of 'ecapa'"),
        ({DATA_DIGEST: "2"}, "the same data of a on"),
    ],
)
def test_a_mixture_in_one_table_is_an_error(notes: dict[str, str], words: str) -> None:
    usual = {MODEL_DIGEST: "1", DATA_DIGEST: "1"}
    with pytest.raises(InputError, match=words):
        comparable([[eer("a", notes=usual), eer("a", notes=usual | notes, params={"N": 1})]])
