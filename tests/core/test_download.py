"""Downloads against a local server: cut off, damaged, too large, and taken up again."""

import hashlib
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import FileServer, serving

from vpeval.core import models as module
from vpeval.core.errors import InputError
from vpeval.core.models import download, require_space

CONTENT = bytes(range(256)) * 400
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
MD5 = "md5:" + hashlib.md5(CONTENT).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving("x.tar.gz", CONTENT) as running:
        yield running


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


@pytest.mark.parametrize("checksum", [SHA256, MD5])
def test_a_file_is_fetched_and_verified(server: FileServer, tmp_path: Path, checksum: str) -> None:
    assert download([f"{server.url}/x.tar.gz"], tmp_path / "x.tar.gz", checksum).read_bytes() == CONTENT
    assert names(tmp_path) == ["x.tar.gz"]


def test_a_connection_that_breaks_is_taken_up_where_it_ended_as_long_as_something_comes(
    server: FileServer, tmp_path: Path
) -> None:
    server.cuts = [3000, 50_000]
    assert download([f"{server.url}/x.tar.gz"], tmp_path / "x.tar.gz", SHA256).read_bytes() == CONTENT
    assert server.starts == [0, 3000, 53_000]


def test_a_call_that_gave_up_leaves_nothing_under_the_final_name_and_the_next_call_goes_on(
    server: FileServer, tmp_path: Path
) -> None:
    server.cuts = [3000, 0]
    with pytest.raises(InputError, match=r"connection ended after 3000 of 102400 bytes[^\n]*\nCheck the network"):
        download([f"{server.url}/x.tar.gz"], tmp_path / "x.tar.gz", SHA256)
    assert names(tmp_path) == [".x.tar.gz.part"]
    download([f"{server.url}/x.tar.gz"], tmp_path / "x.tar.gz", SHA256)
    assert server.starts == [0, 3000, 3000]
    assert names(tmp_path) == ["x.tar.gz"]


def test_a_wrong_checksum_is_refused_and_what_came_is_thrown_away(server: FileServer, tmp_path: Path) -> None:
    server.content = b"an error page"
    with pytest.raises(InputError, match=r"not the published file, as SHA-256 is .*; thrown away"):
        download([f"{server.url}/x.tar.gz"], tmp_path / "x.tar.gz", SHA256)
    assert names(tmp_path) == []


def test_mirrors_are_tried_in_turn(server: FileServer, tmp_path: Path) -> None:
    gone, here = f"{server.url}/gone", f"{server.url}/x.tar.gz"
    assert download([gone, here], tmp_path / "x.tar.gz", SHA256).is_file()
    with pytest.raises(InputError) as caught:
        download([gone], tmp_path / "y.tar.gz", SHA256)
    assert "HTTP Error 404" in str(caught.value) and f"{tmp_path / 'y.tar.gz'} (sha256:" in str(caught.value)


def test_what_does_not_fit_on_the_disk_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage(10**12, 0, 5 * 10**9))
    require_space(tmp_path, 5 * 10**9, "this")
    with pytest.raises(InputError, match=r"new: LibriSpeech needs 23\.0 GB and 5\.0 GB are free; free some"):
        require_space(tmp_path / "deep/new", 23 * 10**9, "LibriSpeech")
