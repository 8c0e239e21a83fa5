import json

import pytest
from in_process import call


@pytest.fixture
def score(tmp_path):
    """Run the script on two speakers, one to a fold."""
    data = tmp_path / "IEMOCAP_dev"
    data.mkdir()
    (data / "utt2emo").write_text("a-1 sad\na-2 sad\na-3 ang\nb-1 sad\nb-2 ang\n")
    (data / "utt2spk").write_text("a-1 a\na-2 a\na-3 a\nb-1 b\nb-2 b\n")
    (data / "spk2fold").write_text("a 1\nb 2\n")
    (tmp_path / "predictions").write_text("a-1 sad\na-2 ang\na-3 ang\nb-1 sad\nb-2 ang\n")

    def run(*arguments):
        return call("score_uar.py", *arguments, cwd=tmp_path)

    return run


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_mean_over_folds_and_the_emotions_are_written(score, tmp_path):
    done = score("--tag", "set=IEMOCAP_dev", "IEMOCAP_dev", "predictions", "uar.jsonl")
    # Two speakers are too few for an interval.
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:]] == [
        ["UAR", "%", "87.50"],
        ["Emotion", "accuracy", "%"],
        ["Emotion", "accuracy", "%"],
    ]
    uar, sad, ang = read(tmp_path / "uar.jsonl")
    assert "needs 4 or more" in uar["notes"]["no_interval"]
    assert (uar["metric"], uar["value"], uar["notes"]["folds"], uar["set"]) == ("uar", 87.5, 2, "IEMOCAP_dev")
    assert (sad["metric"], sad["params"]["emotion"], sad["value"]) == ("emotion_accuracy", "sad", 75)
    assert (ang["value"], ang["counts"]) == (100, {"utts": 2})


def test_without_folds_one_pass_is_made(score, tmp_path):
    (tmp_path / "IEMOCAP_dev/spk2fold").unlink()
    assert score("IEMOCAP_dev", "predictions", "uar.jsonl").stdout.splitlines()[1].split()[:3] == ["UAR", "%", "83.33"]
    assert "folds" not in read(tmp_path / "uar.jsonl")[0]["params"]


def test_a_missing_prediction_is_named(score, tmp_path, caplog):
    (tmp_path / "predictions").write_text("a-1 sad\n")
    score("IEMOCAP_dev", "predictions", "uar.jsonl")
    assert "no prediction, counted as wrong: a-2, a-3, b-1, b-2" in caplog.text
    assert read(tmp_path / "uar.jsonl")[0]["counts"] == {"utts": 5, "missing": 4}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("predictions", "x-1 sad\n", "predictions: utterance 'x-1' has no emotion in utt2emo"),
        ("predictions", "a-1\n", "predictions:1: 'a-1' has no emotion"),
        ("IEMOCAP_dev/spk2fold", "a 1\n", "speaker 'b' of utterance 'b-1' has no fold"),
        ("IEMOCAP_dev/utt2spk", "a-1 a\n", "utterance 'a-2' of utt2emo has no speaker"),
    ],
)
def test_a_mistake_is_one_message_and_leaves_no_file(score, tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    done = score("IEMOCAP_dev", "predictions", "uar.jsonl")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "uar.jsonl").exists()
