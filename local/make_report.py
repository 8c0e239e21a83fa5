#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Make the report of a run: one HTML page with verdict, numbers, figures, audio, legal criteria and provenance.

Usage: local/make_report.py [options] <run-dir> ... <out.html>
 e.g.: local/make_report.py exp/mini/runs/mcadams exp/mini/runs/mcadams/report.html

A run directory has results.jsonl; you may also give that file. Figures come from local/plot_figures.py.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.publish import write_own
from vpeval.editions.base import editions
from vpeval.figures.run_results import load_results
from vpeval.report.legal_criteria import UseCase
from vpeval.report.page import Context, build


def main() -> None:
    """Read the runs, write the page."""
    parser = script.Parser(__doc__)
    parser.add_argument("--figures", type=Path, metavar="DIR", help="drawn figures (figures/ next to <out.html>)")
    parser.add_argument("--data-dir", type=Path, default=Path("data"), help="data directories, for audio (data)")
    parser.add_argument("--edition", choices=editions(), default="2020", help="its EER is shown (2020)")
    parser.add_argument("--command-line", default="", metavar="TEXT", help="command of the run, to be shown")
    parser.add_argument("--note", default="", metavar="TEXT", help="remark on the data, below the verdict")
    parser.add_argument("--population", type=script.natural, default=0, metavar="N", help="speakers of your use case")
    parser.add_argument("--utterances", type=script.natural, default=0, metavar="L", help="utterances of your use case")
    parser.add_argument("runs", metavar="run-dir", type=Path, nargs="+")
    parser.add_argument("out", metavar="out.html", type=Path)
    args = parser.parse_args()

    results = load_results(args.runs, args.data_dir)
    figures, case = args.figures or args.out.parent / "figures", UseCase(args.population, args.utterances)
    context = Context(figures, args.command_line, args.note, args.edition, case)
    page = build(results, context)
    write_own(args.out, page)
    print(f"{args.out}: report of {len(results.entries)} numbers, {len(page.encode()) / 1e6:.1f} MB")


if __name__ == "__main__":
    script.main(main)
