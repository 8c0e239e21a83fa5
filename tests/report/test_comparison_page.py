"""The comparison page: what is on it, and how it behaves in Chromium."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "results"))

from simulated_study import study

from vpeval.records.record import Record, read_records, write_records
from vpeval.report import compare_systems
from vpeval.report.compare_systems import compare

LONG = "zanonymiserwithanameoffortycharactersgap"
SYSTEMS = {"alpha": (3.5, 0.05), "beta": (1.5, 0.2), "beta_seed1": (1.3, 0.2), "gamma <b>": (1.4, 0.5), LONG: (1, 0.3)}
COMPARED = len(SYSTEMS) - 1
"""One run of every system, whatever the number of its seeds."""
LEFT_OUT = "WER of omega was counted by other rules: its numbers are left out."


def found_speakers(system):
    """Shares of speakers that are found, and an attack that was made on the first system alone."""
    tags = {"system": system, "set": "toy_all", "condition": "aa", "attacker": "ecapa_plda"}
    notes = {"chance": 0.05, "attack_model": "semi-informed"}
    share = 0.3 + 0.1 * list(SYSTEMS).index(system)
    found = [
        Record(metric, share, share - 0.1, share + 0.1, {"N": 20, "L": 1}, notes=notes, **tags)
        for metric in ("linkability", "singling_out", "srd_idr")
    ]
    if system == "alpha":
        tags |= {"attacker": "my_spectrum"}
        for name in ("toy_test_trials_f", "toy_test_trials_m"):
            found.append(Record("eer_threshold", 0.01, 0.001, 0.02, notes=notes, **{**tags, "set": name}))
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Three systems with reports and audio, compared."""
    root = tmp_path_factory.mktemp("site")
    tables = study(root, SYSTEMS, seed=0, speakers=8)
    import numpy as np
    import soundfile as sf

    sf.write(root / "tone.wav", 0.1 * np.sin(np.arange(4800)), 16000)
    for name in ("", *(f"_{system}" for system in SYSTEMS)):
        place = root / f"data/toy_test_trials_f{name}"
        place.mkdir(exist_ok=True)
        (place / "utt2spk").write_text((root / "data/toy_test_trials_f/utt2spk").read_text())
        utts = [line.split()[0] for line in (place / "utt2spk").read_text().splitlines()]
        (place / "wav.scp").write_text("".join(f"{utt} {root / 'tone.wav'}\n" for utt in utts))
        spks = sorted({utt.split("-")[0] for utt in utts})
        (place / "spk2utt").write_text(
            "".join(f"{s} {' '.join(u for u in utts if u.startswith(s + '-'))}\n" for s in spks)
        )
    for table in tables:
        tags = {"system": "original", "set": "toy_test_trials_f", "condition": "oo", "attacker": "ecapa_plda"}
        original = Record("eer_threshold", 0.03, 0.01, 0.06, **tags)
        write_records(table, [original, *read_records(table), *found_speakers(table.parent.name)])
        (table.parent / "report.html").write_text("<title>report</title>")
    compare(root / "comparison", tables, "2024", data=root / "data", resamples=100, left_out=[LEFT_OUT])
    return root / "comparison/index.html"


def test_the_page_has_systems_differences_ranking_audio_and_links(site):
    page = site.read_text()
    main = page[page.index('id="systems-table"') : page.index("</table>")]
    assert re.findall(r'<th scope="row">(?:<a href="([^"]*)">)?', main) == [
        "",
        *(f"../runs/{name}/report.html" for name in ("alpha", "beta", "gamma &lt;b&gt;", LONG)),
    ]
    assert "beta is more private" in page
    assert "no difference shown" in page
    assert "gamma <b>" not in page and "gamma &lt;b&gt;" in page, "names are text"
    assert page.count("<audio") == 2 * (1 + COMPARED)
    assert "Ranking by the rules of VoicePrivacy 2024" in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


def heads(page, table):
    part = page[page.index(f'id="{table}"') :]
    return re.findall(
        r'<button type="button">([^<]*)(?:<small>(.*?)</small>)?</button>', part[: part.index("</thead>")]
    )


def test_columns_are_of_one_attack_and_one_size(site):
    page = site.read_text().replace("<wbr>", "").replace("\N{NO-BREAK SPACE}", " ")
    attack = "semi-informed, ecapa_plda"
    assert heads(page, "systems-table") == [
        ("System", ""),
        ("Verdict", ""),
        ("EER (threshold) %", attack),
        ("WER %", "whisper"),
        *((title, f"{attack}, N = 20, L = 1") for title in ("Linked %", "Singled out %", "Identified %")),
        ("EER (threshold) %", "semi-informed, my_spectrum"),
    ]


def test_verdicts_have_reasons_and_attackers_that_a_system_lacks_are_named(site):
    page, text = (site.parent / name for name in ("index.html", "comparison.txt"))
    for written in (page.read_text().replace("<wbr>", "").replace("\N{NO-BREAK SPACE}", " "), text.read_text()):
        assert "EER (threshold) 1.00 % against semi-informed my_spectrum: not at all" in written
        assert (
            "were not attacked by my_spectrum (a-a), the strongest attacker on alpha: their verdicts may be" in written
        )
        assert "./run.sh --stage 4 --system beta --attackers my_spectrum" in written
        assert LEFT_OUT in written
        assert "Left out" in written and "Over seeds" in written


def test_a_number_that_is_not_alike_is_left_out_of_the_columns_but_not_of_the_verdict(site, tmp_path):
    root = site.parents[1]
    tables = [root / f"runs/{name}/results.jsonl" for name in ("alpha", "beta", "gamma <b>")]
    odd = tmp_path / "runs/odd/results.jsonl"
    records = [r.tagged({"system": "odd"}) for r in read_records(tables[0]) if r.system == "alpha" and not r.files]
    notes = {"scoring": "cosine", "attack_model": "semi-informed"}
    eers = [Record("eer_threshold", 0.005, 0.001, 0.01, notes=notes, **tags(r)) for r in records if tags(r)]
    assert eers
    write_records(odd, [*records, *eers])
    marked = []
    for table in tables:
        scored = [r.with_notes({"scoring": "plda"}) if r.attacker == "ecapa_plda" else r for r in read_records(table)]
        marked.append(tmp_path / table.parent.name / "results.jsonl")
        write_records(marked[-1], [r.with_notes({"files": {}}) for r in scored])
    text = compare(tmp_path / "out", [*marked, odd], "2024", data=root / "data", resamples=0)
    assert "ecapa_plda was scored as cosine for odd, not as plda as for others: its numbers are left out" in text
    assert "odd: does not protect\n  EER (threshold) 0.50 % against semi-informed ecapa_plda" in text


def tags(record):
    """Those of an attack by ecapa_plda in place of another one; none for other numbers."""
    if record.attacker != "my_spectrum":
        return {}
    return {"system": "odd", "set": record.set, "condition": "aa", "attacker": "ecapa_plda"}


def test_a_page_of_many_numbers_and_figures_stays_small(site, tmp_path, monkeypatch):
    root = site.parents[1]
    tables = sorted((root / "runs").glob("*/results.jsonl"))
    monkeypatch.setattr(compare_systems, "_MOST_NUMBERS", 20)
    monkeypatch.setattr(compare_systems, "_FIGURE_BYTES", 30_000)
    compare(tmp_path / "out", tables, "2024", data=root / "data", resamples=0)
    page = (tmp_path / "out/index.html").read_text()
    numbers = page[page.index('id="all-numbers"') :]
    assert "toy test, female" not in numbers, "means alone"
    assert "Means of the test sets among most speakers." in page
    assert "The drawing is too large for this page." in page
    assert (tmp_path / "out/figures/eer.pdf").is_file()
    assert 'href="figures/eer.svg"' in page
    assert "<details><summary>Show" in page


def test_an_edition_without_rules_is_ranked_by_those_of_the_last_one_that_has_some(site):
    tables = sorted((site.parents[1] / "runs").glob("*/results.jsonl"))
    out = site.parents[1] / "of_2020"
    text = compare(out, tables, "2020", data=site.parents[1] / "data", resamples=0)
    assert "Ranking by the rules of VoicePrivacy 2024" in text
    assert (
        "VoicePrivacy 2020 has no known ranking rules: these are the rules of 2024." in (out / "index.html").read_text()
    )


def test_the_same_comparison_gives_the_same_page(site, tmp_path):
    tables = sorted((site.parents[1] / "runs").glob("*/results.jsonl"))
    out = site.parents[1] / "again"
    compare(out, tables, "2024", data=site.parents[1] / "data", resamples=100, left_out=[LEFT_OUT])
    assert (out / "index.html").read_bytes() == site.read_bytes()


@pytest.fixture
def open_page(browser, site):
    contexts, complaints = [], []

    def visit(width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(site.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.e2e
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_the_screen_and_sorts_and_filters(open_page, width):
    page = open_page(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    rows = page.locator("#systems-table tbody tr th")
    page.locator("#systems-table thead button").nth(2).click()
    assert rows.all_inner_texts()[0] == "original", "the lowest EER comes first"
    page.locator("#systems-table thead button").nth(2).click()
    assert page.locator("#systems-table th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.locator("select[name=title]").select_option("WER")
    assert page.locator("#all-numbers tbody tr:visible").count() == COMPARED
    page.locator("select[name=system]").select_option("beta")
    assert page.locator("#all-numbers tbody tr:visible").count() == 1


@pytest.mark.e2e
@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_are_not_cut_and_figures_are_as_wide_as_the_screen(open_page, width):
    page = open_page(width)
    for details in page.locator("details > summary").all():
        details.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    cut = page.evaluate(
        "[...document.querySelectorAll('th, td, dt, dd, p, h1')].filter((e) => e.scrollWidth > e.clientWidth + 1)"
        ".map((e) => e.textContent.slice(0, 60))"
    )
    assert cut == []
    outside = "[...document.querySelectorAll('figure svg')].filter((e) => e.getBoundingClientRect().right > innerWidth)"
    assert page.evaluate(f"{outside}.length") == 0
    assert page.locator("figure svg").count() > 3


@pytest.mark.e2e
def test_links_audio_and_the_page_without_scripts(open_page, tmp_path):
    page = open_page(java_script_enabled=False)
    assert page.locator("#systems-table tbody tr").count() == 1 + COMPARED
    assert page.locator(".filter").is_hidden()
    assert page.get_by_text("Click the head of a column").is_hidden()
    page.get_by_role("link", name="alpha").click()
    assert page.title() == "report"
    page = open_page()
    page.evaluate("document.querySelector('audio').play()")
    page.wait_for_function("document.querySelector('audio').currentTime > 0")


@pytest.mark.e2e
def test_the_printed_page_is_no_wider_than_the_paper(open_page):
    page = open_page(width=703)  # A4 less two margins of 12 mm, in CSS pixels
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    assert page.locator("nav").is_hidden()
    assert page.locator("#numbers").is_hidden()
    assert page.locator("#systems-table").is_visible()
