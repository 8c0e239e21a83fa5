import logging

import pytest
from toy_runs import make_runs, run_script, write_table

from vpeval.figures import catalogue
from vpeval.figures.catalogue import CATALOGUE, write_figures
from vpeval.figures.run_results import load_results

SCRIPT = "plot_figures.py"


def test_figures_are_written_and_those_without_data_left_out_with_a_notice(tmp_path, caplog):
    original, _ = make_runs(tmp_path)
    write_table(original)
    assert run_script(SCRIPT, "--formats", "svg", original, "figures", cwd=tmp_path)[0] == 0
    drawn = {path.name for path in (tmp_path / "figures").glob("[!.]*")}
    assert "srd.svg" in drawn and len(drawn) > 1
    for record in original.glob("*/records.jsonl"):
        if not record.parent.name.startswith(("srd", "ASR")):
            record.unlink()
    write_table(original)
    with caplog.at_level(logging.INFO):
        code, printed, _ = run_script(SCRIPT, "--formats", "svg", original, "figures", cwd=tmp_path)
    assert (code, printed) == (0, "figures: 1 figures (svg)\n")
    (notice,) = (text for text in caplog.messages if text.startswith("figures without data: "))
    assert "g_vd, deid need similarity records (stage 7)" in notice
    assert [path.name for path in (tmp_path / "figures").glob("[!.]*")] == ["srd.svg"]


def test_a_figure_of_somebody_else_is_neither_replaced_nor_removed(tmp_path):
    original, _ = make_runs(tmp_path)
    write_table(original)
    own = tmp_path / "thesis/training.svg"
    own.parent.mkdir()
    own.write_text("mine")
    code, _, complaint = run_script(SCRIPT, "--formats", "svg", original, "thesis", cwd=tmp_path)
    assert (code, own.read_text()) == (1, "mine")
    assert "thesis/training.svg: was not made by this toolkit" in complaint
    assert [path.name for path in own.parent.iterdir()] == ["training.svg"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--formats", "svg,gif", "runs/original", "out"), "'gif' is none of svg, pdf, png"),
        (("--training-log", "x", "runs/original", "out"), "expected NAME=FILE"),
        (("--utts", "7", "runs/original", "out"), "there are no legal metrics with L = 7; there are L = 1, 3"),
        (("data", "out"), "data/results.jsonl: no such table of results"),
        (("nowhere", "out"), "nowhere: no such table of results"),
    ],
)
def test_a_mistake_is_one_message_and_no_output(tmp_path, args, message):
    make_runs(tmp_path)
    code, _, complaint = run_script(SCRIPT, *args, cwd=tmp_path)
    assert code == 1
    assert message in complaint
    assert not (tmp_path / "out").exists()


@pytest.fixture
def few_figures(monkeypatch):
    few = tuple(plot for plot in CATALOGUE if plot.name in ("eer", "g_vd", "det"))
    monkeypatch.setattr(catalogue, "CATALOGUE", few)


@pytest.mark.usefixtures("few_figures")
def test_runs_and_published_tables_share_figures(tmp_path):
    original, run = make_runs(tmp_path)
    head = "table partition data gender metric attack kind system value"
    cells = [
        f"2 test LibriSpeech female eer {attack}  {name} 21.5"
        for attack in ("ignorant", "lazy-informed")
        for name in ("X1", "X2")
    ]
    lines = [head, *cells]
    (tmp_path / "tables.tsv").write_text("".join(line.replace(" ", "\t") + "\n" for line in lines))
    code, _, complaint = run_script(SCRIPT, "--formats", "svg", original, run, "tables.tsv", "out", cwd=tmp_path)
    assert code == 0, complaint
    text = (tmp_path / "out/eer.svg").read_text()
    assert all(f">{name}<" in text for name in ("toy", "X1†‡", "X2†‡"))


@pytest.mark.usefixtures("few_figures")
def test_the_comparison_of_several_systems_has_no_figures_of_one(tmp_path):
    original, run = make_runs(tmp_path)
    results = load_results([original, run], tmp_path / "data")
    write_figures(results, tmp_path / "all", "2020", ("svg",))
    write_figures(results, tmp_path / "many", "2020", ("svg",), many=True)
    names = [{path.stem for path in (tmp_path / place).glob("[!.]*")} for place in ("all", "many")]
    assert names == [{"eer", "g_vd", "det"}, {"eer", "g_vd"}]
