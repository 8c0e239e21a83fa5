#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Join data directories into one.

Usage: utils/combine_data.py <dst> <src1> <src2> …
 e.g.: utils/combine_data.py data/libri_dev_asr data/libri_dev_trials_f data/libri_dev_trials_m
"""

import sys
from pathlib import Path

from vpeval.cli import script
from vpeval.data.cut import combine
from vpeval.data.directory import DataDir


def main() -> None:
    """Join and write."""
    parser = script.Parser(__doc__)
    parser.add_argument("dst")
    parser.add_argument("src", nargs="+")
    args = parser.parse_args()

    data, dropped = combine([DataDir.load(src) for src in args.src], Path(args.dst))
    data.write(args.dst, map(Path, args.src))
    for name in dropped:
        print(f"{args.dst}: without {name}, which some of the sources lack", file=sys.stderr)
    print(f"{args.dst}: {len(data.utts)} utterances of {len(data.speakers)} speakers")


if __name__ == "__main__":
    script.main(main)
