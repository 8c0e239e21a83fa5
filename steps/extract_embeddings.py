#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Speaker embeddings of data directories, as Kaldi archives.

Usage: steps/extract_embeddings.py [options] <conf> <out-dir> <data-dir> ...
 e.g.: steps/extract_embeddings.py --nj 2 conf/asv/ecapa.yaml exp/mini/embeddings/ecapa data/mini_dev_enrolls

Makes <out-dir>/<name of data-dir>/ with embedding.ark, embedding.scp and utt2spk; speaker means (spk_mean.ark,
spk_mean.scp) and num_utts as Kaldi has them. Directories that are up to date are skipped; an interrupted call goes on
where it stopped.
"""

from pathlib import Path

import numpy as np

from vpeval.asv.attackers import encoder_files
from vpeval.core import script
from vpeval.core.tables import write_table
from vpeval.embeddings.ark import write_vectors
from vpeval.embeddings.directory import group
from vpeval.jobs import batch

ROOT = Path(__file__).resolve().parents[1]
CODE = (
    *(f"vpeval/asv/{name}.py" for name in ("encoders", "directory", "speechbrain", "weights")),
    "vpeval/audio/io.py",
    "vpeval/audio/f0_histogram.py",
    "conf/models.yaml",
)


def main() -> None:
    """Bring the embeddings of all data directories up to date."""
    args = script.batch_parser(__doc__).parse_args()
    inputs = [*encoder_files(args.conf), *(ROOT / code for code in CODE)]
    targets = [batch.target(path, args.out / path.name, inputs) for path in args.data]
    task = batch.Task("extract_embeddings", (str(ROOT / "steps/jobs/embed.py"), str(args.conf)), ".npy", finish)
    for target in batch.run(task, targets, args.cmd, args.nj, args.out / "log"):
        print(f"{target.out}: {len(target.data.utts)} embeddings of {len(target.data.speakers)} speakers")


def finish(target: batch.Target, parts: Path) -> None:
    """Collect the vectors in one archive."""
    vectors = {utt: np.load(parts / f"{utt}.npy", allow_pickle=False) for utt in target.data.utts}
    write_vectors(target.new, vectors, home=target.out)
    write_table(target.new / "utt2spk", target.data.utt2spk)
    grouped = group(target.new, vectors, target.data.utt2spk)
    means = grouped.means(np.arange(len(grouped.speakers)))
    write_vectors(target.new, dict(zip(grouped.speakers, means, strict=True)), name="spk_mean", home=target.out)
    counts = zip(grouped.speakers, grouped.counts, strict=True)
    write_table(target.new / "num_utts", {spk: str(count) for spk, count in counts})


if __name__ == "__main__":
    script.main(main)
