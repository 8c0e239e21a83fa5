#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Turn results into the six LaTeX tables of the VoicePrivacy 2020 challenge; several systems share one set of tables.

Usage: local/results_to_latex.py [options] <results.txt | results.jsonl> ...
 e.g.: local/results_to_latex.py exp/mini/mcadams/results.txt
writes exp/mini/mcadams/latex/results.ASV_dev.tex and so on.
"""

import logging
from pathlib import Path

from vpeval import script
from vpeval.errors import InputError
from vpeval.files import write_text
from vpeval.results import latex
from vpeval.results.load import load


def main() -> None:
    """Read results of any shape, write one file per table."""
    parser = script.Parser(__doc__)
    parser.add_argument("--style", choices=latex.STYLES, default="booktabs", help="vpc2020 is the challenge's own look")
    parser.add_argument("--out-dir", type=Path, help="default: latex/ beside the first input")
    parser.add_argument("results", nargs="+", type=Path)
    args = parser.parse_args()

    tables = latex.tables(load(args.results), args.style)
    if not tables:
        raise InputError("no verification or recognition results to set in tables", args.results[0])
    first = args.results[0]
    out_dir = args.out_dir or first.parent / "latex"
    stem = first.stem if len(args.results) == 1 else "comparison"
    for name, text in tables.items():
        write_text(out_dir / f"{stem}.{name}.tex", text)
    if missing := [name for name in latex.TABLES if name not in tables]:
        logging.warning(f"no data for {', '.join(missing)}: left out")
    print(f"{out_dir}: {len(tables)} tables ({stem}.*.tex)")


if __name__ == "__main__":
    script.main(main)
