#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Plot all figures for which the records of the runs have data, as SVG, PDF and PNG.

Usage: local/plot_figures.py [options] <run-dir> ... <out-dir>
 e.g.: local/plot_figures.py exp/mini/runs/mcadams exp/mini/runs/mcadams/figures

A run directory has results.jsonl; you may also give that file, [<name>=]<file> for result files of VoicePrivacy 2020,
2022, 2024 or 2026, and published tables (docs/formats.md).
A message lists the figures without data.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.editions.base import editions
from vpeval.figures import drawing
from vpeval.figures.catalogue import write_figures
from vpeval.figures.legal_charts import choose_utts
from vpeval.figures.run_results import load_results
from vpeval.results.load import Source


def main() -> None:
    """Read the runs, write the figures."""
    parser = script.Parser(__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("data"), help="data directories, for trials (data)")
    parser.add_argument("--edition", choices=editions(), default="2020", help="its EER is shown (2020)")
    parser.add_argument("--formats", default=",".join(drawing.FORMATS), metavar="LIST", help="of svg,pdf,png (all)")
    parser.add_argument(
        "--training-log", action="append", default=[], metavar="NAME=FILE", help="training log of an attacker"
    )
    parser.add_argument(
        "--utts",
        metavar="LIST",
        help="numbers L of utterances in figures of the legal metrics (1,3,30, as in the paper)",
    )
    script.add_published_option(parser)
    parser.add_argument("runs", metavar="run-dir", type=Source.parse, nargs="*")
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args()
    formats = args.formats.replace(",", " ").split()
    if unknown := set(formats) - set(drawing.FORMATS):
        parser.error(f"--formats {args.formats}: '{unknown.pop()}' is none of {', '.join(drawing.FORMATS)}")

    if not args.runs and not args.published:
        parser.error("give run directories or tables, or --published")
    results = load_results([*args.runs, *args.published], args.data_dir, parse_logs(args.training_log))
    if args.utts:
        results = choose_utts(results, args.utts)
    count = write_figures(results, args.out, args.edition, formats)
    print(f"{args.out}: {count} figures ({', '.join(formats)})")


def parse_logs(items: list[str]) -> dict[str, Path]:
    """``NAME=FILE`` → path by name."""
    logs = {}
    for item in items:
        name, equals, path = item.partition("=")
        if not equals or not name:
            raise InputError(f"--training-log {item}: expected NAME=FILE")
        logs[name] = Path(path)
    return logs


if __name__ == "__main__":
    script.main(main)
