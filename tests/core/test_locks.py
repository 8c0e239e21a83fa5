import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.core.locks import locked


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the lock tmp_path/.lock."""
    code = (
        "import sys, time, pathlib; from vpeval.core.locks import locked\n"
        "with locked(pathlib.Path(sys.argv[1]), 'x', './run.sh --seed 1'): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / ".lock")], stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdout.readline() == b"held\n"
        yield child
        child.kill()


def in_words(holder: subprocess.Popen[bytes]) -> str:
    return f"process {holder.pid} on {socket.gethostname()} (./run.sh --seed 1)"


def test_a_lock_is_free_again_after_its_holder_was_killed(
    tmp_path: Path, holder: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The holder dies as soon as we say that we wait for it.
    monkeypatch.setattr(
        logging.getLogger("vpeval.core.locks"), "info", lambda text, *args: (said.append(text % args), holder.kill())
    )
    said: list[str] = []
    with locked(tmp_path / ".lock", "out/x"):
        assert said == [f"out/x is being made by {in_words(holder)}; waiting for it"]
    assert holder.wait() == -9


def test_who_does_not_want_to_wait_for_a_lock_is_told_whose_it_is(
    tmp_path: Path, holder: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(InputError) as refused, locked(tmp_path / ".lock", "system x", wait=False):
        pass
    assert str(refused.value).startswith(f"system x: {in_words(holder)} is working on this; ")
    holder.kill()
    holder.wait()
    with locked(tmp_path / ".lock", "system x", wait=False):
        assert (tmp_path / ".lock").read_text().startswith(f"{os.getpid()} ")
