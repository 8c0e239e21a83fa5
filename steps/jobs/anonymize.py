#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/anonymize.py: run the hook on its splits and report how many utterances it has written.

Usage: steps/jobs/anonymize.py <hook> <hook options as one word> <prepared-dir> <timeout> <job> <work-dir> ...

On a cluster the hook writes to the scratch disk of its node (VPEVAL_SCRATCH), and what is whole goes to <work-dir> in
one piece: a job that is lost, or runs twice, leaves nothing half-written on the disk that all share. A hook that writes
no file for <timeout> seconds is ended; 0 waits forever.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from vpeval.anon import driver
from vpeval.anon.check import is_whole_wave
from vpeval.anon.hooks import PREPARED, WHOLE_SET, split_options
from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path
from vpeval.data.directory import DataDir
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
        environment = {WHOLE_SET: str(Path(work, driver.WHOLE).resolve()), PREPARED: prepared}
        with places(Path(work), job, own) as (data, wav, take):
            command = [hook, *split_options(options), str(data), str(wav)]
            if not finished(command, environment, own, take, int(timeout), done, total):
                return 1
        done += len(own)
    return 0


@contextmanager
def places(work: Path, job: str, parts: list[batch.Part]) -> Iterator[tuple[Path, Path, Callable[[bool], None]]]:
    """The data directory for the hook, where it writes, and what is to be called now and then with "has it ended?"."""
    split, out = (work / "split" / job).resolve(), (work / driver.PARTS).resolve()
    if scratch := os.environ.get("VPEVAL_SCRATCH"):
        with tempfile.TemporaryDirectory(prefix="vpeval-", dir=scratch) as room:
            data = DataDir.load(split).subset(part.utt for part in parts).write(Path(room, "data"))
            yield data.path, Path(room, "wav"), Transfer(Path(room, "wav"), out).move
    else:
        yield split, out, lambda ended: None


class Transfer:
    """Takes what a hook has written from the scratch disk to where it belongs."""

    def __init__(self, source: Path, target: Path) -> None:
        self.source, self.target = source, target
        self._sizes: dict[str, int] = {}
        source.mkdir()

    def move(self, ended: bool) -> None:
        """Move every file that is whole and does not grow; when the hook has ended, all there is."""
        for file in sorted(self.source.iterdir()):
            size = file.lstat().st_size
            whole = file.suffix == ".wav" and self._sizes.get(file.name) == size and is_whole_wave(file)
            self._sizes[file.name] = size
            if file.is_dir() and ended:
                shutil.copytree(file, self.target / file.name, dirs_exist_ok=True)
            elif file.is_file() and (ended or whole):
                with atomic_path(self.target / file.name) as temporary:
                    shutil.copyfile(file, temporary)
                file.unlink()


def finished(
    command: list[str],
    environment: dict[str, str],
    parts: list[batch.Part],
    take: Callable[[bool], None],
    timeout: int,
    done: int,
    total: int,
) -> bool:
    """Whether the hook came to a good end; `done` of `total` utterances of the job were written before."""
    child = start(command, environment)
    written, last = -1, time.monotonic()
    while True:
        ended = child.poll() is not None
        take(ended)
        count = sum(part.file.exists() for part in parts)
        batch.report(done + count, total)
        if ended:
            break
        if count != written:
            written, last = count, time.monotonic()
        if timeout and time.monotonic() - last > timeout:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
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
