#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Compare any number of systems and published baselines: overview, paired differences, ranking, privacy-utility plot.

Usage: local/compare.py [options] <out-dir> [<name>=]<results> ...
 e.g.: local/compare.py exp/mini/comparison exp/mini/runs/mcadams/results.jsonl exp/mini/runs/b1/results.jsonl
       local/compare.py --edition 2022 exp/comparison mine=exp/libri/runs/mine/results.jsonl b2=RESULTS_summary_mcadams

Results are results.jsonl or result files of VoicePrivacy 2020, 2022, 2024 or 2026; <name> names their system. Written
are comparison.txt, which is printed as well, privacy_utility.{svg,pdf,png} and, where run directories with the scores
of the same trials stand beside two or more of the results, differences.jsonl. Systems are ranked by the rules of 2022
or 2024; 2020 had none, and those of 2026 are not known.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.results import significance as compare
from vpeval.results.editions import EDITIONS
from vpeval.results.limits import read_limits
from vpeval.results.load import Source, load, read
from vpeval.results.names import ORIGINAL
from vpeval.results.records import Record, write_records


def main() -> None:
    """Read the results, put them side by side."""
    parser = script.Parser(__doc__)
    parser.add_argument("--edition", choices=EDITIONS, default="2024", help="whose EER and ranking rules (2024)")
    parser.add_argument("--versus", metavar="SYSTEM", help="system to compare with; default: the first with scores")
    parser.add_argument("--data", type=Path, default=Path("data"), help="where the data directories are (data)")
    parser.add_argument("--bootstrap", type=script.natural, default=1000, metavar="N", help="resamples; 0: no p values")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("results", nargs="+", type=Source.parse)
    args = parser.parse_args()

    records = load(args.results)
    limits = read_limits()
    rules = limits.rules.get(args.edition)
    parts = [compare.overview(records, args.edition)]
    runs = run_directories(args.results)
    versus = args.versus or next(iter(runs), "")
    if args.versus and args.versus not in runs:
        raise InputError(f"--versus {args.versus}: no scores; there are those of: {', '.join(runs) or 'none'}")
    if len(runs) > 1:
        differences = compare.differences(runs, versus, args.data, args.edition, args.bootstrap, args.seed)
        if differences:
            write_records(args.out / "differences.jsonl", differences)
            parts.append(compare.render_differences(differences, limits.significance))
    if rules and (standings := compare.ranking(records, rules)):
        parts.append(compare.render_ranking(standings, rules))
    text = "\n".join(parts)
    write_text(args.out / "comparison.txt", text)
    print(text, end="")
    draw(records, args.edition, rules.classes if rules else (), args.out)
    print(f"\n{args.out}: {', '.join(sorted(path.name for path in args.out.iterdir()))}")


def run_directories(sources: list[Source]) -> dict[str, Path]:
    """The directories with scores beside result files of a single system."""
    runs = {}
    for source in sources:
        directory = source.path.parent
        if not any(directory.glob("ASV*-*/scores")):
            continue
        systems = {record.system for record in read(source)} - {ORIGINAL}
        if len(systems) == 1:
            runs[systems.pop()] = directory
    return runs


def draw(records: list[Record], edition: str, classes: Sequence[float], out: Path) -> None:
    """Draw the plot, if there is anything to draw."""
    # matplotlib takes longer to start than everything else.
    from vpeval.figures.style import save
    from vpeval.results.tradeoff import privacy_utility

    try:
        figure = privacy_utility(records, edition, classes)
    except InputError as error:
        logging.warning(f"no plot: {error}")
        return
    save(figure, out, "privacy_utility")


if __name__ == "__main__":
    script.main(main)
