"""The recipes of four challenges in one clone, in any order: every stage has the right sets or is refused."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import replicas

from vpeval.core.errors import InputError
from vpeval.corpora.lists import Lists
from vpeval.corpora.protocol import read_protocol
from vpeval.data.directory import DataDir
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.plan.readiness import ready
from vpeval.stages.setup import prepare_data

ROOT = Path(__file__).resolve().parents[2]
OFFICIAL = ROOT.parent / "shared/reference/vpc_libri_lists"


def make_corpora(root: Path) -> Path:
    """LibriSpeech, VCTK and LibriTTS with a few utterances of 0.1 to 3 s."""
    replicas.for_recipe("vpc2020", root)
    return root


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpora(tmp_path_factory.mktemp("corpora"))


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("conf", "egs", "local", "utils", "vpeval", "path.sh"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VPEVAL_PYTHON", sys.executable)
    return tmp_path


def plan_of(recipe: str, corpus: Path, lists: Path | None = None, data: str = "data") -> Plan:
    return make_plan(Settings(recipe=recipe, corpus=str(corpus), lists=str(lists or ""), data=data, attackers="ecapa"))


def fails(plan: Plan) -> bool:
    """Whether stage 0 refuses a plan, and every later stage as well; or both are right."""
    try:
        prepare_data(plan)
    except InputError as error:
        assert "belongs to recipe" in str(error) and "--data data_vpc" in str(error)
        with pytest.raises(InputError, match="belongs to recipe"):
            ready(plan, 1)
        return True
    ready(plan, 1)
    return False


def sets_of(plan: Plan) -> dict[str, DataDir]:
    return {name: DataDir.load(plan.original(name)) for name in plan.prepared().recipe.eval_sets}


def check_protocol(plan: Plan) -> None:
    """What a plan says about a set is true."""
    statuses, lists = read_protocol(plan.data, plan.recipe.recipe), Lists(OFFICIAL) if OFFICIAL.is_dir() else None
    for name, data in sets_of(plan).items():
        base, _, part = name.partition("_trials_")
        if statuses[name].protocol == "official":
            assert lists
            listed = lists.trials(base, part) if part else lists.enrolls(name.removesuffix("_enrolls"))
            assert listed and listed.utts == tuple(data.utts) and (listed.trials or ()) == (data.trials or ())
    enrolled = {utt for name, data in sets_of(plan).items() if name.endswith("_enrolls") for utt in data.utts}
    tried = {utt for name, data in sets_of(plan).items() if "_trials" in name for utt in data.utts}
    assert not enrolled & tried


def test_rebuilt_sets_of_one_corpus_are_shared_and_those_of_another_refused(
    clone: Path, corpora: Path, tmp_path: Path
) -> None:
    shutil.rmtree(clone / "data", ignore_errors=True)
    plans = [plan_of(recipe, corpora) for recipe in ("vpc2024", "vpc2020", "vpc2026", "vpc2022")]
    assert not any(map(fails, plans))
    for plan in plans:
        ready(plan, 6)
        check_protocol(plan)
    before = {path: path.read_bytes() for path in clone.glob("data/*/*") if path.is_file()}
    shutil.copytree(corpora / "LibriSpeech", tmp_path / "other/LibriSpeech")
    other = plan_of("vpc2024", tmp_path / "other")
    with pytest.raises(InputError, match=r"data/libri_dev_enrolls: belongs to recipe vpc20.*has other wav\.scp"):
        prepare_data(other)
    assert {path: path.read_bytes() for path in clone.glob("data/*/*") if path.is_file()} == before
    for plan in plans:
        ready(plan, 6)


@pytest.fixture(scope="module")
def listed_corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with all utterances of the official development lists, each a link to one file."""
    if not OFFICIAL.is_dir():
        pytest.skip("the official lists are not here")
    root = make_corpora(tmp_path_factory.mktemp("listed"))
    shutil.rmtree(root / "LibriSpeech/dev-clean")
    replicas.write(root / "one.flac", 0.1 * np.sin(np.arange(1600)))
    for part in ("enrolls", "trials_f", "trials_m"):
        for line in (OFFICIAL / f"libri_dev_{part}/utt2spk").read_text().splitlines():
            reader, chapter, _ = line.split()[0].split("-")
            path = root / f"LibriSpeech/dev-clean/{reader}/{chapter}/{line.split()[0]}.flac"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(root / "one.flac")
    speakers = root / "LibriSpeech/SPEAKERS.TXT"
    genders = {}
    for gender in "fm":
        rows = (OFFICIAL / f"libri_dev_trials_{gender}/spk2gender").read_text().splitlines()
        genders |= {row.split()[0]: gender for row in rows}
    rest = [line for line in speakers.read_text().splitlines() if line.split()[0] not in genders]
    listed = [f"{reader} | {gender.upper()} | dev-clean | 8 | x" for reader, gender in genders.items()]
    speakers.write_text("\n".join([*rest, *listed]) + "\n")
    return root


@pytest.mark.parametrize(
    ("order", "refused"),
    [
        ((("vpc2024", True), ("vpc2026", False), ("vpc2020", True), ("vpc2022", False)), ("vpc2026", "vpc2022")),
        ((("vpc2022", False), ("vpc2026", True), ("vpc2024", False)), ("vpc2026",)),
    ],
)
def test_official_and_rebuilt_sets_are_never_mixed(
    clone: Path, listed_corpora: Path, order: Sequence[tuple[str, bool]], refused: Sequence[str]
) -> None:
    plans = {recipe: plan_of(recipe, listed_corpora, OFFICIAL if lists else None) for recipe, lists in order}
    assert tuple(recipe for recipe, plan in plans.items() if fails(plan)) == refused
    for recipe, plan in plans.items():
        if recipe not in refused:
            ready(plan, 1)
            check_protocol(plan)
    apart = plans[refused[0]]
    apart = replace(apart, settings=replace(apart.settings, data=f"data_{refused[0]}"))
    assert not fails(apart)
    check_protocol(apart)
    kinds = {status.protocol for name, status in read_protocol(apart.data, refused[0]).items() if "_dev_enr" in name}
    assert kinds == {"official" if apart.settings.lists else "rebuilt"}
    assert "official" in (clone / "data/vpc2024.protocol").read_text() or not plans["vpc2024"].settings.lists
