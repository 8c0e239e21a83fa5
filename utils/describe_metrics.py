#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Write the tables of docs/metrics.md from the descriptions of the metrics in vpeval/measures.

Usage: utils/describe_metrics.py [<page.md>]
 e.g.: utils/describe_metrics.py

Tables are between lines '<!-- metrics: GROUP -->' and '<!-- end of metrics -->'; the rest of the page stays.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.results.text_tables import with_tables


def main() -> None:
    """Read the page, write it with its tables."""
    parser = script.Parser(__doc__)
    parser.add_argument("page", metavar="page.md", nargs="?", type=Path, default=Path("docs/metrics.md"))
    args = parser.parse_args()
    if not args.page.is_file():
        raise InputError("no such page", args.page)
    write_text(args.page, with_tables(args.page.read_text(encoding="utf-8"), args.page))


if __name__ == "__main__":
    script.main(main)
