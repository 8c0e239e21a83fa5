#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Join embedding directories into one.

Usage: steps/pool_embeddings.py <embedding-dir> ... <out-dir>
 e.g.: steps/pool_embeddings.py exp/mini/embeddings/ecapa/mini_{dev,test}_enrolls exp/mini/runs/original/legal/enrolls
"""

from pathlib import Path

import numpy as np

from vpeval.core import script
from vpeval.embeddings.directory import pool, read_embeddings, write_embeddings


def main() -> None:
    """Read all, write one."""
    parser = script.Parser(__doc__)
    parser.add_argument("parts", metavar="embedding-dir", nargs="+")
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args()
    pooled = pool([read_embeddings(part) for part in args.parts])
    write_embeddings(args.out, *pooled.rows(np.arange(len(pooled.utts))))


if __name__ == "__main__":
    script.main(main)
