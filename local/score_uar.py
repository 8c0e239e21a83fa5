#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score emotion predictions: unweighted average recall and recall per emotion, as in VoicePrivacy 2024.

Usage: local/score_uar.py [options] <data-dir> <predictions> <out.jsonl>
 e.g.: local/score_uar.py --tag set=IEMOCAP_dev --tag condition=o data/IEMOCAP_dev exp/ser/IEMOCAP_dev exp/uar.jsonl

<predictions> has lines <utterance> <emotion>. The data directory has utt2emo and, for the challenge's mean over folds,
spk2fold. An utterance without prediction counts as wrong. The record of the UAR has its interval over speakers and the
level of chance.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.protocols.emotion import score_predictions
from vpeval.records.record import parse_tags, write_records
from vpeval.results.plain import plain_table


def main() -> None:
    """Read labels and predictions, write the records, print the rates."""
    parser = script.scorer_parser(__doc__)
    parser.add_argument("data", metavar="data-dir", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("out", metavar="out.jsonl")
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    records = score_predictions([args.data], [args.predictions], args.bootstrap, args.seed)
    write_records(args.out, [record.tagged(tags) for record in records])
    print(plain_table(records), end="")


if __name__ == "__main__":
    script.main(main)
