"""./run.sh on six speakers, with the real models."""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import kaldi_native_io
import kaldiio
import numpy as np
import pytest

from tests.cluster.cluster import Cluster, missing_programs
from vpeval.records.record import Record, read_records

pytestmark = pytest.mark.e2e


def results(clone: Path, system: str = "mcadams") -> list[Record]:
    return read_records(clone / f"exp/tiny/runs/{system}/results.jsonl")


def mean(records: list[Record], metric: str, condition: str) -> float:
    values = [record.value for record in records if (record.metric, record.condition) == (metric, condition)]
    return float(np.mean(values))


def test_a_fresh_clone_gets_every_result(finished):
    run = finished.path / "exp/tiny/runs/mcadams"
    assert (run / "results.txt").read_text().startswith("ASV-tiny_dev_enrolls-tiny_dev_trials_f\n  EER: ")
    assert {path.name for path in (run / "latex").iterdir()} >= {"results.ASV_dev.tex", "results.ASR_dev.tex"}
    metrics = {record.metric for record in results(finished.path)}
    assert metrics >= {"eer_kaldi", "eer_threshold", "eer_rocch", "cllr", "min_cllr", "dsys", "zebra_population", "wer"}
    assert metrics >= {"linkability", "one_minus_eer", "singling_out", "srd_max", "g_vd", "deid"}
    linked = {
        (r.attacker, r.condition, r.notes["scoring"]) for r in results(finished.path) if r.metric == "linkability"
    }
    cosine = {("ecapa", condition, "cosine") for condition in ("oo", "oa", "aa")}
    assert linked == {*cosine, ("ecapa_plda", "aa", "plda")}
    assert "WER" in (finished.path / "output").read_text()
    said = (finished.path / "output").read_text().partition("\ntime and memory:\n")[2].splitlines()
    assert [line.split()[1] for line in said] == [str(number) for number in range(13)]
    assert "Memory of the largest process" in (run / "report.html").read_text()


def test_the_numbers_are_plausible(finished):
    records = results(finished.path)
    assert mean(records, "eer_kaldi", "oo") < mean(records, "eer_kaldi", "oa")
    assert mean(records, "min_cllr", "oo") < mean(records, "min_cllr", "oa")
    assert mean(records, "wer", "o") < 15
    assert mean(records, "linkability", "oo") > 0.9


def test_other_programs_read_the_arks(finished):
    scp = finished.path / "exp/tiny/embeddings/ecapa/tiny_dev_enrolls/embedding.scp"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished.path)
        ours = dict(kaldiio.load_scp(str(scp)))
        with kaldi_native_io.SequentialFloatVectorReader(f"scp:{scp}") as reader:
            theirs = {key: np.array(vector) for key, vector in reader}
    assert ours.keys() == theirs.keys() and len(ours) == 30
    assert all(np.array_equal(ours[key], theirs[key]) and ours[key].shape == (192,) for key in ours)


def test_a_second_run_skips_everything_long(finished):
    output = finished.run()
    assert "embeddings of" not in output and "decoded" not in output and "real-time factor" not in output
    for line in (
        "sets of anonymize up to date, skipped",
        "results up to date, skipped",
        "views of the results up to date, skipped",
    ):
        assert line in output
    assert " figures\n" not in output and "% of 36 trials" not in output


def test_another_hook_redoes_only_what_depends_on_it(finished):
    before = (finished.path / "exp/tiny/embeddings/ecapa/tiny_dev_enrolls/embedding.ark").stat().st_mtime_ns
    output = finished.run("--stage", "3", "--anonymizer", "local/anon/template/anonymize.py")
    assert "3 sets of extract_embeddings up to date, skipped" in output
    assert "exp/tiny/runs/original/" not in output
    assert (finished.path / "exp/tiny/embeddings/ecapa/tiny_dev_enrolls/embedding.ark").stat().st_mtime_ns == before
    assert {record.system for record in results(finished.path, "template")} == {"original", "template"}
    assert "template: " in output and "mcadams" not in output.partition("Privacy: ")[2].partition("report:")[0]
    comparison = (finished.path / "exp/tiny/comparison/comparison.txt").read_text()
    assert " mcadams " in comparison and " template " in comparison


def test_killed_in_every_stage_and_with_other_jobs_the_results_are_the_same(finished, make_clone):
    clone = replace(make_clone("killed"), environment={"VPEVAL_PIECE_SECONDS": "0"})
    exp, data = clone.path / "exp/tiny", clone.path / "data"

    def begun(folder: Path, pattern: str, count: int = 2):
        return lambda: sum(1 for _ in folder.glob(pattern)) >= count

    clone.kill("--nj", "4", when=begun(data, ".new/tiny_dev_enrolls/wav.scp", 1))
    clone.kill("--nj", "4", when=begun(data, ".tiny_dev_enrolls_mcadams.work/hook/*/wav/*.wav"))
    clone.kill("--nj", "4", when=begun(exp, "embeddings/ecapa/.tiny_dev_enrolls.work/parts/*.piece"))
    clone.kill("--nj", "4", when=begun(exp, "runs/mcadams/ASV_*/scores"))
    clone.kill("--nj", "4", when=begun(exp, "decode/whisper_base/.tiny_dev_trials_f.work/parts/*.piece"))
    output = clone.run("--nj", "4")
    assert "going on" in output
    ours, theirs = (path / "exp/tiny/runs/mcadams" for path in (clone.path, finished.path))
    for name in ("results.jsonl", "results.txt"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()


@pytest.mark.nightly
def test_under_slurm_the_results_are_the_same(finished, make_clone):
    if missing := missing_programs():
        pytest.skip(f"needs Slurm, and there is no {', '.join(missing)}; tests/install_slurm.sh installs it")
    clone = make_clone("slurm")
    conf = clone.path / "conf/slurm.conf"
    conf.write_text(conf.read_text().replace("mem: ''  ", "mem: 2G  ").replace("poll_seconds: 6", "poll_seconds: 1"))
    with tempfile.TemporaryDirectory(prefix="vp-slurm-") as work_dir:
        cluster = Cluster(Path(work_dir) / "0")
        try:
            clone = replace(clone, environment={**cluster.start().environment, "VPEVAL_BACKEND": "slurm"})
            clone.run("--nj", "3")
            assert cluster.jobs() == []
            hosts = {line.split(" on ")[1] for line in cluster_lines(clone.path)}
        finally:
            cluster.stop()
    assert len(hosts) > 1, "the jobs should have run on several nodes"
    ours, theirs = (path / "exp/tiny/runs/mcadams" for path in (clone.path, finished.path))
    for name in ("results.jsonl", "results.txt"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    assert not list(clone.path.glob("exp/**/.*.slurm"))


def cluster_lines(clone: Path) -> list[str]:
    """Where the logs of a run say that jobs were started."""
    logs = [log.read_text() for log in clone.glob("exp/**/log/**/*.log")]
    return [line.split(" as ")[0] for log in logs for line in log.splitlines() if line.startswith("# Started at ")]


@pytest.fixture
def counted(finished, tmp_path):
    """A Python that notes every start, and the clone that runs with it."""
    notes = tmp_path / "starts"
    (tmp_path / "bin").mkdir()
    for name in ("python3", "python"):
        wrapper = tmp_path / "bin" / name
        wrapper.write_text(f'#!/bin/sh\necho start >>{notes}\nexec {sys.executable} "$@"\n')
        wrapper.chmod(0o755)
    environment = {"VPEVAL_PYTHON": str(tmp_path / "bin/python3")}
    return replace(finished, environment=environment), lambda: len(notes.read_text().splitlines())


def test_a_run_that_is_up_to_date_starts_python_a_few_times(counted):
    clone, starts = counted
    clone.run()
    clone.run()
    assert starts() <= 12


def normalizers(records):
    return {record.params["normalizer"] for record in records if record.metric == "wer"}


def test_scores_are_calibrated_where_that_is_asked_for(finished):
    finished.run("--calibrate", "true", "--stage", "6", "--stop-stage", "6")
    calibrated = read_records(next((finished.path / "exp/tiny/runs/mcadams").glob("ASV_ecapa-*/records.jsonl")))
    assert {record.notes["calibration"] for record in calibrated} == {"dev"}
    finished.run("--stage", "6", "--stop-stage", "6")


def test_quality_and_the_files_of_another_edition_go_through(finished):
    finished.run("--quality", "true", "--edition", "2024", "--stage", "10")
    records = results(finished.path)
    assert normalizers(records) == {
        "vpc2020"
    }  # Whisper writes case and punctuation, which the rules of 2024 would count
    assert {"stoi", "dnsmos_ovrl"} <= {record.metric for record in records}
    assert "WER" in (finished.path / "exp/tiny/runs/mcadams/result_for_rank").read_text()
    finished.run("--stage", "10")
    assert normalizers(results(finished.path)) == {"vpc2020"}


@pytest.mark.nightly
def test_recognisers_are_trained_on_original_and_on_anonymised_speech(finished):
    finished.run("--train-asr", "true", "--edition", "2024", "--stage", "10")
    words = [record for record in results(finished.path) if record.metric == "wer"]
    assert {record.attacker for record in words} == {"whisper_base", "ASR_eval", "ASR_eval_anon"}
    assert normalizers(words) == {"vpc2020"}
    finished.run("--stage", "10")


@pytest.mark.parametrize("name", ["ecapa", "ecapa_plda"])
def test_a_shorter_list_of_attackers_changes_nothing_and_who_is_left_out_is_named(finished, name):
    run = finished.path / "exp/tiny/runs/mcadams"
    kept = {file: (run / file).read_bytes() for file in ("results.jsonl", "results.txt")}
    finished.run("--stage", "4", "--attackers", name)
    assert (run / "results.jsonl").read_bytes() == kept["results.jsonl"]
    assert (run / "results.txt").read_bytes() == kept["results.txt"]
    said = finished.run("--stage", "4", "--without", name)
    records = [record for record in results(finished.path) if record.metric == "eer_kaldi"]
    assert {record.attacker for record in records} == {"ecapa", "ecapa_plda"} - {name}
    for record in records:
        assert f"_{record.attacker}-" in record.files["scores"]
    views = [said, *((run / file).read_text() for file in ("results.txt", "report.html"))]
    for view in (*views, (finished.path / "exp/tiny/comparison/comparison.txt").read_text()):
        assert f"{name} (--without)" in view
    finished.run("--stage", "4")
    assert {file: (run / file).read_bytes() for file in kept} == kept


@contextmanager
def edited(clone, modules, text):
    """The clone with a line at the end of some modules."""
    before = {module: module.read_text() for module in modules}
    for module, content in before.items():
        module.write_text(content + text)
    try:
        yield clone
    finally:
        for module, content in before.items():
            module.write_text(content)


def made(output):
    """The outputs that a run has made."""
    lines = [line for line in output.splitlines() if line.startswith(("exp/tiny/", "data/"))]
    return [line.split(": ")[0] for line in lines if "it is left out" not in line]


def test_a_comment_in_every_module_and_hook_makes_nothing_again(finished):
    files = [file for place in ("vpeval", "local", "steps", "egs") for file in (finished.path / place).rglob("*.py")]
    with edited(finished, files, "\n# a remark\n"):
        assert made(finished.run("--stop-stage", "11")) == []


def test_a_comment_in_every_configuration_measures_nothing_again(finished):
    # The tables of results name the bytes of configurations, and views follow the tables.
    with edited(finished, (finished.path / "conf").rglob("*.yaml"), "\n# a remark\n"):
        assert made(finished.run("--stop-stage", "10")) == []


@pytest.mark.parametrize(
    ("module", "stages", "expected"),
    [
        ("measures/linkability", ("6", "9"), "runs/[a-z]+/linkability_"),
        ("metrics/one_minus_eer", ("6", "9"), "runs/[a-z]+/linkability_"),
        ("measures/disclosure", ("6", "9"), "runs/[a-z]+/srd_"),
        ("networks/neural", ("3", "5"), "embeddings/ecapa/|asv/ecapa_plda-mcadams"),
        ("anon/mcadams", ("3", "3"), "data/tiny_[a-z_]+_mcadams"),
    ],
)
def test_a_changed_module_makes_exactly_its_results_again(finished, module, stages, expected):
    stage, last = stages
    with edited(finished, [finished.path / f"vpeval/{module}.py"], "\nEDITED = 1\n"):
        found = made(finished.run("--stage", stage, "--stop-stage", last))
    assert found and all(re.search(expected, place) for place in found), found
    finished.run("--stage", "3", "--stop-stage", "9")


def test_what_other_code_made_is_kept_where_a_person_accepts_it_and_the_results_say_so(finished):
    with edited(finished, [finished.path / "vpeval/networks/neural.py"], "\nEDITED = 1\n"):
        output = finished.run("--accept-code", "true")
        assert "embeddings of" not in output and "kept although vpeval/networks/neural.py changed" in output
        assert "accepted: made before changes of vpeval/networks/neural.py" in output
        notes = {record.notes.get("accepted_code") for record in results(finished.path) if record.attacker == "ecapa"}
        assert notes == {"vpeval/networks/neural.py"}
    output = finished.run("--stage", "4")
    assert "embeddings of" in output
    assert not any("accepted_code" in record.notes for record in results(finished.path))
