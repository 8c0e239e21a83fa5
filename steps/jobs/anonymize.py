#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/anonymize.py: run the hook on its splits, check what it wrote, and report how far it is.

Usage: steps/jobs/anonymize.py <hook> --options=<options of the hook> <prepared-dir> <timeout> <job> <work-dir> ...

On a cluster the hook writes to the scratch disk of its node (VPEVAL_SCRATCH), and what is whole goes to <work-dir> in
one piece: a job that is lost, or runs twice, leaves nothing half-written on the disk that all share. A hook that writes
no file for <timeout> seconds is ended; 0 waits forever.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from vpeval.anon import driver, hooks
from vpeval.anon.check import check_output
from vpeval.anon.publish import wave_of
from vpeval.anon.rooms import ROOMS, Room
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.processes import dying_with_me
from vpeval.data.directory import DataDir, read_utt2spk
from vpeval.data.layout import name_some
from vpeval.jobs import worker
from vpeval.jobs.pieces import FOLDER, PieceWriter

_POLL_SECONDS = 0.2
_POLL_SHARE = 50.0  # looking takes at most one part in so many, however many files there are


def main() -> int:
    """Run the hook on one set after the other, and check what it wrote."""
    hook, options, prepared, timeout, job, *works = sys.argv[1:]
    parts = worker.job_parts(job, works)
    meter = Meter(len(parts))
    for work in dict.fromkeys(part.work for part in parts):
        own = [part for part in parts if part.work == work]
        missing = {part.utt: part.spk for part in own if not wave_of(work / "out", part.spk, part.utt).is_file()}
        meter.done += len(own) - len(missing)
        if missing:
            about = json.loads((work / driver.ABOUT).read_text(encoding="utf-8"))
            environment = hooks.environment(Path(prepared), hooks.Part((work / driver.WHOLE).resolve(), **about))
            with places(work, job, missing) as (data, room):
                command = [
                    hook,
                    *hooks.split_options(options.removeprefix("--options=")),
                    str(data.resolve()),
                    str(room.folder.resolve()),
                ]
                ended_well = finished(command, environment, room, int(timeout), meter)
                if refused(room.take_all(whole=not ended_well), work, room) or not ended_well:
                    return 1
        check(work, job, own)
    return 0


@contextmanager
def places(work: Path, job: str, missing: dict[str, str]) -> Iterator[tuple[Path, Room]]:
    """The data directory for the hook, and where it writes: on the scratch disk, or where it is found after a kill."""
    scratch = os.environ.get("VPEVAL_SCRATCH")
    (work / ROOMS).mkdir(exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="vpeval-" if scratch else f"{job}-", dir=scratch or work / ROOMS))
    split, room, ended = DataDir.load(work / "split" / job), Room(home / "wav", work / "out", missing), False
    try:
        data = driver.hook_data(split.subset(missing), (work / driver.COPIES).resolve())
        yield data.write(home / "data").path, room
        ended = True
    finally:
        if scratch or ended:  # else the next call of the step finds what is whole
            room.take_all(whole=True)
            shutil.rmtree(home)


def refused(names: list[str], work: Path, room: Room) -> bool:
    """Whether the hook wrote what it should not have; another job's utterance is as good as one of its own."""
    whole = read_utt2spk(work / driver.WHOLE / "utt2spk") if names else {}
    if strange := Room(room.folder, work / "out", whole).take_all(whole=True) if names else []:
        print(
            f"the hook wrote {name_some(strange)}, which is no utterance of the set or a link; it must write "
            "<utt>.wav and nothing else"
        )
    return bool(strange)


def check(work: Path, job: str, parts: list[worker.Part]) -> None:
    """Compare every file with its source; one that breaks the contract ends the job, and will be made again."""
    with PieceWriter(work / FOLDER, job) as writer:
        for part in parts:
            wave = wave_of(work / "out", part.spk, part.utt)
            if wave.is_file():  # else the driver tells of all that are missing
                try:
                    found = asdict(check_output(part.utt, part.wav, wave))
                except InputError:
                    wave.unlink()
                    raise
                del found["utt"]
                writer.add(part.utt, json.dumps(found).encode())


class Meter:
    """Tells the launcher how many utterances of a job are done."""

    def __init__(self, total: int) -> None:
        self.done, self._total = 0, total

    def tell(self, now: int) -> None:
        """So many more are written `now`."""
        worker.report(self.done + now, self._total)


def finished(command: list[str], environment: dict[str, str], room: Room, timeout: int, meter: Meter) -> bool:
    """Whether the hook came to a good end."""
    child = start(command, environment)
    written, last = -1, time.monotonic()
    while True:
        looked = time.monotonic()
        ended = child.poll() is not None
        if "VPEVAL_SCRATCH" in os.environ and not ended:
            room.take_finished()
        count = room.count()
        if count != written:
            written, last = count, time.monotonic()
            meter.tell(count)
        if ended:
            break
        if timeout and time.monotonic() - last > timeout:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            print(f"the hook {command[0]} has written nothing for {timeout} s (--timeout) and was ended; does it hang?")
            return False
        time.sleep(max(_POLL_SECONDS, _POLL_SHARE * (time.monotonic() - looked)))
    meter.done += written
    if child.returncode:
        how = f"exit code {child.returncode}" if child.returncode > 0 else f"signal {-child.returncode}"
        print(f"the hook {shlex.join(command)} ended with {how}")
    return child.returncode == 0


def start(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start the hook in a process group of its own, so that whatever it starts can be ended with it."""
    try:
        child = subprocess.Popen(command, env=environment, process_group=0, preexec_fn=dying_with_me())
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
