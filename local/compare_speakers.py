#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""List easy and hard speakers and their Jaccard overlaps across L, attackers and systems.

Usage: local/compare_speakers.py [options] <system>/<attacker>=<speakers.tsv>... <out.jsonl>
 e.g.: local/compare_speakers.py --n 20 mcadams/ecapa=exp/a/link.speakers.tsv mcadams/xvector=exp/b/link.speakers.tsv \\
         exp/overlap.jsonl

The files come from local/score_linkability.py, local/score_singling_out.py or local/score_srd.py. The lists go to a
file next to the records (here exp/overlap.lists.tsv). Contexts that differ in exactly one of system, attacker and L
are compared.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.measures.base import read_speaker_values
from vpeval.measures.speaker_overlap import find_extremes, overlap_records
from vpeval.records.record import write_records


def main() -> None:
    """Read per-speaker files, write lists and overlaps."""
    parser = script.Parser(__doc__)
    parser.add_argument("--metric", default="linkability", help="metric that is compared (linkability)")
    parser.add_argument("--n", type=script.positive, metavar="N", help="number of speakers N (default: the smallest)")
    parser.add_argument("--quantile", type=float, default=0.1, help="share of the speakers in a list (0.1)")
    parser.add_argument("files", metavar="system/attacker=speakers.tsv", nargs="+")
    parser.add_argument("out", metavar="out.jsonl", type=Path)
    args = parser.parse_args()
    if not 0 < args.quantile <= 0.5:
        parser.error(f"--quantile {args.quantile}: expected a number above 0, at most 0.5")

    values = []
    for item in args.files:
        name, equals, path = item.partition("=")
        system, slash, attacker = name.partition("/")
        if not (equals and slash and system and attacker and path):
            raise InputError(f"'{item}': expected <system>/<attacker>=<speakers.tsv>")
        values += [(system, attacker, value) for value in read_speaker_values(path)]
    extremes, sizes = find_extremes(values, args.metric, args.n, args.quantile)
    lines = ["system\tattacker\tL\tlist\tspeaker\n"]
    for context, found in extremes.items():
        for kind in ("easy", "hard"):
            for speaker in sorted(getattr(found, kind), key=str.encode):
                lines.append(f"{context.system}\t{context.attacker}\t{context.n_utts}\t{kind}\t{speaker}\n")
    write_text(args.out.with_name(f"{args.out.stem}.lists.tsv"), "".join(lines))
    write_records(args.out, overlap_records(extremes, sizes))


if __name__ == "__main__":
    script.main(main)
