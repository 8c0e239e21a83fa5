#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score all pairs of utterances of two embedding directories by their cosine, for voice similarity matrices.

Usage: steps/score_pairs.py <embedding-dir> <embedding-dir> <scores>
 e.g.: steps/score_pairs.py exp/mini/embeddings/ecapa/mini_dev_trials_f \\
         exp/mini/embeddings/ecapa/mini_dev_trials_f_mcadams exp/mini/runs/mcadams/VSM-mini_dev_trials_f/scores_oa

Lines are '<utt> <utt> <score>'; an utterance is not paired with itself, nor with its own anonymised version.
"""

from collections.abc import Iterator

import numpy as np

from vpeval.cli import script
from vpeval.data.trials import write_pair_scores
from vpeval.embeddings.pair_scores import utterance_cosines
from vpeval.embeddings.speaker_vectors import read_embeddings


def main() -> None:
    """Write a line for every pair."""
    parser = script.Parser(__doc__)
    parser.add_argument("first", metavar="embedding-dir")
    parser.add_argument("second", metavar="embedding-dir")
    parser.add_argument("scores")
    args = parser.parse_args()
    first, second = read_embeddings(args.first), read_embeddings(args.second)
    others = np.array(second.utts, object)

    def blocks() -> Iterator[tuple[list[str], list[str], np.ndarray]]:
        for one, cosines in zip(first.utts, utterance_cosines(first, second), strict=True):
            kept = others != one
            yield [one] * int(kept.sum()), others[kept].tolist(), cosines[kept]

    write_pair_scores(args.scores, blocks())


if __name__ == "__main__":
    script.main(main)
