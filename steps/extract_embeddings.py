#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Extract speaker embeddings of data directories into Kaldi archives.

Usage: steps/extract_embeddings.py [options] <conf> <out-dir> <data-dir> ...
 e.g.: steps/extract_embeddings.py --nj 2 conf/asv/encoders/ecapa.yaml exp/mini/embeddings/ecapa \\
         data/mini_dev_enrolls

Makes <out-dir>/<name of data-dir>/ with embedding.ark, embedding.scp and utt2spk; speaker means (spk_mean.ark,
spk_mean.scp) and num_utts as Kaldi has them. Directories that are up to date are skipped; after an interruption,
the same command continues.
"""

from vpeval.cli import script
from vpeval.networks.configs import find_config
from vpeval.networks.extraction import extract_embeddings


def main() -> None:
    """Bring the embeddings of all data directories up to date."""
    args = script.batch_parser(__doc__).parse_args()
    for target in extract_embeddings(find_config(args.conf), args.out, args.data, args.cmd, args.nj):
        print(f"{target.out}: {len(target.data.utts)} embeddings of {len(target.data.speakers)} speakers")


if __name__ == "__main__":
    script.main(main)
