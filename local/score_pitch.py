#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Correlate the pitch of original and anonymised speech.

Usage: local/score_pitch.py [options] <data-dir> <anonymised-data-dir> <out.jsonl>
 e.g.: local/score_pitch.py data/mini_dev_trials_f data/mini_dev_trials_f_mcadams exp/mini/pitch.jsonl

Two numbers, each a mean over utterances with its standard deviation: mode vpc, the one of the challenge over all
frames, and mode voiced, over frames that are voiced in both. The interval is over speakers.
"""

import logging
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from vpeval.audio.f0 import track_f0
from vpeval.audio.io import RATE, read_audio
from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.layout import name_some
from vpeval.metrics.pitch import PitchCorrelation, correlate_pitch
from vpeval.metrics.utterance_mean import UtteranceMean, utterance_mean
from vpeval.results.records import Record, parse_tags, write_records

LONGEST_DRIFT = 0.025


def main() -> None:
    """Track both sets, write the records, print the line of the challenge."""
    parser = script.scorer_parser(__doc__)
    parser.add_argument("--nj", type=script.positive, default=1, help="processes (default: 1)")
    parser.add_argument("data", metavar="data-dir", type=Path)
    parser.add_argument("anonymised", metavar="anonymised-data-dir", type=Path)
    parser.add_argument("out", metavar="out.jsonl")
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    original, anonymised = DataDir.load(args.data), DataDir.load(args.anonymised)
    if missing := sorted(original.utt2spk.keys() ^ anonymised.utt2spk.keys()):
        raise InputError(
            f"has not the utterances of {args.data} ({name_some(missing)}); are these two versions of one set?",
            args.anonymised / "utt2spk",
        )
    pairs = [(original.wav[utt], anonymised.wav[utt]) for utt in original.utts]
    if args.nj == 1:
        compared = list(map(compare, pairs))
    else:
        with ProcessPoolExecutor(args.nj) as pool:
            compared = list(pool.map(compare, pairs, chunksize=8))
    results = dict(zip(original.utts, compared, strict=True))
    drifting = [utt for utt, (_, drift) in results.items() if drift > LONGEST_DRIFT]
    if drifting:
        logging.warning(
            f"{args.anonymised}: {len(drifting)} utterances differ in length by more than "
            f"{1000 * LONGEST_DRIFT:.0f} ms ({name_some(drifting)}); their tracks were stretched to match"
        )
    correlations = {utt: one for utt, (one, _) in results.items()}
    values = {
        "vpc": {utt: one.vpc for utt, one in correlations.items()},
        "voiced": {utt: one.voiced for utt, one in correlations.items() if one.voiced is not None},
    }
    if not values["voiced"]:
        logging.warning(f"{args.anonymised}: no utterance has voiced frames in both versions; is this speech?")
    means = {
        mode: utterance_mean(of, original.utt2spk, args.bootstrap, args.seed, "pitch")
        for mode, of in values.items()
        if of
    }
    write_records(args.out, [to_record(mode, mean).tagged(tags) for mode, mean in means.items()])
    name, vpc = tags.get("set", original.name), means["vpc"]
    print(f"{name}  Pitch_correlation: mean={vpc.mean:.4f} std={vpc.std:.4f}")


def compare(pair: tuple[str, str]) -> tuple[PitchCorrelation, float]:
    """The correlation of an utterance and the difference in length, in seconds."""
    waves = [read_audio(entry) for entry in pair]
    drift = abs(len(waves[0]) - len(waves[1])) / RATE
    return correlate_pitch(*map(track_f0, waves)), drift


def to_record(mode: str, mean: UtteranceMean) -> Record:
    """The record of one of the two estimates."""
    notes = {"std": mean.std}
    counts = {"utts": mean.utts, "speakers": mean.speakers}
    return mean.interval.of(Record("pitch_correlation", mean.mean, params={"mode": mode}, counts=counts, notes=notes))


if __name__ == "__main__":
    script.main(main)
