#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/extract_embeddings.sh: a speaker vector for every utterance of its splits.

Usage: steps/jobs/embed.py <conf> <job> <work-dir> ...
"""

import sys
from pathlib import Path

import numpy as np

from vpeval.audio.io import read_audio
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.embeddings.extract import pack_vector
from vpeval.jobs import worker
from vpeval.networks.encoders import load_encoder


def main() -> None:
    """Embed utterance by utterance."""
    conf, job, *works = sys.argv[1:]
    parts = worker.job_parts(job, works)
    if not parts:
        return
    encoder = load_encoder(Path(conf))
    with worker.recording(job, parts) as record:
        for part in parts:
            vector = encoder.embed(read_audio(part.wav))
            if not np.isfinite(vector).all() or not vector.any():
                raise InputError(f"the encoder gave no usable vector for utterance {part.utt}; listen to it", part.wav)
            record(part, pack_vector(vector))


if __name__ == "__main__":
    script.main(main)
