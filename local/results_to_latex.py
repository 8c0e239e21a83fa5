#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Turn results into LaTeX tables; several systems share one set of tables.

Usage: local/results_to_latex.py [options] [<name>=]<results> ...
 e.g.: local/results_to_latex.py exp/mini/runs/mcadams/results.jsonl b2=RESULTS_mcadams

Results are results.jsonl or result files of VoicePrivacy 2020, 2022, 2024 or 2026; <name> names their system. Written
are <out-dir>/<results>.<table>.tex: the six tables of the 2020 challenge (ASV and ASR; dev, test, combined) and, in
booktabs style, all privacy metrics (privacy_dev, privacy_test), systems side by side (systems_dev, systems_test), legal
metrics over N and L (legal) and similarity rank disclosure (srd, srd_fit). What has no data is left out.
"""

import logging
from pathlib import Path

from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.results.formats import latex, latex_systems
from vpeval.results.load import Source, load


def main() -> None:
    """Read results of any shape, write one file per table."""
    parser = script.Parser(__doc__)
    parser.add_argument("--style", choices=latex.STYLES, default="booktabs", help="vpc2020: the challenge's own tables")
    parser.add_argument("--out-dir", type=Path, help="default: latex/ beside the first input")
    parser.add_argument("results", nargs="+", type=Source.parse)
    args = parser.parse_args()

    records = load(args.results)
    first = args.results[0].path
    tables = latex.tables(records, args.style)
    if args.style == "booktabs":
        tables |= latex_systems.tables(records)
    if not tables:
        raise InputError("no results to set in tables", first)
    out_dir = args.out_dir or first.parent / "latex"
    stem = table_stem(first) if len(args.results) == 1 else "comparison"
    for name, text in tables.items():
        write_text(out_dir / f"{stem}.{name}.tex", text)
    if missing := [name for name in latex.TABLES if name not in tables]:
        logging.warning(f"no data for {', '.join(missing)}: left out")
    print(f"{out_dir}: {len(tables)} tables ({stem}.*.tex)")


def table_stem(results: Path) -> str:
    """``results`` of results.jsonl, but the whole of results.anon_x, beside which there may be a results.orig_x."""
    return results.stem if results.suffix in (".jsonl", ".txt") else results.name


if __name__ == "__main__":
    script.main(main)
