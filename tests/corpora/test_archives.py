"""Archives of corpora from a local folder: fetched, unpacked in one step, found again, or asked for."""

import hashlib
import io
import subprocess
import tarfile
import zipfile
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from vpeval.core import models as downloads
from vpeval.core.errors import InputError
from vpeval.corpora.archives import Archive, choose_archives, is_there, obtain, read_archives

ROOT = Path(__file__).resolve().parents[2]


def pack_tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return path


def pack_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def entry(file: Path, makes: str, into: str = ".", name: str = "toy") -> Archive:
    checksum = "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest()
    return Archive(name, "Toy", makes, (file.as_uri(),), checksum, file.stat().st_size, 1000, into)


@pytest.fixture
def dev_clean(tmp_path: Path) -> Archive:
    members = {"LibriSpeech/SPEAKERS.TXT": b"; x\n", "LibriSpeech/dev-clean/84/1/84-1-0000.flac": b"fLaC"}
    return entry(pack_tar(tmp_path / "published.tar.gz", members), "LibriSpeech/dev-clean")


def listing(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"
    )


def test_an_archive_is_unpacked_into_its_place_and_then_found(dev_clean: Archive, tmp_path: Path) -> None:
    to = tmp_path / "corpora"
    assert obtain([dev_clean], to) == []
    assert listing(to) == ["LibriSpeech/SPEAKERS.TXT", "LibriSpeech/dev-clean/84/1/84-1-0000.flac"]
    Path(dev_clean.urls[0].removeprefix("file://")).unlink()
    assert obtain([dev_clean], to) == []


def test_a_second_part_of_a_corpus_joins_the_first(dev_clean: Archive, tmp_path: Path) -> None:
    members = {"LibriSpeech/SPEAKERS.TXT": b"; y\n", "LibriSpeech/test-clean/61/1/61-1-0000.flac": b"fLaC"}
    other = entry(pack_tar(tmp_path / "other.tar.gz", members), "LibriSpeech/test-clean", name="other")
    obtain([dev_clean, other], tmp_path / "corpora")
    assert (tmp_path / "corpora/LibriSpeech/SPEAKERS.TXT").read_text() == "; x\n"
    assert is_there(dev_clean, tmp_path / "corpora") and is_there(other, tmp_path / "corpora")


def test_a_zip_without_a_folder_of_its_own_gets_one(tmp_path: Path) -> None:
    file = pack_zip(tmp_path / "published.zip", {"txt/p225/p225_001.txt": b"x", "speaker-info.txt": b"x"})
    obtain([entry(file, "VCTK-Corpus-0.92", "VCTK-Corpus-0.92")], tmp_path / "corpora")
    assert listing(tmp_path / "corpora") == [
        "VCTK-Corpus-0.92/speaker-info.txt",
        "VCTK-Corpus-0.92/txt/p225/p225_001.txt",
    ]


def test_an_archive_that_is_there_is_verified_used_and_kept(dev_clean: Archive, tmp_path: Path) -> None:
    to = tmp_path / "corpora"
    to.mkdir()
    published = Path(dev_clean.urls[0].removeprefix("file://"))
    published.rename(to / "toy.tar.gz")
    obtain([dev_clean], to)
    assert (to / "toy.tar.gz").is_file() and is_there(dev_clean, to)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "toy.tar.gz").write_bytes(b"x")
    with pytest.raises(InputError, match=r"not the published file.*remove it, and it is fetched again"):
        obtain([dev_clean], damaged)
    assert listing(damaged) == ["toy.tar.gz"]


def test_a_disk_that_is_too_small_is_refused_before_anything_is_fetched(
    dev_clean: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(downloads.shutil, "disk_usage", lambda path: usage(0, 0, 1000))
    with pytest.raises(InputError, match=r"with Toy, this directory needs .* GB are free"):
        obtain([dev_clean], tmp_path / "corpora")
    assert not (tmp_path / "corpora").exists()


def test_an_archive_with_another_layout_leaves_nothing_under_the_final_name(tmp_path: Path) -> None:
    file = pack_tar(tmp_path / "published.tar.gz", {"elsewhere/x": b"x"})
    with pytest.raises(InputError, match="holds no LibriSpeech/dev-clean"):
        obtain([entry(file, "LibriSpeech/dev-clean")], tmp_path / "corpora")
    assert not (tmp_path / "corpora/LibriSpeech").exists() and not (tmp_path / "corpora/elsewhere").exists()


def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    file = pack_tar(tmp_path / "published.tar.gz", {"../../evil": b"x"})
    with pytest.raises(InputError, match="cannot be unpacked"):
        obtain([entry(file, "LibriSpeech")], tmp_path / "corpora")
    assert not (tmp_path / "evil").exists()


def test_a_corpus_behind_a_registration_gets_an_exact_instruction(tmp_path: Path) -> None:
    line = [ROOT / "utils/download_corpora.py", "--to", tmp_path]
    required = subprocess.run([*line, "commonvoice_en"], capture_output=True, text=True, check=False)
    assert required.returncode == 1
    assert "datacollective.mozillafoundation.org" in required.stderr and f"put it into {tmp_path}" in required.stderr
    (tmp_path / "cv-corpus-17.0-2024-03-15/en").mkdir(parents=True)
    (tmp_path / "cv-corpus-17.0-2024-03-15/en/validated.tsv").touch()
    optional = subprocess.run(
        [*line, "--optional", "iemocap", "commonvoice_en"], capture_output=True, text=True, check=False
    )
    assert optional.returncode == 0 and "sail.usc.edu" in optional.stderr and "is there" in optional.stderr


def test_an_archive_without_a_published_checksum_is_named_by_what_it_has(
    dev_clean: Archive, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    obtain([replace(dev_clean, checksum="")], tmp_path / "corpora")
    assert dev_clean.checksum.removeprefix("sha256:") in caplog.text
    assert (tmp_path / "corpora/LibriSpeech/dev-clean/84/1/84-1-0000.flac").is_file()


def test_every_corpus_of_the_toolkit_can_be_fetched_or_says_how(tmp_path: Path) -> None:
    for archive in read_archives().values():
        assert bool(archive.urls) != bool(archive.how)
        if archive.urls:
            algorithm, _, digest = archive.checksum.partition(":")
            assert len(digest) == {"sha256": 64, "md5": 32, "": 0}[algorithm]
            assert digest or archive.name == "speechocean762", "all others publish one"
            assert archive.bytes < archive.unpacked and all(url.startswith("https://") for url in archive.urls)
    with pytest.raises(InputError, match="no corpus 'librispeech'"):
        choose_archives(["librispeech"])
    (tmp_path / "corpora.yaml").write_text(yaml.safe_dump({"x": {"title": "X", "url": "y"}}))
    with pytest.raises(InputError, match="is not a list of corpora"):
        read_archives(tmp_path / "corpora.yaml")
