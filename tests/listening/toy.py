"""A toy recipe: short buzzes of eight voices, original and anonymised by two systems."""

import numpy as np

from vpeval.audio.io import RATE, write_wave
from vpeval.core.files import write_table, write_text
from vpeval.listening.design import DesignOptions
from vpeval.listening.material import load_material
from vpeval.listening.prepare_test import PrepareOptions, Texts, prepare

SYSTEMS = ("zorro", "quixote")
SPEAKERS = [f"{gender}{k}" for gender in "fm" for k in range(4)]
PAIRS = [("toy_test_enrolls", "toy_test_trials_f"), ("toy_test_enrolls", "toy_test_trials_m")]
KEY = bytes(range(32))
TEXTS = Texts("How do these voices sound?", "Speech lab, voices@example.org")


def make_data(root, seconds=0.25, enroll=5, trial=8):
    """Write ``root/{toy_test_enrolls,toy_test_trials_f,…}`` and the copies of both systems; return `root`."""
    for spk in SPEAKERS:
        pitch = 100 + 30 * SPEAKERS.index(spk)
        for name, count in (("e", enroll), ("t", trial)):
            for k in range(count):
                for s, system in enumerate(("", *SYSTEMS)):
                    if name == "e" and system:
                        continue
                    time = np.arange(int(seconds * RATE)) / RATE
                    wave = 0.1 * (1 + k % 3) * np.sign(np.sin(2 * np.pi * (pitch + 7 * k + 40 * s) * time))
                    write_wave(root / f"audio/{system or 'original'}/{spk}-{name}{k}.wav", wave)
    _write(root, "toy_test_enrolls", SPEAKERS, "e", enroll, "")
    for gender in "fm":
        spks = [spk for spk in SPEAKERS if spk.startswith(gender)]
        for system in ("", *SYSTEMS):
            _write(root, f"toy_test_trials_{gender}", spks, "t", trial, system)
    return root


def _write(root, name, spks, kind, count, system):
    directory = root / (f"{name}_{system}" if system else name)
    utts = {f"{spk}-{kind}{k}": spk for spk in spks for k in range(count)}
    write_table(directory / "utt2spk", utts)
    write_table(directory / "wav.scp", {utt: f"{root}/audio/{system or 'original'}/{utt}.wav" for utt in utts})
    write_table(directory / "text", {utt: f"SENTENCE {i}" for i, utt in enumerate(utts)})
    write_table(directory / "spk2gender", {spk: spk[0] for spk in spks})
    if kind == "t":
        rows = [(e, u, "target" if utts[u] == e else "nontarget") for e in spks for u in utts]
        write_text(directory / "trials", "".join(" ".join(row) + "\n" for row in sorted(rows)))


def toy_material(root, systems=SYSTEMS):
    return load_material(root, "toy", PAIRS, systems)


def toy_test(root, out, listeners=3, key=KEY, without_server=False, **sizes):
    """A prepared test of the toy data."""
    usual = {"per_system": 2, "boards": 1, "board_spks": 2, "board_utts": 2, "attention": 1, "headphones": 1}
    design = DesignOptions(listeners, **{**usual, **sizes})
    options = PrepareOptions(key=key, without_server=without_server)
    return prepare(out, toy_material(root), design, TEXTS, options)
