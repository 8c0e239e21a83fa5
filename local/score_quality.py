#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Quality of speech without listeners: DNSMOS of a data directory, and STOI against the original of the same timing.

Usage: local/score_quality.py [options] <data-dir> <out.jsonl>
 e.g.: local/score_quality.py --original data/mini_dev_trials_f --limit 20 data/mini_dev_trials_f_mcadams quality.jsonl

Measures whose package is not installed are left out with a notice; <out.jsonl> is then written without them.
"""

import logging
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from vpeval.audio.io import read_audio
from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.directory import DataDir
from vpeval.metrics import quality
from vpeval.metrics.utterance_mean import utterance_mean
from vpeval.results.records import Record, parse_tags, write_records


def main() -> None:
    """Measure utterance by utterance, write the means."""
    parser = script.scorer_parser(__doc__)
    parser.add_argument("--original", type=Path, metavar="DATA-DIR", help="the same utterances before anonymisation")
    parser.add_argument("--limit", type=script.natural, default=0, metavar="N", help="a sample of N utterances; 0: all")
    parser.add_argument("data", metavar="data-dir", type=Path)
    parser.add_argument("out", metavar="out.jsonl")
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    data = DataDir.load(args.data)
    original = DataDir.load(args.original) if args.original else None
    utts = choose(data.utts, args.limit, args.seed)
    measure = available(quality.dnsmos)
    compare = available(quality.stoi) if original else None
    values: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for number, utt in enumerate(utts, start=1):
        wave = read_audio(data.wav[utt])
        scores = measure(wave) if measure else {}
        if compare and original:
            if utt not in original.wav:
                raise InputError(f"utterance '{utt}' is missing; is this the original of {args.data}?", args.original)
            scores |= compare(read_audio(original.wav[utt]), wave)
        for metric, value in scores.items():
            values[metric][utt] = value
        if number % 50 == 0 or number == len(utts):
            logging.info("%s: %d of %d utterances", args.data, number, len(utts))
    if compare and (left_out := len(utts) - len(values["stoi"])):
        logging.warning(f"{args.data}: STOI is not defined for {left_out} of {len(utts)} utterances (other timing)")
    records = [
        to_record(metric, of_metric, data.utt2spk, args.bootstrap, args.seed).tagged(tags)
        for metric, of_metric in values.items()
        if of_metric
    ]
    write_records(args.out, records)
    print(" ".join(f"{record.metric} {record.value:.3f}" for record in records) or "no measure of quality is available")


def available(make: Callable[[], Callable[..., dict[str, float]]]) -> Callable[..., dict[str, float]] | None:
    """A measure, or None and a notice if its package is missing."""
    try:
        return make()
    except InputError as error:
        logging.warning(f"left out: {error}")
        return None


def choose(utts: list[str], limit: int, seed: int) -> list[str]:
    """At most `limit` utterances, drawn at random."""
    if not limit or limit >= len(utts):
        return utts
    return sorted(generator(seed, "quality").choice(utts, limit, replace=False).tolist())


def to_record(metric: str, values: dict[str, float], utt2spk: dict[str, str], bootstrap: int, seed: int) -> Record:
    """Mean over utterances with an interval over speakers."""
    mean = utterance_mean(values, utt2spk, bootstrap, seed, "quality")
    counts = {"utts": mean.utts, "speakers": mean.speakers}
    return mean.interval.of(Record(metric, mean.mean, counts=counts))


if __name__ == "__main__":
    script.main(main)
