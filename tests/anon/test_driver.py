from pathlib import Path

import numpy as np
import pytest

from vpeval.anon import driver, hook, hook_input, hook_program
from vpeval.audio.io import RATE, read_audio, write_wave
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.jobs import code

UTT2SPK = {"a-1": "a", "a-2": "a", "b-1": "b"}


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    for utt in UTT2SPK:
        write_wave(tmp_path / f"{utt}.wav", np.full(400, 0.25))
    tables = {"wav.scp": {utt: str(tmp_path / f"{utt}.wav") for utt in UTT2SPK}}
    return DataDir(tmp_path / "set", UTT2SPK, tables)


def with_role(data: DataDir, role: str) -> DataDir:
    enrolls = ("a-1",) if role == "enroll" else None
    trials = (("a", "a-2", "target"),) if role == "trial" else None
    return DataDir(data.path, data.utt2spk, data.utt_tables, {}, enrolls, trials).write(data.path)


def test_seeds_tell_roles_and_levels_apart_and_are_shared_within_a_speaker_only(data: DataDir) -> None:
    drawn = {}
    for role in ("enroll", "trial", "train"):
        with_role(data, role)
        for level in ("spk", "utt"):
            seeded = hook_input.seeded(data.path, 0, level)
            assert hook_input.role_of(seeded) == role
            drawn[role, level] = seeded.table("utt2seed")
    for (_, level), table in drawn.items():
        assert (table["a-1"] == table["a-2"]) == (level == "spk")
        assert table["a-1"] != table["b-1"]
    everything = [seed for table in drawn.values() for seed in set(table.values())]
    assert len(set(everything)) == len(everything) == 3 * (2 + 3)
    assert all(0 <= int(seed) < 2**64 for seed in everything)


def test_another_base_seed_gives_other_seeds(data: DataDir) -> None:
    data.write(data.path)
    zero, one = (set(hook_input.seeded(data.path, seed, "utt").table("utt2seed").values()) for seed in (0, 1))
    assert not zero & one


def test_hooks_get_audio_paths_that_hold_from_anywhere(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data.path.parent)
    wav = {"a-1": "a-1.wav", "a-2": "cat a-2.wav |", "b-1": "b-1.wav"}
    data.with_table("wav.scp", wav).write(data.path)
    found = hook_input.seeded(data.path, 0, "spk").wav
    assert found["a-1"] == str(data.path.parent / "a-1.wav")
    assert found["a-2"] == "cat a-2.wav |"


def test_a_hook_is_found_as_a_file_a_folder_or_a_name(tmp_path: Path) -> None:
    script = tmp_path / "mine" / "anonymize.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    with pytest.raises(InputError, match=r"is not executable; run chmod \+x"):
        hook_program.find_hook(str(script))
    script.chmod(0o755)
    assert hook_program.find_hook(str(script)) == hook_program.find_hook(str(script.parent)) == script
    assert hook_program.system_name(script) == "mine"
    assert hook_program.system_name(hook_program.find_hook("mcadams")) == "mcadams"
    with pytest.raises(InputError, match=r"no such hook: give a script, or one of .*identity.*mcadams"):
        hook_program.find_hook("nobody")


def test_the_loop_writes_every_utterance_with_its_seed_at_the_level_of_the_whole_set(
    data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.with_table("utt2seed", {"a-1": "7", "a-2": "8", "b-1": "9"}).write(data.path)
    DataDir.load(data.path).subset(["a-2"]).write(tmp_path / "part")
    monkeypatch.setenv(hook_input.WHOLE_SET, str(data.path))
    seen = []

    def anonymize(wave: np.ndarray, rate: int, seed: int, utterance: str) -> np.ndarray:
        seen.append((len(wave), rate, seed, utterance))
        return -wave

    hook.run(anonymize, tmp_path / "part", tmp_path / "out")
    assert seen == [(400, RATE, 8, "a-2")]
    np.testing.assert_allclose(read_audio(str(tmp_path / "out/a-2.wav")), -0.25)
    hook.run(anonymize, tmp_path / "part", tmp_path / "out", "speaker")
    monkeypatch.delenv(hook_input.WHOLE_SET)
    hook.run(anonymize, data.path, tmp_path / "out", "speaker")
    assert len({seed for _, _, seed, utt in seen[1:] if utt.startswith("a")}) == 1


@pytest.mark.parametrize("bad", [np.zeros((2, 400)), np.full(400, np.nan), np.zeros(400, np.int16)])
def test_the_loop_refuses_what_is_no_mono_finite_float_wave(bad: np.ndarray, data: DataDir, tmp_path: Path) -> None:
    data.with_table("utt2seed", dict.fromkeys(UTT2SPK, "1")).write(data.path)
    with pytest.raises(InputError, match="must return mono, finite float samples; utterance a-1"):
        hook.run(lambda *_: bad, data.path, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("name", ["mcadams", "xvector_pool"])
def test_anonymised_data_depend_on_the_hook_and_its_input_but_not_on_code_that_drives(data: DataDir, name: str) -> None:
    data.write(data.path)
    anonymiser = driver.Anonymiser(hook_program.find_hook(name), "", "spk", 0)
    target = driver.make_target(anonymiser, data.path, data.path.with_name("out"))
    files = set(target.fingerprint.code)
    assert {f"local/anon/{name}/anonymize.py", "vpeval/anon/hook_input.py", "vpeval/anon/anonymised_set.py"} <= files
    assert not [file for file in files if file.startswith(("vpeval/cli/", "vpeval/jobs/"))]
    assert not files & {"vpeval/anon/driver.py", "vpeval/anon/hook_job.py", "vpeval/anon/hook_program.py"}


def test_the_digest_of_a_hook_counts_its_files_by_content_and_modules_by_what_they_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {"vpeval/anon/hook.py": "1", "mine/anonymize.py": "2"}
    monkeypatch.setattr(code, "code_of", lambda makers: dict(digests))
    script = tmp_path / "anonymize.py"
    script.write_text("# a comment\n")
    first = hook_program.hook_digest(script)
    digests["mine/anonymize.py"] = "3"
    assert hook_program.hook_digest(script) == first
    digests["vpeval/anon/hook.py"] = "3"
    second = hook_program.hook_digest(script)
    assert second != first
    script.write_text("# another comment\n")
    assert hook_program.hook_digest(script) != second
