"""Speakers who hum, each at a pitch of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vpeval.audio.io import RATE, write_wave
from vpeval.data.directory import DataDir


def write_speakers(work_dir: Path, speakers: int, utts: int) -> Path:
    """A data directory work_dir/set, with its audio in work_dir/audio."""
    rng, time = np.random.default_rng(0), np.arange(RATE) / RATE
    utt2spk = {f"s{spk}-{n}": f"s{spk}" for spk in range(speakers) for n in range(utts)}
    for utt, spk in utt2spk.items():
        pitch = 100 + 40 * int(spk[1:])
        wave = sum(np.sin(2 * np.pi * k * pitch * time) / k for k in range(1, 9))
        write_wave(work_dir / f"audio/{utt}.wav", 0.1 * wave + 0.01 * rng.standard_normal(len(time)))
    tables = {
        "wav.scp": {utt: f"{work_dir}/audio/{utt}.wav" for utt in utt2spk},
        "utt2dur": dict.fromkeys(utt2spk, "1.0"),
    }
    genders = {"spk2gender": dict.fromkeys(sorted(set(utt2spk.values())), "m")}
    return DataDir(work_dir / "set", utt2spk, tables, genders).write(work_dir / "set").path


def slow_down(data_dir: Path, condition: str) -> None:
    """Have the audio of all but every third utterance wait as long as a command of bash succeeds.

    The command is in a file of its own: files that a pipe names are inputs, and this one names what comes and goes.
    """
    data, gate = DataDir.load(data_dir), data_dir.with_name("gate.sh")
    gate.write_text(f"while {condition}; do sleep 0.1; done\n")
    wav = {utt: wav if utt.endswith("0") else f"bash {gate}; cat {wav} |" for utt, wav in data.wav.items()}
    data.with_table("wav.scp", wav).write(data_dir)
