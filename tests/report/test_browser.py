"""The report in a real browser: Chromium, driven by Playwright."""

from dataclasses import replace

import pytest

from vpeval.figures.run_results import load_results
from vpeval.report.page import Context, build

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def address(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    path.write_text(build(results, Context(toy / "figures")), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def open_page(browser, address):
    """Open the report from the file system; complaints of the page and requests to elsewhere fail the test."""
    contexts, complaints = [], []

    def visit(width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if is_elsewhere(request.url) else None)
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


def is_elsewhere(url):
    return not url.startswith(("file:", "data:", "blob:"))


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_as_wide_as_the_screen(open_page, width):
    page = open_page(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("h1").is_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_name_of_a_system_may_be_long(browser, toy, tmp_path, width):
    results = load_results([toy / "runs/original", toy / "runs/toy"], toy / "data")
    names = {"original": "original", "toy": "anonymiserwithanameoffortycharactersgaps"}
    entries = [replace(e, record=e.record.tagged({"system": names[e.record.system]})) for e in results.entries]
    (tmp_path / "report.html").write_text(build(replace(results, entries=entries), Context(toy / "figures")))
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    cut = "[...document.querySelectorAll('h1, p, td, th, dt, dd')].filter((e) => e.scrollWidth > e.clientWidth + 1)"
    assert page.evaluate(f"{cut}.map((e) => e.textContent)") == []
    page.close()


def test_the_table_is_sorted_and_filtered(open_page):
    page = open_page()
    assert page.locator("#search").is_hidden()
    page.locator("#everything > summary").click()
    page.locator("#search").fill("eer kaldi")
    shown = page.locator("#all-numbers tbody tr:visible")
    assert shown.count() == 6
    assert page.locator("#count").inner_text().startswith("6 of ")
    page.get_by_role("button", name="Value").click()
    values = shown.locator("td:nth-child(7)").all_inner_texts()
    assert [text.split()[0] for text in values] == ["4.00", "4.00", "15.00", "15.00", "30.00", "30.00"]
    page.get_by_role("button", name="Value").press("Enter")
    assert shown.locator("td:nth-child(7)").first.inner_text().startswith("30.00")
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_label("System").select_option("original")
    assert shown.count() == 2


def test_the_page_is_reached_with_the_keyboard(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Verdict"
    unnamed = "[...document.querySelectorAll('[tabindex]')].filter((e) => !e.getAttribute('aria-label')).length"
    assert page.evaluate(unnamed) == 0


def test_the_audio_plays(open_page):
    page = open_page()
    page.evaluate("document.querySelector('audio').play()")
    page.wait_for_function("document.querySelector('audio').currentTime > 0")
    assert page.evaluate("document.querySelector('audio').duration") == pytest.approx(0.3, abs=0.01)


def test_the_page_follows_the_colour_scheme_and_prints_light(open_page):
    page = open_page(color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 24, 30)"
    assert page.evaluate("getComputedStyle(document.querySelector('figure path')).fill") == "rgb(232, 235, 239)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()


@pytest.mark.parametrize("width", [390, 1280])
def test_all_numbers_are_shown_without_scripts(open_page, width):
    page = open_page(width, java_script_enabled=False)
    assert page.locator("#key-numbers tbody tr").first.is_visible()
    page.locator("#everything > summary").click()
    assert page.locator("#all-numbers tbody tr").last.is_visible()
    assert page.locator("#all-numbers tbody tr").count() > 50
    assert page.locator(".filter").is_hidden()


def test_verdict_and_worst_cases_are_visible_at_once_and_the_key_numbers_without_a_click(open_page):
    page = open_page()
    assert page.locator(".worst-cases").bounding_box()["y"] < 1100
    cells = page.locator("#key-numbers tbody tr").first.locator("td").all_inner_texts()
    assert [cell.split("\n")[0] for cell in cells] == ["50", "4.00", "15.00"]
