#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Print speakers, utterances, hours and trials of data directories by gender, or set them in LaTeX.

Usage: utils/data_statistics.py [--latex FILE] <data-dir> ...
 e.g.: utils/data_statistics.py data/mini_dev_enrolls data/mini_dev_trials_f data/mini_dev_trials_m
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.publish import write_own
from vpeval.data.directory import DataDir
from vpeval.data.statistics import HEAD, rows
from vpeval.records.tex import join_cells
from vpeval.results.text_tables import aligned


def main() -> None:
    """Count and print."""
    parser = script.Parser(__doc__)
    parser.add_argument("--latex", type=Path, metavar="FILE", help="write a LaTeX table (booktabs) to this file")
    parser.add_argument("sets", metavar="data-dir", nargs="+")
    args = parser.parse_args()

    found = rows([DataDir.load(path) for path in args.sets])
    print(aligned([HEAD, *found]), end="")
    if args.latex:
        lines = [r"\begin{tabular}{llrrr}", r"\toprule", join_cells(HEAD) + r" \\", r"\midrule"]
        lines += [join_cells(row) + r" \\" for row in found]
        write_own(args.latex, "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""]))


if __name__ == "__main__":
    script.main(main)
