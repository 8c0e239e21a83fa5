#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score transcripts: word and character error rate of a corpus, of its genders and speakers, with intervals.

Usage: local/score_wer.py [options] <ref-text> <hyp-text> <out.jsonl>
 e.g.: local/score_wer.py --utt2spk data/mini_dev_asr/utt2spk --tag set=mini_dev_asr --tag condition=o \\
         data/mini_dev_asr/text exp/mini/asr/whisper_base/mini_dev_asr/text exp/mini/wer.jsonl
"""

import logging
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vpeval.asr.text import NORMALIZERS
from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.core.tables import read_table
from vpeval.data.layout import name_some
from vpeval.metrics.wer import (
    Counts,
    ErrorCounts,
    PairedTest,
    TextScore,
    paired_test,
    score_texts,
    speaker_interval,
    sum_by_speaker,
)
from vpeval.results.records import Record, parse_params, parse_tags, write_records


def main() -> None:
    """Read two text files, write the records, print Kaldi's line."""
    parser = script.params_parser(__doc__)
    parser.add_argument("--normalizer", choices=NORMALIZERS, default="vpc2020", help="edition whose rules hold")
    parser.add_argument("--utt2spk", help="speakers of the utterances; gives the interval and the speakers' own rates")
    parser.add_argument("--spk2gender", help="gender of the speakers; gives the rates of each gender (needs --utt2spk)")
    parser.add_argument("--versus", metavar="HYP", help="transcripts of another system, for a paired test")
    parser.add_argument("--per-speaker", metavar="FILE", help="write the rates of every speaker there (jsonl)")
    parser.add_argument("--source", help="what stands behind the numbers in results.txt; default: <hyp-text>")
    parser.add_argument("--allow-extra", type=script.boolean, default=False, help="true leaves out unknown hypotheses")
    parser.add_argument("ref")
    parser.add_argument("hyp")
    parser.add_argument("out")
    args = parser.parse_args()
    for option in ("per_speaker", "spk2gender"):
        if getattr(args, option) and not args.utt2spk:
            parser.error(f"--{option.replace('_', '-')} needs --utt2spk")
    if args.versus and not args.bootstrap:
        parser.error("--versus needs resamples; leave out --bootstrap 0")

    tags, (given, told) = parse_tags(args.tag), parse_params(args.param)
    score = read_score(args.ref, args.hyp, args)
    total = ErrorCounts.of(score.words)
    if not total.words:
        raise InputError("no words to score; is this the reference text?", args.ref)
    spks = speakers_of(score.utts, args.utt2spk) if args.utt2spk else []
    genders = genders_of(spks, args.spk2gender) if args.spk2gender else []

    params = {"normalizer": args.normalizer, **given}
    notes = {"unit": "%", "source": args.source or args.hyp, **told}
    if args.per_speaker:
        notes["per_speaker"] = Path(args.per_speaker).name
    records, per_speaker = [], []
    for metric, counts in (("wer", score.words), ("cer", score.characters)):
        for gender in ("", *sorted(set(genders))):
            rows = [i for i in range(len(counts)) if not gender or genders[i] == gender]
            record = to_record(metric, ErrorCounts.of(counts[rows]), params).with_notes(notes)
            record = replace(record, counts=record.counts | {"missing": missing_among(rows, score)})
            record = with_interval(record, counts[rows], [spks[i] for i in rows] if spks else [], args)
            records.append(record.tagged(tags | ({"gender": gender} if gender else {})))
        for spk, errors in sum_by_speaker(counts, spks).items() if spks else ():
            per_speaker.append(to_record(metric, errors, params | {"spk": spk}).tagged(tags))
    lines = [str(total)]
    if args.versus:
        other = read_score(args.ref, args.versus, args)
        test = paired_test(score.words, other.words, spks or score.utts, args.bootstrap, args.seed)
        records.append(to_difference(test, params | {"versus": args.versus}, notes, bool(spks), args).tagged(tags))
        lines.append(f"difference to {args.versus}: {test}")
    if args.per_speaker:
        write_records(args.per_speaker, per_speaker)
    write_records(args.out, records)
    if score.missing:
        listed = name_some(score.missing, limit=20)
        logging.warning(f"{args.hyp}: {len(score.missing)} utterances have no hypothesis, all deleted: {listed}")
    print("\n".join(lines))


def missing_among(rows: Sequence[int], score: TextScore) -> int:
    """How many of the given utterances had no hypothesis."""
    missing = set(score.missing)
    return sum(score.utts[i] in missing for i in rows)


def with_interval(record: Record, counts: Counts, spks: Sequence[str], args: Namespace) -> Record:
    """The record with its interval over speakers, if there are several."""
    speakers = sum_by_speaker(counts, spks) if spks else {}
    return speaker_interval(speakers).of(record) if speakers and args.bootstrap else record


def read_score(ref: str, hyp: str, args: Namespace) -> TextScore:
    """The errors of the transcripts in file `hyp`."""
    refs, hyps = (read_table(path, "text", empty=True) for path in (ref, hyp))
    try:
        return score_texts(refs, hyps, NORMALIZERS[args.normalizer], args.allow_extra)
    except InputError as error:
        raise InputError(str(error), hyp) from None


def speakers_of(utts: Sequence[str], path: str) -> list[str]:
    """The speaker of every utterance."""
    utt2spk = read_table(path, "speaker")
    for utt in utts:
        if utt not in utt2spk:
            raise InputError(f"utterance '{utt}' of the reference has no speaker; add it", path)
    return [utt2spk[utt] for utt in utts]


def genders_of(spks: Sequence[str], path: str) -> list[str]:
    """The gender of the speaker of every utterance."""
    spk2gender = read_table(path, "gender")
    for spk in spks:
        if spk not in spk2gender:
            raise InputError(f"speaker '{spk}' has no gender; add it", path)
    return [spk2gender[spk] for spk in spks]


def to_difference(
    test: PairedTest, params: dict[str, str], notes: dict[str, str], by_speaker: bool, args: Namespace
) -> Record:
    """The record of a paired test."""
    drawn = {"interval": f"{'speaker' if by_speaker else 'utterance'} bootstrap", "p_value": test.p_value}
    drawn |= {"resamples": args.bootstrap, "seed": args.seed}
    return Record(
        "wer_difference", test.difference, test.interval.lower, test.interval.upper, params, notes={**notes, **drawn}
    )


def to_record(metric: str, errors: ErrorCounts, params: dict[str, str]) -> Record:
    """The record of a rate and what it rests on."""
    length = "ref_words" if metric == "wer" else "ref_chars"
    counts = {
        length: errors.words,
        "ins": errors.insertions,
        "del": errors.deletions,
        "sub": errors.substitutions,
        "utts": errors.utts,
    }
    return Record(metric, errors.rate, params=params, counts=counts)


if __name__ == "__main__":
    script.main(main)
