"""A recipe of vectors instead of speech: what stages 6 to 8 start from, for two encoders that hear different things."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from vpeval.core.files import write_table
from vpeval.embeddings.speaker_vectors import write_embeddings

ROOT = Path(__file__).resolve().parents[2]
ENCODERS = {"ecapa": slice(0, 6), "resnet": slice(6, 12)}
"""Which part of a voice each encoder hears."""
SPEAKERS, UTTS = 5, 4
SYSTEM = "mcadams"


def make_toy(
    root: Path,
    partitions: tuple[str, ...] = ("dev", "test"),
    keep: float = 0.5,
    systems: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """A folder to run stages in; anonymisation keeps a part of every voice.

    `systems` keep different shares of what each of the encoders hears.
    """
    shares = systems or {SYSTEM: (keep, keep)}
    pairs = " ".join(f"toy_{part}_enrolls:toy_{part}_trials_{g}" for part in partitions for g in "fm")
    conf = root / "egs/toy/recipe.conf"
    conf.parent.mkdir(parents=True)
    joined = " ".join(f"toy_{part}_asr:toy_{part}_trials_f,toy_{part}_trials_m" for part in partitions)
    conf.write_text(
        f'recipe=toy\nasv_pairs="{pairs}"\nasr_sets="{joined}"\nattackers="ecapa"\nlegal_sizes="3,all"\nlegal_utts="1,all"\n'
        'srd_inputs=2\ntrain_sets="toy_train"\n'
    )
    for folder in ("conf", "local/anon/mcadams"):
        shutil.copytree(ROOT / folder, root / folder)
    for part in partitions:
        names = {g: [f"{part}{g}{n}" for n in range(SPEAKERS)] for g in "fm"}
        _make_set(root, f"toy_{part}_enrolls", names["f"] + names["m"], shares, {})
        for g in "fm":
            _make_set(root, f"toy_{part}_trials_{g}", names[g], shares, dict.fromkeys(names[g], names[g]))


def _make_set(
    root: Path, name: str, speakers: list[str], shares: Mapping[str, Sequence[float]], rivals: dict[str, list[str]]
) -> None:
    utt2spk = {f"{spk}-{name}-{n}": spk for spk in speakers for n in range(UTTS)}
    anonymised = {f"{name}_{system}": kept for system, kept in shares.items()}
    for version, kept in {name: (1.0, 1.0), **anonymised}.items():
        share = np.repeat(kept, 6)
        data = root / "data" / version
        data.mkdir(parents=True)
        write_table(data / "utt2spk", utt2spk)
        write_table(data / "text", dict.fromkeys(utt2spk, "ONE TWO THREE FOUR"))
        write_table(data / "spk2gender", {spk: spk.rstrip("0123456789")[-1] for spk in speakers})
        (data / "checks.json").write_text(json.dumps({"utts": len(utt2spk), "identical": []}))
        rows = [(s, utt, spk) for utt, spk in utt2spk.items() for s in rivals.get(spk, [])]
        lines = [f"{s} {utt} {'target' if s == spk else 'nontarget'}\n" for s, utt, spk in rows]
        if lines:
            (data / "trials").write_text("".join(lines))
        voices = {utt: _heard(utt, spk, share, version) for utt, spk in utt2spk.items()}
        for encoder, part in ENCODERS.items():
            vectors = {utt: voice[part].astype(np.float32) for utt, voice in voices.items()}
            write_embeddings(root / "exp/toy/embeddings" / encoder / version, vectors, utt2spk)


def _heard(utt: str, spk: str, share: np.ndarray, version: str) -> np.ndarray:
    voice = np.random.default_rng(list(spk.encode())).standard_normal(12)
    noise = np.random.default_rng(list(f"{utt} {version}".encode())).standard_normal(12)
    return share * voice + 0.7 * noise
