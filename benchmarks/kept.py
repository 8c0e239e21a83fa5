#!/usr/bin/env python3
"""Compare how much of its identification rate on original speech two encoders keep against a system.

Usage: PYTHONPATH=. python3 benchmarks/kept.py [options] <system> <embeddings> <embeddings> <set> ...
 e.g.: PYTHONPATH=. python3 benchmarks/kept.py mcadams exp/mini/embeddings/ecapa exp/mini/embeddings/nontimbral \
         mini_test_enrolls mini_test_trials_f mini_test_trials_m

The utterances of the sets are pooled; of every speaker, some are inputs and the mean of the others is the reference,
the same ones for both encoders; that is done again with other ones, and all inputs count. oa: original references and
anonymised inputs; aa: both anonymised.
"""

import argparse
from pathlib import Path

import numpy as np

from vpeval.core.seeds import generator
from vpeval.embeddings.speaker_vectors import Embeddings, read_pooled
from vpeval.metrics.intervals import multiplicities
from vpeval.metrics.ranks import Ranks, count_rivals
from vpeval.metrics.srd import intervals, resampled

CONDITIONS = ("oo", "oa", "aa")
RESAMPLES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=6, help="of every speaker (6)")
    parser.add_argument("--splits", type=int, default=20, help="into inputs and references (20)")
    parser.add_argument("system")
    parser.add_argument("encoders", nargs=2, type=Path, metavar="embeddings")
    parser.add_argument("sets", nargs="+")
    args = parser.parse_args()

    kept: dict[str, list[np.ndarray]] = {condition: [] for condition in CONDITIONS}
    for encoder in args.encoders:
        sides = {
            "o": read_pooled(tuple(encoder / name for name in args.sets)),
            "a": read_pooled(tuple(encoder / f"{name}_{args.system}" for name in args.sets)),
        }
        ranks = {both: rank(sides[both[0]], sides[both[1]], args.inputs, args.splits) for both in CONDITIONS}
        speakers = ranks["oo"].n_speakers
        weights = np.vstack([np.ones(speakers), multiplicities(speakers, RESAMPLES, generator(0, "kept"))])
        rates = {condition: resampled(found, weights).idr for condition, found in ranks.items()}
        for condition, found in ranks.items():
            ends = intervals(found)["idr"]
            kept[condition].append(rates[condition] / rates["oo"])
            print(
                f"{encoder.name:16} {condition}  IdR {100 * rates[condition][0]:5.1f} "
                f"[{100 * (ends.lower or 0):.1f}, {100 * (ends.upper or 0):.1f}]  kept {shown(kept[condition][-1])}"
            )
    for condition in CONDITIONS[1:]:
        print(f"{'difference':16} {condition}  {shown(kept[condition][1] - kept[condition][0])}")


def rank(references: Embeddings, inputs: Embeddings, wanted: int, splits: int) -> Ranks:
    """The ranks of some utterances of every speaker among the means of the others, of all splits."""
    if references.utts != inputs.utts:
        raise SystemExit("original and anonymised sets have different utterances")
    ranks = []
    for split in range(splits):
        chosen, means = [], []
        for number, speaker in enumerate(inputs.speakers):
            own = generator(split, "kept", speaker).permutation(np.flatnonzero(inputs.owners == number))
            chosen.append(own[:wanted])
            means.append(references.vectors[own[wanted:]].mean(axis=0))
        rows = np.concatenate(chosen)
        owners = inputs.owners[rows]
        rivals = count_rivals(np.stack(means), inputs.vectors[rows], owners, "cosine")
        ranks.append(Ranks.from_rivals(rivals, owners, len(means), len(means)))
    first, last, owner = (np.concatenate([getattr(one, name) for one in ranks]) for name in ("first", "last", "owner"))
    return Ranks(first, last, owner, ranks[0].n_speakers, ranks[0].n_references)


def shown(samples: np.ndarray) -> str:
    """The value, which comes first, with the 95 % of the resamples."""
    low, high = np.quantile(100 * samples[1:], [0.025, 0.975])
    return f"{100 * samples[0]:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    main()
