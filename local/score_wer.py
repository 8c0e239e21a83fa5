#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score transcripts: word and character error rate of a corpus, with a speaker-bootstrap interval.

Usage: local/score_wer.py [options] <ref-text> <hyp-text> <out.jsonl>
 e.g.: local/score_wer.py --utt2spk data/mini_dev_asr/utt2spk --tag set=mini_dev_asr --tag condition=o \\
         data/mini_dev_asr/text exp/mini/asr/whisper_base/mini_dev_asr/text exp/mini/wer.jsonl
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vpeval import script
from vpeval.data.layout import name_some
from vpeval.errors import InputError
from vpeval.metrics.wer import ErrorCounts, score_texts, speaker_interval, sum_by_speaker
from vpeval.records import Record, parse_tags, write_records
from vpeval.tables import read_table
from vpeval.text import NORMALIZERS


def main() -> None:
    """Read two text files, write the records, print Kaldi's line."""
    parser = script.Parser(__doc__)
    parser.add_argument("--normalizer", choices=NORMALIZERS, default="vpc2020", help="edition whose rules hold")
    parser.add_argument("--utt2spk", help="speakers of the utterances; gives the interval and the speakers' own rates")
    parser.add_argument("--bootstrap", type=script.natural, default=1000, metavar="N", help="resamples; 0: no interval")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-speaker", metavar="FILE", help="write the rates of every speaker there (jsonl)")
    parser.add_argument("--source", help="what stands behind the numbers in results.txt; default: <hyp-text>")
    parser.add_argument("--allow-extra", type=script.boolean, default=False, help="true leaves out unknown hypotheses")
    parser.add_argument("--tag", action="append", default=[], metavar="NAME=VALUE", help="tag of the records")
    parser.add_argument("ref")
    parser.add_argument("hyp")
    parser.add_argument("out")
    args = parser.parse_args()
    if args.per_speaker and not args.utt2spk:
        parser.error("--per-speaker needs --utt2spk")

    tags = parse_tags(args.tag)
    refs, hyps = (read_table(path, "text", empty=True) for path in (args.ref, args.hyp))
    try:
        score = score_texts(refs, hyps, NORMALIZERS[args.normalizer], args.allow_extra)
    except InputError as error:
        raise InputError(str(error), args.hyp) from None
    total = ErrorCounts.of(score.words)
    if not total.words:
        raise InputError("no words to score; is this the reference text?", args.ref)
    spks = speakers_of(score.utts, args.utt2spk) if args.utt2spk else None

    params = {"normalizer": args.normalizer, "unit": "%", "source": args.source or args.hyp}
    if args.per_speaker:
        params["per_speaker"] = Path(args.per_speaker).name
    records, per_speaker = [], []
    for metric, counts in (("wer", score.words), ("cer", score.characters)):
        speakers = sum_by_speaker(counts, spks) if spks else {}
        record = to_record(metric, ErrorCounts.of(counts), params, missing=len(score.missing))
        if len(speakers) > 1 and args.bootstrap:
            interval = speaker_interval(speakers, args.bootstrap, args.seed)
            drawn = {"interval": "speaker bootstrap", "resamples": args.bootstrap, "seed": args.seed}
            record = replace(record, lower=interval.lower, upper=interval.upper, params=params | drawn)
        records.append(record.tagged(tags))
        per_speaker += [
            to_record(metric, errors, {"normalizer": args.normalizer, "unit": "%", "spk": spk}).tagged(tags)
            for spk, errors in speakers.items()
        ]
    if args.per_speaker:
        write_records(args.per_speaker, per_speaker)
    write_records(args.out, records)
    if score.missing:
        listed = name_some(score.missing, limit=20)
        logging.warning(f"{args.hyp}: {len(score.missing)} utterances have no hypothesis, all deleted: {listed}")
    print(total)


def speakers_of(utts: Sequence[str], path: str) -> list[str]:
    """The speaker of every utterance."""
    utt2spk = read_table(path, "speaker")
    for utt in utts:
        if utt not in utt2spk:
            raise InputError(f"utterance '{utt}' of the reference has no speaker; add it", path)
    return [utt2spk[utt] for utt in utts]


def to_record(metric: str, errors: ErrorCounts, params: dict[str, str], **counts: int) -> Record:
    """The record of a rate and what it rests on."""
    length = "ref_words" if metric == "wer" else "ref_chars"
    counts = {
        length: errors.words,
        "ins": errors.insertions,
        "del": errors.deletions,
        "sub": errors.substitutions,
        "utts": errors.utts,
        **counts,
    }
    return Record(metric, errors.rate, params=params, counts=counts)


if __name__ == "__main__":
    script.main(main)
