# Where jobs run: local (this machine) or slurm (the cluster that conf/slurm.conf describes; see docs/cluster.md).
# The command takes [--mem 4G] [--num-threads n] [--gpu n|auto] [--max-jobs-run n] [--time 2:00:00] JOB=1:N <log> <command>.
# shellcheck shell=bash
backend=${VPEVAL_BACKEND:-local}
export cmd="utils/run.py --backend $backend"
