"""No command deletes a directory that the toolkit has not made, or an input."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from vpeval.anon import driver
from vpeval.anon.import_files import find_files, import_set
from vpeval.anon.xvector import learn, system
from vpeval.asr.decoding import decode, predict_emotions
from vpeval.asr.kaldi_chain import from_challenge
from vpeval.asr.linear_emotion import train_emotions
from vpeval.asr.train_recogniser import train_recogniser
from vpeval.asv.train_attackers import Machine, Training, train_attacker
from vpeval.audio.io import write_wave
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import INDEX
from vpeval.data.directory import DataDir
from vpeval.embeddings.speaker_vectors import write_embeddings
from vpeval.listening.design import DesignOptions
from vpeval.listening.material import Clip, Material
from vpeval.listening.prepare_test import Texts, prepare
from vpeval.networks.extraction import extract_embeddings
from vpeval.submission.pack import Contents, pack

ROOT = Path(__file__).resolve().parents[2]
CONF = ROOT / "conf"
CMD = "utils/run.py"


def anonymize(data: Path, out: Path) -> None:
    hook = ROOT / "local/anon/mcadams/anonymize.py"
    driver.anonymize(driver.Anonymiser(hook, "", "spk", 0), {data: out}, driver.Launch(CMD, 1, data.parents[1] / "log"))


def import_directory(data: Path, out: Path) -> None:
    import_set(find_files(data.parents[1] / "audio", [data], "mine")[0], out)


def train_asv(mode: str) -> Callable[[Path, Path], None]:
    def publisher(data: Path, out: Path) -> None:
        profile = CONF / f"asv/train/{'plda_few' if mode == 'backend' else 'mini'}.yaml"
        training = Training(mode, CONF / "asv/encoders/f0.yaml", profile, (data,), out, 0)
        train_attacker(training, data.parents[1] / "vectors", Machine())

    return publisher


def listening(data: Path, out: Path) -> None:
    wav = {Clip("", "x", "a-1"): str(data.parents[1] / "audio/a-1.wav")}
    prepare(out, Material("toy", (), {}, {}, {}, wav), DesignOptions(1, 2), Texts("t", "c"))


PUBLISHERS: dict[str, Callable[[Path, Path], object]] = {
    "anonymize": anonymize,
    "import_anonymized": import_directory,
    "extract_embeddings": lambda data, out: extract_embeddings(
        CONF / "asv/encoders/f0.yaml", out.parent, [data], CMD, 1
    ),
    "decode": lambda data, out: decode(CONF / "asr/vosk_small.yaml", out.parent, [data], CMD, 1),
    "predict_emotions": lambda data, out: predict_emotions(CONF / "ser", out.parent, [data], CMD, 1),
    "train_asv": train_asv("scratch"),
    "train_asv backend": train_asv("backend"),
    "train_asr": lambda data, out: train_recogniser(CONF / "asr/train/ctc_mini.yaml", out, [data], CMD, 0),
    "train_ser": lambda data, out: train_emotions(CONF / "ser/whisper_linear.yaml", data / "features", out, [data]),
    "write_embeddings": lambda data, out: write_embeddings(out, {"a-1": np.ones(2)}, {"a-1": "a"}, [data]),
    "data tools": lambda data, out: DataDir.load(data).write(out, [data]),
    "make_kaldi_chain": lambda data, out: from_challenge(data, out),
    "listening_test": listening,
}
BY_NAME = ("extract_embeddings", "decode", "predict_emotions")
"""Those that get the parent directory of outputs, which are named like the data."""


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    utts = {"a-1": "a", "b-1": "b"}
    for utt in utts:
        write_wave(tmp_path / "audio" / f"{utt}.wav", np.sin(np.arange(8000) / 9) / 4)
    tables = {name: dict.fromkeys(utts, "0.5") for name in ("text", "utt2dur")}
    tables["wav.scp"] = {utt: str(tmp_path / "audio" / f"{utt}.wav") for utt in utts}
    path = DataDir(tmp_path / "data/x", utts, tables).write(tmp_path / "data/x").path
    before = snapshot(path)
    yield path
    assert snapshot(path) == before
    assert len(list((tmp_path / "audio").iterdir())) == 2


def snapshot(directory: Path) -> dict[Path, bytes]:
    """All files but what the toolkit has noted for itself about audio."""
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.name != INDEX}


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_thesis_directory_is_refused(name: str, data: Path, tmp_path: Path) -> None:
    thesis = tmp_path / "home" / (data.name if name in BY_NAME else "thesis")
    write_text(thesis / "thesis.tex", "three years")
    with pytest.raises(InputError, match=r"was not made by this toolkit"):
        PUBLISHERS[name](data, thesis)
    assert (thesis / "thesis.tex").read_text() == "three years"


@pytest.mark.parametrize("name", PUBLISHERS)
def test_the_input_itself_is_refused(name: str, data: Path) -> None:
    out = data.parents[1] / "audio" if name == "listening_test" else data
    with pytest.raises(InputError, match=r"is an input|contains "):
        PUBLISHERS[name](data, out)


@pytest.mark.parametrize("name", [name for name in PUBLISHERS if name not in BY_NAME])
def test_a_directory_that_contains_the_input_or_its_audio_is_refused(name: str, data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains "):
        PUBLISHERS[name](data, tmp_path)
    if name not in ("train_ser", "write_embeddings", "data tools", "make_kaldi_chain"):  # they read no audio
        with pytest.raises(InputError, match="contains "):
            PUBLISHERS[name](data, tmp_path / "audio")


@pytest.mark.parametrize("name", [name for name in PUBLISHERS if name != "listening_test"])
def test_a_directory_in_the_input_is_refused(name: str, data: Path) -> None:
    with pytest.raises(InputError, match="lies in "):
        PUBLISHERS[name](data, data / data.name)


def test_what_an_anonymiser_learnt_replaces_nothing(data: Path, tmp_path: Path) -> None:
    write_text(tmp_path / "mine/pool.npz", "mine")
    profile = system.read_profile(ROOT / "local/anon/xvector_pool/cpu.yaml")
    with pytest.raises(InputError, match=r"pool\.npz: was not made by this toolkit"):
        learn.prepare(profile, [data], [data], tmp_path / "mine", 1)
    with pytest.raises(InputError, match="is an input"):
        learn.prepare(profile, [data], [data], data, 1)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["pool.npz"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("mine.tar.gz", "is no submission"), ("data/x/s.tar.gz", "lies in"), ("data", "contains|is a directory")],
)
def test_a_submission_replaces_nothing_but_a_submission(name: str, message: str, data: Path, tmp_path: Path) -> None:
    write_text(tmp_path / "mine.tar.gz", "mine")
    with pytest.raises(InputError, match=message):
        pack(Contents("2020", "mine", tmp_path, [data], {}, []), tmp_path / name)
    assert (tmp_path / "mine.tar.gz").read_text() == "mine"


@pytest.mark.parametrize("name", ["anonymize", "import_anonymized", "train_asv backend", "data tools"])
def test_hidden_files_next_to_an_output_stay(name: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    theirs = [tmp_path / f".out.{kind}/thesis.tex" for kind in ("work", "old", "tmp", "1.old", "abcd1234.tmp")]
    for file in theirs:
        write_text(file, "three years")
    for _ in range(2):
        try:
            PUBLISHERS[name](data, out)
        except InputError as error:
            assert ".out.work: was not made by this toolkit and is where unfinished results go" in str(error)
            assert not out.exists()
    assert [file.read_text() for file in theirs] == ["three years"] * 5


@pytest.mark.parametrize("name", [".out.lock", ".x.originals"])
def test_a_hidden_file_that_has_the_name_of_one_of_ours_is_not_written_over(
    name: str, data: Path, tmp_path: Path
) -> None:
    theirs = (tmp_path if "lock" in name else data.parent) / name
    write_text(theirs, "three years\nof work\n")
    with pytest.raises(InputError, match="its name is needed for one; move it away"):
        anonymize(data, tmp_path / "out")
    assert theirs.read_text() == "three years\nof work\n"
