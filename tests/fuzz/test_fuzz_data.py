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
from mutations import changed, changed_lines, fuzzed, written

from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.fix import fix
from vpeval.data.validate import validate
from vpeval.submission.check import check


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
    if not name.endswith(".json") and data.draw(st.booleans()):
        toy_submission.sign(files)
    pack("f.tar", files)
    content = bytearray(Path("f.tar").read_bytes())
    if data.draw(st.booleans()):
        where = data.draw(st.integers(0, len(content) - 1))
        content[where] ^= data.draw(st.integers(1, 255))
        Path("f.tar").write_bytes(content)
    verdict = check("f.tar", toy_submission.ORIGINALS if data.draw(st.booleans()) else ())
    assert all("\n" not in str(problem) for problem in verdict.problems)
    assert verdict.problems or verdict.unverified
