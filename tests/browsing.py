"""A real browser for the tests of pages: the one place that finds it. Import `browser` in a conftest to use it."""

import os
import shutil
from pathlib import Path

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
]


def find_chromium(playwright):
    """$VPEVAL_CHROMIUM, a browser of the system, or the one that `playwright install chromium` has fetched."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = [os.environ.get("VPEVAL_CHROMIUM"), *map(shutil.which, names), playwright.chromium.executable_path]
    return next((path for path in found if path and Path(path).exists()), None)


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by Playwright; tests/get_chromium.sh installs it."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: install requirements-test.txt")
    with sync_api.sync_playwright() as playwright:
        path = find_chromium(playwright)
        if path is None:
            pytest.skip("no Chromium installed: run tests/get_chromium.sh")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
