#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score verification trials: EER (three kinds), Cllr, ZEBRA, D_sys and minDCF with speaker-bootstrap intervals.

Usage: local/score_verification.py [options] <trials> <scores> <out.jsonl>
 e.g.: local/score_verification.py --tag system=mcadams data/libri_dev_trials_f/trials exp/asv/scores exp/asv/eer.jsonl

DET and ECE curves go to a file beside the records (here exp/asv/eer.curves.json). With --versus, records named
<metric>_difference say how far <scores> lie from the other scores of the same trials, and with which p value.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.tables import read_table
from vpeval.data.trials import read_scores, read_trials
from vpeval.protocols.verification import score_difference, score_verification, scored_trials
from vpeval.records.record import parse_params, parse_tags, write_records
from vpeval.results.plain import plain_table


def main() -> None:
    """Read trials and scores, write records and curves."""
    parser = script.scorer_params_parser(__doc__)
    parser.add_argument("--utt2spk", help="speakers of the trial utterances; default: from targets and ids")
    parser.add_argument("--versus", metavar="SCORES", help="other scores of the same trials to compare with")
    parser.add_argument("trials")
    parser.add_argument("scores")
    parser.add_argument("out")
    args = parser.parse_args()

    tags, (params, notes) = parse_tags(args.tag), parse_params(args.param)
    trials = read_trials(args.trials)
    utt2spk = read_table(args.utt2spk, "speaker") if args.utt2spk else None
    scored = scored_trials(trials, read_scores(args.scores, trials), utt2spk, args.utt2spk)
    other = read_scores(args.versus, trials) if args.versus else None
    records = score_verification(scored, Path(args.out).with_suffix(".curves.json"), args.bootstrap, args.seed)
    if other is not None:
        records += score_difference(scored, other, args.versus, args.bootstrap, args.seed)
    write_records(args.out, [record.with_params(params).with_notes(notes).tagged(tags) for record in records])
    print(plain_table(records), end="")


if __name__ == "__main__":
    script.main(main)
