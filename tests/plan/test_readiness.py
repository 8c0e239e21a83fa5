"""Anonymised speech that recipes share is of the level that a plan says, training sets are anonymised for those who learn
from them, and nobody gets a voice of the pool that is theirs."""

from pathlib import Path

import pytest

from vpeval.anon.hook_program import Provenance
from vpeval.core.errors import InputError
from vpeval.core.files import write_table
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.plan.readiness import ready

ROOT = Path(__file__).resolve().parents[2]
CONF = (
    'recipe=toy\nasv_pairs="e:t"\nasr_sets=\nattackers="ecapa ecapa_plda"\ntrain_sets=s\npool_sets=p\nanon_level=utt\n'
)


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


def test_training_sets_are_anonymised_only_for_those_who_learn_from_them(plan: Plan) -> None:
    def taught(**chosen: object) -> tuple[str, ...]:
        return make_plan(Settings(recipe="toy", **chosen)).taught_sets  # type: ignore[arg-type]

    assert plan.taught_sets == ("s",)
    for attackers in ("ecapa", "ecapa resnet f0", "ecapa_plda_original", "ecapa_similar"):
        assert taught(attackers=attackers) == ()
    assert taught(attackers="ecapa", train_asr=True) == taught(attackers="ecapa resnet_plda") == ("s",)
    assert taught(without="ecapa_plda") == ()
    # The level of sets that nobody learns from does not matter.
    home = plan.anonymised("s")
    home.mkdir(parents=True)
    Provenance("hook", "", "", "spk", 0).write(home)
    ready(make_plan(Settings(recipe="toy", attackers="ecapa")), 6)


def test_a_pool_that_holds_evaluation_or_training_speakers_is_refused_before_anything_is_learnt(plan: Plan) -> None:
    speakers = {"e": "ab", "t": "ab", "s": "cd", "p": "xy"}

    def prepare(**chosen: object) -> None:
        for name, own in speakers.items():
            plan.original(name).mkdir(parents=True, exist_ok=True)
            write_table(plan.original(name) / "utt2spk", {f"{spk}-{name}": spk for spk in own})
        ready(make_plan(Settings(recipe="toy", **{"anonymizer": "xvector_pool", **chosen})), 1)

    prepare()
    speakers["p"] = "cdx"
    with pytest.raises(InputError, match=r"data/s: 2 of its speakers \(c, d\) are in the pool p as well") as refused:
        prepare()
    assert "egs/toy/recipe.conf" in str(refused.value)
    # Who learns from nobody's anonymised speech may learn the voices of the pool from training speakers.
    prepare(attackers="ecapa")
    prepare(anonymizer="mcadams")
    speakers["p"] = "bx"
    with pytest.raises(InputError, match=r"data/e: 1 of its speakers \(b\) are in the pool p"):
        prepare(attackers="ecapa")
