#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Make a data directory with a subset of the utterances of another.

Usage: utils/subset_data.py [--seed S] <one way to choose> <src> <dst>
 e.g.: utils/subset_data.py --per-spk 10 data/train-clean-360 data/train_small
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.files import read_rows
from vpeval.data import cut
from vpeval.data.directory import DataDir


def main() -> None:
    """Choose and write."""
    parser = script.Parser(__doc__)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--utt-list", metavar="F", help="the utterances that file F lists, one per line")
    choice.add_argument("--spk-list", metavar="F", help="all utterances of the speakers that file F lists")
    choice.add_argument("--speakers", metavar="N", type=script.positive, help="all utterances of N random speakers")
    choice.add_argument("--first", metavar="N", type=script.positive, help="the first N utterances")
    choice.add_argument("--per-spk", metavar="N", type=script.positive, help="N random utterances of each speaker")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choices (default: 0)")
    parser.add_argument("src")
    parser.add_argument("dst")
    args = parser.parse_args()

    data = DataDir.load(args.src)
    if args.utt_list:
        data = data.subset(utt for _, (utt,) in read_rows(args.utt_list, "utterance"))
    elif args.spk_list:
        data = cut.keep_speakers(data, (spk for _, (spk,) in read_rows(args.spk_list, "speaker")))
    elif args.speakers:
        data = cut.pick_speakers(data, args.speakers, args.seed)
    elif args.first:
        data = cut.pick_first(data, args.first)
    else:
        data = cut.pick_per_speaker(data, args.per_spk, args.seed)
    data.write(args.dst, [Path(args.src)])
    print(f"{args.dst}: {len(data.utts)} utterances of {len(data.speakers)} speakers")


if __name__ == "__main__":
    script.main(main)
