#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/anonymize.py: run the hook on its splits and report how many utterances it has written.

Usage: steps/jobs/anonymize.py <hook> <hook options as one word> <prepared-dir> <timeout> <job> <work-dir> ...

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
from vpeval.anon.hooks import PREPARED, WHOLE_SET, split_options
from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.jobs import batch
from vpeval.jobs.processes import die_with_parent


def main() -> int:
    """Run the hook on one set after the other."""
    hook, options, prepared, timeout, job, *works = sys.argv[1:]
    parts = {work: batch.job_parts(driver.PARTS, ".wav", job, [work]) for work in works}
    total, done = sum(map(len, parts.values())), 0
    for work, own in parts.items():
        if not own:
            continue
        places = [str(Path(work, place).resolve()) for place in (f"split/{job}", driver.PARTS)]
        command = [hook, *split_options(options), *places]
        environment = {WHOLE_SET: str(Path(work, driver.WHOLE).resolve()), PREPARED: prepared}
        if not finished(command, environment, own, int(timeout), done, total):
            return 1
        done += len(own)
    return 0


def finished(
    command: list[str], environment: dict[str, str], parts: list[batch.Part], timeout: int, done: int, total: int
) -> bool:
    """Whether the hook came to a good end; `done` of `total` utterances of the job were written before."""
    child = start(command, environment)
    written, last = -1, time.monotonic()
    while True:
        ended = child.poll() is not None
        count = sum(part.file.exists() for part in parts)
        batch.report(done + count, total)
        if ended:
            break
        if count != written:
            written, last = count, time.monotonic()
        if timeout and time.monotonic() - last > timeout:
            os.killpg(child.pid, signal.SIGKILL)
            print(f"the hook {command[0]} has written nothing for {timeout} s (--timeout) and was ended; does it hang?")
            return False
        time.sleep(0.2)
    if child.returncode:
        how = f"exit code {child.returncode}" if child.returncode > 0 else f"signal {-child.returncode}"
        print(f"the hook {shlex.join(command)} ended with {how}")
    return child.returncode == 0


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
