#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Plot every figure that the records of some runs have data for, as SVG, PDF and PNG.

Usage: local/plot_figures.py [options] <run-dir> ... <out-dir>
 e.g.: local/plot_figures.py exp/mini/runs/original exp/mini/runs/mcadams exp/mini/runs/mcadams/figures

A figure whose data are absent is left out with a notice.
"""

import logging
from pathlib import Path

from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.figures import style
from vpeval.figures.catalogue import CATALOGUE
from vpeval.figures.data import load_results
from vpeval.results.editions import EDITIONS


def main() -> None:
    """Read the runs, write the figures."""
    parser = script.Parser(__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("data"), help="data directories, for trials (data)")
    parser.add_argument("--edition", choices=EDITIONS, default="2020", help="whose EER is shown (2020)")
    parser.add_argument("--formats", default=",".join(style.FORMATS), metavar="LIST", help="of svg,pdf,png (all)")
    parser.add_argument(
        "--training-log", action="append", default=[], metavar="NAME=FILE", help="epochs of an attacker"
    )
    parser.add_argument("runs", metavar="run-dir", type=Path, nargs="+")
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args()
    formats = args.formats.split(",")
    if unknown := set(formats) - set(style.FORMATS):
        parser.error(f"--formats {args.formats}: '{unknown.pop()}' is none of {', '.join(style.FORMATS)}")

    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it reports on every glyph that it puts into a PDF
    results = load_results(args.runs, args.data_dir, args.training_log)
    count = 0
    for plot in CATALOGUE:
        figure = plot.draw(results, args.edition)
        if figure is None:
            logging.info("figure %s is left out; it needs %s", plot.name, plot.needs)
            for kind in style.FORMATS:
                (args.out / f"{plot.name}.{kind}").unlink(missing_ok=True)
            continue
        style.save(figure, args.out, plot.name, formats)
        count += 1
    if not count:
        raise InputError("the records hold nothing to plot", args.runs[0])
    print(f"{args.out}: {count} figures ({', '.join(formats)})")


if __name__ == "__main__":
    script.main(main)
