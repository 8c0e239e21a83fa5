"""steps/anonymize.sh from outside: what is published, what is refused, and what survives a kill -9."""

import ast
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vpeval.anon import driver
from vpeval.anon.anonymised_set import is_whole_wave
from vpeval.anon.hook_program import find_hook, read_provenance
from vpeval.audio.io import read_audio, write_wave
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[2]
UTT2SPK = {f"{spk}-{n}": spk for spk in "abc" for n in (1, 2)}

# Divides the level by a number drawn from the seed, and keeps a diary of what it did.
HOOK = f"""#!{sys.executable} -SE
import array, os, pathlib, random, signal, sys, time, wave
data, out = map(pathlib.Path, sys.argv[-2:])
def table(name):
    return dict(line.split(maxsplit=1) for line in (data / name).read_text().splitlines())
paths, seeds, diary = table("wav.scp"), table("utt2seed"), pathlib.Path(__file__).with_name("diary")
whole = pathlib.Path(os.environ["VPEVAL_HOOK_SET"])
for utt in paths:
    seed = int(seeds[utt])
    name = utt
    %s
    with wave.open(paths[utt]) as file:
        samples = array.array("h", file.readframes(file.getnframes()))
    level = random.Random(seed).uniform(0.3, 0.9)
    body = array.array("h", [int(level * s) for s in samples]).tobytes()
    with wave.open(str(out / f"{{name}}.wav"), "wb") as file:
        file.setnchannels(1); file.setsampwidth(2); file.setframerate(16000)
        file.writeframes(body)
    with open(diary, "a") as file:
        print(utt, file=file)
"""


# A launcher of one job, for tests that are about something else: quicker than utils/run.py.
LAUNCHER = f"""#!/usr/bin/env bash
mkdir -p "${{2%/*}}"
exec {sys.executable} "${{@:3:5}}" 1 "${{@:9}}" >"${{2/JOB/1}}" 2>&1
"""


class Place:
    """A data directory, a hook, and the command that joins them."""

    def __init__(self, root: Path) -> None:
        self.root, self.out = root, root / "set_anon"
        rng = np.random.default_rng(0)
        for utt in UTT2SPK:
            write_wave(root / "audio" / f"{utt}.wav", 0.5 * rng.uniform(-1, 1, 1600))
        tables = {
            "wav.scp": {utt: str(root / "audio" / f"{utt}.wav") for utt in UTT2SPK},
            "text": dict.fromkeys(UTT2SPK, "HELLO"),
            "utt2dur": dict.fromkeys(UTT2SPK, "0.1"),
        }
        self.data = DataDir(root / "set", UTT2SPK, tables, {"spk2gender": dict.fromkeys("abc", "f")})
        self.data.write(self.data.path)

    def hook(self, line: str = "pass") -> None:
        (self.root / "hook").write_text(HOOK % line)
        (self.root / "depends").write_text(  # what else the test has next to the hook
            "".join(f"!{name}\n" for name in ("diary", "killed", "met", "launcher", "audio/*", "log/*", "set*"))
        )
        (self.root / "hook").chmod(0o755)

    def command(self, *options: str) -> list[str]:
        logs = ["--log-dir", str(self.root / "log"), "--seed", "0", "--nj", "1"]
        places = map(str, (self.root / "hook", self.data.path, self.out))
        return [str(ROOT / "steps/anonymize.sh"), *logs, *options, *places]

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*options), capture_output=True, text=True, check=False)

    @property
    def done(self) -> list[str]:
        diary = self.root / "diary"
        return diary.read_text().split() if diary.exists() else []

    def anonymize(self, options: str = "", overwrite: bool = False) -> None:
        """The same in this process, by one job."""
        launcher = self.root / "launcher"
        launcher.write_text(LAUNCHER)
        launcher.chmod(0o755)
        launch = driver.Launch(str(launcher), 1, self.root / "log")
        anonymiser = driver.Anonymiser(self.root / "hook", options, "spk", 0)
        driver.anonymize(anonymiser, {self.data.path: self.out}, launch, overwrite)

    def bytes(self) -> dict[str, bytes]:
        return {utt: (self.out / "wav" / spk / f"{utt}.wav").read_bytes() for utt, spk in UTT2SPK.items()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    there = Place(tmp_path)
    there.hook()
    return there


def test_what_is_published_has_the_same_ids_and_tables_and_only_new_audio(place: Place) -> None:
    done = place.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{place.out}: 6 utterances, 1 s of speech\nreal-time factor " in done.stdout
    anon = DataDir.load(place.out)
    assert (anon.utt2spk, anon.text, anon.spk2gender) == (UTT2SPK, place.data.text, place.data.spk2gender)
    assert anon.wav["a-1"] == str(place.out / "wav/a/a-1.wav")
    assert not np.array_equal(read_audio(anon.wav["a-1"]), read_audio(place.data.wav["a-1"]))
    assert "utt2seed" not in anon.utt_tables
    again = place.run()
    assert "1 sets of anonymize up to date, skipped" in again.stdout
    assert len(place.done) == 6


@pytest.mark.e2e
def test_nothing_depends_on_the_number_of_jobs_and_the_hook_sees_the_whole_set(place: Place) -> None:
    place.hook("assert len((whole / 'utt2seed').read_text().splitlines()) == 6 >= len(paths)")
    assert place.run("--nj", "3").returncode == 0
    three = place.bytes()
    place.hook("pass")
    assert place.run("--nj", "1").returncode == 0
    assert place.bytes() == three


def test_a_hook_killed_halfway_through_a_file_goes_on_and_redoes_only_that_file(place: Place) -> None:
    half = (
        "if utt == 'b-1' and not diary.with_name('killed').exists(): "
        "diary.with_name('killed').touch(); "
        "(out / 'b-1.wav').write_bytes(pathlib.Path(paths[utt]).read_bytes()[:900]); "
        "(out / '.b-1.wav.x.tmp').touch(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    place.hook(half)
    first = place.run()
    assert first.returncode == 1
    assert "ended with signal 9" in first.stderr
    assert not place.out.exists()
    assert place.done == ["a-1", "a-2"]
    second = place.run()
    assert second.returncode == 0
    assert "going on, 2 of 6 utterances are there" in second.stdout
    assert place.done == ["a-1", "a-2", "b-1", "b-2", "c-1", "c-2"]
    assert len(read_audio(str(place.out / "wav/b/b-1.wav"))) == 1600
    assert sorted(path.name for path in (place.out / "wav").glob("*/*")) == [f"{utt}.wav" for utt in UTT2SPK]


def test_killing_the_driver_outright_ends_the_hook_and_loses_nothing_that_was_finished(place: Place) -> None:
    gate = place.root / "gate"
    os.mkfifo(gate)
    # At b-1 the first run writes its process id through the gate, and then waits for a signal that only kills.
    place.hook(
        "if utt == 'b-1' and not diary.with_name('met').exists(): "
        "diary.with_name('met').touch(); open(diary.with_name('gate'), 'w').write(str(os.getpid())); signal.pause()"
    )
    with subprocess.Popen(place.command(), start_new_session=True, stderr=subprocess.DEVNULL) as driver:
        hook = int(gate.read_text())
        os.killpg(driver.pid, signal.SIGKILL)
    _until_gone(hook)
    assert not place.out.exists()
    assert place.run().returncode == 0
    assert place.done == ["a-1", "a-2", "b-1", "b-2", "c-1", "c-2"]


def _until_gone(pid: int) -> None:
    for _ in range(100_000):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
    raise AssertionError(f"process {pid} is still alive")


def test_a_hang_is_ended_after_the_timeout(place: Place) -> None:
    place.hook("if utt == 'b-1': signal.pause()")
    done = place.run("--timeout", "1")
    assert done.returncode == 1
    assert "has written nothing for 1 s (--timeout) and was ended; does it hang?" in done.stderr
    assert not place.out.exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sys.exit('no such phoneme')", "no such phoneme"),
        ("if utt == 'c-2': break", "made no file for 1 of 6 utterances (c-2)"),
        ("name = utt.replace('c-2', 'c_2')", "the hook wrote c_2.wav, which is no utterance of"),
        ("(out / 'notes.txt').touch()", "the hook wrote notes.txt, which is no utterance of"),
        ("(out / 'more').mkdir(exist_ok=True)", "the hook wrote more, which is no utterance of"),
        ("if utt == 'a-1': (out / 'a-1.wav').symlink_to(paths[utt]); continue", "the hook wrote a-1.wav, which is"),
        (
            "if utt == 'c-2': (out / 'c-2.wav').write_bytes(open(paths[utt], 'rb').read(44) + 1600 * b'\\x00\\x20'); continue",
            "c-2.wav: is silent, or a constant, although its source is not",
        ),
    ],
)
def test_a_bad_hook_is_told_what_is_wrong_and_publishes_nothing(place: Place, line: str, message: str) -> None:
    place.hook(line)
    with pytest.raises(InputError) as error:
        place.anonymize()
    message_text = str(error.value) + (place.root / "log/anonymize.1.log").read_text()
    assert message in message_text
    assert "Traceback" not in message_text
    assert not place.out.exists()


def test_audio_that_never_ends_is_refused_at_once(place: Place) -> None:
    os.mkfifo(place.root / "audio/fifo.wav")
    scp = place.data.path / "wav.scp"
    whole = scp.read_text()
    for entry, said in (
        (f"{place.root}/audio/fifo.wav", "fifo.wav: is a FIFO where a file is needed"),
        ("/dev/zero", "/dev/zero: is a device where a file is needed"),
        ("sleep 1000 |", "had not ended after 0.5 s"),
    ):
        scp.write_text(whole.replace(f"{place.root}/audio/b-1.wav", entry))
        environment = {**os.environ, "VPEVAL_PIPE_SECONDS": "0.5"}
        done = subprocess.run(
            place.command(), capture_output=True, text=True, check=False, timeout=60, env=environment, cwd=place.root
        )
        assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr
        assert not place.out.exists()


def test_a_directory_that_cannot_be_written_is_an_error_without_traceback(place: Place) -> None:
    place.out = Path("/proc/anon")
    done = place.run()
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "/proc/" in done.stderr


def test_a_wave_whose_writer_was_killed_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    write_wave(path, 0.1 * np.sin(np.arange(1000)))
    whole = path.read_bytes()
    assert is_whole_wave(path)
    for cut in (0, 5, 12, 44, 1000, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert not is_whole_wave(path)
    # Sizes are often filled in last: a header that says 0 is of a file that was not closed.
    path.write_bytes(whole[:4] + bytes(4) + whole[8:])
    assert not is_whole_wave(path)
    sf.write(path, np.zeros(10), 16000, format="FLAC")
    assert not is_whole_wave(path)


def audio(place: Place) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (place.root / "audio").iterdir()}


def test_a_hook_that_writes_to_its_input_harms_a_copy(place: Place) -> None:
    before = audio(place)
    place.hook("os.chmod(paths[utt], 0o644); body = open(paths[utt], 'r+b'); body.write(b'spoilt'); body.close()")
    with pytest.raises(InputError):  # what it goes on with is no audio
        place.anonymize()
    place.hook("assert str(pathlib.Path(__file__).with_name('audio')) not in (whole / 'wav.scp').read_text()")
    place.anonymize()
    assert audio(place) == before


def test_a_hook_that_finds_the_originals_and_writes_to_them_is_found_out(place: Place) -> None:
    place.hook("open(pathlib.Path(__file__).with_name('audio') / 'b-1.wav', 'r+b').write(b'xxxx')")
    with pytest.raises(InputError, match=r"the audio of 1 utterances \(b-1\) is no longer what it was"):
        place.anonymize()
    assert not place.out.exists()
    # Nor does the next call take what is there for the original.
    place.hook()
    with pytest.raises(InputError, match=r"\(b-1\) is no longer what it was"):
        place.anonymize()
    (place.root / ".set.originals").unlink()
    (place.root / "audio/b-1.wav").write_bytes((place.root / "audio/b-2.wav").read_bytes())
    place.anonymize()


def test_a_set_that_is_made_anew_from_another_corpus_has_other_originals(place: Place, tmp_path: Path) -> None:
    place.hook()
    place.anonymize()
    entries = place.data.wav
    (tmp_path / "elsewhere").mkdir()
    for number, utt in enumerate(entries):
        write_wave(tmp_path / f"elsewhere/{utt}.wav", 0.1 * np.random.default_rng(number).normal(size=16000))
    wav = {utt: str(tmp_path / f"elsewhere/{utt}.wav") for utt in entries}
    place.data.with_table("wav.scp", wav).write(place.data.path)
    place.anonymize()


def test_tables_that_change_under_a_hook_are_noticed(place: Place) -> None:
    place.hook("open(pathlib.Path(__file__).with_name('set') / 'text', 'a').write('x')")
    with pytest.raises(InputError, match="set: changed while it was being anonymised"):
        place.anonymize()
    assert not place.out.exists()


def test_a_hard_link_to_another_file_is_published_as_a_file_of_its_own(place: Place) -> None:
    place.hook("if utt == 'a-1': os.link(paths['a-2'], out / 'a-1.wav'); continue")
    place.anonymize()
    assert (place.out / "wav/a/a-1.wav").stat().st_nlink == 1
    assert place.bytes()["a-1"] == audio(place)["a-2.wav"]


def test_everything_below_the_folder_of_a_hook_is_part_of_it(place: Place) -> None:
    for name in ("model.pt", "lib/deep/net.py", "notes.log", ".cache/x.bin", "env/pyvenv.cfg", "env/lib/y.py"):
        (place.root / name).parent.mkdir(parents=True, exist_ok=True)
        (place.root / name).write_bytes(b"1")
    place.anonymize()
    for name in ("notes.log", "env/lib/y.py"):
        (place.root / name).write_bytes(b"2")
    place.anonymize()
    assert len(place.done) == 6
    for times, name in enumerate(("model.pt", "lib/deep/net.py", ".cache/x.bin"), start=2):
        (place.root / name).write_bytes(b"2")
        place.anonymize()
        assert len(place.done) == 6 * times


def test_audio_behind_a_pipe_counts_and_is_given_to_the_hook_as_a_file(place: Place) -> None:
    table = {utt: f"cat {place.root / 'audio' / utt}.wav |" for utt in UTT2SPK}
    place.data = place.data.with_table("wav.scp", table)
    place.data.write(place.data.path)
    place.anonymize()
    first = place.bytes()
    write_wave(place.root / "audio/c-1.wav", np.random.default_rng(1).uniform(-0.5, 0.5, 1600))
    place.anonymize()
    assert {utt for utt, content in place.bytes().items() if first[utt] != content} == {"c-1"}


def test_other_options_do_not_replace_a_set_unless_they_may(place: Place) -> None:
    place.anonymize("--alpha 1")
    place.anonymize(" --alpha  1 ")
    before = place.bytes()
    with pytest.raises(InputError, match=r"options '--alpha 1'.*--system NAME.*--overwrite true"):
        place.anonymize("--alpha 2")
    assert place.bytes() == before
    place.anonymize("--alpha 2", overwrite=True)
    made = read_provenance(place.out)
    assert made and (made.options, made.level, made.seed) == ("--alpha 2", "spk", 0)
    assert made.hook == str(place.root / "hook") and len(made.sha256) == len(made.audio) == 64


def test_the_digest_of_the_audio_is_that_of_its_content(place: Place) -> None:
    place.anonymize()
    made = read_provenance(place.out)
    lines = "".join(f"{utt} {hashlib.sha256(content).hexdigest()}\n" for utt, content in place.bytes().items())
    assert made and made.audio == hashlib.sha256(lines.encode()).hexdigest()


def test_a_hook_finds_the_environment_of_the_person_who_started_it(place: Place) -> None:
    place.hook("(pathlib.Path(__file__).with_name('found')).write_text(repr(dict(os.environ)))")
    outside = {"PATH": "/usr/bin:/bin", "HOME": "/home/me", "VPEVAL_PYTHON": sys.executable, "LANG": "de_DE.UTF-8"}
    done = subprocess.run(place.command(), capture_output=True, text=True, check=False, env=outside)
    assert done.returncode == 0, done.stderr
    found = ast.literal_eval((place.root / "found").read_text())
    assert found["PATH"] == outside["PATH"]
    assert not {"PYTHONPATH", "LC_ALL", "PYTHONUTF8", "VPEVAL_READY"} & found.keys()
    assert found["LANG"] == outside["LANG"] and found["VPEVAL_ROOT"] == str(ROOT)
    assert (found["VPEVAL_HOOK_SET_NAME"], found["VPEVAL_HOOK_ROLE"]) == ("set", "train")


def test_a_semicolon_in_the_options_is_a_word_for_the_hook(place: Place) -> None:
    place.hook("(pathlib.Path(__file__).with_name('found')).write_text(repr(sys.argv[1:-2]))")
    done = place.run("--options", ";")
    assert (done.returncode, (place.root / "found").read_text()) == (0, "[';']"), done.stderr


def test_a_relative_path_of_a_hook_is_looked_up_from_where_the_user_stands(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VPEVAL_FROM", str(place.root))
    assert find_hook("./hook") == place.root / "hook"
