#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Convert a pickle of the Speaker-Linkability reproduction: embeddings to a directory, scores of speakers to a table.

Usage: utils/convert_pickle.py [options] <in.pkl> <out>
 e.g.: utils/convert_pickle.py enroll.pkl exp/foreign/enroll
       utils/convert_pickle.py --utt2spk utt2spk trial.pkl exp/foreign/trial
       utils/convert_pickle.py --utterances 3 scores_per_speaker.pkl exp/foreign/link.speakers.tsv
       local/score_linkability.py exp/foreign/enroll exp/foreign/trial exp/foreign/link.jsonl

{speaker: [vector, …]} and {utterance: vector} (with --utt2spk) become an embedding directory for the scorers of local/;
{speaker: {N: [score of every seed]}} becomes a table with the value of every seed for local/compare_speakers.py.
Pickles are programs: only numpy arrays, numbers, text and plain containers are read, everything else is refused.
"""

from pathlib import Path
from statistics import fmean

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.data.directory import read_utt2spk
from vpeval.embeddings.pickles import holds_scores, read_pickle, read_scores, read_vectors
from vpeval.embeddings.speaker_vectors import write_embeddings
from vpeval.measures.base import SpeakerValue, write_speaker_values


def main() -> None:
    """Read a pickle, write what it holds."""
    parser = script.Parser(__doc__)
    parser.add_argument("--utt2spk", type=Path, help="speakers of utterances, where the pickle has vectors of those")
    parser.add_argument(
        "--utterances", type=script.positive, default=1, metavar="L", help="of a test vector, for scores (1)"
    )
    parser.add_argument("pickle", metavar="in.pkl", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()

    content = read_pickle(args.pickle)
    if holds_scores(content):
        scores = read_scores(content, args.pickle)
        values = [
            SpeakerValue("linkability", spk, n, str(args.utterances), fmean(drawn), drawn)
            for spk, sizes in sorted(scores.items())
            for n, drawn in sorted(sizes.items())
        ]
        args.out.parent.mkdir(parents=True, exist_ok=True)
        write_speaker_values(args.out, values)
        print(f"{args.out}: {len(values)} scores of {len(scores)} speakers")
        return
    found = read_vectors(content, args.pickle)
    if args.utt2spk:
        speaker_of = read_utt2spk(args.utt2spk)
        if unknown := sorted(found.keys() - speaker_of.keys()):
            raise InputError(f"utterance '{unknown[0]}' of {args.pickle} is not there; add its speaker", args.utt2spk)
        if several := [utt for utt, rows in found.items() if len(rows) > 1]:
            raise InputError(
                f"'{several[0]}' has several vectors; are its keys speakers? Leave out --utt2spk", args.pickle
            )
        vectors = {utt: rows[0] for utt, rows in sorted(found.items())}
    else:
        vectors, speaker_of = {}, {}
        for spk, rows in sorted(found.items()):
            named = {f"{spk}-{number:05d}": row for number, row in enumerate(rows)}
            vectors |= named
            speaker_of |= dict.fromkeys(named, spk)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write_embeddings(args.out, vectors, speaker_of, [args.pickle])
    print(f"{args.out}: {len(vectors)} vectors of {len({speaker_of[utt] for utt in vectors})} speakers")


if __name__ == "__main__":
    script.main(main)
