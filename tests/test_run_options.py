"""./run.sh with input that it must refuse: one short message, exit code 1, nothing written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
AUDIO = {".opus", ".ogg", ".wav", ".flac", ".mp3"}


class Clone:
    """A copy of the tree without the audio of the corpora."""

    def __init__(self, path: Path) -> None:
        self.path = path
        listing = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for name in listing.stdout.splitlines():
            if Path(name).suffix not in AUDIO and (ROOT / name).is_file():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, path / name)

    def run(self, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("VPEVAL_", "PYTHON"))}
        environment = clean | {"VPEVAL_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"} | variables
        return subprocess.run(
            ["./run.sh", *options], cwd=self.path, env=environment, capture_output=True, text=True, timeout=60
        )

    def files(self) -> set[Path]:
        """All but the lock of a system."""
        return {path for path in self.path.rglob("*") if path.is_file() and path.suffix != ".lock"}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return Clone(tmp_path_factory.mktemp("run") / "clone")


@pytest.fixture
def refused(clone: Clone):
    """Call ./run.sh with options that it must refuse; the answer is its message, paths seen from the clone."""

    def call(*options: str) -> str:
        before = clone.files()
        done = clone.run(*options)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert done.stderr.removesuffix("Try './run.sh --help'.\n").count("\n") == 1, done.stderr
        assert clone.files() == before
        return done.stderr.rstrip("\n").replace(f"{clone.path}/", "")

    return call


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stages", "3"], "./run.sh: invalid option --stages; try --help"),
        (["--stage=3"], "./run.sh: write '--stage 3' instead of '--stage=3'; try --help"),
        (["--stage"], "./run.sh: option --stage needs a value; try --help"),
        (["--stage", "13"], "./run.sh: stage '13' is out of range; stages are 0 to 12 (see --help)"),
        (["--stage", "x"], "./run.sh: stage 'x' is out of range; stages are 0 to 12 (see --help)"),
        (["--stage", "-1"], "./run.sh: stage '-1' is out of range; stages are 0 to 12 (see --help)"),
        (["--stage", "08"], "./run.sh: stage '08' is out of range; stages are 0 to 12 (see --help)"),
        (
            ["--stop-stage", "18446744073709551617"],
            "./run.sh: stage '18446744073709551617' is out of range; stages are",
        ),
        (["--stage", "5", "--stop-stage", "3"], "./run.sh: --stage 5 comes after --stop-stage 3; nothing to do"),
        (["mcadams"], "./run.sh: unexpected argument 'mcadams'; see --help"),
        (["--recipe", "libri"], "run.sh: no recipe 'libri'; there are: "),
        (["--nj", "0"], "./run.sh: argument --nj: expected a whole number of at least 1, not '0'"),
        (["--nj", "two"], "./run.sh: argument --nj: expected a whole number of at least 1, not 'two'"),
        (["--seed", "-3"], "./run.sh: argument --seed: expected a whole number of at least 0, not '-3'"),
        (["--anon-level", "foo"], "./run.sh: argument --anon-level: invalid choice: 'foo' (choose from"),
        (["--train-level", "spk utt"], "./run.sh: argument --train-level: invalid choice: 'spk utt' (choose from"),
        (["--full", "yes"], "./run.sh: option --full needs true or false, not 'yes'; try --help"),
        (["--system", "original"], "run.sh: system 'original': use small letters, digits and _, and not 'original'"),
        (["--system", "a/b"], "run.sh: system 'a/b': use small letters, digits and _, and not 'original'"),
        (["--anon-options", "--alpha '0.7"], "run.sh: --alpha '0.7: No closing quotation; quote the options of"),
        (["--description", "none.md"], "run.sh: none.md: no such system description; check --description"),
        (["--anonymizer", "mcadam"], "run.sh: no such hook: give a script, or one of "),
        (["--anonymizer", "README.md"], "run.sh: README.md: is not executable; run chmod +x README.md"),
        (["--anonymizer", "conf"], "run.sh: conf: has no anonymize.py or anonymize.sh; name the hook itself"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_is_refused_before_any_work(refused, options: list[str], message: str) -> None:
    assert refused(*options).startswith(message)


EVAL_SETS = [f"mini_{part}_{role}" for part in ("dev", "test") for role in ("enrolls", "trials_f", "trials_m")]


def make_data(clone: Clone, suffix: str) -> None:
    for name in EVAL_SETS:
        (clone.path / "data" / f"{name}{suffix}").mkdir(parents=True)


@pytest.mark.parametrize(
    ("stage", "suffixes", "missing", "maker"),
    [
        ("3", [], "data/mini_dev_enrolls", "0"),
        ("5", [], "data/mini_dev_enrolls", "0"),
        ("5", [""], "data/mini_dev_enrolls_mcadams", "3"),
        ("6", ["", "_mcadams"], "exp/mini/embeddings/ecapa/mini_dev_enrolls", "5"),
        ("8", ["", "_mcadams"], "exp/mini/embeddings/ecapa/mini_dev_enrolls", "5"),
        ("10", [""], "data/mini_dev_trials_f_mcadams", "3"),
        ("11", ["", "_mcadams"], "exp/mini/runs/mcadams: has no verification results; run stage 6", "6"),
    ],
)
def test_what_an_earlier_stage_should_have_made_is_named_with_the_stage(
    clone: Clone, refused, stage: str, suffixes: list[str], missing: str, maker: str
) -> None:
    try:
        for suffix in suffixes:
            make_data(clone, suffix)
        message = refused("--stage", stage, "--stop-stage", stage)
    finally:
        shutil.rmtree(clone.path / "data", ignore_errors=True)
    assert message.startswith(f"run.sh: {missing}")
    assert f"stage {maker}" in message


def test_help_says_what_can_be_given_and_writes_nothing(clone: Clone) -> None:
    before = clone.files()
    done = clone.run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for option in ("--stage", "--stop-stage", "--recipe", "--anonymizer", "--anon-level", "--nj", "--seed", "--full"):
        assert option in done.stdout
    assert clone.files() == before


def test_a_bad_vpeval_python_is_the_first_thing_to_be_said(clone: Clone) -> None:
    done = clone.run(VPEVAL_PYTHON="/nowhere/python")
    assert done.returncode == 1
    assert done.stderr.startswith("path.sh: VPEVAL_PYTHON=/nowhere/python is not a Python")


def test_the_doctor_names_what_stands_against_the_run_and_writes_nothing(clone: Clone, tmp_path: Path) -> None:
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    before = clone.files()
    done = clone.run("--doctor", **nowhere, PIP_INDEX_URL="http://127.0.0.1:9/", VPEVAL_MODELS=str(tmp_path))
    assert (done.returncode, done.stderr) == (1, "")
    assert "[ FAIL ] corpus: egs/mini/corpus lacks" in done.stdout
    assert "[ FAIL ] network: ecapa_voxceleb is missing and cannot be fetched" in done.stdout
    assert done.stdout.endswith("This run cannot succeed here.\n")
    assert clone.files() == before
