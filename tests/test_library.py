"""The library as people import it: what it offers is deliberate, typed and described, and the examples run."""

import ast
import doctest
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from vpeval import metrics, results
from vpeval.metrics import linkability_of, point_estimates, rank_disclosure, singling_out, verification_records

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


RNG = np.random.default_rng(5)
ENROLLED, OWNER = RNG.normal(size=(12, 6)), np.repeat(np.arange(12), 3)
TESTED = ENROLLED[OWNER] + RNG.normal(size=(36, 6))
OF_VECTORS = {
    "linkability": lambda owner, **kind: metrics.linkability_of(ENROLLED, TESTED, owner, [2, 12], **kind),
    "singling out": lambda owner, **kind: metrics.singling_out_of(ENROLLED, TESTED, owner, [4], **kind),
    "1 - EER": lambda owner, **kind: metrics.one_minus_eer_of(
        ENROLLED, TESTED[::3], owner[::3], [4], resamples=9, **kind
    ),
    "ranks": lambda owner, **kind: metrics.rank_disclosure(ENROLLED, TESTED, owner, **kind),
    "intervals": lambda owner, **kind: metrics.rank_disclosure_intervals(ENROLLED, TESTED, owner, resamples=9, **kind),
}


@pytest.mark.parametrize("name", ["euclid", "plda", "Cosine", "", None, 1])
@pytest.mark.parametrize("metric", OF_VECTORS)
def test_an_unknown_similarity_or_estimator_is_an_error_that_lists_the_known_ones(metric, name):
    with pytest.raises(ValueError, match=r"unknown similarity .*; there are cosine, product, euclidean"):
        OF_VECTORS[metric](OWNER, similarity=name)
    if metric in ("ranks", "intervals"):
        with pytest.raises(ValueError, match=r"unknown estimator .*; there are empirical, beta-binomial"):
            OF_VECTORS[metric](OWNER, estimator="beta_binomial" if name == "plda" else name)


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        (OWNER + 1, r"owner\[33\] is 12, but there are the rows 0 to 11"),
        (OWNER - 1, r"owner\[0\] is -1, but"),
        (OWNER[:-3], "owner must be .* whole numbers"),
        (OWNER / 2, "owner must be 36 whole numbers|owner must be 12 whole numbers"),
    ],
)
@pytest.mark.parametrize("metric", OF_VECTORS)
def test_an_owner_that_is_none_of_the_references_is_refused_in_words(metric, owner, said):
    if metric == "1 - EER":
        said = said.replace("33", "11")
    with pytest.raises(ValueError, match=said):
        OF_VECTORS[metric](owner)


@pytest.mark.parametrize("metric", OF_VECTORS)
def test_a_result_is_printed_with_its_values_and_not_its_inputs(metric):
    shown = str(OF_VECTORS[metric](OWNER))
    assert "array" not in shown and len(shown) < 1200


def test_intervals_of_linkability_are_over_speakers_and_hold_the_values():
    found = OF_VECTORS["linkability"](OWNER)
    once = metrics.linkability_of(ENROLLED, TESTED[::3], OWNER[::3], [2, 12])
    thrice = metrics.linkability_of(ENROLLED, np.repeat(TESTED[::3], 3, axis=0), OWNER, [2, 12])
    assert [one.lower <= value <= one.upper for one, value in zip(found.intervals(), found.values, strict=True)] == [
        True
    ] * 2
    for one, other in zip(once.intervals(), thrice.intervals(), strict=True):
        # The same utterance three times is no more evidence.
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper))


def test_singling_out_of_arrays_is_that_of_folds():
    direct = singling_out.singling_out(
        ENROLLED, np.arange(12), TESTED.reshape(12, 3, 6).swapaxes(0, 1), np.full(12, 3), [4, 12]
    )
    order = np.argsort(np.tile(np.arange(3), 12), kind="stable")  # as if all first utterances came before all second
    found = metrics.singling_out_of(ENROLLED, TESTED[order], OWNER[order], [4, 12])
    assert np.array_equal(found.per_speaker, direct.per_speaker)
    with pytest.raises(ValueError, match="needs two vectors per speaker; speaker 11 has one"):
        metrics.singling_out_of(ENROLLED, TESTED[:-2], OWNER[:-2], [4])


def test_voices_that_are_left_as_they_are_lose_no_distinctiveness():
    scores = TESTED @ TESTED.T
    found = metrics.distinctiveness(scores, scores, scores, OWNER, resamples=20)
    assert found["g_vd"].value == 0 and abs(found["deid"].value) < 0.1  # Laplace smoothing of more pairs
    assert found["d_diag_oo"].value == found["d_diag_aa"].value
    with pytest.raises(ValueError, match="scores oa of 36 utterances must be 36 by 36"):
        metrics.distinctiveness(scores, scores[:5], scores, OWNER)


def test_lists_that_cannot_be_of_these_speakers_have_no_overlap():
    for a, b in (([], ["x"]), (["x"], []), (["x", "y"], ["z"])):
        with pytest.raises(ValueError, match="none may be empty or hold others"):
            metrics.jaccard_overlap(a, b, n_speakers=2)
    with pytest.raises(ValueError, match="unknown kind of speakers 'middle'; there are easy, hard"):
        metrics.extreme_speakers({"a": 1.0, "b": 0.0}).usable("middle")


def test_the_notebook_goes_from_arrays_to_figure_1_of_the_legal_paper(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = json.loads((ROOT / "docs/notebooks/legal_figure.ipynb").read_text())["cells"]
    space = {"__name__": "notebook"}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            exec("".join(cell["source"]), space)
    assert {f"legal.{kind}" for kind in ("svg", "pdf", "png")} <= {path.name for path in Path("figures").iterdir()}
    rates = {(r.metric, r.system, r.params["L"]): r.value for r in space["records"] if r.params["N"] == 60}
    assert len(rates) == 18
    for metric in ("singling_out", "linkability", "one_minus_eer"):
        assert rates[metric, "original", 1] > rates[metric, "mine", 1]
        assert rates[metric, "mine", 30] > rates[metric, "mine", 1]  # who has more utterances finds more
    assert all(r.lower - 1e-12 <= r.value <= r.upper + 1e-12 for r in space["records"])


def test_figures_of_an_unknown_edition_or_format_are_refused():
    with pytest.raises(ValueError, match="unknown edition '2021'; there are 2020, 2022, 2024, 2026"):
        results.draw_figures([], "figures", "2021")
    with pytest.raises(ValueError, match="unknown format 'jpg'; there are svg, pdf, png"):
        results.draw_figures([], "figures", formats=["jpg"])
