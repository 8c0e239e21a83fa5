#!/usr/bin/env bash
# Train a CTC recogniser: ASR_eval on original speech, ASR_eval^anon on anonymised speech.
set -euo pipefail

cmd=utils/run.py
seed=0
num_threads=1

help_message="Usage: $0 [options] <train-conf> <out-dir> <data-dir> ...
 e.g.: $0 conf/asr/train/ctc_mini.yaml exp/mini/asr/ctc_mini_mcadams data/mini_train_mcadams data/mini_pool_mcadams

Makes <out-dir> with the recogniser and its decode.yaml for steps/decode.py. Interrupted, the same command goes on.

  --cmd COMMAND      launcher of the job ($cmd)
  --seed N           seed of weights, order and augmentation ($seed)
  --num-threads N    threads of the training ($num_threads); another number gives slightly other weights"

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. ./path.sh
. utils/parse_options.sh
[ $# -ge 3 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 out=$2
shift 2
[ -f "$conf" ] || { echo "$0: $conf: no such configuration; see conf/asr/train/" >&2; exit 1; }
for data in "$@"; do
  for file in wav.scp text utt2dur; do
    [ -f "$data/$file" ] || { echo "$0: $data/$file: no such file; training needs it" >&2; exit 1; }
  done
done

# Giving memory back to the system after every step would cost a third of the time.
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=4294967296 MALLOC_TOP_PAD_=67108864
# shellcheck disable=SC2086  # cmd has options of its own
$cmd --num-threads "$num_threads" "$(dirname "$out")/log/train_$(basename "$out").log" \
  steps/train_asr.py --seed "$seed" --num-threads "$num_threads" "$conf" "$out" "$@"
echo "$out: recogniser is there"
