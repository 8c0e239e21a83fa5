#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Time the comparison of five systems: a finished run and four copies with increasing noise.

Usage: benchmarks/compare.py [<run-dir>]
 e.g.: benchmarks/compare.py exp/mini/runs/mcadams

The other systems are copies of the run whose scores have noise, more from system to system. Printed are CPU and elapsed
time of local/compare.py and what its planned tests say; more than 20 s of CPU time end it with code 1.
"""

import re
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from vpeval.cli import script
from vpeval.report.compare_systems import compare

LIMIT = 20.0
NOISE = {"b": 0.3, "c": 0.6, "d": 0.9, "e": 1.2}


def main() -> int:
    """Copy, compare, judge."""
    parser = script.Parser(__doc__)
    parser.add_argument("run", metavar="run-dir", type=Path, nargs="?", default=Path("exp/mini/runs/mcadams"))
    run = parser.parse_args().run
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        tables = [copy(run, runs / run.name, 0), *(copy(run, runs / name, noise) for name, noise in NOISE.items())]
        if (run.parent / "original").is_dir():
            shutil.copytree(run.parent / "original", runs / "original")
        cpu, start = time.process_time(), time.monotonic()
        text = compare(Path(folder) / "comparison", tables)
        cpu, elapsed = time.process_time() - cpu, time.monotonic() - start
    print(text[text.index("Differences") :])
    print(f"five systems: {cpu:.1f} s of CPU time (limit {LIMIT:g}), {elapsed:.1f} s elapsed")
    return int(cpu > LIMIT)


def copy(run: Path, out: Path, noise: float) -> Path:
    """A copy of a run under the name of its folder; `noise` is a share of the spread of its scores."""
    shutil.copytree(run, out, ignore=shutil.ignore_patterns("figures", "latex", "*.tar.gz", "*.html"))
    rng = np.random.default_rng(len(out.name) + int(100 * noise))
    for folder in [place for place in out.iterdir() if place.is_dir()]:
        if noise and (folder / "scores").is_file():
            rows = [line.split() for line in (folder / "scores").read_text().splitlines()]
            scores = np.array([float(row[2]) for row in rows])
            scores += rng.normal(0, noise * scores.std(), len(scores))
            lines = (f"{row[0]} {row[1]} {score!r}\n" for row, score in zip(rows, scores.tolist(), strict=True))
            (folder / "scores").write_text("".join(lines))
        folder.rename(out / folder.name.replace(run.name, out.name))
    table = out / "results.jsonl"
    table.write_text(re.sub(rf"\b{re.escape(run.name)}\b|(?<=_){re.escape(run.name)}", out.name, table.read_text()))
    return table


if __name__ == "__main__":
    script.main(main)
