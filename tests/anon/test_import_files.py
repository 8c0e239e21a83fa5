"""Anonymised files made elsewhere: found, checked, linked or converted, and published like those of a hook."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vpeval.anon.anonymised_set import read_missing
from vpeval.anon.import_files import find_files, import_set
from vpeval.audio.io import read_audio, write_wave
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[2]
SPEAKERS = "ab"


@pytest.fixture
def data(tmp_path: Path) -> list[Path]:
    """An enrolment and a trial set of two speakers, and quieter versions of their files in ``anon/<set>/``."""
    rng = np.random.default_rng(0)
    paths = []
    for role, numbers in (("enrolls", (1, 2)), ("trials_f", (3, 4))):
        utt2spk = {f"{spk}-{n}": spk for spk in SPEAKERS for n in numbers}
        for utt in utt2spk:
            wave = 0.5 * rng.uniform(-1, 1, 8000)
            write_wave(tmp_path / "audio" / f"{utt}.wav", wave)
            write_wave(tmp_path / "anon" / f"x_{role}" / f"{utt}.wav", 0.5 * wave)
        tables = {
            "wav.scp": {utt: str(tmp_path / "audio" / f"{utt}.wav") for utt in utt2spk},
            "text": dict.fromkeys(utt2spk, "A"),
        }
        trials = tuple((s, u, "target" if utt2spk[u] == s else "nontarget") for s in SPEAKERS for u in utt2spk)
        each = DataDir(
            tmp_path / "data" / f"x_{role}",
            utt2spk,
            tables,
            {"spk2gender": dict.fromkeys(SPEAKERS, "f")},
            tuple(utt2spk) if role == "enrolls" else None,
            trials if role != "enrolls" else None,
        )
        paths.append(each.write(each.path).path)
    return paths


def bring(folder: Path, sources: list[Path], allow_missing: bool = False) -> dict[str, DataDir]:
    made = {}
    for delivery in find_files(folder, sources, "mine", allow_missing):
        out = delivery.data.path.with_name(f"{delivery.data.name}_mine")
        import_set(delivery, out)
        made[delivery.data.name] = DataDir.load(out)
    return made


def test_what_is_published_has_the_same_ids_and_tables_and_only_new_audio(data: list[Path], tmp_path: Path) -> None:
    made = bring(tmp_path / "anon", data)
    for source in data:
        original, anonymised = DataDir.load(source), made[source.name]
        assert (anonymised.utt2spk, anonymised.trials, anonymised.enrolls) == (
            original.utt2spk,
            original.trials,
            original.enrolls,
        )
        assert anonymised.text == original.text and set(anonymised.utt2dur.values()) == {0.5}
        assert all(Path(path).is_symlink() for path in anonymised.wav.values())
    assert json.loads((tmp_path / "data/x_enrolls_mine/checks.json").read_text())["identical"] == []


def test_an_unchanged_folder_is_not_taken_again_and_a_changed_file_is(data: list[Path], tmp_path: Path) -> None:
    bring(tmp_path / "anon", data)
    deliveries = find_files(tmp_path / "anon", data, "mine")
    assert import_set(deliveries[0], tmp_path / "data/x_enrolls_mine") == []
    write_wave(tmp_path / "anon/x_enrolls/a-1.wav", 0.2 * np.sin(np.arange(9000)))
    deliveries = find_files(tmp_path / "anon", data, "mine")
    assert len(import_set(deliveries[0], tmp_path / "data/x_enrolls_mine")) == 4


@pytest.mark.parametrize(
    "layout", ["{utt}.wav", "wav/{utt}.wav", "{set}_mine/wav/{utt}.wav", "{set}/{utt}.flac", "{set}/s/{utt}.wav"]
)
def test_all_files_in_one_place_and_the_layouts_of_the_challenges_do_as_well(
    data: list[Path], tmp_path: Path, layout: str
) -> None:
    for path in sorted((tmp_path / "anon").rglob("*.wav")):
        target = tmp_path / "other" / layout.format(utt=path.stem, set=path.parent.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        sf.write(target, sf.read(path, dtype="int16")[0], 16000)
    made = bring(tmp_path / "other", data)
    assert np.array_equal(
        read_audio(made["x_enrolls"].wav["b-2"]), read_audio(str(tmp_path / "anon/x_enrolls/b-2.wav"))
    )


def test_other_rates_and_channels_are_converted(data: list[Path], tmp_path: Path) -> None:
    tone = 0.4 * np.sin(2 * np.pi * 300 * np.arange(24000) / 48000)
    sf.write(tmp_path / "anon/x_enrolls/a-1.wav", np.stack([tone, tone], axis=1), 48000)
    wave = read_audio(bring(tmp_path / "anon", data)["x_enrolls"].wav["a-1"])
    assert len(wave) == 8000 and 0.38 < np.abs(wave[100:-100]).max() < 0.42


def test_everything_that_is_missing_is_told_at_once(data: list[Path], tmp_path: Path) -> None:
    (tmp_path / "anon/x_enrolls/a-1.wav").rename(tmp_path / "anon/x_enrolls/a_1.wav")
    (tmp_path / "anon/x_trials_f/b-3.wav").unlink()
    with pytest.raises(InputError) as caught:
        find_files(tmp_path / "anon", data, "mine")
    message_text = str(caught.value)
    assert "x_enrolls: 1 of 4 files (a-1)" in message_text and "x_trials_f: 1 of 4 files (b-3)" in message_text
    assert "belong to no set: a_1" in message_text and "--allow-missing true" in message_text


def test_partial_sets_leave_out_the_trials_that_cannot_be_made(data: list[Path], tmp_path: Path) -> None:
    for name in ("x_enrolls/a-1", "x_enrolls/a-2", "x_trials_f/b-3"):
        (tmp_path / "anon" / f"{name}.wav").unlink()
    made = bring(tmp_path / "anon", data, allow_missing=True)
    assert made["x_enrolls"].utts == ["b-1", "b-2"] == list(made["x_enrolls"].enrolls or ())
    assert {trial[:2] for trial in made["x_trials_f"].trials or ()} == {("b", "a-3"), ("b", "a-4"), ("b", "b-4")}
    missing = read_missing(tmp_path / "data/x_trials_f_mine")
    assert (missing.utts, missing.trials) == (("b-3",), 5)


def test_a_set_without_any_file_is_never_passed_over(data: list[Path], tmp_path: Path) -> None:
    for path in (tmp_path / "anon/x_trials_f").iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"x_trials_f: 4 of 4 files") as caught:
        find_files(tmp_path / "anon", data, "mine", allow_missing=True)
    assert "--allow-missing" not in str(caught.value)


def test_copies_of_the_source_are_counted_and_broken_files_named(data: list[Path], tmp_path: Path) -> None:
    (tmp_path / "anon/x_enrolls/a-1.wav").write_bytes((tmp_path / "audio/a-1.wav").read_bytes())
    line = [ROOT / "steps/import_anonymized.py", tmp_path / "anon", "mine", *data]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "x_enrolls_mine: WARNING: 1 of 4 utterances are identical to their source" in done.stderr
    write_wave(tmp_path / "anon/x_enrolls/a-1.wav", 0.1 * np.sin(np.arange(100_000)))
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "anon/x_enrolls/a-1.wav: lasts 6.25 s, the source 0.50 s" in done.stderr
    assert not list((tmp_path / "data").glob("*.tmp"))


def test_two_files_of_one_utterance_are_refused(data: list[Path], tmp_path: Path) -> None:
    sf.write(tmp_path / "anon/x_enrolls/a-1.flac", np.zeros(10), 16000)
    with pytest.raises(InputError, match=r"a-1\.wav: is there twice, also as .*a-1\.flac"):
        find_files(tmp_path / "anon", data, "mine")


def test_a_part_of_vctk_is_found_in_the_folder_of_both(tmp_path: Path) -> None:
    utt2spk = {"p1_001_mic2": "p1", "p1_002_mic2": "p1"}
    for utt in utt2spk:
        write_wave(tmp_path / "audio" / f"{utt}.wav", 0.3 * np.sin(np.arange(4000)))
        write_wave(tmp_path / "anon/vctk_dev_trials_f_all" / f"{utt}.wav", 0.1 * np.sin(np.arange(4000)))
    write_wave(tmp_path / "anon/vctk_dev_trials_f_all/p1_025_mic2.wav", 0.1 * np.sin(np.arange(4000)))
    data = DataDir(
        tmp_path / "data/vctk_dev_trials_f_common",
        utt2spk,
        {"wav.scp": {u: str(tmp_path / "audio" / f"{u}.wav") for u in utt2spk}},
    )
    made = bring(tmp_path / "anon", [data.write(data.path).path])
    assert made["vctk_dev_trials_f_common"].utts == list(utt2spk)
