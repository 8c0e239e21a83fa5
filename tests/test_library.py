"""The library as people import it: what it offers is deliberate, typed and described, and the examples run."""

import ast
import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from vpeval.metrics import linkability_of, point_estimates, rank_disclosure, verification_records

ROOT = Path(__file__).parents[1]
README, GUIDE = ROOT / "README.md", ROOT / "docs/library.md"
PACKAGES = ("vpeval.metrics", "vpeval.results", "vpeval.data")


def test_the_examples_of_the_guide_are_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(GUIDE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 20
    assert found.failed == 0


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_offered_is_there_typed_and_described(name):
    package = import_module(name)
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text())
    typed = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(typed) == package.__all__ == dir(package)
    part = GUIDE.read_text().partition(f"## `{name}`")[2].partition("\n## ")[0]
    table = part[part.index("| offered") :]
    for offered in package.__all__:
        module, _, target = typed[offered].rpartition(".")
        assert getattr(package, offered) is getattr(import_module(module), target)
        assert f"`{offered}`" in table, f"{offered} is not described"
        assert not (Path(package.__file__).parent / f"{offered}.py").exists(), "a module of that name would hide it"


def test_the_example_of_the_readme_runs():
    (code,) = re.findall(r"python3 -c '(import vpeval; .*)'\n", README.read_text())
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{'eer_kaldi': 0.")


@pytest.mark.parametrize("page", [README, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page):
    links = re.findall(r'\]\((?!https?:)([^)#\s]+)|<img src="([^"]+)"', page.read_text())
    assert [link for pair in links for link in pair if link and not (page.parent / link).exists()] == []


def test_a_wrong_name_is_answered_with_what_there_is():
    with pytest.raises(AttributeError, match=r"'vpeval\.metrics' has no attribute 'eer'; it offers .*eer_kaldi"):
        import_module("vpeval.metrics").__getattr__("eer")


def test_the_packages_are_found_after_importing_vpeval_alone_and_start_without_torch_and_plots():
    code = "import sys, vpeval; vpeval.results.Record, vpeval.metrics.pool, vpeval.data.DataDir; "
    code += "print([name for name in ('torch', 'matplotlib') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_lists_and_arrays_give_the_same():
    rng = np.random.default_rng(3)
    targets, nontargets = rng.normal(1, 1, 30), rng.normal(0, 1, 90)
    assert point_estimates(targets, nontargets) == point_estimates(targets.tolist(), nontargets.tolist())
    references, inputs, owner = rng.normal(size=(6, 4)), rng.normal(size=(9, 4)), rng.integers(0, 6, 9)
    for function in (lambda *args: linkability_of(*args, [2, 6]).values, lambda *args: rank_disclosure(*args).max_d):
        assert (
            function(references, inputs, owner) == function(*(x.tolist() for x in (references, inputs, owner)))
        ).all()


def test_trials_of_a_wrong_label_or_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="if, and only if"):
        verification_records([1, 0], [True, True], ["a", "a"], ["a", "b"])
    with pytest.raises(ValueError, match="one length"):
        verification_records([1, 0], [True], ["a", "a"], ["a", "b"])
