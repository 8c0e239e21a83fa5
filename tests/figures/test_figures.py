import io
import re
from dataclasses import replace

import matplotlib
import pytest
from matplotlib.patches import Rectangle
from toy_runs import make_runs, write_attributes, write_table

from vpeval.figures import drawing
from vpeval.figures.catalogue import CATALOGUE
from vpeval.figures.run_results import Results, load_results

LOG = '{"epoch": 1, "train_loss": 3, "seconds": 9}\n{"epoch": 2, "train_loss": 2, "valid_loss": 2.5}\n'


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("toy")
    (root / "epochs.jsonl").write_text(LOG)
    runs = make_runs(root)
    for run, system, condition in zip(runs, ("original", "toy"), ("oo", "aa"), strict=True):
        tags = {"recipe": "toy", "system": system, "condition": condition, "attacker": "cosine", "set": "toy_all"}
        write_attributes(run, tags)
        write_table(run)
    return load_results(runs, root / "data", {"cosine": root / "epochs.jsonl"})


@pytest.fixture(scope="module")
def figures(results):
    """All figures by name."""
    return {plot.name: plot.draw(results, "2020") for plot in CATALOGUE}


def find(name):
    return next(plot for plot in CATALOGUE if plot.name == name)


def heights(axis):
    return [patch.get_height() for patch in axis.patches if isinstance(patch, Rectangle)]


def test_the_catalogue_has_unique_names_and_sentences():
    names = [plot.name for plot in CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(plot.caption("2024").endswith(".") for plot in CATALOGUE)


def test_every_figure_of_a_whole_run_is_drawn(figures):
    missing = [name for name, figure in figures.items() if figure is None]
    # Those need listeners, more systems, or encoders of other kinds.
    others = ("listening", "legal_", "eer_attacks", "srd_", "similarity_encoders")
    assert [name for name in missing if not name.startswith(others)] == []


def test_no_figure_is_drawn_from_nothing():
    empty = Results([], [], None)
    assert all(plot.draw(empty, "2020") is None for plot in CATALOGUE)


@pytest.mark.parametrize(
    ("metric", "weaker", "stronger"),
    [("zebra_population", 0.01, 0.5), ("dsys", 0.01, 0.9), ("linkability", 0.01, 0.99), ("eer_kaldi", 0.5, 0.0)],
)
def test_of_attackers_with_the_same_attack_model_the_strongest_is_shown(results, metric, weaker, stronger):
    entries = [entry for entry in results.entries if entry.record.metric == metric]
    lazy = next(entry for entry in entries if entry.attack_model == "lazy-informed")
    weak, strong = (
        replace(lazy, record=replace(lazy.record, attacker=name, value=value))
        for name, value in (("weak", weaker), ("strong", stronger))
    )
    kept = results.strongest([*entries, weak, strong])
    assert {entry.record.attacker for entry in kept if entry.series[:2] == lazy.series[:2]} == {"strong"}
    assert {entry.attack_model for entry in kept} == {entry.attack_model for entry in entries}


def test_files_are_the_same_on_every_run(results, tmp_path):
    for place in ("one", "two"):
        drawing.save(find("jaccard_mean").draw(results, "2020"), tmp_path / place, "jaccard_mean")
    for kind in drawing.FORMATS:
        one, two = ((tmp_path / place / f"jaccard_mean.{kind}").read_bytes() for place in ("one", "two"))
        assert one == two
        assert not re.search(rb"20\d\d-\d\d-\d\d|CreationDate", one)


def test_colours_of_figures_follow_a_dark_page(figures):
    text = io.StringIO()
    with matplotlib.rc_context(drawing.rc("eer")):
        figures["eer"].savefig(text, format="svg")
    assert set(re.findall("#[0-9a-f]{6}", text.getvalue())) <= set(drawing.dark_colours())


def test_a_dollar_in_the_name_of_a_system_is_a_dollar(tmp_path):
    runs = [*make_runs(tmp_path, r"$\frac$"), make_runs(tmp_path, "b")[1]]
    results = load_results(runs, tmp_path / "data")
    figure = find("eer").draw(results, "2020")
    buffer = io.StringIO()
    with matplotlib.rc_context(drawing.rc("eer")):
        figure.savefig(buffer, format="svg")
    assert r"$\frac$" in buffer.getvalue()
