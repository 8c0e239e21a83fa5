#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Turn results into LaTeX tables; several systems share one set of tables.

Usage: local/results_to_latex.py [options] [<name>=]<results> ...
 e.g.: local/results_to_latex.py exp/mini/runs/mcadams/results.jsonl b2=RESULTS_mcadams
       local/results_to_latex.py --metrics "eer_kaldi wer" --attackers ecapa_plda --systems "original mcadams" \\
         --intervals false exp/mini/runs/mcadams/results.jsonl
       local/results_to_latex.py --style supplement --out-dir tables exp/mini/runs/*/results.jsonl supplement_tables.tsv

Results are results.jsonl, result files of VoicePrivacy 2020, 2022, 2024 or 2026, or published tables (docs/formats.md);
<name> names their system. Writes <out-dir>/<results>.<table>.tex; published numbers are marked. Tables without data are
left out.

  ASV_dev, ASV_test, ASV_combined, ASR_…   Tables 8 to 11 of the 2020 evaluation plan: o-o, o-a and a-a of one attacker
  privacy_dev, privacy_test                all metrics of verification, by all attackers, set by set
  systems_dev, systems_test                systems side by side, averages over the sets
  legal                                    singling out and linkability over N and L
  srd, srd_beta_binomial                   similarity rank disclosure, attackers of both kinds of training speech
  significance_…                           differences in listening tests

--style edition sets the first six as the edition does and all others with booktabs, booktabs all of them, vpc2020 the
first six alone. --style supplement writes Tables 2 to 15 and 18 of the 2020 supplement instead (supplement_02, …): data
and genders as rows, systems as columns; Tables 16 and 17 are significance_…. Wide tables are set sideways or in parts,
long ones on several pages.
"""

from dataclasses import replace
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.editions.base import editions
from vpeval.results.latex import EDITION, STYLES, write_latex
from vpeval.results.load import Source, load, select


def main() -> None:
    """Read results of any shape, write one file per table."""
    parser = script.Parser(__doc__)
    parser.add_argument("--style", choices=STYLES, default=EDITION, help="which tables, and how they are set (edition)")
    parser.add_argument("--edition", choices=editions(), default="2020", help="whose style, and whose EER (2020)")
    parser.add_argument(
        "--asv-eval", default="", metavar="ATTACKER", help="of the ASV tables (the first one on original speech)"
    )
    parser.add_argument("--metrics", type=str.split, default=[], metavar="LIST", help="names of docs/metrics.md (all)")
    parser.add_argument("--attackers", type=str.split, default=[], metavar="LIST", help="attackers (all)")
    parser.add_argument("--systems", type=str.split, default=[], metavar="LIST", help="systems, in this order (all)")
    parser.add_argument("--intervals", type=script.boolean, default=True, help="true: with intervals (true)")
    script.add_published_option(parser)
    parser.add_argument("--out-dir", type=Path, help="default: latex/ next to the first input")
    parser.add_argument("results", nargs="*", type=Source.parse)
    args = parser.parse_args()
    if not args.results and not (args.published and args.out_dir):
        parser.error("give results, or --published with --out-dir")

    sources = [*args.results, *args.published]
    records = select(load(sources), args.metrics, args.attackers, args.systems)
    if not args.intervals:
        records = [replace(record, lower=None, upper=None) for record in records]
    first = sources[0].path
    out_dir = args.out_dir or first.parent / "latex"
    stem = table_stem(first) if len(sources) == 1 else "comparison"
    try:
        tables = write_latex(records, out_dir, args.edition, stem, args.style, args.asv_eval)
    except InputError as error:
        raise InputError(str(error), first) from None
    print(f"{out_dir}: {len(tables)} tables ({stem}.*.tex)")


def table_stem(results: Path) -> str:
    """``results`` of results.jsonl, but the whole of results.anon_x, next to which there may be a results.orig_x."""
    return results.stem if results.suffix in (".jsonl", ".txt", ".tsv", ".yaml") else results.name


if __name__ == "__main__":
    script.main(main)
