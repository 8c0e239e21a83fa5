"""A hook with a preparation, written from docs/hooks.md alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from vpeval.asv.attackers import Attacker
from vpeval.core.errors import InputError
from vpeval.plan.plan import Plan, Settings
from vpeval.plan.recipe import Pair, Recipe
from vpeval.stages.setup import prepare_anonymiser, refuse_other_preparation

PREPARE = """#!/bin/sh
printf '%s\\n' "$@" >"$VPEVAL_HOOK_PREPARED/arguments"
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vpeval.anon.hook_program.ROOT", tmp_path)
    for name in ("train_a", "train_b", "pool"):
        (tmp_path / "data" / name).mkdir(parents=True)
    hook = tmp_path / "mine/anonymize.sh"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    pairs = (Pair("e", "t"),)
    recipe = Recipe("toy", pairs, (), ("ecapa",), train_sets=("train_a", "train_b"), pool_sets=("pool",))
    settings = Settings(anon_options="--profile 'a b'", nj=3, seed=7)
    return Plan(recipe, settings, hook, "mine", (Attacker("ecapa", "pretrained", "ecapa", "", "original"),))


def test_preparation_gets_the_hooks_options_jobs_seed_and_data(plan: Plan, tmp_path: Path) -> None:
    program = tmp_path / "mine/prepare.sh"
    program.write_text(PREPARE)
    program.chmod(0o755)
    prepare_anonymiser(plan)
    assert (tmp_path / "exp/anon/mine_seed7/arguments").read_text().splitlines() == [
        *("--profile", "a b", "--nj", "3", "--seed", "7"),
        *("data/train_a,data/train_b", "data/pool"),
    ]


def test_what_was_learnt_from_other_sets_is_refused_when_speech_is_anonymised(plan: Plan, tmp_path: Path) -> None:
    program = tmp_path / "mine/prepare.sh"
    program.write_text(PREPARE)
    program.chmod(0o755)
    refuse_other_preparation(plan)  # by hand, or by an older version: nobody knows
    prepare_anonymiser(plan)
    refuse_other_preparation(plan)
    other = replace(plan, recipe=replace(plan.recipe, train_sets=("train_a",)))
    with pytest.raises(
        InputError, match=r"was prepared from data/train_a data/train_b data/pool, not from the sets of"
    ):
        refuse_other_preparation(other)
    prepare_anonymiser(other)
    refuse_other_preparation(other)


def test_a_hook_without_preparation_needs_none_and_a_failing_one_is_told(plan: Plan, tmp_path: Path) -> None:
    prepare_anonymiser(plan)
    program = tmp_path / "mine/prepare"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(InputError, match="ended with exit code 3"):
        prepare_anonymiser(plan)
