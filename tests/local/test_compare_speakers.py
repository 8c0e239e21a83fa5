from embedding_dirs import failure, records, run

from vpeval.measures.base import SpeakerValue, write_speaker_values

SCRIPT = "compare_speakers.py"


def write(path, orders):
    """Speaker values at N = 20 for every L; the order of the letters is that of the scores, best first."""
    values = [
        SpeakerValue("linkability", spk, 20, n_utts, 1 - k / 10)
        for n_utts, order in orders.items()
        for k, spk in enumerate(order)
    ]
    write_speaker_values(path, values)


def test_overlaps_are_computed_along_one_circumstance_at_a_time(tmp_path):
    write(tmp_path / "a.tsv", {"1": "abcdefghij", "3": "bacdefghji"})
    write(tmp_path / "b.tsv", {"1": "acbdefghij"})
    write(tmp_path / "c.tsv", {"3": "jbcdefghia"})
    done = run(SCRIPT, "--quantile", "0.2", "x/e=a.tsv", "x/f=b.tsv", "y/e=c.tsv", "o.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    pairs = {
        (row["metric"], row["params"]["across"]): row["value"]
        for row in records(tmp_path / "o.jsonl")
        if "a" in row["params"]
    }
    assert pairs == {
        ("jaccard_easy", "n_utts"): 1,
        ("jaccard_hard", "n_utts"): 1,
        ("jaccard_easy", "attacker"): 1 / 3,
        ("jaccard_hard", "attacker"): 1,
        ("jaccard_easy", "system"): 1 / 3,
        ("jaccard_hard", "system"): 1 / 3,
    }
    means = [row for row in records(tmp_path / "o.jsonl") if row["metric"].endswith("_mean")]
    assert len(means) == 6
    assert "x\tf\t20\t1\teasy\tc\n" in (tmp_path / "o.lists.tsv").read_text()


def test_lists_that_are_mostly_ties_are_left_out_with_a_message(tmp_path):
    write(tmp_path / "a.tsv", {"1": "abcdefghij", "3": "bacdefghji"})
    tied = [SpeakerValue("linkability", spk, 20, "1", float(spk < "c")) for spk in "abcdefghij"]
    write_speaker_values(tmp_path / "b.tsv", tied)
    done = run(SCRIPT, "x/e=a.tsv", "x/f=b.tsv", "o.jsonl", cwd=tmp_path)
    assert done.returncode == 0
    assert "N = 20; lists that are mostly ties are left out: hard speakers of x/f L=1: 8 of 10\n" in done.stderr
    across = {(row["metric"], row["params"]["across"]) for row in records(tmp_path / "o.jsonl")}
    assert {name for name, axis in across if axis == "attacker"} == {"jaccard_easy", "jaccard_easy_mean"}
    assert "x\tf\t20\t1\thard" not in (tmp_path / "o.lists.tsv").read_text()


def test_mistakes_are_one_line_and_leave_nothing_behind(tmp_path):
    write(tmp_path / "a.tsv", {"1": "abcdefghij"})
    (tmp_path / "bad.tsv").write_text("metric speaker N L value\nlinkability a x 1 0.5\n")
    (tmp_path / "other.tsv").write_text("a b c d e\n")

    def fails(*arguments, parts):
        message = failure(SCRIPT, *arguments, "o.jsonl", cwd=tmp_path)
        assert all(part in message for part in parts), message
        assert not list(tmp_path.glob("o.*"))

    fails("a.tsv", parts=["<system>/<attacker>="])
    fails("x/e=bad.tsv", parts=["bad.tsv:2", "must be numbers"])
    fails("x/e=other.tsv", parts=["other.tsv:1", "first line"])
    fails("--n", "7", "x/e=a.tsv", parts=["N = 7", "N = 20"])
    fails("--metric", "srd_idr", "x/e=a.tsv", parts=["srd_idr"])
    write_speaker_values(tmp_path / "t.tsv", [SpeakerValue("linkability", spk, 5, "1", 1.0) for spk in "abcdefgh"])
    fails("x/e=t.tsv", parts=["all lists are mostly ties at N = 5", "8 of 8", "--utt-draws"])
