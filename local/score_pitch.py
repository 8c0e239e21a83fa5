#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Correlate the pitch of original and anonymised speech.

Usage: local/score_pitch.py [options] <data-dir> <anonymised-data-dir> <out.jsonl>
 e.g.: local/score_pitch.py data/mini_dev_trials_f data/mini_dev_trials_f_mcadams exp/mini/pitch.jsonl

Two numbers, each a mean over utterances with its standard deviation: mode vpc, the one of the challenge over all
frames, and mode voiced, over frames that are voiced in both. The interval is over speakers.
"""

from pathlib import Path

from vpeval.audio.f0 import track_all
from vpeval.cli import script
from vpeval.data.directory import DataDir
from vpeval.protocols.pitch import refuse_other_utterances, score_pitch
from vpeval.records.record import parse_tags, write_records
from vpeval.results.plain import plain_table


def main() -> None:
    """Track both sets, write the records, print the line of the challenge and all of them."""
    parser = script.scorer_parser(__doc__)
    parser.add_argument("--nj", type=script.positive, default=1, help="processes (default: 1)")
    parser.add_argument("data", metavar="data-dir", type=Path)
    parser.add_argument("anonymised", metavar="anonymised-data-dir", type=Path)
    parser.add_argument("out", metavar="out.jsonl")
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    original, anonymised = DataDir.load(args.data), DataDir.load(args.anonymised)
    refuse_other_utterances(original, anonymised)
    before, after = (track_all(data.wav, args.nj) for data in (original, anonymised))
    records = score_pitch(original, anonymised, before, after, args.bootstrap, args.seed)
    write_records(args.out, [record.tagged(tags) for record in records])
    name, vpc = tags.get("set", original.name), records[0]
    print(f"{name}  Pitch_correlation: mean={vpc.value:.4f} std={vpc.notes['std']:.4f}\n{plain_table(records)}", end="")


if __name__ == "__main__":
    script.main(main)
