"""Every figure of 1, 3 and 19 systems: no text collides, is cut or too small, and no legend lies on data."""

import io
import re
from dataclasses import replace

import matplotlib
import pytest
from layout import PAGE, faults
from many_systems import SUPPLEMENT, make_results, system_names
from toy_runs import make_runs, write_attributes, write_table

from vpeval.figures import drawing
from vpeval.figures.catalogue import CATALOGUE, plots
from vpeval.figures.run_results import load_results
from vpeval.figures.scatter import privacy_utility
from vpeval.figures.system_axis import short_names
from vpeval.records.names import SEMI

COUNTS = (1, 3, 19)


@pytest.fixture(scope="module", params=COUNTS)
def results(request, tmp_path_factory):
    """Made-up verification of several systems, and everything else of toy runs."""
    root = tmp_path_factory.mktemp("toy")
    made = make_results(request.param)
    runs = [make_runs(root, name) for name in system_names(request.param)]
    for (original, run), name in zip(runs, system_names(request.param), strict=True):
        for directory, system, condition in ((original, "original", "oo"), (run, name, "aa")):
            tags = {"recipe": "toy", "system": system, "condition": condition, "attacker": "cosine", "set": "toy_all"}
            write_attributes(directory, tags)
            write_table(directory)
    (root / "epochs.jsonl").write_text(
        '{"epoch": 1, "train_loss": 3}\n{"epoch": 2, "train_loss": 2, "valid_loss": 2}\n'
    )
    logs = {f"{name}_attacker": root / "epochs.jsonl" for name in system_names(request.param)}
    toy = load_results([runs[0][0], *(run for _, run in runs)], root / "data", logs)
    semi = [
        replace(e, attack_model=SEMI, record=replace(e.record, attacker="anon"))
        for e in toy.entries
        if e.record.condition == "aa"
    ]
    return replace(toy, entries=[*toy.entries, *semi, *made.entries])


def test_every_figure_can_be_read(results):
    found = {}
    for plot in plots(results):
        figure = plot.draw(results, "2020")
        if figure is not None:
            found[plot.name] = faults(figure)
            assert figure.get_figwidth() <= PAGE
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert len(found) > 20


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("published", [0, 1])
def test_the_plane_of_privacy_and_utility_can_be_read(count, published):
    figure = privacy_utility(make_results(count, published).records, "2020", (0.1, 0.2, 0.3))
    assert faults(figure) == []
    (axis,) = figure.axes
    area = axis.get_window_extent()
    for container in axis.containers:
        x, y = axis.transData.transform(container.lines[0].get_xydata()[0])
        assert area.x0 < x < area.x1 and area.y0 < y < area.y1
    shown = {text.get_text().rstrip("†") for text in axis.texts}
    assert {"original", *short_names(system_names(count)).values()} <= shown


@pytest.mark.parametrize("name", ["eer", "eer_attacks", "eer_mean", "g_vd", "eer_cllr", "deid_metrics", "plane"])
def test_all_colours_follow_a_dark_page(name):
    results, text = make_results(3, published=1), io.StringIO()
    known = {plot.name: plot for plot in CATALOGUE}
    figure = known[name].draw(results, "2020") if name in known else privacy_utility(results.records, "2020", (0.1,))
    with matplotlib.rc_context(drawing.rc(name)):
        figure.savefig(text, format="svg")
    assert set(re.findall("#[0-9a-f]{6}", text.getvalue())) <= set(drawing.dark_colours())
    assert re.search(r'<svg[^>]* viewBox="0 0 ', text.getvalue())  # scales on a phone


def test_the_figures_of_the_supplement_can_be_read():
    if not SUPPLEMENT.is_file():
        pytest.skip("needs the tables of the supplement")
    results = load_results([SUPPLEMENT])
    drawn = ""
    for plot in CATALOGUE:
        figure = plot.draw(results, "2020")
        if figure is not None:
            assert faults(figure) == []
            drawn += plot.paper.replace("27 to 30", "27, 28, 29, 30") + "\n"
    numbers = set(map(int, re.findall(r"\b\d\d?\b", drawn)))
    assert numbers == {1, 2, *range(13, 24), *range(27, 31)}
