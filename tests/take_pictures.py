#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Take the pictures of docs/img of a report and of a comparison page, on a desktop screen and on a phone.

Usage: tests/take_pictures.py <report.html> <comparison/index.html>
 e.g.: VPEVAL_TESTS=1 tests/take_pictures.py exp/mini/runs/mcadams/report.html exp/mini/comparison/index.html

Needs a Chromium (tests/get_chromium.sh). Look at the pictures before you commit them.
"""

import sys
from pathlib import Path

from browsing import FLAGS, find_chromium
from playwright.sync_api import sync_playwright

SCREENS = {"desktop": {"width": 1280, "height": 1500}, "phone": {"width": 390, "height": 1700}}
IMG = Path(__file__).resolve().parents[1] / "docs/img"


def main() -> None:
    """Take four pictures."""
    report, comparison = map(Path, sys.argv[1:])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(playwright), args=FLAGS)
        for name, path in (("report", report), ("comparison", comparison)):
            for screen, size in SCREENS.items():
                # Scripts are off: what is seen is there without them.
                page = browser.new_context(viewport=size, java_script_enabled=False).new_page()
                page.goto(path.resolve().as_uri())
                page.screenshot(path=IMG / f"{name}_{screen}.png")
        browser.close()


if __name__ == "__main__":
    main()
