import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.jobs import shared_disk
from vpeval.jobs.shared_disk import Lease

MOUNTS = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/me/local\040disk rw - ext4 /dev/vdb rw
32 22 0:42 / /scratch rw - fuse.sshfs somewhere rw
"""


def test_a_claim_excludes_others_until_it_is_released(tmp_path: Path) -> None:
    first, second = (Lease(tmp_path / "lock", "x.log") for _ in range(2))
    first.acquire(print)
    with pytest.raises(
        InputError, match=rf"x.log: process {os.getpid()} on \S+ is working on this; wait for it, or end"
    ):
        second.acquire(print)
    first.beat()
    first.release()
    second.acquire(print)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    second.release()
    assert list(tmp_path.iterdir()) == []


def test_the_claim_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    code = f"from vpeval.jobs.shared_disk import Lease; from pathlib import Path; Lease(Path({str(tmp_path / 'lock')!r}), 'x').acquire(print)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "lock").exists()
    lease = Lease(tmp_path / "lock", "x.log")
    lease.acquire(print)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_number_that_another_process_has_now_does_not_count(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "lock", "x.log")
    lease.acquire(print)
    held = json.loads((tmp_path / "lock").read_text())
    (tmp_path / "lock").write_text(json.dumps(held | {"born": "1"}))
    Lease(tmp_path / "lock", "x.log").acquire(print)
    with pytest.raises(InputError, match="another process has taken this over"):
        # The one that lost its claim, as it believes that it holds one with another birth.
        lease._me = held | {"born": "1"}
        lease._last_beat = -1e9
        lease.beat()


def test_another_machine_is_watched_for_signs_of_life(tmp_path: Path) -> None:
    lock, notes = tmp_path / "lock", []
    lock.write_text(json.dumps({"host": "login9", "pid": 1, "born": "7"}))
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(0.05):
            os.utime(lock)

    beats = threading.Thread(target=beat)
    beats.start()
    lease = Lease(lock, "x.log", silence_seconds=10)
    with pytest.raises(InputError, match=r"process 1 on login9 is working on this"):
        lease.acquire(notes.append)
    ended.set()
    beats.join()
    assert notes == ["x.log: process 1 on login9 was working on this; checking for 10 s whether it lives"]
    silent = Lease(lock, "x.log", silence_seconds=0.2)
    silent.acquire(notes.append)
    silent.beat()


def test_one_of_many_gets_a_stale_claim(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("half a cla")
    code = (
        "import sys; from pathlib import Path; from vpeval.core.errors import InputError; from vpeval.jobs.shared_disk import Lease\n"
        f"lease = Lease(Path({str(lock)!r}), 'x', silence_seconds=0.3)\n"
        "try:\n    lease.acquire(lambda _: None); print('mine', flush=True); sys.stdin.read(); lease._last_beat = -1e9; lease.beat()\n"
        "except InputError:\n    sys.exit(3)\n"
    )
    racers = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    # One may take the claim from another that has just got it, which then finds out at its next beat.
    assert all(racer.stdout and racer.stdout.readline() in ("mine\n", "") for racer in racers)
    for racer in racers:
        racer.communicate()
    assert sorted(racer.returncode for racer in racers) == [0, 3, 3, 3]


def test_what_appears_late_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_VISIBLE_SECONDS", "30")
    late = tmp_path / "late"
    threading.Timer(0.3, late.touch).start()
    assert shared_disk.wait_for(lambda: [] if late.exists() else ["late"], tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["late"]


def test_what_never_appears_is_missing_after_a_bounded_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_VISIBLE_SECONDS", "0.3")
    calls: list[int] = []
    assert shared_disk.wait_for(lambda: calls.append(1) or ["never"], tmp_path) == ["never"]
    assert len(calls) > 1


def test_on_a_disk_of_this_machine_nothing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_disk, "is_shared", lambda directory: False)
    calls: list[int] = []
    assert shared_disk.wait_for(lambda: calls.append(1) or ["never"], tmp_path) == ["never"]
    assert len(calls) == 1
    monkeypatch.setattr(shared_disk, "is_shared", lambda directory: True)
    assert shared_disk.patience(tmp_path) == 60


@pytest.mark.parametrize(
    ("directory", "shared"),
    [
        ("/tmp/x", False),
        ("/home/me", True),
        ("/home/me/local disk/x", False),
        ("/scratch/y", True),
        ("/homeless", False),
    ],
)
def test_shared_disks_are_known_by_how_they_are_mounted(tmp_path: Path, directory: str, shared: bool) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert shared_disk.is_shared(Path(directory), tmp_path / "mounts") is shared
    assert not shared_disk.is_shared(Path(directory), tmp_path / "nowhere")


def test_a_wait_that_is_no_number_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_VISIBLE_SECONDS", "long")
    with pytest.raises(InputError, match="VPEVAL_VISIBLE_SECONDS=long: expected a number of seconds"):
        shared_disk.patience(tmp_path)
