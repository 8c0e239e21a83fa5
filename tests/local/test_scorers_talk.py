"""What a scorer prints when it is used alone, without tags: its numbers in one small table."""

import numpy as np
from in_process import call

from vpeval.records.record import read_records


def test_a_verification_scorer_prints_its_table_and_the_summary_reads_its_records(tmp_path):
    rng = np.random.default_rng(0)
    trials, scores = [], []
    for spk in "abcdef":
        for other in "abcdef":
            for k in range(4):
                trials.append(f"{spk} {other}-{k} {'target' if spk == other else 'nontarget'}\n")
                scores.append(f"{spk} {other}-{k} {rng.normal(2 * (spk == other)):.4f}\n")
    (tmp_path / "trials").write_text("".join(trials))
    (tmp_path / "scores").write_text("".join(scores))
    done = call("score_verification.py", "--bootstrap", 50, "trials", "scores", "eer.jsonl", cwd=tmp_path)
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["p", "value", "95", "%", "interval", "chance"]
    assert rows[-1] == "24 targets, 120 nontargets, 6 speakers"
    shown = {row[: row.index("  ")]: row for row in rows[:-1]}
    eer = next(r for r in read_records(tmp_path / "eer.jsonl") if r.metric == "eer_kaldi")
    assert f"{100 * eer.value:.2f}  [{100 * eer.lower:.2f},{100 * eer.upper:.2f}]" in shown["EER (Kaldi) %"]
    summed = call("print_summary.py", "eer.jsonl", cwd=tmp_path)
    assert summed.returncode == 0
    assert "EER (Kaldi) %" in summed.stdout
