from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.audio.io import write_wave
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.fix import fix
from vpeval.data.validate import validate


def snapshot(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def shuffle_lines(path: Path) -> None:
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))


def test_a_good_directory_is_left_untouched(toy: DataDir) -> None:
    before = snapshot(toy.path)
    inode = toy.path.stat().st_ino
    fixed = fix(toy.path)
    assert (fixed.notes, fixed.changed) == ((), ())
    assert snapshot(toy.path) == before
    assert toy.path.stat().st_ino == inode


def test_disorder_is_fixed_and_the_old_files_are_kept(toy: DataDir) -> None:
    before = snapshot(toy.path)
    shuffle_lines(toy.path / "utt2spk")
    shuffle_lines(toy.path / "trials")
    disordered = snapshot(toy.path)
    fixed = fix(toy.path)
    assert fixed.changed == ("trials", "utt2spk")
    after = snapshot(toy.path)
    assert {name: content for name, content in after.items() if not name.startswith(".backup/")} == before
    assert after[".backup/utt2spk"] == disordered["utt2spk"]
    assert after[".backup/trials"] == disordered["trials"]
    assert validate(toy.path) == []


def test_everything_fixable_is_fixed_at_once(toy: DataDir) -> None:
    (toy.path / "utt2spk").write_text("\nc-2 c\nc-1 c\r\nb-2 b\nb-2 b\nb-1 b\na-2 a\na-1 a\na-1 c\nd 1 d")
    (toy.path / "text").write_text("".join(f"{utt} HI\n" for utt in ["a-1", "a-2", "b-2", "c-1", "c-2", "x-1"]))
    (toy.path / "spk2utt").unlink()
    (toy.path / "spk2gender").write_text("z m\na f\nb m\nc f\n")
    (toy.path / "enrolls").write_text("b-1\na-1\na-1\n")
    (toy.path / "trials").write_text("a a-2 target\nb a-2 nontarget\nb a-2 target\na b-1 nontarget\na a-1 maybe\n")
    Path(toy.wav["c-1"]).write_bytes(b"")
    write_wave(toy.wav["c-2"], 0.1 * np.sin(np.arange(4000)))

    fixed = fix(toy.path)
    assert validate(toy.path) == []
    data = DataDir.load(toy.path)
    assert data == fixed.data
    assert data.utt2spk == {"a-1": "a", "a-2": "a", "b-2": "b", "c-2": "c"}
    assert data.utt2dur["c-2"] == 0.25
    assert data.enrolls == ("a-1",)
    assert data.trials == (("a", "a-2", "target"), ("b", "a-2", "nontarget"))
    notes = [note.removeprefix(f"{toy.path}/") for note in fixed.notes]
    for start in (
        "utt2spk: dropped 1 malformed lines",
        "utt2spk: dropped 1 blank lines",
        "utt2spk: dropped 1 lines that contradict an earlier one (line 9, 'a-1')",
        "text: dropped 1 utterances that utt2spk does not have (x-1)",
        "text: dropped 1 utterances that it does not have (b-1)",
        "trials: dropped 1 malformed lines",
        "trials: dropped 1 lines that contradict an earlier one (line 3, 'b a-2')",
        "trials: dropped 1 lines whose utterance is gone",
        "enrolls: dropped 1 lines whose utterance is gone",
        "spk2gender: dropped 1 speakers without utterances (z)",
        "wav.scp: dropped 1 utterances without readable audio (c-1: ",
        "utt2dur: corrected 1 durations from the audio (c-2)",
    ):
        assert any(note.startswith(start) for note in notes), (start, notes)


def test_what_else_is_in_the_directory_survives_but_old_splits_go(toy: DataDir) -> None:
    (toy.path / "wav").mkdir()
    (toy.path / "wav" / "a-1.wav").write_bytes(b"sound")
    (toy.path / "README").write_text("mine\n")
    (toy.path / "split2" / "1").mkdir(parents=True)
    shuffle_lines(toy.path / "text")
    fix(toy.path)
    assert (toy.path / "wav" / "a-1.wav").read_bytes() == b"sound"
    assert (toy.path / "README").read_text() == "mine\n"
    assert not (toy.path / "split2").exists()


def test_a_second_repair_changes_nothing_and_keeps_the_backup(toy: DataDir) -> None:
    shuffle_lines(toy.path / "text")
    fix(toy.path)
    once = snapshot(toy.path)
    assert fix(toy.path).changed == ()
    assert snapshot(toy.path) == once


def test_missing_audio_is_kept_when_the_audio_is_not_looked_at(toy: DataDir) -> None:
    Path(toy.wav["a-1"]).unlink()
    assert fix(toy.path, audio=False).changed == ()
    assert fix(toy.path).data.utts == toy.utts[1:]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("text", "x-1 HI\n", "no utterances remained, so nothing was changed: .*text: dropped 6 utterances"),
        ("enrolls", "x-1\n", "no enrolls remained"),
        ("trials", "a x-1 target\n", "no trials remained"),
        ("segments", "a-1 r 0 1\n", "segments are not supported"),
    ],
)
def test_where_nothing_would_remain_nothing_is_changed(toy: DataDir, name: str, content: str, complaint: str) -> None:
    (toy.path / name).write_text(content)
    before = snapshot(toy.path)
    with pytest.raises(InputError, match=complaint):
        fix(toy.path)
    assert snapshot(toy.path) == before


def test_without_utt2spk_there_is_nothing_to_fix(toy: DataDir) -> None:
    (toy.path / "utt2spk").unlink()
    with pytest.raises(InputError, match="utt2spk: no such file"):
        fix(toy.path)


def test_a_bad_duration_is_read_from_the_audio_or_costs_the_utterance(toy: DataDir) -> None:
    text = (toy.path / "utt2dur").read_text()
    (toy.path / "utt2dur").write_text(text.replace("a-1 0.1", "a-1 -1"))
    assert fix(toy.path).data.utt2dur["a-1"] == 0.1
    (toy.path / "utt2dur").write_text(text.replace("a-1 0.1", "a-1 -1"))
    assert fix(toy.path, audio=False).data.utts == toy.utts[1:]
    assert validate(toy.path) == []


LINES = st.lists(
    st.sampled_from(["a-1 a", "a-1 b", "a-2 a", "b-1 b", "b-2 b", "", "junk", "a 1 a", "c-1 c"]), max_size=8
)


@settings(max_examples=40)
@given(utt2spk=LINES, text=LINES, newline=st.sampled_from(["\n", "\r\n"]), end=st.sampled_from(["", "\n"]))
def test_after_fixing_the_directory_is_valid_or_untouched(
    tmp_path_factory: pytest.TempPathFactory, utt2spk: list[str], text: list[str], newline: str, end: str
) -> None:
    path = tmp_path_factory.mktemp("data")
    (path / "utt2spk").write_text(newline.join(["b-2 b", *utt2spk]) + end)
    (path / "text").write_text(newline.join(text) + end)
    before = snapshot(path)
    try:
        fix(path, audio=False)
    except InputError:
        assert snapshot(path) == before
    else:
        problems = validate(path, wav=False)
        # That an id does not begin with its speaker is nothing that can be fixed.
        assert {problem.kind for problem in problems} <= {"order", "prefix", "one speaker"}
        assert all("by speaker" in problem.message for problem in problems if problem.kind == "order")
        DataDir.load(path)
