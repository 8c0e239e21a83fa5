"""Everything in ordinary set-ups that decides what a hook writes makes its data again when it changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vpeval.anon import driver, hook_files
from vpeval.anon.hook_files import dependencies
from vpeval.audio.io import write_wave
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[2]
IN_PYTHON = """#!/usr/bin/env -S bash -c '. "${VPEVAL_ROOT:-.}/path.sh" && exec python3 "$0" "$@"'
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../shared"))
from vpeval.anon import hook
import gain
hook.main(lambda wave, rate, seed, utterance: gain.apply(wave), "A hook.")
"""
IN_BASH = """#!/usr/bin/env bash
set -e
exec 3<"$(dirname "$0")/../shared/weights"
while read -r utt wav; do cp --no-preserve=mode "$wav" "$2/$utt.wav"; done <"$1/wav.scp"
sleep 2
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory of a hook, beside one that it shares with others."""
    for name in ("mine", "shared", "elsewhere"):
        (tmp_path / name).mkdir()
    put(tmp_path / "mine/anonymize.py", "import os\nprint(os.environ['STRENGTH'], os.getenv('CUDA_VISIBLE_DEVICES'))\n")
    (tmp_path / "mine/anonymize.py").chmod(0o755)
    return tmp_path / "mine"


def put(path: Path, text: str = "weights") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two utterances of two speakers."""
    monkeypatch.chdir(ROOT)
    place = tmp_path / "set"
    wav = {utt: str(tmp_path / f"audio/{utt}.wav") for utt in ("a-1", "b-1")}
    for seed, path in enumerate(wav.values()):
        Path(path).parent.mkdir(exist_ok=True)
        write_wave(path, 0.1 * np.random.default_rng(seed).standard_normal(16000))
    utt2spk = {utt: utt[0] for utt in wav}
    DataDir(place, utt2spk, {"wav.scp": wav, "utt2dur": dict.fromkeys(wav, "1.0")}, {}, None, None).write(place)
    return place


def print_of(home: Path, data: Path, options: str = "") -> str:
    anonymiser = driver.Anonymiser(next(home.glob("anonymize.*")), options, "spk", 0)
    return driver.make_target(anonymiser, data, data.with_name("out")).fingerprint.digest


PLACES = {
    "weights without a suffix": "mine/checkpoint",
    "a hidden cache": "mine/.cache/model.bin",
    "weights of a logger": "mine/logs/version_0/epoch.ckpt",
    "a directory below": "mine/a/b/c.pt",
}


@pytest.mark.parametrize("what", PLACES)
def test_every_file_below_the_hook_counts_by_content(home: Path, data: Path, what: str) -> None:
    file = home.parent / PLACES[what]
    put(file)
    before = print_of(home, data)
    put(file, "other w")
    changed = print_of(home, data)
    file.unlink()
    assert len({before, changed, print_of(home, data)}) == 3


def test_linked_directories_are_followed_and_links_in_a_circle_end(home: Path, data: Path) -> None:
    put(home.parent / "elsewhere/model.pt")
    (home / "checkpoints").symlink_to(home.parent / "elsewhere")
    (home.parent / "elsewhere/back").symlink_to(home)
    before = print_of(home, data)
    put(home.parent / "elsewhere/model.pt", "others!")
    assert print_of(home, data) != before


@pytest.mark.parametrize("options", ["--model {}", "--model={}", "{}"])
@pytest.mark.parametrize("place", ["elsewhere", "elsewhere/model.pt"])
def test_files_and_directories_that_options_name_count(home: Path, data: Path, options: str, place: str) -> None:
    put(home.parent / "elsewhere/model.pt")
    words = options.format(home.parent / place)
    before = print_of(home, data, words)
    put(home.parent / "elsewhere/model.pt", "others!")
    assert print_of(home, data, words) != before


def test_a_data_directory_that_options_name_counts_with_its_audio_and_without_what_was_noted_about_it(
    home: Path, data: Path
) -> None:
    pool, audio = home.parent / "elsewhere/pool", home.parent / "elsewhere/x.wav"
    put(audio)
    put(pool / "wav.scp", f"x-1 {audio}\n")
    put(pool / "utt2spk", "x-1 x\n")
    before = print_of(home, data, f"--pool {pool}")
    assert (pool / ".audio.json").is_file() and print_of(home, data, f"--pool {pool}") == before
    put(audio, "others!")
    assert print_of(home, data, f"--pool {pool}") != before


def test_variables_that_a_program_mentions_count_and_so_does_what_they_name(
    home: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = home.parent / "elsewhere/model.pt"
    put(model)
    monkeypatch.delenv("STRENGTH", raising=False)
    unset = print_of(home, data)
    monkeypatch.setenv("STRENGTH", "0.7")
    number = print_of(home, data)
    monkeypatch.setenv("STRENGTH", str(model))
    named = print_of(home, data)
    put(model, "others!")
    assert len({unset, number, named, print_of(home, data)}) == 4
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setenv("VPEVAL_SOMETHING", "1")
    assert dependencies(home / "anonymize.py").variables.keys() == {"STRENGTH"}


def test_variables_of_shell_programs_count_but_for_their_own(home: Path) -> None:
    put(home / "more.sh", "#!/bin/bash\nWORK=$HOME/x\nexport NAME=1\necho $WORK ${NAME} ${MODEL_DIR:-none} $1\n")
    assert dependencies(home / "anonymize.py").variables.keys() == {"STRENGTH", "MODEL_DIR"}


def test_the_file_depends_adds_and_leaves_out(home: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home / "depends", "# What else counts.\n../shared/*.pt\n$FLAVOUR\n!notes/*\n!$STRENGTH\n")
    put(home.parent / "shared/model.pt")
    put(home / "notes/today.txt")
    found = {print_of(home, data)}
    put(home.parent / "shared/model.pt", "others!")
    found.add(print_of(home, data))
    monkeypatch.setenv("FLAVOUR", "x")
    found.add(print_of(home, data))
    assert len(found) == 3
    put(home / "notes/today.txt", "other notes")
    monkeypatch.setenv("STRENGTH", "0.9")
    assert print_of(home, data) in found


def test_what_depends_names_and_is_not_there_is_a_mistake(home: Path, data: Path) -> None:
    put(home / "depends", "\n../shared/nothing.pt\n")
    with pytest.raises(InputError, match=r"depends:2: '\.\./shared/nothing\.pt' is not there"):
        print_of(home, data)


def test_packages_of_the_environment_in_the_first_line_count(home: Path, data: Path) -> None:
    environment = home.parent / "elsewhere/env"
    record = environment / "lib/python3.11/site-packages/torch-2.0.dist-info/RECORD"
    put(environment / "pyvenv.cfg")
    put(record)
    put(home / "anonymize.py", f"#!{environment}/bin/python\n")
    before = print_of(home, data)
    put(record.with_name("x").parent.with_name("torch.py"))
    assert print_of(home, data) == before
    put(record, "torch/__init__.py,sha256=other,1")
    assert print_of(home, data) != before


@pytest.mark.parametrize("name", ["run.log", "__pycache__/x.pyc", ".git/index", "x.tmp", "set_mine/.made"])
def test_left_overs_and_what_this_toolkit_made_do_not_count(home: Path, data: Path, name: str) -> None:
    before = print_of(home, data)
    put(home / name)
    assert print_of(home, data) == before


def test_too_many_files_are_refused_with_both_remedies(home: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_files, "_MOST_FILES", 2)
    for name in "abc":
        put(home / "many" / name)
    with pytest.raises(
        InputError, match=r"more than 2 files.*directory of its own, or name .*mine/depends: !directory"
    ):
        print_of(home, data)
    put(home / "depends", "!many/*\n")
    print_of(home, data)


def anonymise(home: Path, data: Path) -> tuple[driver.Anonymiser, Path]:
    anonymiser = driver.Anonymiser(next(home.glob("anonymize.*")), "", "spk", 0)
    out = data.with_name("out")
    driver.anonymize(anonymiser, {data: out}, driver.Launch("utils/run.py", 1, data.with_name("log")))
    return anonymiser, out


def why(anonymiser: driver.Anonymiser, data: Path, out: Path) -> str:
    fresh = driver.Anonymiser(anonymiser.hook, "", "spk", 0)
    return driver.make_target(fresh, data, out).why()


def in_python(home: Path) -> None:
    put(home / "anonymize.py", IN_PYTHON)
    put(home.parent / "shared/gain.py", "def apply(wave):\n    return 0.5 * wave\n")


def in_bash(home: Path) -> None:
    (home / "anonymize.py").unlink()
    put(home / "anonymize.sh", IN_BASH)
    (home / "anonymize.sh").chmod(0o755)
    put(home.parent / "shared/weights")


@pytest.mark.parametrize(("make", "file"), [(in_python, "gain.py"), (in_bash, "weights")])
def test_files_that_a_hook_opened_anywhere_count(
    home: Path, data: Path, make: Callable[[Path], None], file: str
) -> None:
    make(home)
    os.utime(home.parent / "shared" / file, (1e9, 1e9))
    anonymiser, out = anonymise(home, data)
    assert home.parent / "shared" / file in hook_files.read_record(out)
    assert why(anonymiser, data, out) == ""
    put(home.parent / "shared" / file, "def apply(wave):\n    return 0.2 * wave\n")
    assert why(anonymiser, data, out) == f"changed: input {home.parent}/shared/{file}"
    (home.parent / "shared" / file).unlink()
    assert why(anonymiser, data, out) == f"changed: input {home.parent}/shared/{file}"


def test_a_hook_may_fetch_its_weights_into_its_directory_but_not_change_what_is_there(
    home: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_bash(home)
    script = home / "anonymize.sh"
    put(script, f'{IN_BASH}mkdir -p "$(dirname "$0")/.cache"\necho weights >"$(dirname "$0")/.cache/model"\n')
    anonymiser, out = anonymise(home, data)
    assert why(anonymiser, data, out) == "" and "while the hook ran" not in caplog.text
    put(script, f'{IN_BASH}echo again >>"$(dirname "$0")/.cache/model"\n')
    anonymiser, out = anonymise(home, data)
    assert ".cache/model changed while the hook ran" in caplog.text
    assert why(anonymiser, data, out) == f"changed: input {home}/.cache/model"
