import os
import shutil
import time
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.jobs import audio_digest, stamps
from vpeval.jobs.audio_digest import INDEX, named_audio
from vpeval.jobs.stamps import STAMP, Fingerprint, is_current, why, write_stamp

PRINT = Fingerprint({}, {}, {})


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three files are many."""
    monkeypatch.setattr(audio_digest, "MANY", 2)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A set with three files in two directories that nobody has changed for a while."""
    directory = tmp_path / "set"
    for place in ("a/a-1", "a/a-2", "b/b-1"):
        (directory / "wav" / place).parent.mkdir(parents=True, exist_ok=True)
        (directory / "wav" / f"{place}.wav").write_bytes(b"RIFF")
    (directory / "wav.scp").write_text("".join(f"{u} {directory}/wav/{u[0]}/{u}.wav\n" for u in ("a-1", "a-2", "b-1")))
    for place in (directory / "wav", directory / "wav/a", directory / "wav/b"):
        os.utime(place, ns=(0, time.time_ns() - 10**10))
    return directory


def overwrite(path: Path) -> None:
    with open(path, "r+b") as file:
        file.write(b"LONGER")


def exchange(path: Path) -> None:
    path.with_suffix(".new").write_bytes(b"XXXX")
    path.with_suffix(".new").rename(path)


def test_a_small_set_is_always_looked_at_in_full(data: Path) -> None:
    before = named_audio(data)
    overwrite(data / "wav/a/a-1.wav")
    assert named_audio(data) != before


def again(directory: Path) -> None:
    """What a copy does: the same contents, at another time."""
    for path in sorted(directory.rglob("*")):
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9 - 5 * 10**11))


@pytest.mark.parametrize("most", [2, 4096])
def test_a_copy_of_the_folder_of_a_run_has_the_same_audio(
    data: Path, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audio_digest, "MANY", most)
    monkeypatch.chdir(tmp_path)
    (data / "wav.scp").write_text("".join(f"{u} set/wav/{u[0]}/{u}.wav\n" for u in ("a-1", "a-2", "b-1")))
    before = named_audio(data)
    write_stamp(data / STAMP, PRINT, [data])
    shutil.copytree(tmp_path / "set", tmp_path / "moved/set", copy_function=shutil.copy)
    again(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert named_audio(Path("set")) == before
    assert is_current(Path("set") / STAMP, PRINT, [Path("set")])
    exchange(Path("set/wav/a/a-1.wav"))
    assert named_audio(Path("set")) != before
    assert why(Path("set") / STAMP, PRINT, [Path("set")]) == "its files were touched"


def test_audio_elsewhere_counts_by_content_too(data: Path) -> None:
    before = named_audio(data)
    again(data / "wav")
    assert named_audio(data) == before
    exchange(data / "wav/a/a-1.wav")
    assert named_audio(data) != before


def replace_unseen(path: Path) -> None:
    """Other bytes of the same size, with the time of change of the old ones."""
    status = path.stat()
    path.write_bytes(bytes(reversed(path.read_bytes())))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_audio_of_the_same_size_and_time_is_noticed_where_the_file_system_has_the_time_of_any_change(
    data: Path,
) -> None:
    write_stamp(data / STAMP, PRINT, [data])
    before = named_audio(data)
    replace_unseen(data / "wav/a/a-1.wav")
    assert named_audio(data) != before
    assert why(data / STAMP, PRINT, [data]) == "its files were touched"


@pytest.mark.parametrize("most", [2, 4096])
def test_whoever_verifies_sees_audio_of_the_same_size_and_time_on_any_file_system(
    data: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audio_digest, "MANY", most)
    monkeypatch.setattr(audio_digest, "times_of", lambda status: str(status.st_mtime_ns))  # as some have it
    before = named_audio(data)
    replace_unseen(data / "wav/a/a-1.wav")
    assert named_audio(data) == before
    monkeypatch.setenv("VPEVAL_VERIFY", "true")
    assert named_audio(data) != before


def test_next_to_a_list_of_somebody_else_audio_elsewhere_counts_by_sizes_and_times(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(audio_digest, "_contents", lambda paths: pytest.fail("read every time") if paths else iter(()))
    before = named_audio(data)
    again(data / "wav")
    assert named_audio(data) != before


def test_audio_of_ours_is_read_once(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = named_audio(data)
    monkeypatch.setattr(audio_digest, "_contents", lambda paths: pytest.fail("they were read before"))
    assert named_audio(data) == before


def test_of_a_large_set_the_folders_tell_whether_files_have_changed(data: Path, many: None) -> None:
    before = named_audio(data)
    assert (data / INDEX).exists() and named_audio(data) == before
    exchange(data / "wav/a/a-1.wav")
    changed = named_audio(data)
    (data / "wav/b/b-1.wav").unlink()
    gone = named_audio(data)
    (data / "wav.scp").write_text(f"a-2 {data}/wav/a/a-2.wav\n")
    assert len({before, changed, gone, named_audio(data)}) == 4


def test_what_is_overwritten_in_place_is_found_by_who_verifies(
    data: Path, many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = named_audio(data)
    overwrite(data / "wav/a/a-1.wav")
    assert named_audio(data) == before
    monkeypatch.setenv("VPEVAL_VERIFY", "true")
    verified = named_audio(data)
    assert verified != before
    monkeypatch.setenv("VPEVAL_VERIFY", "false")
    assert named_audio(data) == verified, "and is known from then on"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"scp": 1}', b'{"folders": []}'])
def test_a_damaged_index_is_made_again(data: Path, many: None, content: bytes) -> None:
    before = named_audio(data)
    (data / INDEX).write_bytes(content)
    assert named_audio(data) == before


def test_folders_that_have_just_changed_are_not_believed_yet(data: Path, many: None) -> None:
    (data / "wav/a").touch()
    before = named_audio(data)
    overwrite(data / "wav/b/b-1.wav")
    assert named_audio(data) != before


def test_folders_from_the_future_are_believed_as_those_of_a_clock_that_was_set_back(data: Path, many: None) -> None:
    for place in (data / "wav/a", data / "wav/b"):
        os.utime(place, ns=(0, time.time_ns() + 10**13))
    before = named_audio(data)
    assert '"folders": {}' not in (data / INDEX).read_text()
    exchange(data / "wav/a/a-1.wav")
    assert named_audio(data) != before


def test_relative_paths_are_looked_up_where_one_is(data: Path, many: None, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "wav.scp").write_text("".join(f"{u} wav/{u[0]}/{u}.wav\n" for u in ("a-1", "a-2", "b-1")))
    monkeypatch.chdir(data)
    here = named_audio(data)
    monkeypatch.chdir("/")
    assert named_audio(data) != here


@pytest.mark.parametrize("change", [overwrite, exchange, Path.unlink])
@pytest.mark.parametrize("verify", ["false", "true"])
def test_a_published_set_is_current_until_its_folders_tell_otherwise_or_somebody_verifies(
    data: Path, many: None, change, verify: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stamp(data / STAMP, PRINT, [data])
    moved = data.rename(data.with_name("published"))
    assert is_current(moved / STAMP, PRINT, [moved])
    change(moved / "wav/a/a-1.wav")
    monkeypatch.setenv("VPEVAL_VERIFY", verify)
    assert is_current(moved / STAMP, PRINT, [moved]) == (change is overwrite and verify == "false")


def test_the_stamp_of_a_large_set_does_not_name_its_files(data: Path) -> None:
    write_stamp(data / STAMP, PRINT, [data])
    assert "a-1.wav" not in (data / STAMP).read_text()


def test_a_bit_that_flipped_on_disk_is_found_by_who_verifies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ark = tmp_path / "embedding.ark"
    ark.write_bytes(b"0123")
    status = ark.stat()
    monkeypatch.setattr(stamps, "times_of", lambda status: str(status.st_mtime_ns))  # the disk itself changes no time
    write_stamp(tmp_path / STAMP, PRINT, [tmp_path])
    ark.write_bytes(b"0133")
    os.utime(ark, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert is_current(tmp_path / STAMP, PRINT, [tmp_path])
    monkeypatch.setenv("VPEVAL_VERIFY", "true")
    assert why(tmp_path / STAMP, PRINT, [tmp_path]) == "its files were touched"


def test_verifying_is_true_or_false(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_VERIFY", "yes")
    with pytest.raises(InputError, match="VPEVAL_VERIFY=yes: expected true or false"):
        named_audio(data)
