import json
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import (
    MARKER,
    STAMP,
    begin_work,
    claim,
    end_work,
    publish,
    refuse_target,
    replaced_directory,
    staged_directory,
    work_of,
    write_own,
)


def make(target: Path, *names: str, inputs: tuple[Path, ...] = ()) -> None:
    with staged_directory(target, inputs) as new:
        for name in names:
            write_text(new / name, name)


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def test_what_we_published_gives_way_to_what_we_publish(tmp_path: Path) -> None:
    make(tmp_path / "out", "a", "deep/er/b")
    make(tmp_path / "out", "c")
    assert names(tmp_path / "out") == [MARKER, "c"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_directory_is_a_free_place(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    make(tmp_path / "out", "a")
    assert names(tmp_path / "out") == [MARKER, "a"]


@pytest.mark.parametrize("theirs", ["thesis.tex", ".git/config", "wav/mine.wav", "empty/"])
def test_a_directory_that_we_did_not_make_stays(tmp_path: Path, theirs: str) -> None:
    place = tmp_path / "out" / theirs
    place.mkdir(parents=True) if theirs.endswith("/") else write_text(place, "mine")
    with pytest.raises(InputError, match="was not made by this toolkit"):
        make(tmp_path / "out", "a")
    assert place.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("theirs", ["notes.txt", ".hidden", "deep/mine", "new/"])
def test_what_somebody_put_into_our_directory_stays(tmp_path: Path, theirs: str) -> None:
    make(tmp_path / "out", "a", "deep/b")
    place = tmp_path / "out" / theirs
    place.mkdir() if theirs.endswith("/") else write_text(place, "mine")
    with pytest.raises(InputError, match=f"also holds '{theirs.rstrip('/')}', which this toolkit did not put there"):
        make(tmp_path / "out", "c")
    assert place.exists() and (tmp_path / "out/a").exists()


def test_a_link_to_a_folder_of_somebody_counts_as_what_it_is(tmp_path: Path) -> None:
    write_text(tmp_path / "theirs/x", "mine")
    make(tmp_path / "out", "a")
    (tmp_path / "out/link").symlink_to(tmp_path / "theirs")
    with pytest.raises(InputError, match="also holds 'link'"):
        make(tmp_path / "out", "c")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "theirs")
    (tmp_path / "new").mkdir()
    with pytest.raises(InputError, match="is a link to"):
        publish(tmp_path / "new", tmp_path / "elsewhere")
    assert (tmp_path / "theirs/x").read_text() == "mine"


def test_a_file_is_no_place_for_a_directory(tmp_path: Path) -> None:
    write_text(tmp_path / "out", "mine")
    with pytest.raises(InputError, match="is a file"):
        make(tmp_path / "out", "a")


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("data/x", "is an input"),
        ("data/../data/x", "is an input"),
        ("link", "is an input"),
        ("data", "contains .*data/x"),
        ("data/x/out", "lies in .*data/x"),
        (".", "contains .*data/x"),
    ],
)
def test_a_place_that_touches_an_input_is_refused(tmp_path: Path, out: str, message: str) -> None:
    write_text(tmp_path / "data/x/wav.scp", "a b\n")
    (tmp_path / "link").symlink_to(tmp_path / "data/x")
    with pytest.raises(InputError, match=message):
        make(tmp_path / out, "a", inputs=(tmp_path / "data/x",))
    assert names(tmp_path / "data/x") == ["wav.scp"]


def test_the_folders_where_an_output_is_made_are_no_inputs_either(tmp_path: Path) -> None:
    write_text(tmp_path / ".out.work/data/wav.scp", "a b\n")
    with pytest.raises(InputError, match="contains"):
        refuse_target(tmp_path / "out", [tmp_path / ".out.work/data"])


def test_a_file_among_the_inputs_may_lie_beside_the_output_but_not_in_it(tmp_path: Path) -> None:
    make(tmp_path / "out", "model")
    refuse_target(tmp_path / "out", [tmp_path / "other.yaml"])
    with pytest.raises(InputError, match="contains"):
        refuse_target(tmp_path / "out", [tmp_path / "out/model"])


def test_names_that_are_expendable_go_with_our_directories_only(tmp_path: Path) -> None:
    make(tmp_path / "out", "a")
    write_text(tmp_path / "out/split2/1/a", "x")
    refuse_target(tmp_path / "out", expendable="split2".__eq__)
    write_text(tmp_path / "theirs/split2", "x")
    with pytest.raises(InputError):
        refuse_target(tmp_path / "theirs", expendable="split2".__eq__)


def test_a_stamp_tells_what_we_made_where_there_is_no_marker(tmp_path: Path) -> None:
    write_text(tmp_path / "out/a", "x")
    write_text(tmp_path / "out" / STAMP, json.dumps({"files": {"0/a": [1, 2]}}))
    refuse_target(tmp_path / "out")
    write_text(tmp_path / "out/b", "x")
    with pytest.raises(InputError, match="also holds 'b'"):
        refuse_target(tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[1]", b"{}"])
def test_a_damaged_marker_speaks_for_nothing(tmp_path: Path, content: bytes) -> None:
    write_text(tmp_path / "out/a", "x")
    for marker in (MARKER, STAMP):
        (tmp_path / "out" / marker).write_bytes(content)
    with pytest.raises(InputError):
        refuse_target(tmp_path / "out")


def test_files_of_a_set_are_ours_once_claimed_and_others_stay(tmp_path: Path) -> None:
    write_text(tmp_path / "out/theirs.svg", "mine")
    claim(tmp_path / "out", ["a.svg", "b.svg"])
    write_text(tmp_path / "out/a.svg", "ours")
    claim(tmp_path / "out", ["a.svg", "b.svg", "c.svg"])
    with pytest.raises(InputError, match=r"theirs\.svg: was not made by this toolkit"):
        claim(tmp_path / "out", ["theirs.svg"])
    assert (tmp_path / "out" / MARKER).read_text() == "a.svg\nb.svg\nc.svg\n"


def test_a_directory_is_mended_in_its_place_whoever_made_it(tmp_path: Path) -> None:
    write_text(tmp_path / "out/a", "x")
    with replaced_directory(tmp_path / "out") as new:
        write_text(new / "b", "x")
    assert names(tmp_path / "out") == ["b"]


def test_unfinished_work_on_the_same_is_kept_and_on_something_else_removed(tmp_path: Path) -> None:
    work = begin_work(tmp_path / "out", "a" * 64)
    write_text(work / "part", "half")
    assert begin_work(tmp_path / "out", "a" * 64) == work and (work / "part").exists()
    assert not (begin_work(tmp_path / "out", "b" * 64) / "part").exists()
    write_text(work / "part", "half")
    assert not (begin_work(tmp_path / "out", "b" * 64, go_on=False) / "part").exists()
    end_work(tmp_path / "out")
    end_work(tmp_path / "out")
    assert not work.exists()


def test_unfinished_work_whose_removal_was_killed_is_still_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = begin_work(tmp_path / "out", "a" * 64)
    for name in ("a", "b/c", "d"):
        write_text(work / name, name)
    for last in ("iterdir", "unlink", "rmdir"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Path, last, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
            end_work(tmp_path / "out")
    begin_work(tmp_path / "out", "b" * 64)
    assert names(work) == ["fingerprint"]


@pytest.mark.parametrize("kind", ["directory", "link", "file"])
def test_what_somebody_keeps_where_unfinished_work_goes_stays(tmp_path: Path, kind: str) -> None:
    theirs, work = tmp_path / "theirs", work_of(tmp_path / "out")
    write_text(theirs / "fingerprint" if kind == "link" else theirs / "thesis.tex", "mine")
    if kind == "directory":
        theirs.rename(work)
    elif kind == "link":
        work.symlink_to(theirs)
    else:
        write_text(work, "mine")
    before = names(tmp_path)
    with pytest.raises(InputError, match=r"\.out\.work: was not made by this toolkit"):
        begin_work(tmp_path / "out", "a" * 64)
    end_work(tmp_path / "out")
    assert names(tmp_path) == before


def test_a_file_that_a_person_wrote_is_not_replaced_and_ours_is(tmp_path: Path) -> None:
    write_text(tmp_path / "thesis.tex", "three years")
    with pytest.raises(InputError, match=r"thesis\.tex: was not made by this toolkit and would be replaced"):
        write_own(tmp_path / "thesis.tex", "a table")
    assert (tmp_path / "thesis.tex").read_text() == "three years"
    for text in ("a table", "another"):
        write_own(tmp_path / "table.tex", text)
        assert (tmp_path / "table.tex").read_text() == text
    with pytest.raises(InputError, match="is a directory; name a file"):
        write_own(tmp_path, "a table")
