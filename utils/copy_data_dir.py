#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Copy a data directory, with a prefix or suffix to its ids if given; the audio stays where it is.

Write a prefix or suffix that begins with '-' with '=': --utt-suffix=-fast.

Usage: utils/copy_data_dir.py [options] <src> <dst>
 e.g.: utils/copy_data_dir.py --utt-prefix sp0.9- --spk-prefix sp0.9- data/train data/train_sp0.9
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.data.cut import rename
from vpeval.data.directory import DataDir


def main() -> None:
    """Rename and write."""
    parser = script.Parser(__doc__)
    for what in ("utt", "spk"):
        for affix in ("prefix", "suffix"):
            parser.add_argument(f"--{what}-{affix}", metavar="P", default="", help=f"{affix} of the new {what} ids")
    parser.add_argument("src")
    parser.add_argument("dst")
    args = parser.parse_args()
    data = rename(DataDir.load(args.src), args.utt_prefix, args.utt_suffix, args.spk_prefix, args.spk_suffix)
    data.write(args.dst, [Path(args.src)])


if __name__ == "__main__":
    script.main(main)
