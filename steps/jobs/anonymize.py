#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/anonymize.sh: run the hook on a split and report how many utterances it has written.

Usage: steps/jobs/anonymize.py <hook> <hook options as one word> <job> <work-dir>
"""

import shlex
import subprocess
import sys
import time
from pathlib import Path

from vpeval import batch, script
from vpeval.errors import InputError
from vpeval.launch import die_with_parent


def main() -> int:
    """Run the hook."""
    hook, options, job, work = sys.argv[1:]
    parts = batch.job_parts("out/wav", ".wav", job, [work])
    out = Path(work, "out", "wav")
    command = [hook, *shlex.split(options), str(Path(work, "split", job).resolve()), str(out.resolve())]
    try:
        child = subprocess.Popen(command, preexec_fn=die_with_parent)
    except OSError as error:
        raise InputError(f"cannot be started ({error.strerror}); is its first line (#!) right?", hook) from None
    while child.poll() is None:
        batch.report(sum(part.file.exists() for part in parts), len(parts))
        time.sleep(0.3)
    batch.report(sum(part.file.exists() for part in parts), len(parts))
    if child.returncode:
        print(f"the hook {shlex.join(command)} ended with exit code {child.returncode}")
    return 1 if child.returncode else 0


if __name__ == "__main__":
    script.main(main)
