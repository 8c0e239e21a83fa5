"""Each bad hook gets a clear verdict; the verdicts come from vpeval.anon.conformance."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vpeval.anon import calls, conformance
from vpeval.anon.calls import Call, Subject
from vpeval.anon.conformance import Verdict, check_preparation, speed_of
from vpeval.audio.io import write_wave
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[2]
UTT2SPK = {"a-1": "a", "a-2": "a", "b-1": "b", "b-2": "b"}

# Plays faster by a factor drawn from the seed. The standard library only, as it starts ten times as fast as numpy.
PROGRAM = """
import array, os, pathlib, random, sys, wave
data, out = map(pathlib.Path, sys.argv[-2:])
def table(name):
    return dict(line.split(maxsplit=1) for line in (data / name).read_text().splitlines())
paths, seeds, speakers = table("wav.scp"), table("utt2seed"), table("utt2spk")
rate = 16000
for count, utt in enumerate(paths, start=1):
    seed = int(seeds[utt])
    {first}
    with wave.open(paths[utt]) as file:
        samples = array.array("h", file.readframes(file.getnframes()))
    speed = random.Random(seed).uniform(1.1, 1.3)
    samples = array.array("h", [samples[int(i * speed)] for i in range(int(len(samples) / speed))])
    {then}
    with wave.open(str(out / f"{{utt}}.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
"""


@pytest.fixture
def sample(tmp_path: Path) -> DataDir:
    rng = np.random.default_rng(0)
    for utt in UTT2SPK:
        tone = np.sin(2 * np.pi * rng.uniform(300, 900) * np.arange(2400) / 16000)
        write_wave(tmp_path / f"{utt}.wav", 0.3 * tone + 0.05 * rng.standard_normal(2400))
    wav = {utt: str(tmp_path / f"{utt}.wav") for utt in UTT2SPK}
    tables = {"wav.scp": wav, "utt2dur": dict.fromkeys(UTT2SPK, "0.15")}
    return DataDir(tmp_path / "data", UTT2SPK, tables, {"spk2gender": {"a": "f", "b": "m"}})


@pytest.fixture
def judge(tmp_path: Path, sample: DataDir):
    """All verdicts on a hook with some lines of its own."""

    def run(first: str = "pass", then: str = "pass", text: str = "", time_limit: float = 20) -> dict[str, Verdict]:
        hook = tmp_path / "hook"
        hook.write_text(text or f"#!{sys.executable} -SE\n" + PROGRAM.format(first=first, then=then))
        hook.chmod(0o755)
        (tmp_path / "work").mkdir()
        subject = Subject(hook, time_limit=time_limit, work=tmp_path / "work")
        return {verdict.check: verdict for verdict in conformance.check(subject, sample)}

    return run


def failures(verdicts: dict[str, Verdict]) -> dict[str, str]:
    return {name: verdict.text for name, verdict in verdicts.items() if verdict.state == "fail"}


def test_a_good_hook_keeps_every_promise(judge) -> None:
    verdicts = judge()
    assert {verdict.state for verdict in verdicts.values()} == {"ok"}
    assert set(verdicts) == {
        "runs",
        "files",
        "audio",
        "clipping",
        "duration",
        "changes speech",
        "deterministic",
        "independent of nj and order",
        "enrolment and trial differ",
        "one pseudo-speaker per speaker",
        "speed",
    }
    assert "for train-clean-360" in verdicts["speed"].text


def test_a_crash_on_the_third_utterance_is_told_with_its_last_words(judge) -> None:
    verdicts = judge(first="if count == 3: sys.exit('no such phoneme')")
    assert failures(verdicts) == {
        "runs": "the hook ended with exit code 1\n    | no such phoneme (it had written 2 of 6 files)"
    }
    assert set(verdicts) == {"runs"}


def test_a_wrong_sampling_rate_is_named(judge) -> None:
    messages = failures(judge(first="rate = 8000"))
    assert messages == {
        "audio": "a-1.wav: the hook must write 16 kHz, mono, 16-bit PCM; this is 8000 Hz, 1 channels, PCM_16"
    }


def test_a_hook_that_writes_nothing_is_told_so(judge) -> None:
    messages = failures(judge(text="#!/bin/sh\nexit 0\n"))
    assert messages == {"files": "wrote no file for 6 of 6 utterances (a-1, a-1-twin, a-2 and 3 more)"}


def test_a_hang_is_ended_at_the_time_limit_with_all_that_it_started(judge, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    messages = failures(judge(text=f"#!/bin/sh\nsleep 1000 &\necho $! >{pid}\nwait\n", time_limit=2))
    assert messages["runs"].startswith(
        "the hook wrote nothing and used no CPU time for 2 s and was ended; does it hang"
    )
    with pytest.raises(ProcessLookupError):
        _wait_for_end(int(pid.read_text()))


def _wait_for_end(pid: int) -> None:
    """Raise ProcessLookupError once the process is gone or a zombie that nobody has collected yet."""
    for _ in range(1000):
        os.kill(pid, 0)
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError


def test_a_misspelt_id_is_named_with_the_one_that_is_missing(judge) -> None:
    messages = failures(
        judge(
            first="utt = utt.replace('b-1', 'b_1'); paths = {**paths, **{u.replace('b-1', 'b_1'): p for u, p in paths.items()}}"
        )
    )
    assert messages == {
        "files": "wrote b_1-twin.wav, b_1.wav, which is no utterance of wav.scp, and b-1, b-1-twin is missing"
    }


def test_a_hook_that_would_fill_the_disk_is_ended(judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_BYTES", 2 << 20)
    messages = failures(judge(text='#!/bin/sh\nfor last; do :; done\nyes >"$last/a-1.wav"\n'))
    assert messages["runs"].startswith("the hook wrote more than 2 MB and was ended; it would fill the disk")


def test_a_pass_through_is_no_anonymiser_even_if_it_changes_the_level(judge) -> None:
    messages = failures(
        judge(
            then="samples = array.array('h', [s // 2 for s in array.array('h', wave.open(paths[utt]).readframes(10**6))])"
        )
    )
    assert messages["changes speech"].startswith("a-1, a-1-twin, a-2 and 3 more came out as it went in")


def test_silence_is_refused(judge) -> None:
    messages = failures(judge(then="samples = array.array('h', bytes(2 * len(samples)))"))
    assert messages == {"audio": "a-1.wav: is silent, or a constant, although its source is not; fix the anonymiser"}


def test_clipping_and_durations_that_change_by_half_are_warned_of(judge) -> None:
    verdicts = judge(
        then="samples = array.array('h', [32767 if s > 3000 else s for s in samples[: len(samples) // 2]])"
    )
    assert not failures(verdicts)
    assert verdicts["clipping"].text.startswith("more than 0.1 % of the samples are at full scale: a-1")
    assert verdicts["duration"].text.startswith("changed by more than half: a-1")


def test_chance_from_elsewhere_than_the_seeds_is_found(judge) -> None:
    messages = failures(judge(first="seed = random.SystemRandom().randrange(2**32)"))
    assert "two calls on the same data gave different a-1" in messages["deterministic"]


def test_a_hook_that_counts_utterances_depends_on_nj_and_order(judge) -> None:
    messages = failures(judge(first="seed += count"))
    assert "depends on which other utterances are in the call" in messages["independent of nj and order"]


def test_a_new_voice_for_every_utterance_breaks_the_speaker_level(judge) -> None:
    messages = failures(judge(first="seed += sum(utt.encode())"))
    assert set(messages) == {"one pseudo-speaker per speaker"}
    assert "are the same speech of one speaker with one seed" in messages["one pseudo-speaker per speaker"]


def test_a_hook_without_seeds_is_warned_that_enrolment_and_trial_are_alike(judge) -> None:
    verdicts = judge(first="seed = 7")
    assert not failures(verdicts)
    assert verdicts["enrolment and trial differ"].state == "warn"


def test_a_file_that_cannot_be_run_is_told_so(judge) -> None:
    messages = failures(judge(text="#!/no/such/interpreter\n"))
    assert "cannot be started (No such file or directory); is its first line (#!) right?" in messages["runs"]


def test_who_computes_for_longer_than_the_time_limit_before_the_first_file_is_not_taken_to_hang(
    sample: DataDir, tmp_path: Path
) -> None:
    hook = tmp_path / "hook"
    slow = "import time\nwhile time.process_time() < 0.6: pass\n"
    hook.write_text(f"#!{sys.executable} -SE\n" + slow + PROGRAM.format(first="pass", then="pass"))
    hook.chmod(0o755)
    data = sample.with_table("utt2seed", dict.fromkeys(UTT2SPK, "1"))
    call = Subject(hook, time_limit=0.4, work=tmp_path).call("slow", data, data)
    assert (call.problem, len(call.written)) == ("", 4)


def test_who_computes_without_end_is_ended_and_not_called_hanging(judge) -> None:
    messages = failures(judge(text="#!/bin/sh\nwhile :; do :; done\n", time_limit=0.1))
    assert messages["runs"].startswith("the hook was still working after 1 s and was ended; if it is that slow,")


@pytest.fixture
def call(sample: DataDir):
    """A call that took so many seconds and had its files after so many: four utterances of 0.15 s each, or fewer."""

    def make(seconds: float, finished: list[float]) -> Call:
        utts = sample.utts[: len(finished)]
        return Call(sample.subset(utts), Path(), "", {}, [], seconds, dict(zip(utts, finished, strict=True)))

    return make


def test_a_start_of_a_minute_is_not_counted_as_slow_speech(call) -> None:
    text = speed_of(call(60.1, [60.01, 60.03, 60.05, 60.07]), call(60.0, [59.9, 60.0])).text
    assert text.startswith("0.333 s per second of speech after a start-up of 59.9 s in every job")


def test_the_speed_of_a_hook_that_writes_as_it_goes_comes_from_its_files(call) -> None:
    text = speed_of(call(5.0, [2.0, 3.0, 4.0, 5.0]), call(9.0, [8.0, 9.0])).text
    assert text.startswith("6.667 s per second of speech after a start-up of 1.0 s in every job")


def test_a_hook_that_writes_all_files_at_the_end_is_as_slow_as_more_speech_makes_it(call) -> None:
    text = speed_of(call(7.0, [6.9, 6.9, 6.9, 6.9]), call(4.0, [3.9, 3.9])).text
    assert text.startswith("10.000 s per second of speech after a start-up of 1.0 s in every job")


def preparation(program: str, tmp_path: Path, sample: DataDir) -> dict[str, Verdict]:
    (tmp_path / "prepare").write_text(f"#!/bin/sh\n{program}\n")
    (tmp_path / "prepare").chmod(0o755)
    (tmp_path / "prepared").mkdir()
    subject = Subject(tmp_path / "hook", "--depth 3", work=tmp_path / "work", prepared=tmp_path / "prepared")
    return {verdict.check: verdict for verdict in check_preparation(subject, tmp_path / "prepare", sample)}


def test_a_preparation_is_called_as_stage_2_does_and_a_second_time(tmp_path: Path, sample: DataDir) -> None:
    verdicts = preparation('echo "$@" >"$VPEVAL_HOOK_PREPARED/messages"; wc -l <"${7}/wav.scp"', tmp_path, sample)
    assert [(v.check, v.state) for v in verdicts.values()] == [("prepares", "ok"), ("prepares again", "ok")]
    work_dir = tmp_path / "work/prepare"
    assert (
        tmp_path / "prepared/messages"
    ).read_text() == f"--depth 3 --nj 1 --seed 0 {work_dir}/train {work_dir}/pool\n"


@pytest.mark.parametrize(
    ("program", "check", "words"),
    [
        ("echo no pool; exit 3", "prepares", "prepare ended with exit code 3\n    | no pool"),
        ("mkdir $VPEVAL_HOOK_PREPARED/x && touch $VPEVAL_HOOK_PREPARED/x/y", "prepares again", "a second call fails"),
    ],
)
def test_a_preparation_that_fails_at_once_or_the_second_time_is_told_with_its_last_words(
    program: str, check: str, words: str, tmp_path: Path, sample: DataDir
) -> None:
    messages = failures(preparation(program, tmp_path, sample))
    assert list(messages) == [check] and words in messages[check]


def test_a_preparation_that_learns_something_else_each_time_is_warned_of(tmp_path: Path, sample: DataDir) -> None:
    verdict = preparation('echo again >>"$VPEVAL_HOOK_PREPARED/model"', tmp_path, sample)["prepares again"]
    assert (verdict.state, verdict.text) == ("warn", "a second call on the same data changed model")


def test_a_preparation_that_keeps_nothing_is_warned_of(tmp_path: Path, sample: DataDir) -> None:
    assert preparation("exit 0", tmp_path, sample)["prepares"].state == "warn"


def test_a_copy_of_the_template_works_in_any_folder_and_from_any_folder(
    tmp_path: Path, sample: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "local/anon/template", tmp_path / "elsewhere/mine")
    monkeypatch.chdir(tmp_path / "elsewhere")
    data = sample.with_table("utt2seed", dict.fromkeys(UTT2SPK, "1"))
    for name in ("anonymize.py", "anonymize.sh"):
        call = Subject(Path("mine") / name, work=tmp_path / "work").call(name, data, data)
        assert (call.problem, len(call.written)) == ("", 4)


def test_the_command_prints_verdicts_on_the_embedded_corpus_and_its_exit_code_tells() -> None:
    done = subprocess.run([ROOT / "utils/check_hook.sh", "identity"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[0].endswith("identity/anonymize.py on 4 utterances of 2 speakers:")
    assert done.stdout.endswith("The hook breaks its contract; see docs/hooks.md.\n")
