"""Pages that repeat what the code says are up to date."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "docs/scripts.md"


def describe_scripts(page: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "utils/describe_scripts.py", page], cwd=ROOT, capture_output=True, text=True
    )


def test_the_page_of_scripts_is_up_to_date(tmp_path: Path) -> None:
    page = Path(shutil.copy(SCRIPTS, tmp_path))
    done = describe_scripts(page)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == SCRIPTS.read_text(), "docs/scripts.md is stale: run utils/describe_scripts.py"


def test_a_script_that_no_table_lists_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "scripts.md"
    page.write_text(SCRIPTS.read_text().replace("utils/run.py", "utils/walk.py"))
    done = describe_scripts(page)
    assert done.returncode == 1
    assert done.stderr.endswith("utils/run.py is in 0 tables; it must be in one\n")


def test_the_picture_of_the_layers_is_the_one_that_is_checked() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    picture = (ROOT / "docs/architecture.md").read_text().split("```\n")[1]
    assert [re.split(r" {2,}", line)[0] for line in picture.splitlines()] == contract["layers"]
