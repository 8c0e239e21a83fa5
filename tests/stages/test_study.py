"""A study: three systems, two lists of attackers, two seeds, in two orders of runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from toy_recipe import make_toy

from vpeval.measures.strongest import strongest_of
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.records.record import Record, read_records
from vpeval.results.load import load_comparable
from vpeval.stages.results import TABLE, collect, tables
from vpeval.stages.scoring import verify

SYSTEMS = {"one": (0.9, 0.2), "two": (0.2, 0.9), "three": (0.5, 0.5)}
"""What each of the two attackers still recognises."""
LISTS = ("", "resnet")
SEEDS = (0, 1)
EER = "eer_rocch"


def study(root: Path, backwards: bool) -> dict[str, list[tuple[str, float]]]:
    """Run everything; the strongest attack on every system after each run."""
    seeded = {f"{name}_seed{seed}" if seed else name: kept for name, kept in SYSTEMS.items() for seed in SEEDS}
    make_toy(root, ("test",), systems=seeded)
    os.chdir(root)
    runs = [(system, names, seed) for names in LISTS for system in SYSTEMS for seed in SEEDS]
    found: dict[str, list[tuple[str, float]]] = {}
    for system, names, seed in reversed(runs) if backwards else runs:
        plan = make_plan(Settings(recipe="toy", system=system, attackers=names, seed=seed, bootstrap=20))
        verify(plan)
        collect(plan)
        worst = strongest_of(read_records(plan.run / TABLE), plan.system, EER)
        assert worst
        found.setdefault(plan.system, []).append((str(worst.notes["chosen"]), worst.value))
    return found


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, tuple[Path, dict[str, list[tuple[str, float]]]]]:
    here = Path.cwd()
    found = {}
    try:
        for backwards in (False, True):
            root = tmp_path_factory.mktemp("study")
            found[backwards] = root, study(root, backwards)
    finally:
        os.chdir(here)
    return found


def rows(root: Path) -> dict[str, str]:
    return {table.parent.name: table.read_text() for table in sorted((root / "exp/toy/runs").glob(f"*/{TABLE}"))}


def test_no_run_makes_a_system_look_better(studies) -> None:
    for _, found in studies.values():
        assert len(found) == len(SYSTEMS) * len(SEEDS)
        for strongest in found.values():
            values = [value for _, value in strongest]
            assert values == sorted(values, reverse=True)
    first, second = (found for _, found in studies.values())
    assert {name: seen[-1] for name, seen in first.items()} == {name: seen[-1] for name, seen in second.items()}
    assert {seen[-1][0] for seen in first.values()} == {"ecapa", "resnet"}


def test_the_order_of_runs_changes_no_byte_of_the_tables(studies) -> None:
    first, second = (rows(root) for root, _ in studies.values())
    assert first.keys() == second.keys() and len(first) == 6
    assert first == second


def test_every_system_is_compared_under_every_attacker_and_nothing_is_lost(studies, tmp_path: Path) -> None:
    root, _ = studies[False]
    places = sorted((root / "exp/toy/runs").glob(f"*/{TABLE}"))
    found = load_comparable(places)
    assert found.left_out == ()
    per_system: dict[str, set[tuple[str, str]]] = {}
    for record in found.records:
        if record.metric == EER and record.system != "original":
            per_system.setdefault(record.system, set()).add((record.attacker, record.condition))
    assert len(per_system) == 6
    assert {frozenset(attacks) for attacks in per_system.values()} == {
        frozenset((attacker, condition) for attacker in ("ecapa", "resnet") for condition in ("oa", "aa"))
    }


def test_both_orders_give_the_same_comparison(studies, monkeypatch: pytest.MonkeyPatch) -> None:
    from vpeval.report.compare_systems import compare  # it imports matplotlib

    texts = []
    for root, _ in studies.values():
        monkeypatch.chdir(root)
        plan: Plan = make_plan(Settings(recipe="toy", system="one"))
        places = sorted(table for table, reason in tables(plan).items() if not reason)
        assert len(places) == 6
        texts.append(compare(root / "comparison", places, edition="2020", resamples=20))
    assert texts[0] == texts[1]
    assert "Over seeds" in texts[0]
    overview, _, seeds = texts[0].partition("Over seeds")
    for system in SYSTEMS:
        assert f" {system} " in overview and f" {system} " in seeds
    # Of several seeds one run is compared; the verdict is the worst of them.
    assert "_seed1" not in overview
    verdicts = [line for line in overview.splitlines() if line.startswith(("one: ", "two: ", "three: "))]
    assert len(verdicts) == len(SYSTEMS)


def test_an_attacker_that_was_left_out_is_named_in_the_table(studies, monkeypatch: pytest.MonkeyPatch) -> None:
    root, found = studies[False]
    monkeypatch.chdir(root)
    name, (chosen, _) = "one", found["one"][-1]
    kept = (root / "exp/toy/runs/one" / TABLE).read_text()
    plan = make_plan(Settings(recipe="toy", system=name, without=chosen, bootstrap=20))
    verify(plan)
    collect(plan)
    records: list[Record] = read_records(plan.run / TABLE)
    assert chosen not in {record.attacker for record in records}
    assert {record.notes.get("left_out") for record in records if record.system == name} == {f"{chosen} (--without)"}
    again = make_plan(Settings(recipe="toy", system=name, bootstrap=20))
    verify(again)
    collect(again)
    assert (root / "exp/toy/runs/one" / TABLE).read_text() == kept
