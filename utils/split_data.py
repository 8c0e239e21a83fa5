#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Split a data directory into n parts of about the same duration, for parallel jobs.

The parts are <data-dir>/split<n>/1 … n; a speaker is in one part only. With --per-utt they are
<data-dir>/split<n>utt/1 … n and speakers may be divided.

Usage: utils/split_data.py [--per-utt] <data-dir> <n>
 e.g.: utils/split_data.py data/libri_dev_enrolls 8
"""

from vpeval.cli import script
from vpeval.data.cut import split, write_split
from vpeval.data.directory import DataDir


def main() -> None:
    """Split and write."""
    parser = script.Parser(__doc__)
    parser.add_argument("--per-utt", action="store_true", help="divide speakers, too")
    parser.add_argument("data", metavar="data-dir")
    parser.add_argument("n", type=script.positive)
    args = parser.parse_args()
    write_split(split(DataDir.load(args.data), args.n, args.per_utt))


if __name__ == "__main__":
    script.main(main)
