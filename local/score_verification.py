#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score verification trials: EER (three kinds), Cllr, ZEBRA, D_sys and minDCF with speaker-bootstrap intervals.

Usage: local/score_verification.py [options] <trials> <scores> <out.jsonl>
 e.g.: local/score_verification.py --tag system=mcadams data/libri_dev_trials_f/trials exp/asv/scores exp/asv/eer.jsonl

DET and ECE curves go to a file beside the records (here exp/asv/eer.curves.json). With --versus, records named
<metric>_difference say how far <scores> lie from the other scores of the same trials, and with which p value.
"""

import json
from dataclasses import asdict
from pathlib import Path

from vpeval.core import script
from vpeval.core.files import write_text
from vpeval.core.tables import read_table
from vpeval.data.trials import read_scores, read_trials, trial_speakers
from vpeval.metrics.curves import det_curve, ece_curves
from vpeval.metrics.scores import PooledScores
from vpeval.metrics.verification import ScoredTrials, paired_difference, verification
from vpeval.results.records import parse_params, parse_tags, write_records


def main() -> None:
    """Read trials and scores, write records and curves."""
    parser = script.params_parser(__doc__)
    parser.add_argument("--utt2spk", help="speakers of the trial utterances; default: from targets and ids")
    parser.add_argument("--versus", metavar="SCORES", help="other scores of the same trials to compare with")
    parser.add_argument("trials")
    parser.add_argument("scores")
    parser.add_argument("out")
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    params, notes = parse_params(args.param)
    trials = read_trials(args.trials)
    utt2spk = read_table(args.utt2spk, "speaker") if args.utt2spk else None
    speakers = trial_speakers(trials, utt2spk, args.utt2spk)
    scored = ScoredTrials(read_scores(args.scores, trials), trials.is_target, speakers.enroll, speakers.trial)
    other = read_scores(args.versus, trials) if args.versus else None

    curves = Path(args.out).with_suffix(".curves.json")
    records = []
    for record in verification(scored, args.bootstrap, args.seed):
        has_curves = record.metric in ("eer_threshold", "zebra_population")
        records.append(record.with_notes({"curves": curves.name}) if has_curves else record)
    if other is not None:
        for record in paired_difference(scored, other, args.bootstrap, args.seed):
            records.append(record.with_params({"versus": args.versus}))
    write_text(curves, curves_json(scored.pooled()))
    write_records(args.out, [record.with_params(params).with_notes(notes).tagged(tags) for record in records])


def curves_json(pooled: PooledScores) -> str:
    """DET points and ECE curves, as lists of numbers."""
    curves = {"det": asdict(det_curve(pooled)), "ece": asdict(ece_curves(pooled))}
    lists = {name: {axis: values.tolist() for axis, values in curve.items()} for name, curve in curves.items()}
    return json.dumps(lists, allow_nan=False) + "\n"


if __name__ == "__main__":
    script.main(main)
