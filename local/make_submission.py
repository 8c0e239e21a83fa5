#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Pack the submission of a system: results file, scores, anonymised audio, description and manifest, in one archive.

Usage: local/make_submission.py [options] <run-dir> <out.tar.gz> <original-data-dir> ...
 e.g.: local/make_submission.py exp/mini/runs/mcadams exp/mini/runs/mcadams/submission.tar.gz data/mini_dev_enrolls …

The system is called like <run-dir>, which holds results.jsonl and ASV-*/scores; the anonymised speech of data/x is in
data/x_<system>. The same inputs give the same archive, byte by byte. Check it with local/check_submission.py.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.data.text import NORMALIZERS
from vpeval.editions.base import edition_of, editions, of_system, render
from vpeval.results.load import load
from vpeval.submission.pack import Contents, pack, read_description
from vpeval.submission.roles import PRIMARY, ROLES

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Read the records, render the results, pack everything."""
    parser = script.Parser(__doc__)
    parser.add_argument("--edition", choices=editions(), default="2020", help="of the challenge (2020)")
    parser.add_argument("--attacker", help="the attacker of the results; needed where the records hold several")
    parser.add_argument("--asv-eval", metavar="ATTACKER", help="the attacker that was trained on original speech")
    parser.add_argument("--normalizer", choices=NORMALIZERS, default="", help="text rules of the error rates (edition)")
    parser.add_argument(
        "--description", type=Path, metavar="FILE", help="system description; default: a form to fill in"
    )
    parser.add_argument("--role", choices=ROLES, default=PRIMARY, help="one system is primary, others contrastive")
    parser.add_argument("--seed", type=script.natural, default=0, help="base seed of the run, for the manifest (0)")
    parser.add_argument("--note", action="append", default=[], metavar="NAME=VALUE", help="more for the manifest")
    parser.add_argument("run", metavar="run-dir", type=Path)
    parser.add_argument("out", metavar="out.tar.gz", type=Path)
    parser.add_argument("data", metavar="original-data-dir", type=Path, nargs="+")
    args = parser.parse_args()

    system = args.run.resolve().name
    records = of_system(load([args.run / "results.jsonl"]), system)
    files = edition_of(args.edition).file_names
    shown = {"attacker": args.attacker, "asv_eval": args.asv_eval}
    shown |= {"text_rules": args.normalizer} if args.normalizer else {}
    results = {name: render(records, args.edition, name, **shown) for name in files}
    notes = dict(note.partition("=")[::2] for note in args.note)
    if "" in notes or not all("=" in note for note in args.note):
        raise InputError("--note: expected NAME=VALUE")
    description = read_description(args.description) if args.description else None
    contents = Contents(
        args.edition,
        system,
        args.run,
        args.data,
        results,
        records,
        args.seed,
        description,
        notes,
        shown,
        args.role,
        ROOT / "conf/asv",
        ROOT / "conf/asr",
    )
    manifest = pack(contents, args.out)
    size = args.out.stat().st_size / 1e6
    print(f"{args.out}: {len(manifest['files'])} files, {size:.1f} MB, edition {args.edition}")


if __name__ == "__main__":
    script.main(main)
