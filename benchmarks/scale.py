#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Measure everything at the size of Common Voice and of a VoicePrivacy challenge, against its minimal work.

Usage: benchmarks/scale.py [--parts N ...] [row ...]
 e.g.: benchmarks/scale.py
       benchmarks/scale.py --parts 10 1 linkability similarity

A synthetic Common Voice is made (arks of 234,945 utterances of 22,024 speakers and of 996,971 of 4,949; no audio), and
a set of 5,766 utterances of 15 speakers, the largest of VCTK. Every row is a command as users call it, in a process of
its own: CPU seconds and peak memory, reading and writing included. Its bound is measured right before and after it:
all bytes of its arks by np.fromfile, the products of its vectors in float32, and a sort where order is asked for. Both
have one thread, so that a busy machine slows both. --parts 10 measures a tenth of the test utterances and speakers
first; growth is the exponent of CPU time over the number of pairs compared. A row beyond its limit ends it with code 1.

Then follow batches, data directory tools and text of trials (benchmarks/scale_batches.py) and the stages of run.sh on a
synthetic VoicePrivacy 2020 (benchmarks/scale_recipe.py), unless rows are named.
"""

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.cli import script
from vpeval.embeddings.ark import write_rows

ROOT = Path(__file__).resolve().parents[1]
SPEAKERS, TESTED, DIMENSION = 22_024, 4_949, 192
UTTS, TEST_UTTS = 234_945, 996_971
VOICES, VCTK = 15, 5_766
ENROLLED, FOLDS, DRAWS = 495, 10, 5
SIZES = "20,50,100,200,500,1000,2000,5000,10000,20000,all"
_BLOCK = 512
_SAMPLE = 8


@dataclass(frozen=True)
class Row:
    """A command, its bound, of which one `sample`-th is measured, the pairs it compares, and how far it may go."""

    name: str
    command: list[str]
    bound: Callable[[Path, int], None]
    pairs: Callable[[int], float]
    limit: float
    megabytes: float
    sample: int = 1


@dataclass(frozen=True)
class Cost:
    """CPU seconds and peak memory of a process."""

    seconds: float
    megabytes: float


def main() -> int:
    """Make the data, measure every row, print a table."""
    parser = script.Parser(__doc__)
    parser.add_argument("--parts", type=script.positive, nargs="+", default=[10, 1], metavar="N")
    parser.add_argument("--bound", nargs=3, help="a bound alone, as the benchmark calls it: row, directory, part")
    parser.add_argument("rows", nargs="*", metavar="row", help=f"some of {', '.join(ROWS)}")
    args = parser.parse_args()
    if args.bound:
        name, work_dir, part = args.bound
        ROWS[name].bound(Path(work_dir), int(part))
        return 0
    if unknown := [name for name in args.rows if name not in ROWS]:
        parser.error(f"no row '{unknown[0]}'; there are {', '.join(ROWS)}")
    print("row             part    CPU s  bound s  ratio (limit)      MB (limit)  growth", flush=True)
    missed: list[str] = []
    before: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(prefix="vpeval-scale-", dir=os.environ.get("TMPDIR")) as work_dir:
        for part in sorted(args.parts, reverse=True):
            place = Path(work_dir, str(part))
            make_data(place, part)
            for name in args.rows or ROWS:
                seconds = measure(ROWS[name], place, part, before.get(name), missed)
                before[name] = ROWS[name].pairs(part), seconds
    if missed:
        print(f"beyond their limits: {', '.join(missed)}")
    parts = () if args.rows else ("scale_batches.py", "scale_recipe.py")
    codes = [subprocess.run([sys.executable, ROOT / "benchmarks" / part], check=False).returncode for part in parts]
    return 1 if missed or any(codes) else 0


def measure(row: Row, work_dir: Path, part: int, before: tuple[float, float] | None, missed: list[str]) -> float:
    """Measure and print one row; limits hold at full size."""
    bounds = [sys.executable, __file__, "--bound", row.name, str(work_dir), str(part)]
    first = run(bounds, work_dir)
    found = run(row.command, work_dir)
    bare = row.sample * (first.seconds + run(bounds, work_dir).seconds) / 2
    growth = math.nan
    if before and before[0] != row.pairs(part):
        growth = math.log(found.seconds / before[1]) / math.log(row.pairs(part) / before[0])
    ratio = found.seconds / bare
    print(
        f"{row.name:<15} {f'1/{part}':>4} {found.seconds:>8.1f} {bare:>8.1f} {ratio:>6.2f} ({row.limit:>5.0f}) "
        f"{found.megabytes:>7.0f} ({row.megabytes:>5.0f}) {growth:>7.2f}",
        flush=True,
    )
    if part == 1 and (ratio > row.limit or found.megabytes > row.megabytes):
        missed.append(row.name)
    return found.seconds


def run(command: list[str], work_dir: Path) -> Cost:
    """What a command takes on one thread."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    environment = {**os.environ, **threads}
    child = subprocess.Popen(command, cwd=work_dir, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    errors = child.stderr.read().decode()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: {errors}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def make_data(work_dir: Path, part: int) -> None:
    """Embedding directories: many, few (of the first speakers of many), and two versions of a VCTK set."""
    centres = np.random.default_rng(0).standard_normal((SPEAKERS, DIMENSION), np.float32)
    start = time.monotonic()
    write(work_dir / "many", centres, UTTS, 4.0, 1)
    write(work_dir / "few", centres[: TESTED // part], TEST_UTTS // part, 4.0, 2)
    for name, spread in (("original", 1.5), ("anonymised", 4.0)):
        write(work_dir / name, centres[:VOICES], VCTK // part, spread, 3)
    print(f"data for 1/{part} made in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


def write(directory: Path, centres: np.ndarray, utts: int, spread: float, seed: int) -> None:
    """So many utterances of speakers around their centres; a speaker has two or more."""
    directory.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    counts = 2 + rng.multinomial(utts - 2 * len(centres), rng.dirichlet(np.full(len(centres), 2.0)))
    owner = np.repeat(np.arange(len(centres)), counts)
    keys = [f"client{spk:05d}-common_voice_{number:08d}" for number, spk in enumerate(owner.tolist())]

    def rows() -> Iterator[np.ndarray]:
        for start in range(0, utts, 4096):
            own = owner[start : start + 4096]
            yield from centres[own] + spread * rng.standard_normal((len(own), DIMENSION), np.float32)

    write_rows(directory, keys, rows())
    with open(directory / "utt2spk", "w") as file:
        file.writelines(f"{key} client{spk:05d}\n" for key, spk in zip(keys, owner.tolist(), strict=True))


def read(work_dir: Path, *names: str) -> None:
    """All bytes of arks, at the speed of np.fromfile."""
    for name in names:
        np.fromfile(work_dir / name / "embedding.ark", np.uint8)


def multiply(rows: int, columns: int, times: int = 1, kind: type[np.floating] = np.float32) -> None:
    """The bare product of vectors, block by block."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal((columns, DIMENSION)).astype(kind)
    x = rng.standard_normal((_BLOCK, DIMENSION)).astype(kind)
    buffer = np.empty((_BLOCK, columns), kind)
    for _ in range(times):
        for start in range(0, rows, _BLOCK):
            size = min(_BLOCK, rows - start)
            np.matmul(x[:size], y.T, out=buffer[:size])


def scorer(name: str, *options: str) -> list[str]:
    """A scorer of local/ with its options and directories."""
    return [sys.executable, str(ROOT / f"local/score_{name}.py"), *options, f"{name}.jsonl"]


def linkability_bound(work_dir: Path, part: int) -> None:
    """Both arks, and the products of four L."""
    read(work_dir, "many", "few")
    multiply(TESTED // part, SPEAKERS, times=4)


def singling_out_bound(work_dir: Path, part: int) -> None:
    """Both arks, and the products of every draw and L with the vectors that there are."""
    read(work_dir, "many", "few")
    owner = [line.split()[1] for line in (work_dir / "many/utt2spk").read_text().splitlines()]
    counts = np.unique(owner, return_counts=True)[1]
    for length in (1, 3):
        folds = np.minimum(counts // length, FOLDS)
        multiply(ENROLLED, int(folds[folds >= 2].sum()), times=DRAWS)


def srd_bound(work_dir: Path, part: int) -> None:
    """The products of some of the inputs: all of them would take longer than the rest of the benchmark."""
    multiply(TEST_UTTS // part // _SAMPLE, SPEAKERS)


def similarity_bound(work_dir: Path, part: int) -> None:
    """Both arks, three products in float64, and a sort of the scores of each."""
    read(work_dir, "original", "anonymised")
    n = VCTK // part
    multiply(n, n, times=3, kind=np.float64)
    scores = np.random.default_rng(0).standard_normal(n * n)
    for _ in range(3):
        np.sort(scores)


SIMILARITY = """
from pathlib import Path
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.embeddings.pair_scores import AllPairs
from vpeval.measures.base import Resampling
from vpeval.measures.similarity import MODES, score_similarity
pairs = AllPairs.from_versions(read_embeddings("original"), read_embeddings("anonymised"))
score_similarity(pairs, MODES, Path("similarity.jsonl"), Resampling())
"""

ROWS = {
    row.name: row
    for row in (
        Row(
            "linkability",
            scorer("linkability", "--n-enroll", SIZES, "--n-utts", "1,3,30,all", "many", "few"),
            linkability_bound,
            lambda part: TESTED / part,
            6,
            2000,
        ),
        Row(
            "singling_out",
            scorer("singling_out", "--n-speakers", "20,all", "--n-utts", "1,3", "few", "many"),
            singling_out_bound,
            lambda part: 1,
            6,
            2000,
        ),
        Row(
            "similarity",
            [sys.executable, "-c", SIMILARITY],
            similarity_bound,
            lambda part: (VCTK / part) ** 2,
            6,
            1000,
        ),
        Row("srd", scorer("srd", "many", "few"), srd_bound, lambda part: TEST_UTTS / part, 6, 3000, _SAMPLE),
    )
}

if __name__ == "__main__":
    script.main(main)
