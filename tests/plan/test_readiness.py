"""Anonymised speech that recipes share is of the level that a plan says."""

from pathlib import Path

import pytest

from vpeval.anon.hook_program import Provenance
from vpeval.core.errors import InputError
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.plan.readiness import ready

ROOT = Path(__file__).resolve().parents[2]
CONF = 'recipe=toy\nasv_pairs="e:t"\nasr_sets=\nattackers=ecapa\ntrain_sets=s\nanon_level=utt\n'


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    (tmp_path / "egs/toy").mkdir(parents=True)
    (tmp_path / "egs/toy/recipe.conf").write_text(CONF)
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    monkeypatch.chdir(tmp_path)
    return make_plan(Settings(recipe="toy"))


@pytest.mark.parametrize(("name", "level", "option"), [("t", "spk", "--anon-level"), ("s", "spk", "--train-level")])
def test_speech_of_another_level_is_refused_once_it_would_be_measured(
    plan: Plan, name: str, level: str, option: str
) -> None:
    home = plan.anonymised(name)
    home.mkdir(parents=True)
    Provenance("hook", "", "", level, 0).write(home)
    ready(plan, 3)  # which anonymises, and has its own rules
    for stage in (4, 6, 12):
        with pytest.raises(InputError, match=rf"{name}_mcadams: was anonymised with {option} spk, not utt"):
            ready(plan, stage)
    given = {option[2:].replace("-", "_"): level}
    ready(make_plan(Settings(recipe="toy", **given)), 12)
    Provenance("files made elsewhere", "", "", "", 0).write(home)
    ready(plan, 12)
