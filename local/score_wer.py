#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score transcripts: word and character error rate of a corpus, of its genders and speakers, with intervals.

Usage: local/score_wer.py [options] <ref-text> <hyp-text> <out.jsonl>
 e.g.: local/score_wer.py --utt2spk data/mini_dev_asr/utt2spk --tag set=mini_dev_asr --tag condition=o \\
         data/mini_dev_asr/text exp/mini/asr/whisper_base/mini_dev_asr/text exp/mini/wer.jsonl
"""

import logging
from argparse import Namespace
from pathlib import Path

from vpeval.cli import script
from vpeval.core.tables import read_table
from vpeval.data.layout import first_few
from vpeval.data.text import NORMALIZERS
from vpeval.protocols.recognition import Rates, Speech, compare_recognition, score_recognition
from vpeval.records.record import parse_params, parse_tags, write_records
from vpeval.results.plain import plain_table


def main() -> None:
    """Read two text files, write the records, print Kaldi's line and all of them."""
    parser = script.scorer_params_parser(__doc__)
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

    tags, (params, told) = parse_tags(args.tag), parse_params(args.param)
    rates = read_rates(args.hyp, args)
    notes = {"source": args.source or args.hyp, **told}
    files = {"per_speaker": Path(args.per_speaker).name} if args.per_speaker else {}
    records, lines = rates.records, [rates.line]
    if args.versus:
        theirs = read_rates(args.versus, args)
        difference, test = compare_recognition(rates, theirs, args.versus, args.bootstrap, args.seed)
        records = [*records, difference]
        lines.append(f"difference to {args.versus}: {test}")
    if args.per_speaker:
        write_records(args.per_speaker, [r.with_params(params).tagged(tags) for r in rates.per_speaker])
    records = [r.with_params(params).with_notes(notes) for r in records]
    records = [r.with_files(files) for r in records] if files else records
    write_records(args.out, [r.tagged(tags | ({"gender": r.gender} if r.gender else {})) for r in records])
    if missing := rates.score.missing:
        listed = first_few(missing, limit=20)
        logging.warning(f"{args.hyp}: {len(missing)} utterances have no hypothesis, all deleted: {listed}")
    print("\n".join([*lines, plain_table(records)]), end="")


def read_rates(hyp: str, args: Namespace) -> Rates:
    """The rates of the transcripts in file `hyp`."""
    speech = Speech(
        read_table(args.ref, "text", empty=True),
        read_table(args.utt2spk, "speaker") if args.utt2spk else None,
        read_table(args.spk2gender, "gender") if args.spk2gender else None,
        *(str(name) for name in (args.ref, args.utt2spk, args.spk2gender)),
    )
    hyps = read_table(hyp, "text", empty=True)
    return score_recognition(speech, hyps, args.normalizer, args.bootstrap, args.seed, args.allow_extra, hyp)


if __name__ == "__main__":
    script.main(main)
