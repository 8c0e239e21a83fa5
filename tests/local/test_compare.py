import shutil
from pathlib import Path

import pytest
from in_process import call

from vpeval.records.record import Record, read_records, write_records

RANK = """\
---- ASR results ----
  dataset split   asr    WER
0     toy  test  anon  6.146

---- ASV_eval^anon results ----
  dataset split gender enrollment trial     EER
8     toy  test      f       anon  anon  29.378
"""
SPEAKERS = [f"s{i}" for i in range(6)]


def run(name, values):
    """Write a run directory with the scores of all pairs of speakers."""
    directory = Path("runs", name, f"ASV-toy_test_enrolls_{name}-toy_test_trials_f_{name}")
    directory.mkdir(parents=True)
    (directory / "scores").write_text(
        "".join(f"{s} {u}-1 {values[s == u] + i / 100}\n" for i, s in enumerate(SPEAKERS) for u in SPEAKERS)
    )
    tags = {"system": name, "set": "toy_test_trials_f", "gender": "f", "condition": "aa", "attacker": "ecapa"}
    records = [Record("eer_kaldi", 0.25, 0.2, 0.3, **tags).with_files({"scores": f"{directory.name}/scores"})]
    records.append(Record("wer", 5.0, system=name, set="toy_test_asr", condition="a"))
    write_records(directory.parent / "results.jsonl", records)


@pytest.fixture
def compare(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = Path("data/toy_test_trials_f")
    data.mkdir(parents=True)
    kinds = {True: "target", False: "nontarget"}
    (data / "trials").write_text("".join(f"{s} {u}-1 {kinds[s == u]}\n" for s in SPEAKERS for u in SPEAKERS))
    (data / "utt2spk").write_text("".join(f"{s}-1 {s}\n" for s in SPEAKERS))
    run("weak", {True: 5.0, False: 0.0})
    run("strong", {True: -0.05, False: 0.0})
    Path("result_for_rank_b4").write_text(RANK)

    return lambda *arguments: call("compare.py", "--bootstrap", "50", *arguments)


def test_runs_and_published_baselines_share_table_differences_ranking_and_plot(compare):
    done = compare("out", "runs/weak/results.jsonl", "runs/strong/results.jsonl", "b4_2024=result_for_rank_b4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(Path("out/comparison.txt").read_text())
    for word in (
        "EER (threshold) %  b4_2024",
        "Differences: planned tests\n",
        "Ranking by the rules of VoicePrivacy 2024",
    ):
        assert word in done.stdout
    assert {path.name for path in Path("out").iterdir()} == {
        ".made",
        "comparison.txt",
        "differences.jsonl",
        "index.html",
        "figures",
        *(f"privacy_utility.{kind}" for kind in ("pdf", "png", "svg")),
    }
    eer, cllr = read_records("out/differences.jsonl")
    assert (eer.system, eer.params["versus"], eer.metric) == ("weak", "strong", "eer_threshold_difference")
    assert eer.value < -0.3
    assert (eer.notes["family"], cllr.notes["family"]) == ("planned", "exploratory")


def test_the_same_comparison_gives_the_same_files(compare):
    for out in ("a", "b"):
        assert compare(out, "runs/weak/results.jsonl", "result_for_rank_b4").returncode == 0
    for path in Path("a").rglob("*.*"):
        assert path.read_bytes() == Path("b", path.relative_to("a")).read_bytes()


def test_without_scores_of_two_systems_there_are_no_differences(compare):
    done = compare("out", "result_for_rank_b4")
    assert done.returncode == 0
    assert "Verdict" not in Path("out/index.html").read_text(), "there is none on published numbers"
    assert "Differences" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--versus", "b4", "out", "result_for_rank_b4"],
            "no scores of system 'b4' to compare with; there are those of: none",
        ),
        (["out", "nowhere"], "nowhere: no such file"),
        (["out", "data/toy_test_trials_f/utt2spk"], "data/toy_test_trials_f/utt2spk:1: is neither a results file"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(compare, arguments, message):
    done = compare(*arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(f"compare.py: {message}")
    assert done.stderr.count("\n") == 1
    assert not Path("out").exists()


def test_a_run_whose_trials_are_gone_says_so(compare):
    shutil.rmtree("data")
    done = compare("out", "runs/weak/results.jsonl", "runs/strong/results.jsonl")
    assert done.returncode == 1
    assert done.stderr == "compare.py: data/toy_test_trials_f/trials: no such file\n"
