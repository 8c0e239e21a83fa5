"""Official lists in all the shapes in which they are handed on."""

from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.corpora.lists import Lists, read_list

TRIALS = "84 84-1-0001 target\n84 99-1-0000 nontarget\n"


def place(root: Path, name: str, content: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "libri_dev/trials_f",
        "libri_dev_trials_f/trials",
        "libri_dev_trials_f",
        "libri_dev_trials_f.lst",
        "deep/er/libri_dev/trials_f",
    ],
)
def test_trials_are_found_as_handed_out_as_data_directory_and_as_plain_file(tmp_path: Path, name: str) -> None:
    place(tmp_path, name, TRIALS)
    found = Lists(tmp_path).trials("libri_dev", "f")
    assert found is not None
    assert found.trials == (("84", "84-1-0001", "target"), ("84", "99-1-0000", "nontarget"))
    assert found.utts == ("84-1-0001", "99-1-0000")
    assert Lists(tmp_path).trials("libri_dev", "m") is None
    assert Lists(tmp_path).enrolls("libri_dev") is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("vctk_dev/enrolls_mic2", "p1_026_mic2\np1_025_mic2\n"),
        ("vctk_dev_enrolls.lst", "data/vctk_dev/wav/p1/p1_025_mic2.wav\ndata/vctk_dev/wav/p1/p1_026_mic2.wav\n"),
        ("vctk_dev_enrolls/enrolls", "p1_025_mic2\np1_026_mic2\n"),
        ("vctk_dev_enrolls/utt2spk", "p1_025_mic2 p1\np1_026_mic2 p1\n"),
        ("vctk_dev_enrolls.txt", "p1_025_mic2.flac\r\np1_026_mic2.flac\r\n\n"),
    ],
)
def test_enrolments_are_utterances_or_file_names(tmp_path: Path, name: str, content: str) -> None:
    place(tmp_path, name, content)
    found = Lists(tmp_path).enrolls("vctk_dev")
    assert found is not None and found.utts == ("p1_025_mic2", "p1_026_mic2")


def test_the_folder_may_be_the_data_directory_of_the_set_itself(tmp_path: Path) -> None:
    place(tmp_path, "libri_dev/trials_f", TRIALS)
    assert Lists(tmp_path / "libri_dev").trials("libri_dev", "f") is not None


def test_two_lists_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    place(tmp_path, "a/libri_dev/enrolls", "84-1-0000\n")
    place(tmp_path, "b/libri_dev/enrolls", "84-1-0000\n")
    assert Lists(tmp_path).enrolls("libri_dev") is not None
    place(tmp_path, "b/libri_dev/enrolls", "84-1-0001\n")
    with pytest.raises(InputError, match=r"b/libri_dev/enrolls: does not say the same as .*a/libri_dev/enrolls"):
        Lists(tmp_path).enrolls("libri_dev")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a b c d\n", ":1: expected an utterance"),
        ("a\na\n", ":2: utterance 'a' is on line 1 already"),
        (TRIALS + "84 84-1-0001 maybe\n", ":3: expected <speaker> <utterance> target|nontarget"),
        (TRIALS + TRIALS, ":3: trial '84 84-1-0001' appears twice"),
    ],
)
def test_a_malformed_list_is_told_where_it_is_wrong(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_list(place(tmp_path, "x", content))
    assert message in str(caught.value)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such directory of official lists; check --lists"):
        Lists(tmp_path / "nowhere")
