#!/usr/bin/env bash
# Train an attacker: an encoder from scratch or from a pretrained one, or a back end on embeddings.
set -euo pipefail

cmd=utils/run.py
nj=2
mode=               # scratch, finetune or backend; default: as the configuration says
profile=            # a name in conf/asv/train; default: as the configuration says
start=              # a name in conf/asv; default: as the configuration says
data=               # training data directories, as one word
embeddings=         # backend: where the embeddings of the encoder are or go
seed=0
num_threads=1
num_processes=1     # more than one: torchrun, on GPUs if there are any

help_message="Usage: $0 [options] --data 'DIRS' <attacker-conf> <out-dir>
 e.g.: $0 --mode backend --data data/mini_train_mcadams conf/asv/ecapa_plda.yaml exp/mini/asv/ecapa_plda-mcadams

Makes <out-dir> with encoder.yaml and model.ckpt (scratch, finetune) or backend.npz (backend); epochs.jsonl and
epochs.png tell how training went. Interrupted, the same command goes on with the next epoch.

  --data 'DIRS'                      training data directories; speakers are those of utt2spk
  --mode scratch|finetune|backend    what to train (from the configuration)
  --profile NAME                     conf/asv/train/NAME.yaml (from the configuration)
  --start NAME                       encoder to start from, conf/asv/NAME.yaml (from the configuration)
  --embeddings DIR                   backend: embeddings of the encoder (<out-dir>/../../embeddings/<start>)
  --cmd COMMAND  --nj N              launcher and jobs of the extraction ($cmd, $nj)
  --seed N                           seed of weights, order, crops and augmentation ($seed)
  --num-threads N                    threads of a training process ($num_threads)
  --num-processes N                  processes of one machine that train together ($num_processes); for several
                                     machines start steps/train_asv.py with torchrun on each"

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. ./path.sh
. utils/parse_options.sh
[ $# = 2 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 out=$2
read -ra sets <<<"$data"
[ ${#sets[@]} -gt 0 ] || { echo "$0: --data is missing; name the training data directories" >&2; exit 1; }
for set in "${sets[@]}"; do
  for file in wav.scp utt2spk; do
    [ -f "$set/$file" ] || { echo "$0: $set/$file: no such file; training needs it" >&2; exit 1; }
  done
done

line=$(local/describe_attacker.py "$conf" -)
read -r own_mode own_start own_profile _ <<<"$line"
mode=${mode:-$own_mode} start=${start:-$own_start} profile=${profile:-$own_profile}
log=$(dirname "$out")/log/train_$(basename "$out").log
options=(--seed "$seed" "$mode" "conf/asv/$start.yaml" "conf/asv/train/$profile.yaml" "$out")

case $mode in
  backend)
    embeddings=${embeddings:-$(dirname "$out")/../embeddings/$start}
    steps/extract_embeddings.py --cmd "$cmd" --nj "$nj" "conf/asv/$start.yaml" "$embeddings" "${sets[@]}"
    for set in "${sets[@]}"; do options+=("$embeddings/$(basename "$set")"); done
    # Matrices this small are slower on several threads, on a shared machine many times.
    OMP_NUM_THREADS=$num_threads OPENBLAS_NUM_THREADS=$num_threads steps/train_asv.py "${options[@]}"
    ;;
  scratch | finetune)
    launch=(steps/train_asv.py --num-threads "$num_threads")
    if ((num_processes > 1)); then
      launch=(torchrun --standalone "--nproc_per_node=$num_processes" "${launch[@]}")
    fi
    # Giving memory back to the system after every step would cost a third of the time.
    export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=4294967296 MALLOC_TOP_PAD_=67108864
    # shellcheck disable=SC2086  # cmd has options of its own
    $cmd --num-threads "$num_threads" "$log" "${launch[@]}" "${options[@]}" "${sets[@]}"
    ;;
  *) echo "$0: --mode $mode: expected scratch, finetune or backend" >&2; exit 1 ;;
esac
echo "$out: attacker is there ($mode on ${sets[*]})"
