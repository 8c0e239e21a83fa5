#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Turn a Kaldi chain model into directories that Vosk loads, for conf/asr/kaldi_chain.yaml.

Usage: utils/make_kaldi_chain.py [--small-lm ARPA [--large-lm ARPA]] <model-dir> <out-dir>
 e.g.: utils/make_kaldi_chain.py exp/models/asr_eval models/kaldi_chain
       utils/make_kaldi_chain.py --small-lm exp/mini/lm/small.arpa --large-lm exp/mini/lm/large.arpa \\
         models/vosk_small_en models/kaldi_chain

<model-dir> is laid out as the challenge's asr_eval: final.mdl, extractor/, graph_tgsmall/, lang_test_tgsmall/,
lang_test_tglarge/. With --small-lm it is a model for Vosk that composes its graph when it is loaded (HCLr.fst), and the
graph uses that language model. <out-dir>/small decodes with the small language model alone; <out-dir>/large, made only
if there is a large one, rescores the lattices with it. Both link to <model-dir>: keep it.
"""

from pathlib import Path

from vpeval.asr.kaldi_chain import from_challenge, from_vosk
from vpeval.asr.lm import read_arpa
from vpeval.cli import script
from vpeval.core.errors import InputError


def main() -> None:
    """Make the directories and say which language models there are."""
    parser = script.Parser(__doc__)
    parser.add_argument("--small-lm", metavar="ARPA", type=Path, help="make the graph of this n-gram model")
    parser.add_argument("--large-lm", metavar="ARPA", type=Path, help="score lattices with this one again")
    parser.add_argument("model", metavar="model-dir", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args()
    if args.small_lm:
        large = read_arpa(args.large_lm) if args.large_lm else None
        lms = from_vosk(args.model, read_arpa(args.small_lm), large, args.out)
    elif args.large_lm:
        raise InputError("--large-lm needs --small-lm, of which the graph is made")
    else:
        lms = from_challenge(args.model, args.out)
    print(f"{args.out}: language models {' and '.join(lms)}")


if __name__ == "__main__":
    script.main(main)
