#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""Turn one split of the embedded corpus into a Kaldi data directory.

Usage: egs/mini/corpus_to_data.py <corpus-dir> <split> <data-dir>
 e.g.: egs/mini/corpus_to_data.py egs/mini/corpus dev data/mini_dev
"""

import csv
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.text import vpc2020


def main() -> None:
    """Read the two tables of the corpus and write the directory."""
    parser = script.Parser(__doc__)
    parser.add_argument("corpus", metavar="corpus-dir", type=Path)
    parser.add_argument("split", choices=("train", "dev", "test"))
    parser.add_argument("data", metavar="data-dir", type=Path)
    args = parser.parse_args()

    genders = {row["spk"]: row["gender"] for row in rows(args.corpus / "speakers.tsv") if row["split"] == args.split}
    utts = [row for row in rows(args.corpus / "utterances.tsv") if row["spk"] in genders]
    audio = {row["utt"]: args.corpus / "audio" / row["spk"] / f"{row['utt']}.opus" for row in utts}
    if missing := next((path for path in audio.values() if not path.is_file()), None):
        raise InputError("is missing; is the clone complete?", missing)
    data = DataDir(
        args.data,
        utt2spk={row["utt"]: row["spk"] for row in utts},
        utt_tables={
            "wav.scp": {utt: str(path) for utt, path in audio.items()},
            "text": {row["utt"]: " ".join(vpc2020(row["text"])) for row in utts},
            "utt2dur": {row["utt"]: row["duration"] for row in utts},
            "utt2session": {row["utt"]: row["session"] for row in utts},
        },
        spk_tables={"spk2gender": genders},
    )
    data.write(args.data)


def rows(path: Path) -> list[dict[str, str]]:
    """The lines of a tab-separated table with a header."""
    if not path.is_file():
        raise InputError("is missing; is the clone complete?", path)
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


if __name__ == "__main__":
    script.main(main)
