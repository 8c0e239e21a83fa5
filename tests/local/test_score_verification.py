import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vpeval.metrics.scores import eer_threshold, pool
from vpeval.records.record import read_records

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "local/score_verification.py"


@pytest.fixture
def score(tmp_path, monkeypatch, capsys):
    """Run the script on a small cross product of trials; gives (exit code, standard error)."""
    rng = np.random.default_rng(0)
    trials, scores, other = [], [], []
    for spk in "abcd":
        for utt in [f"{u}-{i}" for u in "abcdx" for i in range(6)]:
            is_target = utt.startswith(spk)
            trials.append(f"{spk} {utt} {'target' if is_target else 'nontarget'}")
            scores.append(f"{spk} {utt} {rng.normal(2 * is_target):.6f}")
            other.append(f"{spk} {utt} {rng.normal(0.5 * is_target):.6f}")
    for name, lines in (("trials", trials), ("scores", scores), ("other", other)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        return left.value.code, capsys.readouterr().err

    return run


def test_records_and_curves_are_written(score):
    assert score("--bootstrap", "50", "--tag", "system=toy", "trials", "scores", "out/eer.jsonl") == (0, "")
    records = read_records("out/eer.jsonl")
    by_name = {record.metric: record for record in records}
    assert len(records) == 12
    assert all(record.system == "toy" for record in records)
    assert all(record.counts == {"targets": 24, "nontargets": 96, "speakers": 5} for record in records)
    assert all(record.lower <= record.value <= record.upper for record in records if record.metric.startswith("eer"))
    assert by_name["zebra_individual"].notes["tag"] == "B"

    curves = json.loads(Path("out", by_name["eer_threshold"].notes["files"]["curves"]).read_text())
    assert by_name["zebra_population"].notes["files"]["curves"] == "eer.curves.json"
    assert (curves["det"]["p_fa"][0], curves["det"]["p_miss"][-1]) == (1, 1)
    assert len(curves["ece"]["prior_log_odds"]) == len(curves["ece"]["minimum"]) == 141


def test_the_value_is_that_of_the_library(score):
    score("--bootstrap", "0", "trials", "scores", "out.jsonl")
    rows = [line.split() for line in Path("scores").read_text().splitlines()]
    own = [float(s) for spk, utt, s in rows if utt.startswith(spk)]
    others = [float(s) for spk, utt, s in rows if not utt.startswith(spk)]
    record = read_records("out.jsonl")[1]
    assert (record.metric, record.value) == ("eer_threshold", eer_threshold(pool(own, others)).value)
    assert (record.lower, record.upper) == (None, None)


def test_two_runs_give_the_same_bytes(score):
    for name in ("one", "two"):
        Path(name).mkdir()
        score("--bootstrap", "30", "--seed", "7", "--versus", "other", "trials", "scores", f"{name}/x.jsonl")
    for file in ("x.jsonl", "x.curves.json"):
        assert Path("one", file).read_bytes() == Path("two", file).read_bytes()


def test_the_order_of_the_score_file_does_not_matter(score):
    Path("reversed").write_text("".join(f"{line}\n" for line in reversed(Path("scores").read_text().splitlines())))
    score("--bootstrap", "10", "trials", "scores", "one/x.jsonl")
    score("--bootstrap", "10", "trials", "reversed", "two/x.jsonl")
    assert Path("one/x.jsonl").read_bytes() == Path("two/x.jsonl").read_bytes()


def test_another_system_is_compared_on_the_same_trials(score):
    score("--bootstrap", "100", "--versus", "other", "trials", "scores", "out.jsonl")
    records = {record.metric: record for record in read_records("out.jsonl")}
    difference = records["min_cllr_difference"]
    assert difference.value < 0
    assert difference.upper < 0
    assert difference.params["versus"] == "other"
    assert difference.notes["p_value"] == 2**-3, "four speakers cannot say more"


def test_speakers_can_come_from_utt2spk(score):
    utts = sorted({line.split()[1] for line in Path("trials").read_text().splitlines()})
    Path("utt2spk").write_text("".join(f"{utt} {utt if utt[0] == 'x' else utt[0]}\n" for utt in utts))
    score("--bootstrap", "10", "--utt2spk", "utt2spk", "trials", "scores", "out.jsonl")
    assert read_records("out.jsonl")[0].counts["speakers"] == 4 + 6


@pytest.mark.parametrize(
    ("file", "line", "text", "message"),
    [
        ("scores", 3, "a a-2 nan", "scores:3: score 'nan' is not finite"),
        ("scores", 3, "a a-9 0.1", "trials:3: trial 'a a-2' has no score in scores"),
        ("scores", 3, "a a-1 0.1", "scores:3: pair 'a a-1' appears twice"),
        ("trials", 3, "a a-1 target", "trials:3: pair 'a a-1' appears twice"),
        ("trials", 3, "a a-2 maybe", "trials:3: 'maybe' is not a label"),
        ("trials", 3, "a a-2", "trials:3: 2 fields where 3 are expected"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing_behind(score, file, line, text, message):
    lines = Path(file).read_text().splitlines()
    lines[line - 1] = text
    Path(file).write_text("\n".join(lines) + "\n")
    before = set(Path().iterdir())
    code, error = score("trials", "scores", "out.jsonl")
    assert code == 1
    assert error.startswith(f"score_verification.py: {message}")
    assert error.count("\n") == 1
    assert set(Path().iterdir()) == before


def test_a_failed_run_leaves_earlier_results_alone(score):
    score("--bootstrap", "0", "trials", "scores", "out.jsonl")
    earlier = Path("out.jsonl").read_bytes()
    assert score("--versus", "trials", "trials", "scores", "out.jsonl")[0] == 1
    assert Path("out.jsonl").read_bytes() == earlier


def test_unknown_tags_and_negative_resamples_are_refused(score):
    assert "expected NAME=VALUE" in score("--tag", "colour=red", "trials", "scores", "out.jsonl")[1]
    assert "at least 0" in score("--bootstrap", "-1", "trials", "scores", "out.jsonl")[1]


@pytest.mark.parametrize("name", ["score_verification.py", "score_similarity.py"])
def test_help_comes_without_heavy_imports(name):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", ROOT / "local" / name, "--help"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "Usage:" in done.stdout
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "numpy" in imported
    assert not imported & {"torch", "matplotlib", "scipy", "sklearn"}
