#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Turn a corpus in its released layout, or a table of utterances, into one data directory.

Usage: utils/corpus_to_data.py [options] librispeech|libritts|vctk|ravdess|iemocap|speechocean|table <corpus> <data-dir>
 e.g.: utils/corpus_to_data.py --subset train-clean-100 librispeech /corpora data/train-clean-100
       utils/corpus_to_data.py table my/utterances.tsv data/mine

Audio that is not 16 kHz mono is converted and goes to local/ next to the data directory. Files for which the corpus
has no data (texts, genders) are left out.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.corpora.prepare import KINDS, read_corpus
from vpeval.corpora.utterances import Request


def main() -> None:
    """Read the corpus and write the directory."""
    parser = script.Parser(__doc__)
    parser.add_argument("--subset", default="", help="of LibriSpeech and LibriTTS, such as train-clean-100")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path)
    args = parser.parse_args()
    if args.kind.startswith("libri") and not args.subset:
        parser.error(f"{args.kind} needs --subset, such as train-clean-100")
    data = read_corpus(args.kind, args.subset, Request(args.corpus, args.data.parent), args.data)
    data.write(args.data, [args.corpus])
    tables = ", ".join(sorted((*data.utt_tables, *data.spk_tables)))
    print(f"{args.data}: {len(data.utts)} utterances of {len(data.speakers)} speakers; {tables}")


if __name__ == "__main__":
    script.main(main)
