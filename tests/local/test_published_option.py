"""Published baselines and results of others next to a run: --published of the scripts, marks, and what they are kept out of."""

import re
from pathlib import Path

import pytest
from in_process import call

from vpeval.records.record import Record, read_records, write_records

SPEAKERS = [f"s{i}" for i in range(6)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run on two sets of a toy corpus, in which two systems have scores."""
    monkeypatch.chdir(tmp_path)
    for gender in "fm":
        data = Path(f"data/toy_test_trials_{gender}")
        data.mkdir(parents=True)
        kinds = {True: "target", False: "nontarget"}
        (data / "trials").write_text("".join(f"{s} {u}-1 {kinds[s == u]}\n" for s in SPEAKERS for u in SPEAKERS))
        (data / "utt2spk").write_text("".join(f"{s}-1 {s}\n" for s in SPEAKERS))
    for name, target in (("B2", 5.0), ("mine", 0.02)):
        records = [Record("wer", 5.0, 4.0, 6.0, system=name, set="toy_test_asr", condition="a", recogniser="r")]
        for gender in "fm":
            scores = Path("runs", name, f"scores_{gender}")
            scores.parent.mkdir(parents=True, exist_ok=True)
            scores.write_text(
                "".join(f"{s} {u}-1 {target * (s == u) + i / 100}\n" for i, s in enumerate(SPEAKERS) for u in SPEAKERS)
            )
            tags = {"system": name, "set": f"toy_test_trials_{gender}", "gender": gender}
            tags |= {"condition": "aa", "attacker": "ecapa"}
            own = Record("eer_threshold", 0.25, 0.2, 0.3, **tags).with_files({"scores": scores.name})
            records.append(own.with_notes({"attack_model": "semi-informed"}))
        write_records(f"runs/{name}/results.jsonl", [record.tagged({"recipe": "toy"}) for record in records])
    return ["runs/B2/results.jsonl", "runs/mine/results.jsonl"]


def test_baselines_are_compared_but_not_tested_ranked_or_judged(run):
    done = call("compare.py", "--bootstrap", "20", "--published", "2024,2022", "out", *run)
    assert done.returncode == 0, done.stderr
    text = Path("out/comparison.txt").read_text()
    assert re.search(r"EER \(threshold\) % +B2 \(published 2024\) .* 4\.52†‡\n", text)
    assert re.search(r"EER \(threshold\) % +B2 +a-a .*25\.00 \[", text)
    assert "† published: results/result_for_rank_*" in text
    assert "‡ measured on other data (libri" in text
    ranked = text.partition("Ranking by")[2]
    assert "mine" in ranked
    assert "published" not in ranked
    verdicts = text.partition("Verdicts\n")[2].partition("\n\n")[0]
    assert "mine" in verdicts
    assert "B4" not in verdicts
    tested = {name for r in read_records("out/differences.jsonl") for name in (r.system, r.params["versus"])}
    assert tested == {"B2", "mine"}
    page = Path("out/index.html").read_text().replace("<wbr>", "")
    assert page.index("semi-informed, ecapa") < page.index("semi-informed, ASV_eval_anon")
    assert "B2 (published 2024)" in page
    assert "4.52†‡" in page
    assert "‡ measured on other data" in page
    assert "B4†‡" in Path("out/privacy_utility.svg").read_text()


def test_tables_and_figures_take_editions(run):
    done = call("results_to_latex.py", "--published", "2024", "--out-dir", "tex", *run)
    assert done.returncode == 0, done.stderr
    assert r"B4$^{\dagger\ddagger}$" in Path("tex/comparison.systems_test.tex").read_text()
    options = ["--edition", "2024", "--formats", "svg", "--published", "2024", "--published=2026"]
    done = call("plot_figures.py", *options, *run, "figures")
    assert done.returncode == 0, done.stderr
    assert "B6†‡" in Path("figures/eer_mean.svg").read_text()


@pytest.mark.parametrize("script", ["compare.py", "plot_figures.py"])
def test_baselines_alone_can_be_shown(tmp_path, monkeypatch, script):
    monkeypatch.chdir(tmp_path)
    assert call(script, "--edition", "2024", "--published", "2024", "out").returncode == 0
    assert any(Path("out").iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare.py", "--published", "2021", "out"), "no edition '2021' of the challenge; there are 2020, 2022"),
        (("compare.py", "out"), "give results to compare, or --published"),
        (("plot_figures.py", "out"), "give run directories or tables, or --published"),
        (("results_to_latex.py", "--published", "2024"), "give results, or --published with --out-dir"),
    ],
)
def test_what_cannot_be_meant_is_an_error(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    done = call(*arguments)
    assert done.returncode == 1
    assert words in done.stderr
