#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Extract an F0 histogram per utterance into an embedding directory, for score_srd.py --similarity euclidean.

Usage: local/extract_f0_histograms.py <data-dir> <embedding-dir>
 e.g.: local/extract_f0_histograms.py data/libri_test_trials_f exp/f0/libri_test_trials_f

Utterances without a voiced frame are left out and counted.
"""

import logging
from pathlib import Path

from vpeval.audio.f0_histogram import f0_histogram, track_f0
from vpeval.audio.io import read_audio
from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.embeddings.directory import write_embeddings


def main() -> None:
    """Read a data directory, write an embedding directory."""
    parser = script.Parser(__doc__)
    parser.add_argument("data", metavar="data-dir", type=Path)
    parser.add_argument("out", metavar="embedding-dir", type=Path)
    args = parser.parse_args()

    data = DataDir.load(args.data)
    entries = data.wav
    histograms = {}
    for number, (utt, entry) in enumerate(entries.items(), start=1):
        histogram = f0_histogram(track_f0(read_audio(entry)))
        if histogram is not None:
            histograms[utt] = histogram
        if number % 100 == 0 or number == len(entries):
            logging.info("%s: %d of %d utterances", args.data, number, len(entries))
    if not histograms:
        raise InputError("no utterance has a voiced frame; is this speech?", args.data / "wav.scp")
    write_embeddings(args.out, histograms, data.utt2spk)
    logging.info("%s: %d utterances, %d without voice", args.out, len(histograms), len(entries) - len(histograms))


if __name__ == "__main__":
    script.main(main)
