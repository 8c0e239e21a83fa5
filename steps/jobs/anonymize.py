#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/anonymize.py: run the hook on its splits and check the output (vpeval/anon/hook_job.py).

Usage: steps/jobs/anonymize.py <hook> --options=<options of the hook> <prepared-dir> <timeout> <job> <work-dir> ...
"""

import sys

from vpeval.anon.hook_job import run_job
from vpeval.cli import script

if __name__ == "__main__":
    script.main(lambda: run_job(*sys.argv[1:]))
