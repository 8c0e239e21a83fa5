#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Audit the attackers of a run: can their numbers be trusted?

Usage: local/audit_attacker.py [options] <system> <embedding-dir> <out.json> <run-dir> ...
 e.g.: local/audit_attacker.py mcadams exp/mini/embeddings/ecapa exp/mini/runs/mcadams/audit.json \\
         exp/mini/runs/original exp/mini/runs/mcadams

<embedding-dir> holds the embeddings of original and anonymised sets by one encoder, the run directories the records of
verification. Findings that need attention are printed as warnings; the exit code is 0 in any case.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.publish import claim_file
from vpeval.editions.base import editions
from vpeval.measures import audit
from vpeval.measures.audit import write_findings
from vpeval.records.record import read_records


def main() -> None:
    """Run the checks, print and write what they found."""
    parser = script.Parser(__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"), help="root of the data directories (default: data)")
    parser.add_argument("--edition", choices=editions(), default="2020", help="whose EER is spoken of (default: 2020)")
    parser.add_argument(
        "--attackers", type=str.split, default=[], metavar="LIST", help="attackers, in this order (all)"
    )
    parser.add_argument("system")
    parser.add_argument("embeddings", metavar="embedding-dir", type=Path)
    parser.add_argument("out", metavar="out.json", type=Path)
    parser.add_argument("runs", metavar="run-dir", type=Path, nargs="+")
    args = parser.parse_args()

    records = [
        record for run in args.runs for file in sorted(run.glob("*/records.jsonl")) for record in read_records(file)
    ]
    if args.attackers:
        order = {name: place for place, name in enumerate((*args.attackers, ""))}
        chosen = [record for record in records if record.attacker in order]
        records = sorted(chosen, key=lambda record: order[record.attacker])
    sets = find_sets(args.embeddings, args.system)
    pairs = [(name, other) for name in sets for other in partners(name, sets) if "_enrolls" in name]
    checks = {name: args.data / f"{name}_{args.system}" / "checks.json" for name in sets}
    findings = audit.examine(args.system, {args.embeddings.name: args.embeddings}, pairs, records, checks, args.edition)
    for finding in findings:
        if finding.flagged:
            print(f"audit ({finding.check}): WARNING: {finding.sentence}", file=sys.stderr)
        else:
            print(f"audit ({finding.check}): {finding.sentence}")
    claim_file(args.out)
    write_findings(args.out, findings)


def find_sets(embeddings: Path, system: str) -> list[str]:
    """Evaluation sets of which there are embeddings of both versions."""
    names = sorted(path.parent.name for path in embeddings.glob("*/embedding.scp"))
    found = [name for name in names if f"{name}_{system}" in names and ("_enrolls" in name or "_trials" in name)]
    if not found:
        raise InputError(f"has no sets <set> and <set>_{system}; run stage 5 first", embeddings)
    return found


def partners(name: str, sets: Iterable[str]) -> list[str]:
    """The trial sets of an enrolment set, and the other way round: mini_dev_enrolls, mini_dev_trials_f."""
    roles = ("_enrolls", "_trials")
    own, other = roles if roles[0] in name else roles[::-1]
    return [each for each in sets if other in each and each.partition(other)[0] == name.partition(own)[0]]


if __name__ == "__main__":
    script.main(main)
