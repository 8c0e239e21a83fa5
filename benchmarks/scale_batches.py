#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Batches and data directory tools on up to a million utterances, without a model and without audio.

Usage: benchmarks/scale_batches.py [<utterances> ...]
 e.g.: benchmarks/scale_batches.py 10000 100000 1000000

A synthetic set of Common Voice's shape (ids, wav.scp, text, durations) is loaded, validated, cut and joined, and goes
through the machinery of extraction and decoding with a worker that makes up its results. Every row is CPU time of a
process and its children, the peak memory of the largest of them, and the number of files at the end; the last columns
are the exponents of growth from the smallest size and from the one before. From a hundred thousand on, what no longer
fits into caches costs a bit more each time, so that the latter may be above 1 where the work is linear. A row that
misses its bound at a million utterances, or whose growth from the smallest size does, ends it with code 1.
"""

import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10_000, 100_000, 1_000_000)
DIMENSION, PER_SPEAKER = 192, 45
PACE = 20_000.0  # seconds of speech a second: what a worker without a model does

TOOLS = {
    "load": "from vpeval.data.directory import DataDir; DataDir.load('set')",
    "validate": "from vpeval.data.validate import validate; assert not validate('set', audio=False)",
    "split": "from vpeval.data.cut import split, write_split; from vpeval.data.directory import DataDir; "
    "write_split(split(DataDir.load('set'), 10))",
    "combine": "from pathlib import Path; from vpeval.data.cut import combine; "
    "from vpeval.data.directory import DataDir; "
    "combine([DataDir.load('set'), DataDir.load('set')], Path('both'))[0].write('both')",
    "make trials": "from benchmarks.scale_batches import make_cross; make_cross()",
    "read trials": "from vpeval.data.trials import read_trials; read_trials('x_trials_mixed/trials')",
    "write scores": "from benchmarks.scale_batches import write_random_scores; write_random_scores()",
    "read scores": "from vpeval.data.trials import read_pair_scores; read_pair_scores('scores', 'spk', 'utt')",
    "vectors": "from benchmarks.scale_batches import run; run('vectors')",
    "vectors again": "from benchmarks.scale_batches import run; run('vectors')",
    "texts": "from benchmarks.scale_batches import run; run('texts')",
    "texts again": "from benchmarks.scale_batches import run; run('texts')",
}
BOUNDS = {
    "load": 4.0,
    "make trials": 50.0,
    "read trials": 15.0,
    "read scores": 15.0,
    "validate": 8.0,
    "vectors": 100.0,
    "texts": 100.0,
    "vectors again": 2.0,
    "texts again": 2.0,
}
MEGABYTES = {"load": 400.0}
GROWTH = 1.1


@dataclass(frozen=True)
class Row:
    """What one operation took."""

    name: str
    utts: int
    cpu: float
    wall: float
    megabytes: float
    files: int


def main() -> int:
    """Measure all sizes and print a table."""
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    print("work            utterances    CPU s   wall s      MB   files  growth   last")
    first: dict[str, Row] = {}
    before: dict[str, Row] = {}
    missed = []
    for size in sizes:
        for row in measure(size):
            growth = exponent(first.setdefault(row.name, row), row)
            last = exponent(before.get(row.name), row)
            print(
                f"{row.name:<15} {row.utts:>10,} {row.cpu:>8.2f} {row.wall:>8.2f} {row.megabytes:>7.0f} {row.files:>7} "
                f"{growth:>7.2f} {last:>6.2f}",
                flush=True,
            )
            before[row.name] = row
            if row.utts == SIZES[-1] and (
                row.cpu > BOUNDS.get(row.name, math.inf) or row.megabytes > MEGABYTES.get(row.name, math.inf)
            ):
                missed.append(row.name)
            if row.utts == SIZES[-1] and growth > GROWTH:
                missed.append(f"growth of {row.name}")
    if missed:
        print(f"beyond their bounds: {', '.join(missed)}")
    return 1 if missed else 0


def measure(size: int) -> list[Row]:
    """Every operation on a set of `size` utterances, in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="vpeval-scale-") as work_dir:
        write_set(Path(work_dir, "set"), size)
        return [timed(name, size, code, Path(work_dir)) for name, code in TOOLS.items()]


def exponent(before: Row | None, after: Row) -> float:
    """How CPU time grows with the number of utterances: 1 is linear."""
    if before is None or before.utts == after.utts:
        return math.nan
    return math.log(after.cpu / before.cpu) / math.log(after.utts / before.utts)


def timed(name: str, size: int, code: str, work_dir: Path) -> Row:
    """Run Python code in a process of its own."""
    start, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.Popen([sys.executable, "-c", code], cwd=work_dir, env=environment, stderr=subprocess.DEVNULL)
    _, status, own = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{name} failed: {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return Row(name, size, cpu, time.monotonic() - start, own.ru_maxrss / 1024, sum(1 for _ in work_dir.rglob("*")))


def write_set(path: Path, size: int) -> None:
    """A data directory of so many utterances; its audio is not there."""
    path.mkdir()
    speakers = [f"speaker{number:07d}" for number in range(math.ceil(size / PER_SPEAKER))]
    utts = [f"{speakers[number // PER_SPEAKER]}-common_voice_{number:09d}" for number in range(size)]
    tables = {
        "utt2spk": (f"{utt} {utt[:14]}\n" for utt in utts),
        "wav.scp": (f"{utt} /corpora/cv/clips/{utt[:14]}/{utt[15:]}.wav\n" for utt in utts),
        "text": (f"{utt} THE {n} QUICK FOXES JUMP OVER {n % 97} LAZY DOGS\n" for n, utt in enumerate(utts)),
        "utt2dur": (f"{utt} {4 + n % 300 / 100:.3f}\n" for n, utt in enumerate(utts)),
        "spk2gender": (f"{spk} {'fm'[n % 2]}\n" for n, spk in enumerate(speakers)),
        "spk2utt": (
            f"{spk} {' '.join(utts[n * PER_SPEAKER : (n + 1) * PER_SPEAKER])}\n" for n, spk in enumerate(speakers)
        ),
    }
    for name, lines in tables.items():
        with open(path / name, "w") as file:
            file.writelines(lines)


def run(kind: str) -> None:
    """The side of the driver: a batch whose worker makes up its results."""
    from vpeval.asr.decoding import text_task
    from vpeval.jobs import batch
    from vpeval.networks.extraction import vector_task

    worker = (sys.executable, str(Path(__file__).resolve()), "worker", kind)
    task = vector_task(worker) if kind == "vectors" else text_task(worker)
    logs = Path("log")
    logs.mkdir(exist_ok=True)
    (logs / f".{task.name}.pace").write_text(f"{PACE}\n")  # as if measured on an earlier set
    target = batch.target(Path("set"), Path(kind), [], [vector_task])
    batch.run(task, [target], f"{sys.executable} {ROOT}/utils/run.py", 2, logs)


def make_cross() -> None:
    """Ten enrolled speakers against all utterances: ten times as many trials."""
    from vpeval.data.directory import DataDir
    from vpeval.data.make_trials import TrialOptions, make_trials

    made = make_trials(DataDir.load("set"), TrialOptions(Path(), "x", mixed=True, enroll_speakers=10))
    made.trials["mixed"].write("x_trials_mixed")


def write_random_scores() -> None:
    """Scores of all trials; reading these is part of it."""
    import numpy as np

    from vpeval.data.trials import read_trials, write_scores

    trials = read_trials("x_trials_mixed/trials")
    write_scores("scores", trials, np.random.default_rng(0).standard_normal(len(trials)))


def work(kind: str, job: str, *works: str) -> None:
    """The side of the worker: random vectors, or a sentence."""
    import numpy as np

    from vpeval.jobs import worker
    from vpeval.networks.encoders import pack_vector

    parts = worker.job_parts(job, works)
    vectors = np.random.default_rng(int(job)).standard_normal((997, DIMENSION)).astype(np.float32)
    with worker.recording(job, parts) as record:
        for number, part in enumerate(parts):
            made = pack_vector(vectors[number % 997]) if kind == "vectors" else b"THE QUICK BROWN FOX\n"
            record(part, made)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        work(*sys.argv[2:])
    else:
        sys.exit(main())
