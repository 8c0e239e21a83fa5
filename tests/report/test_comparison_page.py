"""The comparison page: what is on it, and how it behaves in Chromium."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "results"))

from simulated_study import study

from vpeval.records.record import Record, read_records, write_records
from vpeval.report.compare_systems import compare

SYSTEMS = {"alpha": (3.5, 0.05), "beta": (1.5, 0.2), "gamma <b>": (1.4, 0.5)}


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
        write_records(table, [Record("eer_kaldi", 0.03, 0.01, 0.06, **tags), *read_records(table)])
        (table.parent / "report.html").write_text("<title>report</title>")
    compare(root / "comparison", tables, "2024", data=root / "data", resamples=100)
    return root / "comparison/index.html"


def test_the_page_has_systems_differences_ranking_audio_and_links(site):
    page = site.read_text()
    main = page[page.index('id="systems-table"') : page.index("</table>")]
    assert re.findall(r'<th scope="row">(?:<a href="([^"]*)">)?', main) == [
        "",
        *(f"../runs/{name}/report.html" for name in ("alpha", "beta", "gamma &lt;b&gt;")),
    ]
    assert "beta is more private" in page
    assert "no difference shown" in page
    assert "<b>" not in page[page.index("<main>") :].replace("<b>", "", main.count("<b>")), "names are text"
    assert page.count("<audio") == 2 * (1 + len(SYSTEMS))
    assert "Ranking by the rules of VoicePrivacy 2024" in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


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
    compare(out, tables, "2024", data=site.parents[1] / "data", resamples=100)
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
    page.locator("#systems-table thead button").nth(1).click()
    assert rows.all_inner_texts()[0] == "original", "the lowest EER comes first"
    page.locator("#systems-table thead button").nth(1).click()
    assert page.locator("#systems-table th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.locator("select[name=title]").select_option("WER")
    assert page.locator("#all-numbers tbody tr:visible").count() == len(SYSTEMS)
    page.locator("select[name=system]").select_option("beta")
    assert page.locator("#all-numbers tbody tr:visible").count() == 1


@pytest.mark.e2e
def test_links_audio_and_the_page_without_scripts(open_page, tmp_path):
    page = open_page(java_script_enabled=False)
    assert page.locator("#systems-table tbody tr").count() == 1 + len(SYSTEMS)
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
