#!/usr/bin/env bash
# Start a training script in several processes: on this machine, or on all nodes of the current Slurm job.
set -euo pipefail

help_message="Usage: $0 <processes per node> <script> [arguments]
 e.g.: $0 4 steps/jobs/train_asv.py scratch conf/asv/encoders/ecapa_512.yaml conf/asv/train/vpc2024.yaml exp/asv/x data/train

In a Slurm job with several nodes, srun starts a torchrun on each of them; they meet on the first node. When a process
dies, torchrun starts all of them again, at most twice (VPEVAL_MAX_RESTARTS); when a node is lost, Slurm ends the job. In
both cases a script continues from its checkpoint."

[ $# -ge 2 ] || { echo "$help_message" >&2; exit 1; }
# shellcheck source=path.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../path.sh"
restarts=--max-restarts=${VPEVAL_MAX_RESTARTS:-2}
processes=$1
shift

# address_of <node>: where others reach it, which need not be its name.
address_of() {
  scontrol -o show node "$1" | sed 's/.* NodeAddr=\([^ ]*\).*/\1/'
}

if [ -n "${VPEVAL_MEETING:-}" ]; then
  [ "$SLURM_NODEID" = 0 ] && host=true || host=false
  exec torchrun "$restarts" --nnodes="$SLURM_JOB_NUM_NODES" --nproc_per_node="$processes" --rdzv_id="$SLURM_JOB_ID" \
    --rdzv_backend=c10d --rdzv_endpoint="$VPEVAL_MEETING" --rdzv_conf="is_host=$host" \
    --local_addr="$(address_of "$SLURMD_NODENAME")" "$@"
elif ((${SLURM_JOB_NUM_NODES:-1} > 1)); then
  nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
  # This script runs on the first node.
  VPEVAL_MEETING=$(address_of "${nodes%%$'\n'*}"):$port
  export VPEVAL_MEETING SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
  exec srun --ntasks-per-node=1 --kill-on-bad-exit=1 "${BASH_SOURCE[0]}" "$processes" "$@"
else
  exec torchrun "$restarts" --standalone --nproc_per_node="$processes" "$@"
fi
