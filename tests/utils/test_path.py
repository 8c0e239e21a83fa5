import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHOW = 'set -e; . ./path.sh; echo "$(command -v python3)|$LC_ALL|$PYTHONPATH"'


class Clone:
    """The files of the environment, in a directory of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "utils").mkdir(parents=True)
        shutil.copy(ROOT / "utils/make_venv.py", path / "utils")
        shutil.copy(ROOT / "path.sh", path)
        for file in ("constraints.txt", "requirements.txt", "requirements-test.txt"):
            (path / file).write_text("")

    def put(self, name: str, script: str) -> Path:
        """An executable script."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script)
        file.chmod(0o755)
        return file

    def run(self, script: str = SHOW, user: int | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("VPEVAL_")}
        environment = clean | {"PYTHONPATH": ""} | variables
        return subprocess.run(
            ["bash", "-c", script], cwd=self.path, env=environment, capture_output=True, text=True, user=user
        )


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "my clone")


def python_that_says_it_is(version: str) -> str:
    """A Python that runs what it is given, but under another version number."""
    return (
        f"#!{sys.executable}\nimport runpy, sys\nsys.version_info = ({version}, 1, 'final', 0)\n"
        "if sys.argv[1] == '-c':\n    exec(sys.argv[2])\n"
        "else:\n    sys.argv = sys.argv[1:]\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )


def test_vpeval_python_is_used_as_it_is(clone: Clone) -> None:
    folder = Path(sys.executable).parent
    done = clone.run(VPEVAL_PYTHON=sys.executable)
    assert (done.stdout, done.stderr) == (f"{folder}/python3|C|{clone.path}\n", "")
    assert not (clone.path / ".venv").exists() and not (clone.path / ".venv.lock").exists()


def test_vpeval_python_may_be_relative_or_a_name_on_path(clone: Clone) -> None:
    (clone.path / "env").symlink_to(Path(sys.executable).parents[1])
    assert clone.run(VPEVAL_PYTHON="env/bin/python3").stdout.startswith(f"{clone.path}/env/bin/python3|")
    found = clone.run(VPEVAL_PYTHON="python3", PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert found.stdout.startswith(f"{Path(sys.executable).parent}/python3|")


@pytest.mark.parametrize("bad", ["/nowhere/python", "no-such-python", "/"])
def test_a_vpeval_python_that_is_none_is_a_message_and_ends_the_script(clone: Clone, bad: str) -> None:
    done = clone.run(VPEVAL_PYTHON=bad)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"path.sh: VPEVAL_PYTHON={bad} is not a Python in a directory that has python3; fix or unset it\n"
    )


def test_a_vpeval_python_without_the_packages_says_how_to_get_them(clone: Clone) -> None:
    python = clone.put("env/bin/python3", f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    done = clone.run(VPEVAL_PYTHON=str(python))
    assert (done.returncode, done.stdout) == (1, "")
    first, second, third = done.stderr.splitlines()
    assert first == f"path.sh: VPEVAL_PYTHON={python} lacks numpy scipy soundfile kaldiio yaml torch; run"
    assert second.endswith(f"-m pip install -r {clone.path}/requirements.txt -c {clone.path}/constraints.txt")
    assert third == "or unset VPEVAL_PYTHON to have an environment made in .venv"


def test_a_vpeval_python_that_is_too_old_is_refused(clone: Clone) -> None:
    python = clone.put("env/bin/python3", python_that_says_it_is("3, 8"))
    done = clone.run(VPEVAL_PYTHON=str(python))
    assert done.returncode == 1
    assert f"path.sh: VPEVAL_PYTHON={python} lacks Python 3.11 (it is 3.8); run\n" in done.stderr


@pytest.fixture
def system(clone: Clone) -> dict[str, str]:
    """A PATH with nothing on it but what path.sh needs, to put Pythons there."""
    folder = clone.path / "bin"
    folder.mkdir()
    for tool in ("bash", "dirname"):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    return {"PATH": str(folder)}


def test_a_python_that_is_too_old_is_named(clone: Clone, system: dict[str, str]) -> None:
    clone.put("bin/python3", python_that_says_it_is("3, 8"))
    done = clone.run(**system)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("path.sh: Python 3.11 to 3.13 is needed and ")
    assert " is 3.8.\nInstall one of them and put it on PATH as python3.X. Or set VPEVAL_PYTHON=" in done.stderr


def test_a_newer_python_beside_it_is_found(clone: Clone, system: dict[str, str]) -> None:
    clone.put("bin/python3", python_that_says_it_is("3, 8"))
    clone.put("bin/python3.12", '#!/bin/sh\n[ "$1" = -c ] || echo "$0 $*" >&2\n')
    assert clone.run(**system).stderr == (
        f"{clone.path}/bin/python3.12 {clone.path}/utils/make_venv.py {clone.path} {clone.path}/requirements.txt\n"
    )


def test_no_python_at_all_is_a_message(clone: Clone, system: dict[str, str]) -> None:
    done = clone.run(**system)
    assert done.returncode == 1
    assert done.stderr == "path.sh: there is no python3 on PATH; install Python 3.11, 3.12 or 3.13\n"


@pytest.fixture
def made(clone: Clone, system: dict[str, str]) -> dict[str, str]:
    """An environment that is there, and Pythons that complain when they are called."""
    for folder in ("bin", ".venv/bin"):
        clone.put(f"{folder}/python3", '#!/bin/sh\n[ "$1" = -c ] || echo "called: ${3##*/} ${4##*/}" >&2\n')
    stamp = clone.path / ".venv/requirements.sha256"
    stamp.write_text("x")
    newer = (clone.path / "requirements.txt").stat().st_mtime + 10
    os.utime(stamp, (newer, newer))
    return system


def test_an_environment_that_is_there_costs_no_call_of_python(clone: Clone, made: dict[str, str]) -> None:
    done = clone.run(**made)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{clone.path}/.venv/bin/python3|C|{clone.path}\n"


def test_newer_requirements_are_looked_into(clone: Clone, made: dict[str, str]) -> None:
    later = (clone.path / ".venv/requirements.sha256").stat().st_mtime + 10
    os.utime(clone.path / "requirements.txt", (later, later))
    assert clone.run(**made).stderr == "called: requirements.txt \n"


def test_a_second_sourcing_changes_nothing(clone: Clone, made: dict[str, str]) -> None:
    done = clone.run(
        '. ./path.sh; before=$PATH; . ./path.sh; bash -c \'. ./path.sh; echo "$PATH"\'; echo "$before"', **made
    )
    first, second = done.stdout.splitlines()
    assert first == second


def test_the_packages_for_the_tests_are_asked_for_even_after_those_for_the_recipes(
    clone: Clone, made: dict[str, str]
) -> None:
    done = clone.run(". ./path.sh; export VPEVAL_TESTS=1; . ./path.sh; bash -c '. ./path.sh'", **made)
    assert done.stderr == "called: requirements.txt requirements-test.txt\n"


def test_sourcing_leaves_no_functions_behind(clone: Clone, made: dict[str, str]) -> None:
    assert clone.run(". ./path.sh; declare -F", **made).stdout == ""


@pytest.fixture
def bare(clone: Clone) -> Clone:
    """A clone of everything that has a help text, and a Python without any package."""
    for folder in ("vpeval", "local", "steps", "utils"):
        shutil.copytree(ROOT / folder, clone.path / folder, dirs_exist_ok=True)
    clone.put("bin/python3", f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    return clone


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("local/score_wer.py", "--bootstrap N"),
        ("steps/extract_embeddings.py", "launcher of the jobs"),
        ("local/anon/mcadams/anonymize.py", "--lpc-order"),
        ("utils/check_hook.sh", "--time-limit"),
        ("steps/train_asv.sh", "--mode {scratch,finetune,backend,units,nuisance}"),
        ("local/prepare_sets.sh", "Usage: local/prepare_sets.sh"),
        ("utils/run.py", "Run a command, or an array of commands"),
    ],
)
def test_a_help_text_is_shown_without_an_environment_and_makes_none(bare: Clone, script: str, words: str) -> None:
    done = bare.run(f"{script} --help", PATH=f"{bare.path}/bin:{os.environ['PATH']}")
    assert done.returncode == 0 and words in done.stdout, done.stderr
    assert not (bare.path / ".venv").exists() and not (bare.path / ".venv.lock").exists()


def test_a_help_text_does_not_bring_an_older_environment_up_to_date(clone: Clone) -> None:
    clone.put(".venv/bin/python3", "#!/bin/sh\necho shown\n")
    (clone.path / ".venv/requirements.sha256").touch()
    os.utime(clone.path / ".venv/requirements.sha256", (0, 0))
    clone.put("local/score.py", (ROOT / "local/score_wer.py").read_text().splitlines()[0] + "\n")
    assert clone.run("local/score.py --help").stdout == "shown\n"


@pytest.mark.parametrize("name", ["one:two", "one\ntwo", "two\n"])
def test_a_path_that_cannot_stand_in_the_environment_is_named(tmp_path: Path, name: str) -> None:
    clone = Clone(tmp_path / name)
    done = clone.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and "holds a colon or a line break, which cannot stand in PATH" in done.stderr


def python_of(user: int | None) -> str:
    """A Python that another user may run as well; that of the tests may be in a home directory."""
    enough = "import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12), (3, 13)))"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        with suppress(OSError):
            if subprocess.run([python, "-c", enough], user=user, stderr=subprocess.DEVNULL).returncode == 0:
                return python
    pytest.skip("no Python that another user may run")


NOBODY = 65534
CLOSED = (".venv", ".venv/bin", ".venv/lib", ".venv/lib/python3.12", ".venv/lib/python3.12/site-packages")


@pytest.mark.parametrize("closed", CLOSED)
def test_an_environment_that_may_not_be_read_is_named(made: dict[str, str], closed: str) -> None:
    """As another user than its owner, where the tests run as root, whom nothing is closed to."""
    user = NOBODY if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:  # that of pytest is closed to other users
        place = Path(name).resolve()
        place.chmod(0o755)
        clone = Clone(place / "clone")
        shutil.rmtree(clone.path)
        shutil.copytree(Path(made["PATH"]).parent, clone.path, symlinks=True)
        clone.put("bin/python3", f'#!/bin/sh\nexec {python_of(user)} -I "$@"\n')
        (clone.path / CLOSED[-1]).mkdir(parents=True)
        assert clone.run(user=user, PATH=f"{clone.path}/bin").returncode == 0
        (clone.path / closed).chmod(0)
        try:
            done = clone.run(user=user, PATH=f"{clone.path}/bin")
        finally:
            (clone.path / closed).chmod(0o755)
    assert (done.returncode, done.stdout) == (1, "")
    first, second, _ = done.stderr.splitlines()
    assert first == f"path.sh: you may not read {clone.path}/{closed}."
    assert second == f"Ask its owner to run: chmod -R a+rX {clone.path}/.venv"


def test_an_environment_whose_python_is_gone_is_not_taken_for_ready(clone: Clone, made: dict[str, str]) -> None:
    (clone.path / ".venv/bin/python3").unlink()
    assert clone.run(**made).stderr == "called: requirements.txt \n"
