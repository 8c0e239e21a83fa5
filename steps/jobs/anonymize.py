#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/anonymize.sh: run the hook on a split and report how many utterances it has written.

Usage: steps/jobs/anonymize.py <hook> <hook options as one word> <data-dir> <seed> <level> <timeout> <job> <work-dir>

A hook that writes no file for <timeout> seconds is ended; 0 waits forever.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from vpeval.anon import driver
from vpeval.anon.hook import WHOLE_SET
from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.jobs import batch
from vpeval.jobs.launch import die_with_parent


def main() -> int:
    """Run the hook."""
    hook, options, source, seed, level, timeout, job, work = sys.argv[1:]
    parts = batch.job_parts(driver.PARTS, ".wav", job, [work])
    whole = driver.seeded(Path(source), int(seed), "spk" if level == "spk" else "utt").write(Path(work, "set", job))
    places = [str(Path(work, place).resolve()) for place in (f"split/{job}", driver.PARTS)]
    command = [hook, *driver.split_options(options), *places]
    child = start(command, {WHOLE_SET: str(whole.path.resolve())})
    written, last = -1, time.monotonic()
    while True:
        ended = child.poll() is not None
        count = sum(part.file.exists() for part in parts)
        batch.report(count, len(parts))
        if ended:
            break
        if count != written:
            written, last = count, time.monotonic()
        if int(timeout) and time.monotonic() - last > int(timeout):
            os.killpg(child.pid, signal.SIGKILL)
            print(f"the hook {hook} has written nothing for {timeout} s (--timeout) and was ended; does it hang?")
            return 1
        time.sleep(0.2)
    if child.returncode:
        how = f"exit code {child.returncode}" if child.returncode > 0 else f"signal {-child.returncode}"
        print(f"the hook {shlex.join(command)} ended with {how}")
    return 1 if child.returncode else 0


def start(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start the hook in a process group of its own, so that whatever it starts can be ended with it."""
    try:
        child = subprocess.Popen(
            command, env={**os.environ, **environment}, process_group=0, preexec_fn=die_with_parent
        )
    except OSError as error:
        raise InputError(f"cannot be started ({error.strerror}); is its first line (#!) right?", command[0]) from None

    def stop(number: int, frame: object) -> NoReturn:
        os.killpg(child.pid, signal.SIGKILL)
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    return child


if __name__ == "__main__":
    script.main(main)
