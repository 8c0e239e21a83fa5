# Where jobs run. The command takes [--mem 4G] [--num-threads n] [--gpu n] [--max-jobs-run n] JOB=1:N <log> <command>.
# shellcheck shell=bash
export cmd="utils/run.py"
