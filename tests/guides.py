"""The commands that guides of docs/ print, to be typed in by tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def printed(guide: str, heading: str = "") -> list[str]:
    """The commands of a guide: all blocks of shell, or those below a heading."""
    text = (ROOT / guide).read_text()
    if heading:
        _, found, text = text.partition(f"\n## {heading}\n")
        assert found, f"{guide} has no section '{heading}'"
        text = text.partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert blocks, f"{guide} prints no commands"
    return blocks
