import threading
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.jobs import visibility

MOUNTS = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/me/local\040disk rw - ext4 /dev/vdb rw
32 22 0:42 / /scratch rw - fuse.sshfs somewhere rw
"""


def test_what_appears_late_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_VISIBLE_SECONDS", "30")
    late = tmp_path / "late"
    threading.Timer(0.3, late.touch).start()
    assert visibility.wait_for(lambda: [] if late.exists() else ["late"], tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["late"]


def test_what_never_appears_is_missing_after_a_bounded_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_VISIBLE_SECONDS", "0.3")
    looks: list[int] = []
    assert visibility.wait_for(lambda: looks.append(1) or ["never"], tmp_path) == ["never"]
    assert len(looks) > 1


def test_on_a_disk_of_this_machine_nothing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visibility, "is_shared", lambda folder: False)
    looks: list[int] = []
    assert visibility.wait_for(lambda: looks.append(1) or ["never"], tmp_path) == ["never"]
    assert len(looks) == 1
    monkeypatch.setattr(visibility, "is_shared", lambda folder: True)
    assert visibility.patience(tmp_path) == 60


@pytest.mark.parametrize(
    ("folder", "shared"),
    [
        ("/tmp/x", False),
        ("/home/me", True),
        ("/home/me/local disk/x", False),
        ("/scratch/y", True),
        ("/homeless", False),
    ],
)
def test_shared_disks_are_known_by_how_they_are_mounted(tmp_path: Path, folder: str, shared: bool) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert visibility.is_shared(Path(folder), tmp_path / "mounts") is shared
    assert not visibility.is_shared(Path(folder), tmp_path / "nowhere")


def test_a_wait_that_is_no_number_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_VISIBLE_SECONDS", "long")
    with pytest.raises(InputError, match="VPEVAL_VISIBLE_SECONDS=long: expected a number of seconds"):
        visibility.patience(tmp_path)
