#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Write egs/<recipe>/RESULTS.md, systems × key numbers, from the results of this clone.

Usage: utils/describe_results.py [options] <recipe>
 e.g.: ./run.sh && utils/describe_results.py mini

Reads exp/<recipe>/runs/<system>/results.jsonl. Commit and date of a system are those of its results.jsonl: the reflog
of the clone tells what was checked out then. Systems without results are named, with the reason if the recipe lacks
what they need.
"""

import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from vpeval.anon.hook_program import find_hook, sets_needed
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.processes import inspect_machine
from vpeval.plan.recipe import Recipe, read_recipe
from vpeval.results.load import load
from vpeval.results.recipe_page import About, Made, recipe_page

SYSTEMS = "identity mcadams vtln formant_f0 xvector_pool"


def main() -> None:
    """Read the results, write the page."""
    parser = script.Parser(__doc__)
    parser.add_argument("--systems", default=SYSTEMS, help=f"({SYSTEMS})")
    parser.add_argument("--exp", type=Path, default=Path("exp"), help="where results are (exp)")
    parser.add_argument("--note", action="append", default=[], help="a paragraph on the data; may be repeated")
    parser.add_argument("--out", type=Path, help="the page (egs/<recipe>/RESULTS.md)")
    parser.add_argument("recipe")
    args = parser.parse_args()
    recipe = read_recipe(Path("egs") / args.recipe / "recipe.conf")
    tables = {name: args.exp / recipe.recipe / "runs" / name / "results.jsonl" for name in args.systems.split()}
    there = {name: path for name, path in tables.items() if path.is_file()}
    if not there:
        raise InputError("no results of any system; run ./run.sh first", args.exp / recipe.recipe / "runs")
    about = About(
        recipe.recipe,
        recipe.edition,
        {name: made(path) for name, path in there.items()},
        machine(),
        shlex.join(["utils/describe_results.py", *sys.argv[1:]]),
        args.note,
        {name: reason(recipe, name) for name in tables if name not in there},
    )
    write_text(args.out or Path("egs") / recipe.recipe / "RESULTS.md", recipe_page(load(list(there.values())), about))


def made(table: Path) -> Made:
    """When a table was written, and what was checked out then."""
    moment = datetime.fromtimestamp(table.stat().st_mtime, UTC)
    line = ["git", "rev-parse", "--short", f"HEAD@{{{moment:%Y-%m-%d %H:%M:%S +0000}}}"]
    found = subprocess.run(line, capture_output=True, text=True, check=False)
    if found.returncode:
        raise InputError(f"the commit of its results is not known ({found.stderr.strip()})", table)
    return Made(found.stdout.strip(), f"{moment:%Y-%m-%d}")


def machine() -> str:
    """The CPU and the number of cores."""
    known = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").is_file() else ""
    names = [line.partition(":")[2].strip() for line in known.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {inspect_machine(Path()).cores} cores"


def reason(recipe: Recipe, system: str) -> str:
    """Why a system has no results."""
    lacking = [kind for kind in sets_needed(find_hook(system)) if not getattr(recipe, kind)]
    return f"needs {' and '.join(lacking)}, which the recipe has none of" if lacking else "not run"


if __name__ == "__main__":
    script.main(main)
