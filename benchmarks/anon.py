#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Time McAdams and vtln against their transcriptions, on one core, and every shipped hook against real time.

Usage: benchmarks/anon.py

The transcriptions, a loop over frames and scipy's transforms, are those that the tests use as oracles. Hooks run as
they do in a job, start-up included.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.anon.transcription import per_frame_mcadams, stretched_by_scipy
from vpeval.anon import hook_program
from vpeval.anon.mcadams import McAdams
from vpeval.audio.io import RATE, read_audio
from vpeval.audio.vtln import stretch_envelope
from vpeval.core import seeds
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[1]
AUDIO = ROOT / "egs/mini/corpus/audio"
LIMIT = 8
ROUNDS = 7
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def main() -> None:
    files = sorted(AUDIO.glob("[fm]03?/*-00[1-4].opus"))[:24]
    compare_mcadams(np.concatenate([read_audio(str(path)) for path in files[:6]]))
    compare_vtln(np.concatenate([read_audio(str(path)) for path in files[:6]]))
    for folder in sorted((ROOT / "local/anon").iterdir()):
        time_hook(hook_program.find_hook(str(folder)), files)


def compare_mcadams(wave: np.ndarray) -> None:
    ours, loop = float("inf"), float("inf")
    for _ in range(ROUNDS):  # in turns, so that a busy machine slows both
        ours = min(ours, measure(lambda: McAdams(0.8)(wave, RATE)))
        loop = min(loop, measure(lambda: per_frame_mcadams(wave, 0.8)))
    apart = np.abs(McAdams(0.8)(wave, RATE) - per_frame_mcadams(wave, 0.8)).max()
    seconds = len(wave) / RATE
    verdict = "ok" if loop / ours >= LIMIT else "TOO SLOW"
    print(
        f"McAdams, {seconds:.1f} s of speech, one core: {1000 * ours:.0f} ms ({seconds / ours:.0f} x real time), loop "
        f"over frames {1000 * loop:.0f} ms, ratio {loop / ours:.1f} (at least {LIMIT}: {verdict}), {apart:.0e} apart"
    )


def compare_vtln(wave: np.ndarray) -> None:
    ours, theirs = float("inf"), float("inf")
    for _ in range(ROUNDS):
        ours = min(ours, measure(lambda: stretch_envelope(wave, 1.1)))
        theirs = min(theirs, measure(lambda: stretched_by_scipy(wave, 1.1)))
    apart = np.abs(stretch_envelope(wave, 1.1) - stretched_by_scipy(wave, 1.1)).max()
    print(f"vtln, the same speech: {1000 * ours:.0f} ms, by scipy {1000 * theirs:.0f} ms, {apart:.0e} apart")


def time_hook(hook: Path, files: list[Path]) -> None:
    utt2spk = {path.stem: path.parent.name for path in files}
    genders = {spk: spk[0] for spk in utt2spk.values()}
    wav = {path.stem: str(path) for path in files}
    seconds = sum(len(read_audio(entry)) for entry in wav.values()) / RATE
    data = DataDir(Path("set"), utt2spk, {"wav.scp": wav}, {"spk2gender": genders})
    data = data.with_table("utt2seed", seeds.utt2seed(utt2spk, 0, "trial", "spk"))
    with tempfile.TemporaryDirectory() as work_dir:
        data.write(Path(work_dir, "data"))
        Path(work_dir, "wav").mkdir()
        command = [hook, f"{work_dir}/data", f"{work_dir}/wav"]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=ONE_THREAD)
        spent = time.perf_counter() - start
    name = hook_program.system_name(hook)
    if done.returncode:
        print(f"{name}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    else:
        print(f"{name}: {seconds / spent:.1f} x real time ({len(files)} utterances, {seconds:.0f} s, in {spent:.1f} s)")


def measure(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
