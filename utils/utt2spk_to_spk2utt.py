#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Turn utt2spk into spk2utt on the standard output; '-' reads the standard input.

Usage: utils/utt2spk_to_spk2utt.py <utt2spk> > <spk2utt>
 e.g.: utils/utt2spk_to_spk2utt.py data/train/utt2spk > data/train/spk2utt
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.data.directory import invert, read_utt2spk


def main() -> None:
    """Print one line per speaker."""
    parser = script.Parser(__doc__)
    parser.add_argument("utt2spk")
    args = parser.parse_args()
    path = Path("/dev/stdin" if args.utt2spk == "-" else args.utt2spk)
    for spk, utts in invert(read_utt2spk(path)).items():
        print(spk, *utts)


if __name__ == "__main__":
    script.main(main)
