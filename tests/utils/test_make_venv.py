import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "utils/make_venv.py"

# The Python of an environment, whose pip notes that it was called, says what it is told to say and installs nothing.
PYTHON = """#!/usr/bin/env bash
[ "$3" = --version ] && exit
root=$(cd "$(dirname "$0")/../.." && pwd)
echo "$*" >>"$root/calls"
until [ ! -e "$root/hold" ]; do :; done
cat "$root/says"
[ ! -e "$root/fails" ]
"""


class Clone:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.requirements = [str(path / name) for name in ("requirements.txt", "requirements-test.txt")]
        for file in ("constraints.txt", "requirements.txt", "requirements-test.txt", "says"):
            (path / file).write_text(f"{file}\n")

    def put_python(self, *_: object) -> None:
        python = self.path / ".venv/bin/python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(PYTHON)
        python.chmod(0o755)

    def calls(self) -> int:
        noted = self.path / "calls"
        return len(noted.read_text().splitlines()) if noted.exists() else 0


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@pytest.fixture
def module():
    spec = importlib.util.spec_from_file_location("make_venv", SCRIPT)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def complaint(module, clone: Clone, capsys: pytest.CaptureFixture[str]):
    """Call it where it must fail; the answer is what it said."""

    def call() -> str:
        with pytest.raises(SystemExit) as left:
            module.main(str(clone.path), clone.requirements[:1])
        assert left.value.code == 1
        said = capsys.readouterr().err
        assert "Or set VPEVAL_PYTHON=/path/to/python of an environment that has the packages" in said
        return said

    return call


def test_an_environment_is_made_once(module, clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(module, "make", clone.put_python)
    for _ in range(2):
        module.main(str(clone.path), clone.requirements[:1])
    assert clone.calls() == 1
    said = capsys.readouterr().err
    assert "path.sh: installing requirements.txt (once; log in .venv/install.log)\n" in said
    assert said.endswith("path.sh: the environment is ready\n") and said.count("ready") == 1
    assert (clone.path / ".venv/install.log").read_text() == "says\n"


def test_progress_is_shown(module, clone: Clone, capsys) -> None:
    clone.put_python()
    (clone.path / "says").write_text(
        "Collecting numpy==2 (from -r x)\nUsing cached numpy\nInstalling collected packages: numpy\n"
    )
    module.main(str(clone.path), clone.requirements[:1])
    assert capsys.readouterr().err.splitlines()[1:3] == [
        "  Collecting numpy==2",
        "  Installing collected packages: numpy",
    ]


def test_changed_requirements_are_installed_into_the_environment_that_is_there(module, clone: Clone) -> None:
    clone.put_python()
    module.main(str(clone.path), clone.requirements[:1])
    for number, file in enumerate(("requirements.txt", "constraints.txt"), start=2):
        (clone.path / file).write_text("numpy==3\n")
        module.main(str(clone.path), clone.requirements[:1])
        assert clone.calls() == number


def test_the_packages_for_the_tests_include_those_for_the_recipes(module, clone: Clone) -> None:
    clone.put_python()
    module.main(str(clone.path), clone.requirements)
    module.main(str(clone.path), clone.requirements[:1])
    module.main(str(clone.path), clone.requirements)
    assert clone.calls() == 1


def test_what_an_interrupted_call_left_is_used(module, clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    clone.put_python()
    (clone.path / ".venv/requirements.sha256.tmp").write_text("half")
    monkeypatch.setattr(module, "make", lambda venv: pytest.fail("made again"))
    module.main(str(clone.path), clone.requirements[:1])
    assert clone.calls() == 1


def test_a_broken_environment_is_made_again(module, clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone.path / ".venv/bin").mkdir(parents=True)
    (clone.path / ".venv/bin/python").symlink_to("/nowhere/python3")
    monkeypatch.setattr(module, "make", lambda venv: (shutil.rmtree(venv), clone.put_python()))
    module.main(str(clone.path), clone.requirements[:1])
    assert clone.calls() == 1


@pytest.mark.parametrize("version", [(3, 8, 19), (3, 10, 2), (3, 14, 0)])
def test_a_python_that_is_too_old_or_too_new_is_refused(module, complaint, clone: Clone, monkeypatch, version) -> None:
    monkeypatch.setattr(module.sys, "version_info", version)
    said = complaint()
    assert said.startswith(f"path.sh: Python 3.11 to 3.13 is needed and {sys.executable} is 3.{version[1]}.\n")
    assert not (clone.path / ".venv.lock").exists()


def test_a_directory_that_cannot_be_written_to_is_named(complaint, clone: Clone) -> None:
    (clone.path / ".venv.lock").mkdir()
    assert complaint().startswith(f"path.sh: cannot write to {clone.path} (")


def test_a_disk_without_room_is_found_before_any_work(module, complaint, clone: Clone, monkeypatch) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda root: usage(1.2e9))
    assert complaint().startswith(f"path.sh: the environment needs 3 GB and {clone.path} has 1.2 GB free.\n")
    assert not (clone.path / ".venv").exists()


def test_a_python_without_venv_names_the_package_that_has_it(module, complaint, clone: Clone, monkeypatch) -> None:
    (clone.path / "python3").write_text("#!/bin/sh\necho No module named ensurepip\nexit 1\n")
    (clone.path / "python3").chmod(0o755)
    monkeypatch.setattr(module.sys, "executable", str(clone.path / "python3"))
    said = complaint()
    assert f"cannot make {clone.path}/.venv:\nNo module named ensurepip\nOn Debian and Ubuntu" in said


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError'\nERROR: Could not find a version\n",
            "the package index cannot be reached (ERROR: Could not find a version).\nCheck the network",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement numpy==2 (from versions: none)\n",
            "the package index cannot be reached (ERROR: Could not find a version that satisfies the requirement numpy",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
            "the disk is full: ERROR: Could not install packages",
        ),
        (
            "ERROR: Cannot install a and b\n",
            "pip failed: ERROR: Cannot install a and b\nThe whole log is in .venv/inst",
        ),
        ("", "pip failed: no message"),
    ],
)
def test_a_failing_pip_is_explained_and_the_next_call_tries_again(
    complaint, clone: Clone, says: str, words: str
) -> None:
    clone.put_python()
    (clone.path / "says").write_text(says)
    (clone.path / "fails").touch()
    for calls in (1, 2):
        assert f"path.sh: {words}" in complaint()
        assert clone.calls() == calls
    assert not (clone.path / ".venv/requirements.sha256").exists()


def start(clone: Clone) -> subprocess.Popen[str]:
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(clone.path), clone.requirements[0]]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_of_two_that_start_at_once_the_second_waits(clone: Clone) -> None:
    clone.put_python()
    (clone.path / "hold").touch()
    first = start(clone)
    deadline = time.monotonic() + 60
    while not clone.calls() and time.monotonic() < deadline:
        time.sleep(0.01)
    second = start(clone)
    assert second.stderr
    assert second.stderr.readline() == "path.sh: another process is setting up the environment; waiting for it\n"
    (clone.path / "hold").unlink()
    assert first.communicate(timeout=60)[1].endswith("path.sh: the environment is ready\n")
    assert second.communicate(timeout=60)[1] == ""
    assert (first.returncode, second.returncode, clone.calls()) == (0, 0, 1)


def test_a_disk_that_fills_up_on_the_way_is_a_message(clone: Clone) -> None:
    clone.put_python()
    (clone.path / ".venv/install.log").symlink_to("/dev/full")
    process = start(clone)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "path.sh: cannot write the environment ([Errno 28] No space left on device" in said
    assert "Traceback" not in said


def test_an_old_python_understands_the_script_well_enough_to_refuse() -> None:
    code = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 6))"
    subprocess.run([sys.executable, "-c", code, str(SCRIPT)], check=True, env=os.environ)
