"""The package as people install it: a wheel in a bare environment, far from any clone."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith("VPEVAL") and name != "PYTHONPATH"}
NO_NETWORK = ("resolution", "Max retries", "NewConnectionError", "unreachable", "(from versions: none)", "ProxyError")
README = ROOT / "README.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
METRICS = """
import sys, numpy as np, vpeval
m, rng = vpeval.metrics, np.random.default_rng(0)
enrolled, owner = rng.normal(size=(10, 5)), np.repeat(np.arange(10), 3)
tested = enrolled[owner] + rng.normal(size=(30, 5))
print(m.point_estimates([2, 1, 3], [0, -1, 1.5]))
print(m.verification_records([2, 1, 0, 1], [True, True, False, False], list("abab"), list("abba"), resamples=20)[0].value)
print(m.linkability_of(enrolled, tested, owner, [2, 10]), m.singling_out_of(enrolled, tested, owner, [5]))
print(*m.one_minus_eer_of(enrolled, tested[::3], range(10), [5], resamples=20))
print(m.rank_disclosure(enrolled, tested, owner, "beta-binomial"), m.rank_disclosure_intervals(enrolled, tested, owner, resamples=20))
print(*m.distinctiveness(*3 * [tested @ tested.T], owner, resamples=20).values())
print(m.word_errors(["a b"], ["a c"]), m.unweighted_average_recall(["x", "y"], ["x", "x"]), m.jaccard_overlap("ab", "bc", 4))
print("loaded", [name for name in ("torch", "speechbrain", "faster_whisper") if name in sys.modules])
"""
RECORDS = """
from vpeval.results import Record, write_records
errors = {"ref_words": 100, "ins": 0, "del": 0}
runs = [("original", "o", 4), ("mine", "a", 8)]
write_records("results.jsonl", [
    Record("wer", float(sub), counts={**errors, "sub": sub}, system=system, set="toy_dev_asr", condition=condition)
    for system, condition, sub in runs
])
"""


def name_of(requirement):
    return re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_every_dependency_is_one_of_the_recipes_and_not_newer():
    pins = {}
    for file in ("requirements.txt", "requirements-optional.txt", "requirements-test.txt"):
        for line in (ROOT / file).read_text().splitlines():
            if "==" in line:
                package, _, version = line.partition("==")
                pins[name_of(package)] = tuple(map(int, re.findall(r"\d+", version)))
    wanted = [
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    ]
    for requirement in wanted:
        package, least = name_of(requirement), tuple(map(int, re.findall(r"\d+", requirement.partition(">=")[2])))
        assert least and least <= pins[package], requirement
    offered = {name_of(requirement) for requirement in wanted}
    recipes = [
        *(ROOT / "requirements.txt").read_text().splitlines(),
        *(ROOT / "requirements-optional.txt").read_text().splitlines(),
    ]
    assert {name_of(line) for line in recipes if "==" in line} - offered == {"transformers"}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The programs of an environment that holds the package and what it needs, and nothing else."""
    place = tmp_path_factory.mktemp("package")
    for name in ("vpeval", "conf", "local"):
        shutil.copytree(ROOT / name, place / "clone" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, place / "clone")
    pip = ["-m", "pip", "--disable-pip-version-check", "--no-input", "-q"]
    fetch([sys.executable, *pip, "wheel", "--no-deps", "-w", place, place / "clone"])
    shutil.rmtree(place / "clone")
    (wheel,) = place.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", place / "env"], check=True)
    fetch([place / "env/bin/python", *pip, "install", wheel])
    return place / "env/bin"


def fetch(command):
    done = subprocess.run(command, capture_output=True, text=True, env=OUTSIDE)
    if done.returncode and any(sign in done.stderr for sign in NO_NETWORK):
        pytest.skip(f"the package index cannot be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def run(*command, cwd):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, env=OUTSIDE)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.e2e
def test_all_metrics_are_there_without_torch(bare, tmp_path):
    done = run(bare / "python", "-c", METRICS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded []"
    assert not list(bare.parent.glob("lib/*/site-packages/torch"))


@pytest.mark.e2e
def test_the_example_of_the_readme_runs_in_any_directory(bare, tmp_path):
    (code,) = re.findall(r"python3 -c '(import vpeval; .*)'\n", README.read_text())
    assert run(bare / "python", "-c", code, cwd=tmp_path).stdout.startswith("{'eer_kaldi': 0.")


@pytest.mark.e2e
def test_configurations_come_with_the_package(bare, tmp_path):
    code = "from vpeval.core.places import CONF, IS_CLONE; import vpeval; print(IS_CLONE, *sorted("
    code += "str(path.relative_to(CONF)) for path in CONF.rglob('*') if path.is_file()), sep='\\n')"
    first, *files = run(bare / "python", "-c", code, cwd=tmp_path).stdout.split()
    ours = sorted(str(path.relative_to(ROOT / "conf")) for path in (ROOT / "conf").rglob("*") if path.is_file())
    assert (first, files) == ("False", ours)


@pytest.mark.e2e
def test_the_command_scores_files_compares_runs_and_makes_reports(bare, tmp_path):
    (tmp_path / "trials").write_text(
        "".join(f"s{i % 3} u{i} {'target' if i % 2 else 'nontarget'}\n" for i in range(12))
    )
    (tmp_path / "scores").write_text("".join(f"s{i % 3} u{i} {i % 2 + i / 9}\n" for i in range(12)))
    (tmp_path / "ref").write_text("a one two\nb three\n")
    (tmp_path / "hyp").write_text("a one too\nb three\n")
    vpeval = bare / "vpeval"
    assert "EER (Kaldi) %" in run(vpeval, "score", "eer", "scores", "trials", cwd=tmp_path).stdout
    assert run(vpeval, "score", "all", "scores", "trials", cwd=tmp_path).returncode == 0
    assert (
        run(vpeval, "score", "wer", "ref", "hyp", cwd=tmp_path).stdout == "%WER 33.33 [ 1 / 3, 0 ins, 0 del, 1 sub ]\n"
    )
    refused = run(vpeval, "score", "err", "scores", "trials", cwd=tmp_path)
    assert refused.returncode == 1 and refused.stderr.startswith("vpeval: unknown metric 'err'; there are eer, zebra")
    said = run(vpeval, "doctor", cwd=tmp_path).stdout
    assert "recipes: none" in said and re.search(r"torch +missing; pip install 'vpeval\[attackers\]'", said)
    assert run(bare / "python", "-c", RECORDS, cwd=tmp_path).returncode == 0
    for words in (
        ["compare", "out", "results.jsonl"],
        ["report", "results.jsonl", "report.html"],
        ["summary", "results.jsonl"],
    ):
        done = run(vpeval, *words, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stderr)
    assert (
        "8.00" in (tmp_path / "out/comparison.txt").read_text() and (tmp_path / "report.html").stat().st_size > 10_000
    )
