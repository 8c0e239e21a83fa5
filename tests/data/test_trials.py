import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.data.trials import read_scores, read_trials, trial_speakers

TRIALS = "a a-1 target\na b-1 nontarget\nb a-1 nontarget\nb b-1 target\nb x-1 nontarget\na y nontarget\n"


def write(path, text):
    path.write_text(text)
    return path


@pytest.fixture
def trials(tmp_path):
    return read_trials(write(tmp_path / "trials", TRIALS))


def test_scores_are_matched_to_trials_in_any_order(tmp_path, trials):
    lines = [f"{spk} {utt} {i / 4}" for i, (spk, utt) in enumerate(trials.rows)]
    for order in (lines, lines[::-1], sorted(lines, key=hash)):
        assert read_scores(write(tmp_path / "scores", "\n".join(order) + "\n"), trials).tolist() == [
            0,
            0.25,
            0.5,
            0.75,
            1,
            1.25,
        ]


def test_labels_are_read(trials):
    assert trials.is_target.tolist() == [True, False, False, True, False, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "trials: holds no trials"),
        ("a a-1 target\na b-1 target\n", "trials: holds no nontarget trials"),
        ("a a-1 nontarget\n", "trials: holds no target trials"),
        ("a a-1 target\na b-1 imposter\n", "trials:2: 'imposter' is not a label"),
        ("a a-1 target\na b-1\n", "trials:2: 2 fields where 3"),
        ("a a-1 target\na b-1 nontarget\na a-1 target\n", "trials:3: pair 'a a-1' appears twice"),
    ],
)
def test_bad_trials_are_named_with_their_line(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_trials(write(tmp_path / "trials", text))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:2] + lines[3:], "trials:3: trial 'b a-1' has no score"),
        (lambda lines: [lines[0], "z a-1 0.5", *lines[1:]], "scores:2: no trial 'z a-1'"),
        (lambda lines: [*lines, lines[1]], "scores:7: pair 'a b-1' appears twice"),
        (lambda lines: ["a a-1 nan", *lines[1:]], "scores:1: score 'nan' is not finite"),
        (lambda lines: [*lines[:-1], "a y -inf"], "scores:6: score '-inf' is not finite"),
        (lambda lines: ["a a-1 high", *lines[1:]], "scores:1: score 'high' is not a number"),
        (lambda lines: ["a a-1", *lines[1:]], "scores:1: 2 fields where 3"),
        (lambda lines: [], "scores: holds no scores"),
    ],
)
def test_bad_scores_are_named_with_their_line(tmp_path, trials, change, message):
    lines = change([f"{spk} {utt} 0.5" for spk, utt in trials.rows])
    with pytest.raises(InputError, match=message):
        read_scores(write(tmp_path / "scores", "".join(f"{line}\n" for line in lines)), trials)


def test_speakers_come_from_targets_then_from_the_prefix_then_from_the_utterance(trials):
    speakers = trial_speakers(trials)
    assert speakers.names == ["a", "b", "x", "y"]
    assert [speakers.names[i] for i in speakers.enroll] == ["a", "a", "b", "b", "b", "a"]
    assert [speakers.names[i] for i in speakers.trial] == ["a", "b", "a", "b", "x", "y"]


def test_a_target_trial_outweighs_the_prefix(tmp_path):
    text = "spk7 rec1-1 target\nspk8 rec1-1 nontarget\n"
    speakers = trial_speakers(read_trials(write(tmp_path / "trials", text)))
    assert speakers.names == ["spk7", "spk8"]
    assert speakers.trial.tolist() == [0, 0]


def test_utt2spk_decides_where_it_is_given(trials):
    utt2spk = {"a-1": "a", "b-1": "b", "x-1": "z", "y": "z"}
    speakers = trial_speakers(trials, utt2spk)
    assert speakers.names == ["a", "b", "z"]
    assert np.array(speakers.names)[speakers.trial].tolist() == ["a", "b", "a", "b", "z", "z"]


@pytest.mark.parametrize(
    ("utt2spk", "message"),
    [
        ({"a-1": "a", "b-1": "b", "x-1": "x"}, "trials:6: utterance 'y' is not in u2s"),
        ({"a-1": "b", "b-1": "b", "x-1": "x", "y": "y"}, "trials:1: target trial of 'a', but u2s says .* 'b'"),
        ({"a-1": "a", "b-1": "b", "x-1": "b", "y": "y"}, "trials:5: nontarget trial of 'b', but u2s says .* 'b'"),
    ],
)
def test_an_utt2spk_that_contradicts_the_trials_is_an_error(trials, utt2spk, message):
    with pytest.raises(InputError, match=message):
        trial_speakers(trials, utt2spk, "u2s")


def test_an_utterance_cannot_be_a_target_of_two_speakers(tmp_path):
    text = "a a-1 target\nb a-1 target\nc a-1 nontarget\n"
    with pytest.raises(InputError, match="trials:2: 'a-1' is a target of both 'a' and 'b'"):
        trial_speakers(read_trials(write(tmp_path / "trials", text)))
