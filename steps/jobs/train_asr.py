#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""Train a CTC recogniser; the job of steps/train_asr.py.

Usage: steps/jobs/train_asr.py [options] <train-conf> <out-dir> <data-dir> ...
 e.g.: steps/jobs/train_asr.py conf/asr/train/ctc_mini.yaml exp/mini/asr/ctc_mini data/mini_train

Makes <out-dir> with the recogniser and with decode.yaml, the configuration for steps/decode.py. Interrupted, the same
call goes on with the next epoch.
"""

import shutil
from pathlib import Path

from vpeval.asr.train import made_from_what, places
from vpeval.cli import script
from vpeval.core.files import write_text
from vpeval.core.publish import publish, refuse_target
from vpeval.jobs.stamps import STAMP, is_current, write_stamp

DECODE = """\
# Beam search over the letters of the network in this directory.
recognizer: speechbrain
directory: .
blank: 0
beam: 32
nbest: 50
acoustic_scale: 10.0       # brings the weights of the language model to the scale of Kaldi's chain models
lmwt: 10.0
wip: 0.0
"""


def main() -> None:
    """Train unless the recogniser is up to date."""
    parser = script.Parser(__doc__)
    parser.add_argument("--seed", type=script.natural, default=0)
    parser.add_argument("--num-threads", type=script.positive, default=1)
    parser.add_argument("conf", metavar="train-conf", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()

    made_from = made_from_what(args.conf, args.data, args.seed)
    if is_current(args.out / STAMP, made_from, [args.out]):
        print(f"{args.out} is up to date, skipped")
        return
    inputs = places(args.conf, args.data)
    refuse_target(args.out, inputs)
    # Importing torch takes seconds, and a skipped training should not.
    from vpeval.asr.training import Settings, read_utterances, train
    from vpeval.networks import compute

    compute.set_up(args.num_threads)
    work = args.out.with_name(f".{args.out.name}.work")
    if not (work / "fingerprint").is_file() or (work / "fingerprint").read_text() != made_from.digest:
        shutil.rmtree(work, ignore_errors=True)
        write_text(work / "fingerprint", made_from.digest)
    settings, utterances = Settings.read(args.conf), read_utterances(args.data)
    train(settings, utterances, args.seed, work / "checkpoints", work / "out")
    write_text(work / "out/decode.yaml", DECODE)
    write_stamp(work / "out" / STAMP, made_from, [work / "out"])
    publish(work / "out", args.out, inputs)
    shutil.rmtree(work)
    print(f"{args.out}: trained on {len(utterances)} utterances")


if __name__ == "__main__":
    script.main(main)
