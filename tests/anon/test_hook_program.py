from pathlib import Path

import pytest

from vpeval.anon import hook_program
from vpeval.core.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put_hook(name: str, mode: int = 0o755) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_name_stands_for_a_folder_of_local_anon() -> None:
    hook = hook_program.find_hook("mcadams")
    assert (hook, hook_program.system_name(hook)) == (ROOT / "local/anon/mcadams/anonymize.py", "mcadams")


def test_a_hook_may_be_a_script_or_its_folder_with_blanks_in_the_path() -> None:
    put_hook("My hooks/pitch-shift.sh")
    hook = hook_program.find_hook("My hooks/pitch-shift.sh")
    assert (hook, hook_program.system_name(hook)) == (Path("My hooks/pitch-shift.sh"), "pitch_shift")
    put_hook("My hooks/B1/anonymize.sh")
    hook = hook_program.find_hook("My hooks/B1")
    assert (hook, hook_program.system_name(hook)) == (Path("My hooks/B1/anonymize.sh"), "b1")


def test_a_hook_that_is_not_executable_says_how_to_make_it_so() -> None:
    put_hook("hook.py", 0o644)
    with pytest.raises(InputError, match=r"^hook\.py: is not executable; run chmod \+x hook\.py$"):
        hook_program.find_hook("hook.py")


def test_an_unknown_hook_names_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"no such hook: give a script, or one of .*mcadams.* \(--anonymizer mcadam\)"):
        hook_program.find_hook("mcadam")
    Path("empty").mkdir()
    with pytest.raises(InputError, match=r"^empty: has no anonymize\.py or anonymize\.sh; name the hook itself$"):
        hook_program.find_hook("empty")


def test_settings_beside_a_hook_are_not_the_hook() -> None:
    put_hook("mine/anonymize.conf", mode=0o644)
    put_hook("mine/anonymize.sh")
    assert hook_program.find_hook("mine") == Path("mine/anonymize.sh")


def test_options_are_split_as_a_shell_splits_them() -> None:
    assert hook_program.split_options("--text 'a b' -x") == ["--text", "a b", "-x"]
    with pytest.raises(InputError, match="No closing quotation"):
        hook_program.split_options("--text 'a b")


def test_a_program_prepare_beside_a_hook_prepares_it_whatever_it_is_written_in() -> None:
    hook = put_hook("mine/anonymize.py")
    assert hook_program.find_preparation(hook) is None
    put_hook("mine/prepare_corpus.sh")
    put_hook("mine/prepare.yaml", 0o644)
    assert hook_program.find_preparation(hook) is None
    for name in ("prepare", "prepare.sh", "prepare.rb"):
        program = put_hook(f"mine/{name}")
        assert hook_program.find_preparation(hook) == program.resolve()
        program.unlink()


def test_a_preparation_that_cannot_be_run_or_is_there_twice_is_a_mistake() -> None:
    hook = put_hook("mine/anonymize.py")
    put_hook("mine/prepare.py", 0o644)
    with pytest.raises(InputError, match=r"prepare\.py: is not executable; run chmod \+x"):
        hook_program.find_preparation(hook)
    put_hook("mine/prepare.py")
    put_hook("mine/prepare.sh")
    with pytest.raises(InputError, match=r"prepare\.py: is next to prepare\.sh; keep one"):
        hook_program.find_preparation(hook)
