#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""List easy and hard speakers and their Jaccard overlaps across L, attackers and systems.

Usage: local/compare_speakers.py [options] <system>/<attacker>=<speakers.tsv>... <out.jsonl>
 e.g.: local/compare_speakers.py mcadams/ecapa=exp/a/link.speakers.tsv mcadams/xvector=exp/b/link.speakers.tsv \\
         exp/overlap.jsonl

The files come from stages 8 and 9, or from local/score_linkability.py, local/score_singling_out.py and
local/score_srd.py. The lists go to a file next to the records (here exp/overlap.lists.tsv). Contexts that differ in
exactly one of system, attacker and L are compared. A list is left out, with a message, if more than half of it is there
only because of ties: where everybody is always linked, nobody is hard to link. Without --n, the number of speakers N is
the one with most lists.
"""

import logging
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.publish import claim_file, write_own
from vpeval.data.layout import first_few
from vpeval.measures.base import SpeakerValue, read_speaker_values
from vpeval.measures.speaker_overlap import Context, Lists, find_lists, overlap_records
from vpeval.metrics.jaccard import KINDS, QUANTILE
from vpeval.records.record import write_records


def main() -> None:
    """Read per-speaker files, write lists and overlaps."""
    parser = script.Parser(__doc__)
    parser.add_argument("--metric", default="linkability", help="metric that is compared (linkability)")
    parser.add_argument("--n", type=script.positive, metavar="N", help="number of speakers N (that with most lists)")
    parser.add_argument(
        "--quantile", type=float, default=QUANTILE, help=f"share of the speakers in a list ({QUANTILE})"
    )
    parser.add_argument("files", metavar="system/attacker=speakers.tsv", nargs="+")
    parser.add_argument("out", metavar="out.jsonl", type=Path)
    args = parser.parse_args()
    if not 0 < args.quantile <= 0.5:
        parser.error(f"--quantile {args.quantile}: expected a number above 0, at most 0.5")

    values: list[tuple[Context, SpeakerValue]] = []
    for item in args.files:
        name, equals, path = item.partition("=")
        system, slash, attacker = name.partition("/")
        if not (equals and slash and system and attacker and path):
            raise InputError(f"'{item}': expected <system>/<attacker>=<speakers.tsv>")
        values += [(Context(system, attacker, value.L), value) for value in read_speaker_values(path)]
    lists = find_lists(values, args.metric, args.n, args.quantile)
    refused = lists.refused()
    if not any(lists.usable(kind) for kind in KINDS):
        raise InputError(
            f"all lists are mostly ties at N = {lists.n} ({first_few(refused, 3)}); more draws (--utt-draws of "
            "local/score_linkability.py) or more speakers tell them apart"
        )
    if refused:
        what = first_few(refused, 6)
        logging.warning("warning: N = %d; lists that are mostly ties are left out: %s", lists.n, what)
    write_own(args.out.with_name(f"{args.out.stem}.lists.tsv"), table_of(lists))
    claim_file(args.out)
    write_records(args.out, overlap_records(lists))


def table_of(lists: Lists) -> str:
    """A row for every speaker on a list."""
    rows = ["system\tattacker\tN\tL\tlist\tspeaker\n"]
    for context in lists.extremes:
        for kind in KINDS:
            for speaker in sorted(lists.usable(kind).get(context, ()), key=str.encode):
                where = f"{context.system}\t{context.attacker}\t{lists.n}\t{context.n_utts}"
                rows.append(f"{where}\t{kind}\t{speaker}\n")
    return "".join(rows)


if __name__ == "__main__":
    script.main(main)
