#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Stages 0 and 5 to 12 of run.sh on a synthetic VoicePrivacy 2020: the cost of the recipe without its networks.

Usage: benchmarks/scale_recipe.py

A corpus is made in the layouts of LibriSpeech and VCTK, with as many speakers and utterances as the challenge has (12
trial sets, the largest with some 5,400 utterances), each a quarter of a second of noise. It goes through run.sh in a
copy of the toolkit in which stand-ins take the place of what costs by the second of speech: three encoders, the
recogniser and the tracker of F0. Anonymised sets are the original ones played backwards. CPU time and peak memory of
all processes; beyond 3 minutes or 2 GB it ends with code 1.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile

from vpeval.audio.io import RATE
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[1]
CPU_SECONDS, MEGABYTES = 180.0, 2000.0
ATTACKERS = "ecapa resnet f0"
SYSTEM = "mcadams"
READERS, CHAPTERS, SENTENCES = 40, 3, 22
VOICES, NUMBERS = 60, 405
NOISES = 8
_NEEDED = ("run.sh", "path.sh", "cmd.sh", "conf", "egs/vpc2020", "local", "steps", "utils", "vpeval")

ENCODER = """

import zlib

NOISE = np.random.default_rng(0).standard_normal((4099, 192)).astype(np.float32)

def noise(text):
    return NOISE[zlib.crc32(text.encode()) % len(NOISE)]

class Embedder:
    def __init__(self, conf):
        self.conf = conf

    def __call__(self, part):
        return pack_vector(noise(part.spk) + 2 * noise(f"{self.conf} {part.work.name} {part.utt}"))
"""
RECOGNISER = """

class Decoder:
    def __init__(self, conf, lm):
        self.conf = conf

    def __call__(self, part):
        return b"PLEASE CALL STELLA AND ASK HER TO BRING THESE THINGS\\n"
"""
TRACKER = """

def track_f0(wave):
    frames = len(wave) // 160
    return 150 + 20 * np.sin(np.arange(frames) / 7)
"""
TEXT = "Please call Stella. Ask her to bring these things."


def main() -> int:
    """Make the corpus and the copy of the toolkit, run the stages, tell what they took."""
    with tempfile.TemporaryDirectory(prefix="vpeval-scale-", dir=os.environ.get("TMPDIR")) as folder:
        work_dir = Path(folder)
        make_corpus(work_dir / "corpus")
        tree = make_tree(work_dir / "tree")
        cpu, megabytes = run(tree, "--stop-stage", "0", "--corpus", str(work_dir / "corpus"))
        utts = anonymise(tree / "data")
        more, peak = run(tree, "--stage", "5", "--corpus", str(work_dir / "corpus"))
    cpu, megabytes = cpu + more, max(megabytes, peak)
    print(
        f"stages 0 and 5-12 of a synthetic VPC 2020, {utts:,} utterances in two versions, three attackers: "
        f"{cpu:.0f} s of CPU (limit {CPU_SECONDS:.0f}), {megabytes:.0f} MB (limit {MEGABYTES:.0f})",
        flush=True,
    )
    return int(cpu > CPU_SECONDS or megabytes > MEGABYTES)


def make_corpus(corpus: Path) -> None:
    """LibriSpeech and VCTK; the files of a speaker are links to a few."""
    libri, vctk = corpus / "LibriSpeech", corpus / "VCTK-Corpus-0.92"
    lines = [";ID  |SEX| SUBSET           |MINUTES| NAME\n"]
    for first, subset in ((100, "dev-clean"), (100 + READERS, "test-clean")):
        for reader in (str(first + k) for k in range(READERS)):
            lines.append(f"{reader} | {'FM'[int(reader) % 2]} | {subset} | 8 | A Reader\n")
            noises = write_noises(corpus / "noises" / reader)
            for chapter in range(1000, 1000 + CHAPTERS):
                home = libri / subset / reader / str(chapter)
                home.mkdir(parents=True)
                names = [f"{reader}-{chapter}-{n:04d}" for n in range(SENTENCES)]
                for number, name in enumerate(names):
                    os.link(noises[number % len(noises)], home / f"{name}.flac")
                said = TEXT.upper().replace(".", "")
                (home / f"{reader}-{chapter}.trans.txt").write_text("".join(f"{name} {said}\n" for name in names))
    (libri / "SPEAKERS.TXT").write_text("".join(lines))
    lines = ["ID  AGE  GENDER  ACCENTS  REGION\n"]
    for spk in (f"p{225 + k}" for k in range(VOICES)):
        lines.append(f"{spk}  23  {'FM'[int(spk[1:]) % 2]}  English  Kent\n")
        noises = write_noises(corpus / "noises" / spk)
        audio, texts = vctk / "wav48_silence_trimmed" / spk, vctk / "txt" / spk
        audio.mkdir(parents=True)
        texts.mkdir(parents=True)
        (corpus / "text").write_text(f"{TEXT}\n")
        for number in range(1, NUMBERS + 1):
            os.link(noises[number % len(noises)], audio / f"{spk}_{number:03d}_mic2.flac")
            os.link(corpus / "text", texts / f"{spk}_{number:03d}.txt")
    (vctk / "speaker-info.txt").write_text("".join(lines))


def write_noises(folder: Path) -> list[Path]:
    """Some files of a speaker, too many for an archive to find two alike; at 16 kHz, so that none is resampled."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(sum(folder.name.encode()))
    paths = [folder / f"{number}.flac" for number in range(NOISES)]
    for path in paths:
        soundfile.write(path, 0.1 * rng.standard_normal(RATE // 4), RATE)
    return paths


def make_tree(tree: Path) -> Path:
    """A copy of the toolkit whose networks are stand-ins, with a recipe that trains nothing."""
    for name in _NEEDED:
        source, target = ROOT / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "corpus"))
        else:
            shutil.copy(source, target)
    with open(tree / "vpeval/networks/encoders.py", "a") as encoders:
        encoders.write(ENCODER)
    with open(tree / "vpeval/asr/recognizers.py", "a") as recognisers:
        recognisers.write(RECOGNISER)
    with open(tree / "vpeval/audio/f0.py", "a") as tracker:
        tracker.write(TRACKER)
    conf = tree / "egs/vpc2020/recipe.conf"
    lines = conf.read_text().splitlines(keepends=True)
    conf.write_text("".join(line for line in lines if not line.startswith(("train_sets=", "pool_sets="))))
    return tree


def run(tree: Path, *options: str) -> tuple[float, float]:
    """CPU seconds and peak megabytes of run.sh."""
    environment = {**os.environ, "VPEVAL_PYTHON": sys.executable, "PYTHONPATH": str(tree)}
    environment |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    log = tree / "run.log"
    with open(log, "a") as output:
        command = ["./run.sh", "--recipe", "vpc2020", "--attackers", ATTACKERS, "--nj", "2", *options]
        child = subprocess.Popen(command, cwd=tree, env=environment, stdout=output, stderr=output)
        _, status, used = os.wait4(child.pid, 0)
    lines = log.read_text().splitlines()
    if status:
        raise SystemExit("\n".join(["run.sh failed:", *lines[-20:]]))
    print("\n".join(lines[lines.index("time and memory:") :]), flush=True)
    log.unlink()
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def anonymise(data: Path) -> int:
    """All sets under the name of the system, with 16-bit WAV files as hooks write; how many utterances they have."""
    utts = 0
    noises = data.parent / "noises"
    noises.mkdir()
    for path in sorted(path for path in data.iterdir() if (path / "utt2spk").is_file()):
        original = DataDir.load(path)
        folder = path.with_name(f"{path.name}_{SYSTEM}")
        wav = {utt: folder / "wav" / spk / f"{utt}.wav" for utt, spk in original.utt2spk.items()}
        tables = {**original.utt_tables, "wav.scp": {utt: str(place) for utt, place in wav.items()}}
        replace(original, utt_tables=tables).write(folder)
        (folder / "checks.json").write_text(json.dumps({"utts": len(wav), "identical": []}))
        for utt, place in wav.items():
            # Originals are links to a few files, and so are these.
            source = Path(original.wav[utt])
            wave = noises / f"{source.stat().st_ino}.wav"
            if not wave.is_file():
                samples, rate = soundfile.read(source, dtype="int16")
                soundfile.write(wave, samples[::-1], rate, subtype="PCM_16")
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(wave, place)
        utts += len(wav)
    return utts


if __name__ == "__main__":
    sys.exit(main())
