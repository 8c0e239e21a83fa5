import numpy as np
import pytest
from embedding_dirs import failure, records, run, speakers, write

from vpeval.measures.base import read_speaker_values

SCRIPT = "score_singling_out.py"


@pytest.fixture
def corpus(tmp_path):
    test = speakers(24, 12, 1.5, seed=2)
    test["s01"] = test["s01"][:5]
    write(tmp_path / "test", test)
    write(tmp_path / "enroll", dict(list(speakers(24, 8, 1.5, seed=1).items())[:10]))
    return tmp_path


def test_every_n_and_l_of_the_default_lists_that_fits_has_a_record(corpus):
    done = run(SCRIPT, "--tag", "system=toy", "enroll", "test", "sing.jsonl", cwd=corpus)
    assert done.returncode == 0
    assert "L = 30" in done.stderr
    rows = records(corpus / "sing.jsonl")
    assert [(row["params"]["L"], row["params"]["N"]) for row in rows] == [(1, 20), (1, 24), (3, 20), (3, 23)]
    for row in rows:
        assert row["metric"] == "singling_out"
        assert row["lower"] <= row["value"] <= row["upper"]
        assert row["notes"]["paper_chance"] == pytest.approx(np.exp(-1))
        assert row["params"]["draws"] == 5
    # Speaker s01 has five utterances: K = 5 at L = 1, nothing at L = 3; the others have K = 10 and 4.
    assert rows[0]["counts"] == {
        "enroll_speakers": 10,
        "test_speakers": 24,
        "left_out": 0,
        "short_enroll": 10,
        "short_test": 1,
    }
    assert (rows[2]["counts"]["enroll_speakers"], rows[2]["counts"]["left_out"]) == (9, 1)
    assert [row["notes"]["folds"] for row in rows] == [10, 10, 4, 4]
    assert rows[2]["notes"]["chance"] == pytest.approx(0.75**4, abs=0.02)


def test_two_runs_with_the_same_seed_are_equal_to_the_byte(corpus):
    for name in ("a", "b"):
        done = run(
            SCRIPT, "--n-enroll", "4", "--n-utts", "1", "--draws", "2", "enroll", "test", f"{name}/s.jsonl", cwd=corpus
        )
        assert done.returncode == 0
    for file in ("s.jsonl", "s.speakers.tsv"):
        assert (corpus / "a" / file).read_bytes() == (corpus / "b" / file).read_bytes()
    values = read_speaker_values(corpus / "a/s.speakers.tsv")
    assert len(values) == 2 * 4
    assert all(len(value.draws) == 2 and value.value == pytest.approx(value.score) for value in values)


def test_mistakes_are_one_line_and_leave_nothing_behind(corpus):
    def fails(*arguments, parts):
        message = failure(SCRIPT, *arguments, "o.jsonl", cwd=corpus)
        assert all(part in message for part in parts), message
        assert not list(corpus.glob("o.*"))

    fails("--n-speakers", "25", "enroll", "test", parts=["--n-speakers 25", "24 speakers"])
    fails("--n-utts", "all", "enroll", "test", parts=["--n-utts all"])
    fails("--n-utts", "7", "enroll", "test", parts=["L = 7", "14 utterances"])
    fails("--n-enroll", "11", "enroll", "test", parts=["--n-enroll 11", "at most 10"])
    write(corpus / "strangers", {"x": speakers(1, 4, 1, seed=3)["s00"]})
    fails("strangers", "test", parts=["strangers/utt2spk", "none of the speakers is in test"])
