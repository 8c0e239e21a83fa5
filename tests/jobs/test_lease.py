import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.jobs.lease import Lease


def test_a_claim_excludes_others_until_it_is_given_up(tmp_path: Path) -> None:
    first, second = (Lease(tmp_path / "lock", "x.log") for _ in range(2))
    first.take(print)
    with pytest.raises(
        InputError, match=rf"x.log: process {os.getpid()} on \S+ is working on this; wait for it, or end"
    ):
        second.take(print)
    first.beat()
    first.give_up()
    second.take(print)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    second.give_up()
    assert list(tmp_path.iterdir()) == []


def test_the_claim_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    code = f"from vpeval.jobs.lease import Lease; from pathlib import Path; Lease(Path({str(tmp_path / 'lock')!r}), 'x').take(print)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "lock").exists()
    lease = Lease(tmp_path / "lock", "x.log")
    lease.take(print)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_number_that_another_process_has_now_does_not_count(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "lock", "x.log")
    lease.take(print)
    held = json.loads((tmp_path / "lock").read_text())
    (tmp_path / "lock").write_text(json.dumps(held | {"born": "1"}))
    Lease(tmp_path / "lock", "x.log").take(print)
    with pytest.raises(InputError, match="another process has taken this over"):
        # The one that lost its claim, as it believes that it holds one with another birth.
        lease._me = held | {"born": "1"}
        lease._beaten = -1e9
        lease.beat()


def test_another_machine_is_watched_for_signs_of_life(tmp_path: Path) -> None:
    lock, said = tmp_path / "lock", []
    lock.write_text(json.dumps({"host": "login9", "pid": 1, "born": "7"}))
    beats = threading.Timer(0.2, lambda: os.utime(lock))
    beats.start()
    lease = Lease(lock, "x.log", silence_seconds=10)
    with pytest.raises(InputError, match=r"process 1 on login9 is working on this"):
        lease.take(said.append)
    assert said == ["x.log: process 1 on login9 was working on this; seeing for 10 s whether it lives"]
    silent = Lease(lock, "x.log", silence_seconds=0.2)
    silent.take(said.append)
    silent.beat()


def test_of_many_that_take_a_stale_claim_one_has_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("half a cla")
    code = (
        "import sys; from pathlib import Path; from vpeval.core.errors import InputError; from vpeval.jobs.lease import Lease\n"
        f"lease = Lease(Path({str(lock)!r}), 'x', silence_seconds=0.3)\n"
        "try:\n    lease.take(lambda _: None)\nexcept InputError:\n    sys.exit(3)\nprint('mine', flush=True); sys.stdin.read()\n"
    )
    racers = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for racer in racers[:]:
        if racer.stdout and racer.stdout.readline() == "":
            assert racer.wait() == 3
            racers.remove(racer)
    assert len(racers) == 1
    for racer in racers:
        racer.communicate()
