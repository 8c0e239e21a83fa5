#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score voice similarity: D_diag of the matrices oo, oa, aa, gain of voice distinctiveness and de-identification.

Usage: local/score_similarity.py [options] <scores-oo> <scores-oa> <scores-aa> <utt2spk> <out.jsonl>
 e.g.: local/score_similarity.py --mode vpc exp/sim/scores_{oo,oa,aa} data/libri_dev_trials_f/utt2spk exp/sim/gvd.jsonl

Score lines are <utt> <utt> <score>; in oa the first utterance is original, the second anonymised. The matrices go to
a file beside the records (here exp/sim/gvd.matrices.json); null marks a speaker with a single utterance.
"""

import json
import logging
from pathlib import Path

import numpy as np

from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.data.trials import read_utterance_pairs
from vpeval.metrics.scores import Floats
from vpeval.metrics.similarity import CONDITIONS, similarity_matrix, voice_similarity
from vpeval.results.records import parse_tags, write_records


def main() -> None:
    """Read the scores of three conditions, write records and matrices."""
    parser = script.scorer_parser(__doc__)
    parser.add_argument("--mode", choices=("full", "vpc"), default="full", help="all pairs, or as in the challenges")
    for name in ("oo", "oa", "aa", "utt2spk", "out"):
        parser.add_argument(name, metavar=f"scores-{name}" if name in CONDITIONS else name)
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    paths = {condition: getattr(args, condition) for condition in CONDITIONS}
    data = read_utterance_pairs(paths, args.utt2spk)
    matrices = {}
    for condition, path in paths.items():
        try:
            matrix = similarity_matrix(data.pairs[condition], data.speaker, data.names, condition, args.mode)
        except InputError as error:
            raise InputError(str(error), path) from None
        matrices[condition] = matrix
        single = [data.names[i] for i in np.flatnonzero(np.isnan(np.diag(matrix)))]
        if single:
            logging.warning(f"{path}: left out of the diagonal, for want of a second utterance: {' '.join(single)}")

    file = Path(args.out).with_suffix(".matrices.json")
    notes = {"calibration": "Laplace PAV", "matrices": file.name}
    records = voice_similarity(matrices, args.bootstrap, args.seed)
    write_text(file, matrices_json(data.names, matrices))
    write_records(args.out, [r.with_params({"mode": args.mode}).with_notes(notes).tagged(tags) for r in records])


def matrices_json(speakers: list[str], matrices: dict[str, Floats]) -> str:
    """Speakers and matrices, row by row; JSON has no NaN, so an empty cell is null."""
    cells = {name: np.where(np.isnan(matrix), None, matrix).tolist() for name, matrix in matrices.items()}
    return json.dumps({"speakers": speakers, **cells}, ensure_ascii=False, allow_nan=False) + "\n"


if __name__ == "__main__":
    script.main(main)
