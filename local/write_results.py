#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Write the results.txt of the VoicePrivacy 2020 challenge from the records of a run: original data and one system.

Usage: local/write_results.py [options] <results.jsonl> [<results.jsonl> ...] <results.txt>
 e.g.: local/write_results.py --system mcadams exp/mini/results.jsonl exp/mini/mcadams/results.txt
"""

from vpeval import script
from vpeval.errors import InputError
from vpeval.files import write_text
from vpeval.results import vpc2020
from vpeval.results.load import load
from vpeval.results.names import ORIGINAL


def main() -> None:
    """Read the records, pick system and attacker, write the view."""
    parser = script.Parser(__doc__)
    parser.add_argument("--system", help="the system to write; needed where the records hold several")
    parser.add_argument("--attacker", help="the attacker to write; needed where the records hold several")
    parser.add_argument("records", nargs="+")
    parser.add_argument("out")
    args = parser.parse_args()

    records = load(args.records)
    for tag, wanted, kept in (("system", args.system, ORIGINAL), ("attacker", args.attacker, "")):
        if wanted is None:
            continue
        present = sorted({getattr(record, tag) for record in records} - {kept})
        if wanted not in present:
            raise InputError(f"no records of {tag} '{wanted}'; there are: {', '.join(present) or 'none'}")
        records = [record for record in records if getattr(record, tag) in (wanted, kept)]
    write_text(args.out, vpc2020.render(records))


if __name__ == "__main__":
    script.main(main)
