import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from vpeval.records.record import read_records

SCRIPT = Path(__file__).parents[2] / "local/score_similarity.py"
UTTS = ["a-1", "a-2", "b-1", "b-2", "b-3", "c-1", "c-2"]


def write_scores(seed, name, gain):
    rng = np.random.default_rng(seed)
    lines = [f"{u} {v} {rng.normal(gain * (u[0] == v[0])):.5f}" for u in UTTS for v in UTTS]
    Path(name).write_text("\n".join(lines) + "\n")


@pytest.fixture
def score(tmp_path, monkeypatch, capsys):
    """Run the script on three speakers; gives (exit code, standard error)."""
    monkeypatch.chdir(tmp_path)
    for seed, (name, gain) in enumerate({"oo": 3, "oa": 0.3, "aa": 1.5}.items()):
        write_scores(seed, name, gain)
    Path("utt2spk").write_text("".join(f"{utt} {utt[0]}\n" for utt in UTTS))

    def run(*options, out="out.jsonl"):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *options, "oo", "oa", "aa", "utt2spk", out])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        captured = capsys.readouterr()
        return left.value.code, captured.err

    return run


@pytest.mark.parametrize("mode", ["full", "vpc"])
def test_records_follow_from_the_matrices_beside_them(score, mode):
    assert score("--mode", mode, "--bootstrap", "50", "--tag", "set=toy") == (0, "")
    records = read_records("out.jsonl")
    stored = json.loads(Path(records[0].notes["files"]["matrices"]).read_text())
    assert stored["speakers"] == ["a", "b", "c"]
    d_diag = {}
    for name in ("oo", "oa", "aa"):
        m = np.array(stored[name])
        d_diag[name] = abs(np.trace(m) / 3 - (m.sum() - np.trace(m)) / 6)
        assert np.allclose(m, m.T) == (mode == "vpc" or name != "oa")
    assert [record.value for record in records[:3]] == pytest.approx(list(d_diag.values()))
    assert records[3].value == pytest.approx(10 * np.log10(d_diag["aa"] / d_diag["oo"]))
    assert records[4].value == pytest.approx(1 - d_diag["oa"] / d_diag["oo"])
    assert all(record.params["mode"] == mode and record.set == "toy" for record in records)
    assert all("3 speakers" in record.notes["no_interval"] for record in records)


def test_two_runs_give_the_same_bytes(score):
    score("--bootstrap", "20", out="one/x.jsonl")
    score("--bootstrap", "20", out="two/x.jsonl")
    for file in ("x.jsonl", "x.matrices.json"):
        assert Path("one", file).read_bytes() == Path("two", file).read_bytes()


def test_a_speaker_with_one_utterance_is_left_out_with_a_warning(score, caplog):
    for name in ("oo", "oa", "aa"):
        kept = [line for line in Path(name).read_text().splitlines() if "a-2" not in line]
        Path(name).write_text("\n".join(kept) + "\n")
    assert score("--bootstrap", "20")[0] == 0
    assert [record.getMessage() for record in caplog.records] == [
        f"{name}: speakers with one utterance are not on the diagonal: a" for name in ("oo", "oa", "aa")
    ]
    assert json.loads(Path("out.matrices.json").read_text())["oo"][0][0] is None


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (4, "a-1 b-2 inf", "oa:4: score 'inf' is not finite"),
        (4, "a-1 b-1 0.5", "oa:4: pair 'a-1 b-1' appears twice"),
        (4, "a-1 z-1 0.5", "oa:4: utterance 'z-1' is not in utt2spk"),
        (4, "a-1 b-2", "oa:4: 2 fields where 3 are expected"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing_behind(score, line, text, message):
    lines = Path("oa").read_text().splitlines()
    lines[line - 1] = text
    Path("oa").write_text("\n".join(lines) + "\n")
    before = set(Path().iterdir())
    code, error = score()
    assert code == 1
    assert error.startswith(f"score_similarity.py: {message}")
    assert error.count("\n") == 1
    assert set(Path().iterdir()) == before


def test_missing_pairs_of_speakers_are_named_with_the_file(score):
    kept = [line for line in Path("aa").read_text().splitlines() if not {"a", "c"} <= set(line)]
    Path("aa").write_text("\n".join(kept) + "\n")
    code, error = score()
    assert (code, error) == (
        1,
        "score_similarity.py: aa: no pair of speakers 'a' and 'c'; score all pairs of utterances\n",
    )


def test_scores_that_tell_nothing_apart_are_an_error(score):
    Path("oo").write_text("".join(f"{u} {v} 1\n" for u in UTTS for v in UTTS))
    code, error = score()
    assert code == 1
    assert "cannot be told apart" in error
