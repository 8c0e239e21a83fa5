import os
from pathlib import Path

import pytest

from vpeval.core.files import atomic_path, replace_directory, write_text


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_file_is_written_as_utf8_with_unix_line_ends_into_directories_made_for_it(tmp_path: Path) -> None:
    write_text(tmp_path / "a/b/text", "utt é\nutt2 ß\n")
    assert (tmp_path / "a/b/text").read_bytes() == "utt é\nutt2 ß\n".encode()
    assert names(tmp_path / "a/b") == ["text"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_text(tmp_path / "scores", "old\n")
    with pytest.raises(RuntimeError), atomic_path(tmp_path / "scores") as temporary:
        temporary.write_text("half of the new")
        raise RuntimeError
    assert names(tmp_path) == ["scores"]
    assert (tmp_path / "scores").read_text() == "old\n"


def test_nothing_stands_under_the_final_name_until_it_is_whole(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "scores") as temporary:
        temporary.write_text("new")
        assert not (tmp_path / "scores").exists()
        assert temporary.name.startswith(".") and temporary.parent == tmp_path
    assert (tmp_path / "scores").read_text() == "new"


def test_the_umask_decides_who_may_read_a_file(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "text", "x\n")
    finally:
        os.umask(old)
    assert (tmp_path / "text").stat().st_mode & 0o777 == 0o640


def test_a_directory_takes_the_place_of_another_whole(tmp_path: Path) -> None:
    for name, file in (("new", "b"), ("out", "a")):
        write_text(tmp_path / name / file, name)
    replace_directory(tmp_path / "new", tmp_path / "out")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["b"]


def test_a_directory_goes_where_there_was_none(tmp_path: Path) -> None:
    write_text(tmp_path / "new/b", "x")
    replace_directory(tmp_path / "new", tmp_path / "out")
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("last", ["rename", "rmdir"])
def test_what_a_kill_during_an_exchange_left_is_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    for name in ("out", "new", "newer"):
        write_text(tmp_path / name / "file", name)
    original = getattr(Path, last)

    def killed(self: Path, *places: Path) -> object:
        if last == "rmdir" or self.name == "new":
            raise KeyboardInterrupt
        return original(self, *places)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, last, killed)
        replace_directory(tmp_path / "new", tmp_path / "out")
    assert [name for name in names(tmp_path) if name.endswith(".old")]
    replace_directory(tmp_path / "newer", tmp_path / "out")
    assert not [name for name in names(tmp_path) if name.endswith(".old")]
    assert (tmp_path / "out/file").read_text() == "newer"


def test_directories_of_somebody_that_resemble_ours_stay(tmp_path: Path) -> None:
    theirs = [".out.old/a", ".out.mine.old/b", ".out.a1b2c3d4.old/out/file"]
    for name in (*theirs, "out/file", "new/file"):
        write_text(tmp_path / name, name)
    replace_directory(tmp_path / "new", tmp_path / "out")
    assert [(tmp_path / name).read_text() for name in theirs] == theirs
    assert (tmp_path / "out/file").read_text() == "new/file"
