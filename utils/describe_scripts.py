#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Write the tables of docs/scripts.md from the first line of every script.

Usage: utils/describe_scripts.py [<page.md>]
 e.g.: utils/describe_scripts.py

A table is between the lines '<!-- scripts: PATTERN ... -->' and '<!-- end of scripts -->'; the rest of the page stays.
Every script must match a pattern of exactly one table.
"""

import ast
import re
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text

ROOT = Path(__file__).resolve().parents[1]
WHERE = ("*.sh", "{}/**/*.py", "{}/**/*.sh", "tests/*.sh")
DIRECTORIES = ("local", "steps", "utils", "benchmarks")
TABLE = re.compile(r"(<!-- scripts: (?P<patterns>[^\n]+) -->\n).*?(<!-- end of scripts -->)", re.DOTALL)


def scripts() -> set[str]:
    """All scripts, as paths from the root of the toolkit; in tests/, Python files with a usage text are scripts."""
    found = {path for pattern in WHERE for name in DIRECTORIES for path in ROOT.glob(pattern.format(name))}
    found |= {path for path in (ROOT / "tests").glob("*.py") if "\nUsage: " in path.read_text(encoding="utf-8")}
    return {str(path.relative_to(ROOT)) for path in found}


def describe(name: str) -> str:
    """The first line of the docstring of a script, or of its comments."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.endswith(".py"):
        lines = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    else:
        lines = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    if not lines:
        raise InputError("has no docstring or comment that describes it", ROOT / name)
    return lines[0].replace("|", r"\|")


def fill(page: str, path: Path) -> str:
    """The page with its tables."""
    tables = {match["patterns"]: _matches(match["patterns"]) for match in TABLE.finditer(page)}
    listed = [name for names in tables.values() for name in names]
    for name in sorted(scripts()):
        if listed.count(name) != 1:
            raise InputError(f"{name} is in {listed.count(name)} tables; it must be in one", path)
    rows = {patterns: [f"| `{name}` | {describe(name)} |\n" for name in names] for patterns, names in tables.items()}
    head = "| script | purpose |\n|---|---|\n"
    return TABLE.sub(lambda match: match[1] + head + "".join(rows[match["patterns"]]) + match[3], page)


def _matches(patterns: str) -> list[str]:
    found = [sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern)) for pattern in patterns.split()]
    return list(dict.fromkeys(name for names in found for name in names if name in scripts()))


def main() -> None:
    """Read the page, write it with its tables."""
    parser = script.Parser(__doc__)
    parser.add_argument("page", metavar="page.md", nargs="?", type=Path, default=ROOT / "docs/scripts.md")
    args = parser.parse_args()
    if not args.page.is_file():
        raise InputError("no such page", args.page)
    write_text(args.page, fill(args.page.read_text(encoding="utf-8"), args.page))


if __name__ == "__main__":
    script.main(main)
