#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Write the results file of a VoicePrivacy challenge from the records of a run: original data and one system.

Usage: local/write_results.py [options] <results> [<results> ...] <out>
 e.g.: local/write_results.py exp/mini/runs/mcadams/results.jsonl exp/mini/runs/mcadams/results.txt
       local/write_results.py --edition 2022 --attacker ecapa_mcadams results.jsonl results_summary.txt
       local/write_results.py --edition 2024 --attacker ecapa_mcadams results.jsonl result_for_rank_mcadams
       local/write_results.py exp/mini/runs/mcadams/results.jsonl exp/mini/runs/mcadams/results_legal.txt

Files: 2020 results.txt; 2022 results.txt with pitch correlations, or the summary if <out> has "summary" in its name;
2024 and 2026 result_for_rank; for every edition singling out and linkability by all attackers if <out> has "legal" in
its name. Summary and result_for_rank show two attackers: ASV_eval, trained on original speech
(--asv-eval), and ASV_eval^anon, trained on anonymised speech (--attacker). The options are needed only where there are
several attackers of a kind.
"""

import logging
from pathlib import Path

from vpeval.cli import script
from vpeval.core.publish import write_own
from vpeval.data.text import NORMALIZERS
from vpeval.editions.base import edition_of, editions, has_semi_informed, of_system, render, shared_files
from vpeval.results.load import load


def main() -> None:
    """Read the records, pick system and attackers, write the view."""
    parser = script.Parser(__doc__)
    parser.add_argument("--edition", choices=editions(), default="2020")
    parser.add_argument("--system", help="the system to write; needed where the records hold several")
    parser.add_argument("--attacker", help="the attacker to write; needed where the records hold several")
    parser.add_argument("--asv-eval", metavar="ATTACKER", help="the attacker that was trained on original speech")
    parser.add_argument("--normalizer", choices=NORMALIZERS, default="", help="text rules of the error rates (edition)")
    parser.add_argument("records", metavar="results", nargs="+")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()

    records = of_system(load(args.records), args.system)
    files = edition_of(args.edition).files
    file = files[-1] if "summary" in args.out.name else files[0]
    file = next((shared for shared in shared_files() if "legal" in args.out.name), file)
    if file.attacks and not has_semi_informed(records):
        logging.warning("no attacker was trained on anonymised speech, but the challenge ranks by such a one")
    write_own(args.out, render(records, args.edition, file.name, args.attacker, args.asv_eval, args.normalizer))


if __name__ == "__main__":
    script.main(main)
