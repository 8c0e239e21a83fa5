#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Requests per second and latency of the listening-test server under load, compared with SQLite alone.

Usage: benchmarks/listening.py [--listeners N]

All listeners start at once, fetch their recordings and answer everything as fast as they are served, each over its own
connection. The server runs with its usual settings (WAL, synchronous=FULL) but no rate limit. The comparison writes the
same answers one by one, each in its own transaction.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vpeval.cli import script
from vpeval.listening.simulate import Quality, Spread, simulate_answers
from vpeval.listening.store import Store


def main() -> None:
    parser = script.Parser(__doc__)
    parser.add_argument("--listeners", type=script.positive, default=200, help="at the same time (%(default)s)")
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/listening"))
    from load import Load, run_listeners
    from serving import running
    from toy import SYSTEMS, make_data, toy_test

    with tempfile.TemporaryDirectory() as work_dir:
        data = make_data(Path(work_dir) / "data", seconds=0.1)
        test = toy_test(data, Path(work_dir) / "test", listeners=args.listeners)
        qualities = {system: Quality(5, 5, 5, 5, 0.5) for system in ("original", *SYSTEMS)}
        answers = simulate_answers(test, qualities, Spread(), seed=0)
        bare = time_bare(Path(work_dir) / "bare.db", answers)
        load = Load()
        with running(test.path, "--rate", 0) as address:
            port = int(address.rstrip("/").rsplit(":", 1)[1])
            start = time.perf_counter()
            asyncio.run(run_listeners(("127.0.0.1", port), test, answers, load))
            seconds = time.perf_counter() - start
        stored = len(Store(test.database).answers())
    rate = len(load.seconds) / seconds
    print(f"{args.listeners} listeners at once: {len(load.seconds)} requests in {seconds:.1f} s, {rate:.0f} per second")
    print_latency("all requests", load.seconds)
    print_latency("answers, on disk when acknowledged", load.answer_seconds)
    print(f"answers acknowledged {len(load.acknowledged)}, stored {stored}, broken connections {load.broken}")
    print(f"SQLite alone, an answer per transaction: {len(answers) / bare:.0f} answers per second")


def time_bare(path: Path, answers: list) -> float:
    store = Store(path)
    start = time.perf_counter()
    for answer in answers:
        with store.transaction():
            store.add(answer)
    return time.perf_counter() - start


def print_latency(what: str, seconds: list[float]) -> None:
    median, high = (1000 * float(np.quantile(seconds, q)) for q in (0.5, 0.99))
    print(f"latency of {what}: median {median:.0f} ms, 99th percentile {high:.0f} ms")


if __name__ == "__main__":
    script.main(main)
