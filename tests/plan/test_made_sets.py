"""Sets of recipes that differ never replace each other, and every stage refuses sets that are not its plan's."""

import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from vpeval.audio.io import write_wave
from vpeval.core import files
from vpeval.core.errors import InputError
from vpeval.plan import made_sets
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.plan.readiness import ready
from vpeval.stages import results
from vpeval.stages.base import maker_of
from vpeval.stages.setup import prepare_data

ROOT = Path(__file__).resolve().parents[2]
CONF = 'recipe={}\nasv_pairs="x_enrolls:x_trials_f"\nasr_sets="x_asr:x_trials_f"\nattackers="ecapa"\ntrain_sets="x_train"\n'
PREPARE = """#!/usr/bin/env bash
set -euo pipefail
for data; do :; done
cp -r egs/{0}/sets/. "$data"
mkdir -p "$data/local"
cp egs/{0}/speech.wav "$data/local/{1}.wav"
case "$*" in *"--full true"*) more="a-9 b-9" ;; *) more= ;; esac
for utt in $more; do echo "$utt ${{utt:0:1}}" >>"$data/x_trials_f/utt2spk"; done
LC_ALL=C sort -o "$data/x_trials_f/utt2spk" "$data/x_trials_f/utt2spk"
for set in x_enrolls x_trials_f x_train; do
  [ -f "$data/$set/utt2spk" ] || continue
  awk -v data="$data" '{{print $1 " " data "/local/{1}.wav"}}' "$data/$set/utt2spk" >"$data/$set/wav.scp"
  awk '{{utts[$2] = utts[$2] " " $1}} END {{for (spk in utts) print spk utts[spk]}}' "$data/$set/utt2spk" | sort >"$data/$set/spk2utt"
done
awk '{{for (s = 97; s <= 98; s++) printf "%c %s %s\\n", s, $1, ($2 == sprintf("%c", s)) ? "target" : "nontarget"}}' \\
  "$data/x_trials_f/utt2spk" >"$data/x_trials_f/trials"
"""


def write_set(folder: Path, *utts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "utt2spk").write_text("".join(f"{utt} {utt[0]}\n" for utt in sorted(utts)))
    (folder / "text").write_text("".join(f"{utt} WORDS\n" for utt in sorted(utts)))


def add_recipe(root: Path, name: str, trials: tuple[str, ...] = ("a-2", "b-2"), audio: str = "speech") -> Path:
    home = root / "egs" / name
    write_set(home / "sets/x_enrolls", "a-1", "b-1")
    write_set(home / "sets/x_trials_f", *trials)
    (home / "sets/x_trials_f/text").unlink()
    write_set(home / "sets/x_train", "c-1", "d-1")
    write_wave(home / "speech.wav", 0.1 * np.sin(np.arange(16000) / 10))
    (home / "recipe.conf").write_text(CONF.format(name))
    (home / "prepare.sh").write_text(PREPARE.format(name, audio))
    (home / "prepare.sh").chmod(0o755)
    return home


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("conf", "utils"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    add_recipe(tmp_path, "one")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan_of(recipe: str, **more: object) -> Plan:
    return make_plan(Settings(recipe=recipe, corpus=f"egs/{recipe}/sets", **more))


def prepare(recipe: str, **more: object) -> Plan:
    plan = plan_of(recipe, **more)
    prepare_data(plan)
    return plan


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file() and path.name != ".sets.lock"
    }


def pasted(command: str) -> Plan:
    """The plan of a command in a message, as run.sh would make it."""
    words = shlex.split(command)[1:]
    given = {words[i][2:].replace("-", "_"): words[i + 1] for i in range(0, len(words), 2)}
    kinds = {field.name: field.default for field in fields(Settings)}
    return make_plan(Settings(**{n: v == "true" if isinstance(kinds[n], bool) else v for n, v in given.items()}))


def command_in(message: str, after: str) -> str:
    found = re.search(rf"{re.escape(after)}: (.+?)(;|$)", message)
    assert found, message
    return found[1]


def test_recipes_share_sets_of_the_same_content_and_leave_them_untouched(clone: Path) -> None:
    add_recipe(clone, "two")
    one = prepare("one")
    times = {path: path.stat().st_mtime_ns for path in clone.glob("data/x_*/*")}
    two = prepare("two")
    assert {path: path.stat().st_mtime_ns for path in clone.glob("data/x_*/*")} == times
    for plan in (one, two):
        assert ready(plan, 1).recipe.eval_sets == ("x_enrolls", "x_trials_f")
    # Paths lead to where the audio is, not to where the sets were made.
    assert Path("data/x_trials_f/wav.scp").read_text() == "a-2 data/local/speech.wav\nb-2 data/local/speech.wav\n"
    assert not (clone / "data" / made_sets.STAGING).exists()


@pytest.mark.parametrize("first", ["one", "two"])
def test_sets_that_differ_are_refused_before_anything_is_replaced_and_the_advice_works(clone: Path, first: str) -> None:
    add_recipe(clone, "two", trials=("a-3", "b-2"))
    second = {"one": "two", "two": "one"}[first]
    prepare(first)
    before = contents(clone / "data")
    with pytest.raises(InputError) as refused:
        prepare(second)
    assert str(refused.value).startswith(
        f"data/x_trials_f: belongs to recipe {first} (no --lists, --full false); that of"
    )
    assert "other trials, utt2spk" in str(refused.value).replace("spk2utt, ", "")
    assert contents(clone / "data") == before
    with pytest.raises(InputError, match=f"data/x_enrolls: belongs to recipe {first}, and nobody has made the sets of"):
        ready(plan_of(second), 1)
    ready(plan_of(first), 1)
    apart = pasted(command_in(str(refused.value), "Keep both"))
    assert apart.data == Path(f"data_{second}") and apart.exp == Path(f"exp_{second}") / second
    prepare_data(apart)
    assert ready(apart, 6).data_of("x_trials_f", "o") == Path(f"data_{second}/x_trials_f")
    assert (apart.data / "x_trials_f/wav.scp").read_text().split()[1] == f"data_{second}/local/speech.wav"
    assert contents(clone / "data") == before
    # Those who give up the sets that are there may have the place.
    gone = shlex.split(command_in(str(refused.value), "give up what is there"))
    assert gone[:2] == ["rm", "-r"]
    for path in gone[2:]:
        shutil.rmtree(path)
    prepare(second)
    ready(plan_of(second), 1)
    with pytest.raises(InputError, match="is not as stage 0 of recipe"):
        ready(plan_of(first), 1)


def test_another_size_or_list_of_the_same_recipe_replaces_sets_only_on_demand(clone: Path) -> None:
    prepare("one")
    before = contents(clone / "data")
    with pytest.raises(
        InputError, match=r"was made with --full false; with --full true it has other .*trials"
    ) as refused:
        prepare("one", full=True)
    assert contents(clone / "data") == before
    with pytest.raises(InputError, match="were made with --full false, and this run says --full true"):
        ready(plan_of("one", full=True), 11)
    prepare_data(pasted(command_in(str(refused.value), "Keep both")))
    assert contents(clone / "data") == before
    whole = pasted(command_in(str(refused.value), "replace it"))
    prepare_data(whole)
    assert "a-9" in Path("data/x_trials_f/utt2spk").read_text()
    ready(whole, 11)
    with pytest.raises(InputError, match="were made with --full true, and this run says --full false"):
        ready(plan_of("one"), 11)
    (clone / "lists").mkdir()
    with pytest.raises(InputError, match="were made with no --lists, and this run says --lists lists"):
        ready(plan_of("one", lists="lists", full=True), 1)
    with pytest.raises(InputError, match=r"were made with --corpus egs/one/sets, and this run says --corpus egs/one"):
        ready(make_plan(Settings(recipe="one", corpus="egs/one", full=True)), 1)


def test_lists_that_changed_after_stage_0_are_noticed(clone: Path) -> None:
    (clone / "lists").mkdir()
    (clone / "lists/x.lst").write_text("a-1\n")
    plan = prepare("one", lists="lists")
    ready(plan, 1)
    (clone / "lists/x.lst").write_text("a-2\n")
    with pytest.raises(InputError, match="lists: has changed since recipe one read it"):
        ready(plan, 1)


def test_a_corrected_corpus_replaces_the_sets_of_its_recipe(clone: Path) -> None:
    prepare("one")
    write_set(clone / "egs/one/sets/x_train", "c-1", "d-1", "d-2")
    plan = prepare("one")
    assert "d-2" in Path("data/x_train/utt2spk").read_text()
    ready(plan, 1)


@pytest.mark.parametrize("name", ["x_trials_f/trials", "x_train/utt2spk", "one.protocol"])
def test_sets_that_are_not_as_they_were_made_are_refused_by_every_stage(clone: Path, name: str) -> None:
    (clone / "egs/one/sets/one.protocol").write_text("x_enrolls official lists/x\nx_train whole\n")
    plan = prepare("one")
    ready(plan, 1)
    path = clone / "data" / name
    path.write_text(path.read_text().replace("official", "rebuilt") + "z whole z\n")
    for stage in (1, 6, 12):
        with pytest.raises(InputError, match=f"data/{name.partition('/')[0]}: is not as stage 0 of recipe one made it"):
            ready(plan, stage)


def test_the_check_reads_no_file_that_has_its_time_and_forgives_copies_and_new_attributes(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = prepare("one")
    shutil.copytree(clone / "data", clone / "copy")
    shutil.rmtree(clone / "data")
    shutil.copytree(clone / "copy", clone / "data", copy_function=shutil.copy)
    ready(plan, 1)
    files._known.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(files, "_read", None)
        ready(plan, 1)
    (clone / "data/x_trials_f/spk2age").write_text("a 20\nb 30\n")
    ready(plan, 1)


def test_stage_0_leaves_attributes_that_somebody_added(clone: Path) -> None:
    prepare("one")
    (clone / "data/x_trials_f/spk2age").write_text("a 20\nb 30\n")
    prepare("one")
    assert (clone / "data/x_trials_f/spk2age").is_file()


def test_an_interruption_while_sets_are_put_in_place_leaves_nothing_that_passes_for_good(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare("one")
    write_set(clone / "egs/one/sets/x_train", "c-1", "d-1", "d-2")
    write_set(clone / "egs/one/sets/x_enrolls", "a-1", "b-1", "b-5")
    replaced: list[Path] = []

    def interrupted(new: Path, target: Path) -> None:
        if replaced:
            raise KeyboardInterrupt
        replaced.append(target)
        files.replace_directory(new, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(made_sets, "replace_directory", interrupted)
        prepare("one")
    with pytest.raises(InputError, match="is not as stage 0 of recipe one made it"):
        ready(plan_of("one"), 1)
    ready(prepare("one"), 1)


def test_sets_made_by_hand_work_and_are_never_replaced(clone: Path) -> None:
    for name, utts in {"x_enrolls": "a-1 b-1", "x_trials_f": "a-2 b-2"}.items():
        write_set(clone / "data" / name, *utts.split())
    assert ready(plan_of("one"), 6).recipe.asv_pairs
    with pytest.raises(InputError, match="data/x_enrolls: was made by hand; that of recipe one"):
        prepare("one")
    write_set(clone / "data/x_trials_f", "a-1", "a-2", "b-2")
    with pytest.raises(InputError, match=r"x_trials_f/utt2spk: shares 1 utterances with the enrolment set .*\(a-1\)"):
        ready(plan_of("one"), 6)


def test_stage_0_refuses_utterances_that_are_enrolled_and_tried(clone: Path) -> None:
    write_set(clone / "egs/one/sets/x_trials_f", "a-1", "b-2")
    (clone / "egs/one/sets/x_trials_f/text").unlink()
    with pytest.raises(InputError, match="has 1 faults"):
        prepare("one")
    assert not (clone / "data/x_enrolls").exists()


def test_a_set_that_is_absent_is_refused_only_by_those_who_need_it(
    clone: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.rmtree(clone / "egs/one/sets/x_train")
    (clone / "egs/one/sets/one.protocol").write_text(
        "x_enrolls whole\nx_trials_f whole\nx_train absent no corpus here\n"
    )
    with pytest.raises(InputError, match=r"x_train is absent \(no corpus here\), and attacker ecapa_plda needs it"):
        prepare("one", attackers="ecapa ecapa_plda")
    plan = prepare("one")
    assert ready(plan, 1).recipe.train_sets == ()
    for act in (lambda: prepare("one", train_asr=True), lambda: ready(plan_of("one", train_asr=True), 3)):
        with pytest.raises(InputError, match="--train-asr true needs it"):
            act()


def test_commands_by_hand_name_a_root_that_is_not_the_usual_one(clone: Path) -> None:
    for root, given in (("data", []), ("data_b", ["data_b"])):
        plan = plan_of("one", data=root)
        report, figures = results._report_command(plan), results._figures_command(plan)
        for command in (report, figures, results._comparison_command(plan, [])):
            assert [word for word in command if word == root] == given
    assert maker_of(Path("data_b/x_trials_f_mcadams/text")) == 3 and maker_of(Path("exp_b/one/asv/x")) == 4


@pytest.mark.parametrize(("name", "good"), [("data", True), ("data_b", True), ("sets", False), ("../data", False)])
def test_the_data_root_is_a_directory_here(clone: Path, name: str, good: bool) -> None:
    def check(act: Callable[[], object]) -> None:
        if good:
            act()
        else:
            with pytest.raises(InputError, match="use the name of a directory here that begins with 'data'"):
                act()

    check(lambda: plan_of("one", data=name))
