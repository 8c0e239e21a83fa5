import os
from dataclasses import replace
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.jobs import stamps
from vpeval.jobs.stamps import STAMP, Fingerprint, fingerprint, is_current, why, write_stamp

PRINT = Fingerprint({"seed": "0"}, {"data/a": "x"}, {"vpeval/core/files.py": "y"})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    (folder / "wav.scp").write_text(f"a {tmp_path / 'a.wav'}\nb cat x |\n")
    (folder / "utt2spk").write_text("a a\n")
    return folder


def later(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def test_the_same_inputs_and_options_have_the_same_fingerprint_in_any_order_of_options(data: Path) -> None:
    assert fingerprint([data], {"nj": 1, "seed": 0}) == fingerprint([data], {"seed": 0, "nj": 1})


def test_a_changed_option_changes_the_fingerprint(data: Path) -> None:
    assert fingerprint([data], {"seed": 0}) != fingerprint([data], {"seed": 1})
    assert fingerprint([data], {"seed": 0}) != fingerprint([data], {"seed": 0, "level": "utt"})


def test_small_files_count_by_content_and_not_by_time(data: Path) -> None:
    before = fingerprint([data], {}).digest
    later(data / "utt2spk")
    assert fingerprint([data], {}).digest == before
    (data / "utt2spk").write_text("a b\n")
    assert fingerprint([data], {}).digest != before


def test_a_new_and_a_renamed_file_change_the_fingerprint(data: Path) -> None:
    before = fingerprint([data], {}).digest
    (data / "text").write_text("a HELLO\n")
    added = fingerprint([data], {}).digest
    (data / "text").rename(data / "text2")
    assert len({before, added, fingerprint([data], {}).digest}) == 3


def test_audio_that_wav_scp_names_counts_by_content(data: Path, tmp_path: Path) -> None:
    before = fingerprint([data], {}).digest
    later(tmp_path / "a.wav")
    assert fingerprint([data], {}).digest == before
    (tmp_path / "a.wav").write_bytes(b"RIFX")
    assert fingerprint([data], {}).digest != before


def test_logs_splits_and_hidden_files_do_not_count(data: Path) -> None:
    before = fingerprint([data], {}).digest
    for name in ("log/x.log", "split4/1/utt2spk", ".stamp.json", ".lock", "__pycache__/x.pyc"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text("x")
    assert fingerprint([data], {}).digest == before


def test_a_single_file_is_an_input_too(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: 1")
    before = fingerprint([tmp_path / "x.yaml"], {})
    (tmp_path / "x.yaml").write_text("a: 2")
    assert fingerprint([tmp_path / "x.yaml"], {}) != before


def test_a_missing_input_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: is missing, and a later step needs it; run the stage that makes it"):
        fingerprint([tmp_path / "nowhere"], {})


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "scores").write_text("a b 1\n")
    write_stamp(folder / STAMP, PRINT, [folder])
    return folder


def test_untouched_outputs_of_the_same_fingerprint_are_current(out: Path) -> None:
    assert is_current(out / STAMP, PRINT, [out])
    assert not is_current(out / STAMP, Fingerprint({"seed": "1"}, {}, {}), [out])


@pytest.mark.parametrize("change", ["edit", "delete", "add", "delete all", "delete stamp"])
def test_outputs_that_somebody_changed_are_not_current(out: Path, change: str) -> None:
    if change == "edit":
        (out / "scores").write_text("a b 22\n")
    elif change == "delete":
        (out / "scores").unlink()
    elif change == "add":
        (out / "more").write_text("x")
    elif change == "delete all":
        out.rename(out.with_name("elsewhere"))
    else:
        (out / STAMP).unlink()
    assert not is_current(out / STAMP, PRINT, [out])


def test_the_same_contents_at_another_time_are_current_and_the_stamp_takes_note(out: Path) -> None:
    later(out / "scores")
    assert is_current(out / STAMP, PRINT, [out])
    assert str((out / "scores").stat().st_mtime_ns) in (out / STAMP).read_text()


def test_names_in_a_fingerprint_are_those_seen_from_the_folder_of_the_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = fingerprint([data, tmp_path / "a.wav"], {"out": tmp_path / "exp"})
    assert set(found.inputs) == {"data", "a.wav"} and found.options == {"out": "exp"}
    assert fingerprint(["data", "a.wav"], {"out": Path("exp")}) == found


def test_large_files_count_by_content_wherever_they_are_and_are_not_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "_LARGE", 3)
    (tmp_path / "here/exp").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    file = tmp_path / "model.pt"
    file.write_bytes(b"weights")
    before = fingerprint([file], {})
    later(file)
    assert fingerprint([file], {}) == before
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stamps, "file_sha256", lambda *_, **__: pytest.fail("it was read before"))
        assert fingerprint([file], {}) == before
        (tmp_path / "here/exp/.digests.json").write_text("{")
        with pytest.raises(pytest.fail.Exception):
            fingerprint([file], {})
    status = file.stat()
    file.write_bytes(b"Weights")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert fingerprint([file], {}) != before


def test_what_a_stamp_knows_of_a_large_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "_LARGE", 3)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/embedding.ark").write_bytes(b"vectors")
    before = fingerprint([tmp_path / "out"], {})
    write_stamp(tmp_path / "out" / STAMP, PRINT, [tmp_path / "out"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stamps, "file_sha256", lambda *_, **__: pytest.fail("it was read before"))
        assert fingerprint([tmp_path / "out"], {}) == before
    (tmp_path / "out/embedding.ark").write_bytes(b"Vectors")
    assert fingerprint([tmp_path / "out"], {}) != before


def test_a_stamped_directory_may_be_renamed(out: Path) -> None:
    moved = out.rename(out.with_name("published"))
    assert is_current(moved / STAMP, PRINT, [moved])


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'"x"'])
def test_a_damaged_stamp_means_that_there_is_work_to_do(out: Path, content: bytes) -> None:
    (out / STAMP).write_bytes(content)
    assert not is_current(out / STAMP, PRINT, [out])


def test_outputs_that_were_not_made_cannot_be_stamped(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="should have been made and is not there"):
        write_stamp(tmp_path / STAMP, PRINT, [tmp_path / "scores"])
    assert not (tmp_path / STAMP).exists()


def test_a_step_that_has_to_be_done_says_why(out: Path) -> None:
    assert why(out / STAMP, PRINT, [out]) == ""
    assert why(out / "nothing", PRINT, [out]) == "not made yet"
    changed = Fingerprint({"seed": "1"}, {"data/a": "x", "data/b": "z"}, {"vpeval/core/files.py": "z"})
    assert why(out / STAMP, changed, [out]) == "changed: option seed, input data/b, module vpeval/core/files.py"
    (out / "scores").write_text("a b 2\n")
    assert why(out / STAMP, PRINT, [out]) == "its files were touched"


CHANGED = Fingerprint({"seed": "0"}, {"data/a": "x"}, {"vpeval/core/files.py": "z"}, {"numpy": "3.0"})


def test_a_change_of_code_alone_is_kept_where_it_is_accepted_and_noted(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why(out / STAMP, CHANGED, [out]) == "changed: module vpeval/core/files.py, package numpy"
    monkeypatch.setenv(stamps.ACCEPT_CODE, "true")
    assert why(out / STAMP, CHANGED, [out]) == ""
    monkeypatch.delenv(stamps.ACCEPT_CODE)
    assert is_current(out / STAMP, CHANGED, [out])
    assert stamps.accepted_code(out) == {"vpeval/core/files.py", "numpy"}


@pytest.mark.parametrize("other", [{"options": {"seed": "1"}}, {"inputs": {"data/a": "y"}}])
def test_other_inputs_and_options_are_never_accepted(
    out: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, dict[str, str]]
) -> None:
    monkeypatch.setenv(stamps.ACCEPT_CODE, "true")
    assert why(out / STAMP, replace(CHANGED, **other), [out]).startswith("changed: ")
    assert stamps.accepted_code(out) == set()


def test_touched_outputs_are_never_accepted(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stamps.ACCEPT_CODE, "true")
    (out / "scores").write_text("a b 2\n")
    assert why(out / STAMP, CHANGED, [out]).startswith("changed: ")


def test_what_was_accepted_of_an_input_is_known_of_what_is_made_from_it(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(stamps.ACCEPT_CODE, "true")
    assert is_current(out / STAMP, CHANGED, [out])
    (tmp_path / "scored").mkdir()
    write_stamp(tmp_path / "scored" / STAMP, fingerprint([out], {}), [tmp_path / "scored"])
    assert stamps.accepted_code(tmp_path / "scored") == {"vpeval/core/files.py", "numpy"}
    write_stamp(tmp_path / "scored" / STAMP, fingerprint([out / "scores"], {}), [tmp_path / "scored"])
    assert stamps.accepted_code(tmp_path / "scored") == {"vpeval/core/files.py", "numpy"}


def test_comments_of_a_configuration_do_not_count_and_its_settings_do(tmp_path: Path) -> None:
    conf = tmp_path / "ecapa.yaml"

    def digest(text: str) -> str:
        conf.write_text(text)
        return fingerprint([conf], {}).digest

    before = digest("encoder: ecapa  # a network\nmodel: none\n")
    assert digest("# Another comment.\nmodel: none\nencoder: ecapa\n") == before
    assert digest("encoder: ecapa\nmodel: other\n") != before
    assert digest("encoder: [\n") != digest("encoder: {\n")


def test_comments_of_a_hook_in_python_do_not_count_and_all_that_it_prints_does(tmp_path: Path) -> None:
    hook = tmp_path / "anonymize.py"

    def digest(text: str) -> str:
        hook.write_text(text)
        return fingerprint([hook], {}).digest

    before = digest('"""A hook."""\nprint("a", 1)\n')
    assert digest('#!/usr/bin/env python3\n"""A hook."""\nprint("a",   1)  # a remark\n') == before
    assert digest('"""Usage: [--alpha=0.7]"""\nprint("a", 1)\n') != before
    assert digest('"""A hook."""\nprint("b", 1)\n') != before
    assert digest("print 1\n") != digest("print 2\n")
