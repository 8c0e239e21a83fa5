#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Quality of speech without listeners: DNSMOS of a data directory, and STOI against the original of the same timing.

Usage: local/score_quality.py [options] <data-dir> <out.jsonl>
 e.g.: local/score_quality.py --original data/mini_dev_trials_f --limit 20 data/mini_dev_trials_f_mcadams quality.jsonl

Measures whose package is not installed are left out with a notice; <out.jsonl> is then written without them.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.data.directory import DataDir
from vpeval.protocols.quality import score_quality
from vpeval.records.record import parse_tags, write_records
from vpeval.results.plain import plain_table


def main() -> None:
    """Measure utterance by utterance, write the means."""
    parser = script.scorer_parser(__doc__)
    parser.add_argument("--original", type=Path, metavar="DATA-DIR", help="the same utterances before anonymisation")
    parser.add_argument("--limit", type=script.natural, default=0, metavar="N", help="a sample of N utterances; 0: all")
    parser.add_argument("data", metavar="data-dir", type=Path)
    parser.add_argument("out", metavar="out.jsonl")
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    original = DataDir.load(args.original) if args.original else None
    records = score_quality(DataDir.load(args.data), original, args.limit, args.bootstrap, args.seed)
    write_records(args.out, [record.tagged(tags) for record in records])
    print(plain_table(records) if records else "no measure of quality is available\n", end="")


if __name__ == "__main__":
    script.main(main)
