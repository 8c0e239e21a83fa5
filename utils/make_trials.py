#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Make enrolment and trial sets from any data directory that has spk2gender.

Enrols every speaker with one session (utt2session: '<utterance> <session>') and uses the other sessions for trials;
without utt2session it enrols with a few utterances. Trials are the full cross product of enrolled speakers
and trial utterances of one gender. Makes <out-dir>/<name>_enrolls, <name>_trials_f, <name>_trials_m.

Usage: utils/make_trials.py [options] <data-dir> <out-dir>
 e.g.: utils/make_trials.py --enroll-session 0 --name mini_dev data/mini_dev_all data
"""

import argparse
import math
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir, read_utt2spk
from vpeval.data.layout import first_few
from vpeval.data.make_trials import TrialOptions, TrialSets, make_trials
from vpeval.data.trials import count_targets


def main() -> None:
    """Make the sets and write them."""
    parser = script.Parser(__doc__)
    parser.add_argument("--name", help="beginning of the names of the sets (default: that of the data directory)")
    parser.add_argument("--enroll-session", metavar="S", help="enrol with session S (default: one drawn per speaker)")
    parser.add_argument(
        "--enroll-utts",
        metavar="N",
        type=script.positive,
        default=5,
        help="utterances to enrol with where there is no utt2session (default: 5)",
    )
    parser.add_argument(
        "--min-enroll-dur",
        metavar="SECONDS",
        type=_seconds,
        default=0.0,
        help="enrol only speakers with that much speech to enrol with (default: 0)",
    )
    parser.add_argument(
        "--enroll-speakers",
        metavar="N",
        type=script.positive,
        help="how many speakers to enrol (default: all); the others are impostors",
    )
    parser.add_argument(
        "--trials-per-session",
        metavar="K",
        type=script.natural,
        default=0,
        help="trial utterances to keep of each session of each speaker (default: 0, all)",
    )
    parser.add_argument(
        "--mixed",
        metavar="true|false",
        type=script.boolean,
        default=False,
        help="make <name>_trials_mixed with trials across genders, too (default: false)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choices (default: 0)")
    parser.add_argument("data", metavar="data-dir")
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args()

    data = DataDir.load(args.data)
    options = TrialOptions(
        out=args.out,
        name=args.name or data.name,
        mixed=args.mixed,
        enroll_session=args.enroll_session,
        enroll_utts=args.enroll_utts,
        min_enroll_dur=args.min_enroll_dur,
        enroll_speakers=args.enroll_speakers,
        trials_per_session=args.trials_per_session,
        seed=args.seed,
    )
    sets = make_trials(data, options)
    enrolls = sets.enrolls
    refuse_leftovers(sets)
    enrolls.write(enrolls.path)
    print(f"{enrolls.path}: {len(enrolls.utts)} utterances of {len(enrolls.speakers)} speakers")
    for trial_set in sets.trials.values():
        trial_set.write(trial_set.path)
        trials = trial_set.trials or ()
        targets = count_targets(trials)
        size = f"{len(trial_set.utts)} utterances of {len(trial_set.speakers)} speakers"
        print(f"{trial_set.path}: {size}, {targets} target and {len(trials) - targets} nontarget trials")


def refuse_leftovers(sets: TrialSets) -> None:
    """Refuse to write next to a trial set of an earlier call that has utterances of the new enrolment set."""
    path = sets.enrolls.path
    for part in ("f", "m", "mixed"):
        old = path.with_name(f"{path.name.removesuffix('_enrolls')}_trials_{part}")
        if part in sets.trials or not (old / "utt2spk").is_file():
            continue
        if shared := sorted(set(sets.enrolls.utts).intersection(read_utt2spk(old / "utt2spk"))):
            raise InputError(
                f"is of another call and has {len(shared)} utterances of the new enrolment ({first_few(shared)}); "
                f"remove it: rm -r {old}",
                old,
            )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds, not '{text}'")
    return seconds


if __name__ == "__main__":
    script.main(main)
