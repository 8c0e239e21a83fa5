import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "utils/find_hook.py")


@pytest.fixture
def find_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [SCRIPT, *args])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(SCRIPT, run_name="__main__")
        assert isinstance(left.value.code, int)
        said = capsys.readouterr()
        return left.value.code, said.out or said.err

    return run


def put_hook(path: Path, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)


def test_a_name_stands_for_a_folder_of_local_anon(find_hook) -> None:
    assert find_hook("mcadams") == (0, f"{ROOT}/local/anon/mcadams/anonymize.py\nmcadams\n")


def test_a_hook_may_be_a_script_or_its_folder_with_blanks_in_the_path(find_hook, tmp_path: Path) -> None:
    put_hook(tmp_path / "My hooks/pitch-shift.sh")
    assert find_hook("My hooks/pitch-shift.sh") == (0, "My hooks/pitch-shift.sh\npitch_shift\n")
    put_hook(tmp_path / "My hooks/B1/anonymize.sh")
    assert find_hook("My hooks/B1") == (0, "My hooks/B1/anonymize.sh\nb1\n")


def test_a_hook_that_is_not_executable_says_how_to_make_it_so(find_hook, tmp_path: Path) -> None:
    put_hook(tmp_path / "hook.py", 0o644)
    assert find_hook("hook.py") == (1, "find_hook.py: hook.py: is not executable; run chmod +x hook.py\n")


def test_an_unknown_hook_names_those_that_there_are(find_hook, tmp_path: Path) -> None:
    code, message = find_hook("mcadam")
    assert code == 1
    assert message.startswith("find_hook.py: no such hook: give a script, or one of ")
    assert "mcadams" in message and message.endswith("(--anonymizer mcadam)\n")
    (tmp_path / "empty").mkdir()
    assert find_hook("empty") == (1, "find_hook.py: empty: has no anonymize.py or anonymize.sh; name the hook itself\n")
    assert find_hook()[0] == 1


def test_settings_beside_a_hook_are_not_the_hook(find_hook, tmp_path: Path) -> None:
    put_hook(tmp_path / "mine/anonymize.conf", mode=0o644)
    put_hook(tmp_path / "mine/anonymize.sh")
    assert find_hook("mine") == (0, "mine/anonymize.sh\nmine\n")


def test_options_are_split_as_a_shell_splits_them(find_hook, tmp_path: Path) -> None:
    put_hook(tmp_path / "hook.sh")
    assert find_hook("--options=--text 'a b' -x", "hook.sh") == (0, "hook.sh\nhook\n--text\na b\n-x\n")
    code, message = find_hook("--options=--text 'a b", "hook.sh")
    assert code == 1 and "No closing quotation" in message
