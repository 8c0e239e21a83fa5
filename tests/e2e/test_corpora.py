"""Recipes of real corpora on replicas in the released layouts, files made elsewhere, and the worked example of the docs."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vpeval.corpora.protocol import read_protocol
from vpeval.data.directory import DataDir
from vpeval.plan.recipe import read_recipe
from vpeval.records.record import read_records

ROOT = Path(__file__).resolve().parents[2]
SPEECHOCEAN = ROOT.parent / "shared/data/speechocean40"
TEMPLATE = ("--anonymizer", "local/anon/template/anonymize.py")

pytestmark = pytest.mark.e2e


def _load_replicas():
    spec = importlib.util.spec_from_file_location("replicas", ROOT / "tests/corpora/replicas.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look it up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def clone(make_clone):
    return make_clone("corpora")


@pytest.fixture(scope="module")
def replica(tmp_path_factory):
    replicas = _load_replicas()
    return lambda recipe: str(replicas.for_recipe(recipe, tmp_path_factory.mktemp(recipe)))


@pytest.mark.parametrize("recipe", ["vpc2022", "vpc2024", "vpc2026", "commonvoice", "ravdess", "speechocean"])
def test_a_replica_goes_through_stages_0_to_3(clone, replica, recipe):
    # Every replica has audio of its own, so that recipes cannot share their sets.
    options = ("--corpus", replica(recipe), "--data", f"data_{recipe}", "--stop-stage", "3", "--nj", "2", *TEMPLATE)
    output = clone.run("--recipe", recipe, *options, "--system", f"of_{recipe}")
    root = clone.path / f"data_{recipe}"
    sets = read_recipe(ROOT / f"egs/{recipe}/recipe.conf")
    for name in sets.eval_sets:
        data, anonymised = (DataDir.load(root / f"{name}{suffix}") for suffix in ("", f"_of_{recipe}"))
        assert data.utts == anonymised.utts and data.trials == anonymised.trials
        os.chdir(clone.path)
        assert all(Path(path).is_file() for path in (*data.wav.values(), *anonymised.wav.values()))
    if recipe.startswith("vpc"):
        assert "Numbers of the evaluation plan" in output and "protocol: rebuilt" in output
        assert DataDir.load(root / "train-clean-360").spk2gender == {
            "14": "f",
            "16": "m",
            "17": "f",
            "19": "m",
        }
    if recipe == "commonvoice":
        a, b = (DataDir.load(root / f"commonvoice_{letter}") for letter in "ab")
        assert set(b.speakers) < set(a.speakers) and not set(a.utts) & set(b.utts)
    if sets.emotion_sets:
        emotional = DataDir.load(root / sets.emotion_sets[0].sets[0])
        assert set(emotional.table("spk2fold").values()) > {"1", "2"} or recipe == "ravdess"


@pytest.mark.nightly
def test_the_replica_of_vpc2020_goes_through_all_stages_and_says_that_its_protocol_is_rebuilt(clone, replica):
    output = clone.run(
        "--recipe", "vpc2020", "--corpus", replica("vpc2020"), "--nj", "2", "--srd-inputs", "5", *TEMPLATE
    )
    run = clone.path / "exp/vpc2020/runs/template"
    assert "protocol: rebuilt" in output.rpartition("== stage 11")[2]
    records = read_records(run / "results.jsonl")
    assert {record.notes.get("protocol") for record in records} == {"rebuilt"}
    assert {record.set for record in records if record.metric == "eer_kaldi"} >= {
        "libri_dev_trials_f",
        "vctk_test_trials_m_common",
    }
    assert {record.set for record in records if record.metric == "wer"} == {
        f"{corpus}_{part}_asr" for corpus in ("libri", "vctk") for part in ("dev", "test")
    }
    assert "# protocol: rebuilt" in (run / "results.txt").read_text()
    assert (run / "submission.tar.gz").is_file()
    assert {status.protocol for status in read_protocol(clone.path / "data", "vpc2020").values()} == {
        "rebuilt",
        "whole",
    }


def test_training_sets_that_no_attacker_learns_from_stay_as_they_are(clone):
    anonymised = clone.path / "data/tiny_train_template"
    output = clone.run("--attackers", "ecapa", "--stop-stage", "3", "--nj", "2", *TEMPLATE)
    assert "tiny_train: not anonymised, as nobody is trained on speech of template" in output
    assert not anonymised.exists()
    clone.run("--attackers", "ecapa ecapa_plda", "--stop-stage", "3", "--nj", "2", *TEMPLATE)
    assert (anonymised / "wav.scp").is_file()


@pytest.mark.nightly
@pytest.mark.skipif(not SPEECHOCEAN.is_dir(), reason="the 40 speakers of speechocean762 are not at hand")
def test_forty_real_voices_go_through_all_stages(make_clone, tmp_path):
    _load_replicas().speechocean_at_hand(tmp_path, SPEECHOCEAN)
    clone = make_clone("speechocean")
    clone.run("--recipe", "speechocean", "--corpus", str(tmp_path), "--nj", "2")
    run = clone.path / "exp/speechocean/runs/mcadams"
    assert {path.name for path in run.iterdir()} >= {"results.txt", "report.html", "submission.tar.gz", "latex"}
    records = read_records(run / "results.jsonl")
    eers = {
        (record.attacker, record.condition): record.value
        for record in records
        if record.metric == "eer_kaldi" and record.set == "speechocean_test"
    }
    # Real voices are told apart, and McAdams hides them from nobody who anonymises the enrolment as well.
    assert eers["ecapa_plda_original", "oo"] < 0.1
    assert eers["ecapa_plda", "aa"] < eers["ecapa_plda_original", "oa"]
    inferred = {record.params["attribute"] for record in records if "attribute" in record.params}
    assert {"gender", "age"} <= inferred
    assert {record.system for record in records if record.metric == "wer"} == {"original", "mcadams"}


def test_files_made_elsewhere_give_the_results_of_the_hook_that_made_them(make_clone, tmp_path):
    clone = make_clone("folder")
    clone.run("--nj", "2", "--stop-stage", "11")
    for wav in clone.path.glob("data/*_mcadams/wav"):
        shutil.copytree(wav, tmp_path / "files" / wav.parent.name.removesuffix("_mcadams"), symlinks=False)
    output = clone.run(
        "--nj",
        "2",
        "--stage",
        "2",
        "--stop-stage",
        "11",
        "--anonymized",
        str(tmp_path / "files"),
        "--system",
        "elsewhere",
    )
    assert "elsewhere needs no preparation" in output
    hook, folder = (clone.path / f"exp/tiny/runs/{system}/results.jsonl" for system in ("mcadams", "elsewhere"))
    made_by = ("anonymiser", "anon_options", "anonymiser_sha256", "anon_level", "anon_seed")

    def numbers(table):
        records = (json.loads(line) for line in table.read_text().replace("elsewhere", "mcadams").splitlines())
        return [{**r, "notes": {k: v for k, v in r["notes"].items() if k not in made_by}} for r in records]

    assert numbers(folder) == numbers(hook)
    assert {r.notes["anonymiser"] for r in read_records(folder) if r.system == "elsewhere"} == {"files made elsewhere"}

    # Without some of the files nothing is evaluated, unless one asks for it, and then every result says so.
    gone = sorted((tmp_path / "files/tiny_dev_trials_f").rglob("*.wav"))[:2]
    for path in gone:
        path.unlink()
    failed = subprocess.run(
        clone._command(("--stage", "3", "--anonymized", str(tmp_path / "files"), "--system", "partial")),
        **clone._settings(),
        stdout=subprocess.PIPE,
        check=False,
    )
    assert failed.returncode == 1 and f"tiny_dev_trials_f: 2 of 12 files ({gone[0].stem}" in failed.stdout
    options = ("--anonymized", str(tmp_path / "files"), "--allow-missing", "true", "--system", "partial")
    output = clone.run("--nj", "2", "--stage", "3", *options)
    assert "partial: tiny_dev_trials_f: 2 files are missing" in output and "no submission package" in output
    records = read_records(clone.path / "exp/tiny/runs/partial/results.jsonl")
    noted = {record.set for record in records if record.system == "partial" and "missing_files" in record.notes}
    assert noted == {"tiny_dev_trials_f", "tiny_dev", "tiny_dev_asr", "tiny_all"}
    counts = {
        r.condition: r.counts
        for r in records
        if r.metric == "eer_kaldi" and r.set == "tiny_dev_trials_f" and r.attacker == "ecapa"
    }
    assert counts["oo"]["targets"] - counts["aa"]["targets"] == 2


@pytest.mark.nightly
def test_a_recogniser_that_does_not_fit_is_flagged_everywhere(make_clone):
    pytest.importorskip("vosk")
    clone = make_clone("misfit")
    output = clone.run("--nj", "2", "--asr", "vosk_digits", "--attackers", "ecapa")
    assert "audit (recogniser): WARNING: vosk_digits on original speech of tiny_dev_asr" in output
    run = clone.path / "exp/tiny/runs/mcadams"
    assert "# warning: vosk_digits on original speech" in (run / "results.txt").read_text()
    assert all("warning" in record.notes for record in read_records(run / "results.jsonl") if record.metric == "wer")
    assert "vosk_digits on original speech of tiny_dev_asr" in (run / "report.html").read_text()


def test_the_worked_example_of_the_docs_works_to_the_letter(make_clone):
    clone = make_clone("example")
    section = (ROOT / "docs/corpora.md").read_text().partition("## Adding a corpus")[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block], **clone._settings(), stdout=subprocess.PIPE, check=False
        )
        assert done.returncode == 0, done.stdout
    metrics = {record.metric for record in read_records(clone.path / "exp/mine/runs/mcadams/results.jsonl")}
    assert {"eer_kaldi", "linkability", "wer", "pitch_correlation"} <= metrics

    # The same table without genders, sessions and texts.
    table = clone.path / "egs/mine/utterances.tsv"
    table.write_text("".join("\t".join(line.split("\t")[:3]).rstrip("\n") + "\n" for line in table.open()))
    conf = clone.path / "egs/mine/recipe.conf"
    conf.write_text(
        'recipe=mine\nasv_pairs="mine_enrolls:mine_trials_mixed"\nasr_sets="mine_asr:mine_trials_mixed"\n'
        'attackers="ecapa"\nlegal_sizes="all"\nsrd_inputs=1\n'
    )
    output = clone.run("--recipe", "mine", "--corpus", "egs/mine", "--nj", "2")
    assert "no text" in output
    metrics = {record.metric for record in read_records(clone.path / "exp/mine/runs/mcadams/results.jsonl")}
    assert "eer_kaldi" in metrics and "wer" not in metrics
