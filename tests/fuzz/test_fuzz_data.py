"""Whatever a data directory or a submission holds: findings, or one line that tells what is wrong."""

import io
import json
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "local"))

import toy_submission
from mutations import ODD_TEXT, changed, changed_lines, fuzzed, written

from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.fix import fix
from vpeval.data.validate import validate
from vpeval.submission.check import check
from vpeval.submission.demands import Organiser

ROOT = Path(__file__).parents[2]
MANIFEST = "mine/manifest.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of the toy submission, which is packed there as s.tar.gz."""
    place = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        toy_submission.fill()
        toy_submission.make()
        yield place


TABLES = {
    "wav.scp": "a-1 data/toy_dev_enrolls/wav/a-1.wav\na-2 data/toy_dev_enrolls/wav/a-2.wav\n",
    "utt2spk": "a-1 a\na-2 a\n",
    "spk2utt": "a a-1 a-2\n",
    "text": "a-1 one two\na-2 three\n",
    "spk2gender": "a f\n",
    "utt2dur": "a-1 0.05\na-2 0.05\n",
    "trials": "a a-1 target\nb a-1 nontarget\n",
    "enrolls": "a-1\n",
    "utt2emo": "a-1 sad\na-2 happy\n",
}


@fuzzed
@given(st.data())
def test_a_data_directory_is_loaded_validated_and_fixed_or_refused_in_one_line(place, data):
    directory = place / "fuzzed"
    directory.mkdir(exist_ok=True)
    chosen = data.draw(st.sets(st.sampled_from(sorted(TABLES)), min_size=1, max_size=3))
    for name, text in TABLES.items():
        (directory / name).write_bytes(written(data.draw(changed_lines(text)) if name in chosen else text))
    for problem in validate(directory):
        assert "\n" not in str(problem)
    for function in (DataDir.load, fix):
        try:
            function(directory)
        except InputError as error:
            assert "\n" not in str(error)


def pack(path, files):
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _move(data, files):
    """Lose a member, or give it another name or the content of another one."""
    name, other = (data.draw(st.sampled_from(sorted(files))) for _ in range(2))
    action = data.draw(st.integers(0, 3))
    if action == 0 and len(files) > 1:
        del files[name]
    elif action == 1:
        files[name] = files[other]
    elif action == 2:
        parts = name.split("/")
        parts[data.draw(st.integers(0, len(parts) - 1))] = data.draw(ODD_TEXT)
        files[tarfile_name("/".join(parts))] = files.pop(name)
    else:
        part = data.draw(st.sampled_from(["ASR_fake", "ASV_weak", "UAR_x", "toy_dev_trialsnontarget_f", "results"]))
        old = data.draw(st.sampled_from(["ASR_whisper_base", "ASV_ecapa", "toy_dev_trials_f", "scores"]))
        files[name.replace(old, part)] = files[name]


def tarfile_name(name):
    """A name that Python's writer takes."""
    return name.encode("utf-8", "replace").decode().replace("\0", "0")[:200] or "x"


@fuzzed
@given(st.data())
def test_a_submission_is_judged_whatever_is_in_it(place, data):
    files = toy_submission.members()
    name = data.draw(st.sampled_from(sorted(files)))
    if name.endswith(".json"):
        files[name] = written(json.dumps(data.draw(changed(json.loads(files[name])))))
    elif name.endswith(".wav"):
        files[name] = data.draw(st.binary(max_size=60).map(lambda more: more + files[name][len(more) :]))
    else:
        files[name] = written(data.draw(changed_lines(files[name].decode())))
    for _ in range(data.draw(st.integers(0, 2))):
        _move(data, files)
    if MANIFEST in files and not name.endswith(".json") and data.draw(st.booleans()):
        toy_submission.sign(files)
    pack("f.tar", files)
    content = bytearray(Path("f.tar").read_bytes())
    if data.draw(st.booleans()):
        where = data.draw(st.integers(0, len(content) - 1))
        content[where] ^= data.draw(st.integers(1, 255))
        Path("f.tar").write_bytes(content)
    organiser = Organiser(data.draw(st.sampled_from(["", "2020", "2024"])), ROOT / "egs")
    verdict = check("f.tar", toy_submission.ORIGINALS if data.draw(st.booleans()) else (), organiser)
    assert all("\n" not in str(problem) for problem in verdict.problems)
    assert verdict.problems or verdict.unverified
