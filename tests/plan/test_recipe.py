import shutil
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.plan.plan import Settings, make_plan
from vpeval.plan.recipe import Joined, Pair, Sides, read_recipe

ROOT = Path(__file__).resolve().parents[2]
SMALL = """\
# A remark.
recipe=toy     # another
asv_pairs="toy_enrolls:toy_trials_f
           toy_enrolls:toy_trials_m"
asr_sets='toy_asr:toy_trials_f,toy_trials_m'
attackers="ecapa ecapa_plda"
"""


def recipe(tmp_path: Path, more: str = "", text: str = SMALL):
    path = tmp_path / "toy/recipe.conf"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + more)
    return read_recipe(path)


def test_a_small_recipe_has_its_sets_and_the_defaults(tmp_path: Path) -> None:
    found = recipe(tmp_path, 'report_note="one \\\ntwo \\"three\\""\nlinkability_sets=b:a,c\n')
    assert found.asv_pairs == (Pair("toy_enrolls", "toy_trials_f"), Pair("toy_enrolls", "toy_trials_m"))
    assert found.asr_sets == (Joined("toy_asr", ("toy_trials_f", "toy_trials_m")),)
    assert found.report_note == 'one two "three"'
    assert found.linked == Sides(("b",), ("a", "c"))
    assert found.singled_out == Sides(("toy_enrolls",), ("toy_trials_f", "toy_trials_m"))
    assert (found.edition, found.anon_level, found.train_level) == ("2020", "spk", "utt")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("colour=red\n", "recipe.conf:7: unknown variable 'colour'; there are anon_level, asr, "),
        ("recipe=toy\n", "recipe.conf:7: 'recipe' is set twice, first on line 2"),
        ("srd_inputs=none\n", "recipe.conf:7: srd_inputs: 'none' is not a whole number"),
        ("edition=2021\n", "recipe.conf:7: edition: '2021' is none of 2020"),
        ('train_sets="toy_trials_f"\n', "recipe.conf:7: 'toy_trials_f' is also an evaluation set"),
        ("report_note=$(rm -rf /)\n", "recipe.conf:7: '$' has no place in a value: recipe.conf is read, not run"),
        ('report_note="$HOME"\n', "recipe.conf:7: '$' has no place"),
        ("report_note=`id`\n", "recipe.conf:7: '`' has no place"),
        ("asr=a; id\n", "recipe.conf:7: ';' has no place"),
        ("asr=a b\n", "recipe.conf:7: 'b' follows the value; quote values of several words"),
        ('asr="a\n', "recipe.conf:7: the quotation that begins here"),
        ("echo hello\n", "recipe.conf:7: 'echo hello' is not of the form name=value"),
        ("export asr=a\n", "recipe.conf:7: 'export asr=a' is not of the form name=value"),
        ("asr=../../etc\n", "recipe.conf:7: asr: '../../etc' cannot be the name of a set"),
        ("emotion_sets=a:b\n", "recipe.conf:7: emotion_sets need ser"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        recipe(tmp_path, more)
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["asv_pairs", "asr_sets", "attackers", "recipe"])
def test_a_variable_that_every_recipe_sets_must_be_there(tmp_path: Path, name: str) -> None:
    lines = SMALL.replace("f\n           toy", "f toy").splitlines(keepends=True)
    with pytest.raises(InputError, match=f"'{name}' is missing"):
        recipe(tmp_path, text="".join(line for line in lines if not line.startswith(name)))


def test_an_enrolment_set_is_no_trial_set_and_the_folder_has_the_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is both an enrolment and a trial set"):
        recipe(tmp_path, text=SMALL.replace("toy_trials_m", "toy_enrolls"))
    with pytest.raises(InputError, match="recipe is 'other' in the folder toy"):
        recipe(tmp_path, text=SMALL.replace("recipe=toy", "recipe=other"))


@pytest.mark.parametrize(
    "pairs",
    [
        "toy_enrolls:toy_trials_f toy_enrolls:toy_trials_m toy_enrolls:toy_trials_mixed",
        "toy_enrolls:toy_trials_f_common toy_enrolls:toy_trials_f_all",
        "toy_enrolls:toy_trials_m_common toy_enrolls:toy_trials_all",
    ],
)
def test_trial_sets_that_hold_the_same_utterances_are_refused(tmp_path: Path, pairs: str) -> None:
    text = SMALL.replace("toy_enrolls:toy_trials_f\n           toy_enrolls:toy_trials_m", pairs)
    with pytest.raises(
        InputError, match=r"recipe.conf:3: 'toy_trials_.*' and 'toy_trials_.*' hold the same utterances"
    ):
        recipe(tmp_path, text=text)
    with pytest.raises(InputError, match=r"recipe.conf:5: .* hold the same utterances"):
        recipe(tmp_path, text=SMALL.replace("toy_trials_f,toy_trials_m", "toy_trials_m,toy_trials_mixed"))


def test_all_recipes_can_be_read_and_are_documented() -> None:
    for path in ROOT.glob("egs/*/recipe.conf"):
        assert read_recipe(path).recipe == path.parent.name


@pytest.mark.parametrize("value", ["twenty", "0", "5,,all", "5 10", "-3", "all,some"])
def test_sizes_are_numbers_or_all(value, tmp_path):
    conf = tmp_path / "toy/recipe.conf"
    conf.parent.mkdir()
    conf.write_text(f'recipe=toy\nasv_pairs="e:t"\nasr_sets=\nattackers=ecapa\nlegal_sizes="{value}"\n')
    with pytest.raises(InputError, match=r"recipe.conf:5: legal_sizes: .* is not a list of numbers such as 20,100,all"):
        read_recipe(conf)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A recipe without words and training data, in a folder with the configurations of this one."""
    root = Path(__file__).resolve().parents[2]
    (tmp_path / "egs/toy").mkdir(parents=True)
    (tmp_path / "conf").symlink_to(root / "conf")
    monkeypatch.chdir(tmp_path)

    def plan(attackers="ecapa", more=""):
        text = f'recipe=toy\nasv_pairs="e:t"\nasr_sets=\nattackers="{attackers}"\n{more}'
        (tmp_path / "egs/toy/recipe.conf").write_text(text)
        return make_plan(Settings(recipe="toy"))

    return plan


@pytest.mark.parametrize(
    ("pairs", "more", "odd"),
    [
        ("x_enrolls:x_trials_f", "", "x_trials_f"),
        ("x_dev_enrolls:x_dev_trials_f", "asr_sets=x_asr:x_dev_trials_f\n", "x_asr"),
        ("x_dev_enrolls:x_dev_trials_f_common", "", "x_dev_trials_f_common"),
        ("x_dev_enrolls:x_dev_trials_f", "ser=whisper_linear\nemotion_sets=x:x_dev_trials_f\n", "x"),
    ],
)
def test_sets_that_the_file_of_an_edition_cannot_tell_apart_are_refused_before_any_work(toy, pairs, more, odd):
    text = f'recipe=toy\nasv_pairs="{pairs}"\nattackers=ecapa\nlegal_sizes=all\n'
    text += more + ("" if "asr_sets" in more else "asr_sets=\n")
    for edition in ("2020", "2022"):
        Path("egs/toy/recipe.conf").write_text(f"{text}edition={edition}\n")
        make_plan(Settings(recipe="toy"))
    for edition in ("2024", "2026"):
        with pytest.raises(InputError, match=f"edition {edition} cannot tell set '{odd}' from others"):
            make_plan(Settings(recipe="toy", edition=edition))


def test_an_anonymiser_that_needs_a_pool_is_refused_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    make_plan(Settings(recipe="mini", anonymizer="xvector_pool"))
    with pytest.raises(InputError, match="anonymiser xvector_pool needs pool_sets, and recipe vpc2024 has none"):
        make_plan(Settings(recipe="vpc2024", anonymizer="xvector_pool"))
    hook = tmp_path / "mine/anonymize.sh"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    hook.with_name("needs").write_text("gpu\n")
    with pytest.raises(InputError, match="needs: says 'gpu'; it may say train_sets and pool_sets"):
        make_plan(Settings(recipe="mini", anonymizer=str(hook)))


def test_the_asv_eval_of_the_challenge_comes_first_once_it_has_been_trained(toy, tmp_path):
    Path("conf").unlink()
    shutil.copytree(ROOT / "conf", "conf")
    more = "asv_eval=xvector_plda_vpc_original\ntrain_sets=toy_train\n"
    assert toy(more=more).names == ("ecapa",)
    weights = Path("exp/models/xvector_vpc/model.ckpt")
    weights.parent.mkdir(parents=True)
    weights.touch()
    plan = toy(more=more)
    assert plan.names == ("xvector_plda_vpc_original", "ecapa") and plan.main.name == plan.names[0]
    assert (plan.main.start, plan.main.profile, plan.main.trained_on) == ("xvector_vpc", "plda_vpc2020", "original")
    assert make_plan(Settings(recipe="toy", attackers="ecapa")).names == ("ecapa",)
    with pytest.raises(InputError, match=r"asv_eval: there is no conf/asv/nobody\.yaml"):
        toy(more="asv_eval=nobody\n")


def test_recipes_of_2020_and_2022_name_the_asv_eval_of_the_plan_and_others_none():
    named = {path.parent.name: read_recipe(path).asv_eval for path in sorted((ROOT / "egs").glob("*/recipe.conf"))}
    assert {name for name, attacker in named.items() if attacker} == {"vpc2020", "vpc2022"}


def test_without_asr_sets_no_recogniser_is_fetched(toy):
    assert toy().models() == ("ecapa_voxceleb",)


def test_attackers_that_need_training_data_are_refused_where_there_are_none_before_any_work(toy):
    with pytest.raises(InputError, match="recipe toy has no train_sets to train attacker ecapa_plda on"):
        toy("ecapa ecapa_plda")


def test_an_emotion_recogniser_that_is_nowhere_is_refused_before_any_work(toy):
    with pytest.raises(InputError, match="ser 'nothing' is neither a directory nor one of whisper_linear"):
        toy(more='emotion_sets="emo:t"\nser=nothing\n')
