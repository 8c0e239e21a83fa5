#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Requests a second and latency of the listening-test server under a crowd, beside what SQLite alone does on this disk.

Usage: benchmarks/listening.py [--listeners N]

All listeners come at once, fetch their recordings and answer everything as fast as they are served, over connections of
their own. The server runs as organisers start it (WAL, synchronous=FULL, rate limit off). The bare loop writes the
same answers one by one, each in a transaction of its own.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vpeval.cli import script
from vpeval.listening.load import Load, crowd
from vpeval.listening.simulate import Habits, Quality, simulate_answers
from vpeval.listening.store import Store


def main() -> None:
    parser = script.Parser(__doc__)
    parser.add_argument("--listeners", type=script.positive, default=200, help="at the same time (%(default)s)")
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/listening"))
    from serving import running
    from toy import SYSTEMS, make_data, toy_test

    with tempfile.TemporaryDirectory() as room:
        data = make_data(Path(room) / "data", seconds=0.1)
        test = toy_test(data, Path(room) / "test", listeners=args.listeners)
        qualities = {system: Quality(5, 5, 5, 5, 0.5) for system in ("original", *SYSTEMS)}
        answers = simulate_answers(test, qualities, Habits(), seed=0)
        bare = time_bare(Path(room) / "bare.db", answers)
        load = Load()
        with running(test.path, "--rate", 0) as address:
            port = int(address.rstrip("/").rsplit(":", 1)[1])
            start = time.perf_counter()
            asyncio.run(crowd("127.0.0.1", port, test.tokens(), test.settings.consent, answers, load))
            seconds = time.perf_counter() - start
        kept = len(Store(test.database).answers())
    rate = len(load.seconds) / seconds
    print(f"{args.listeners} listeners at once: {len(load.seconds)} requests in {seconds:.1f} s, {rate:.0f} a second")
    tell("all requests", load.seconds)
    tell("answers, on disk when acknowledged", load.answer_seconds)
    print(f"answers acknowledged {len(load.acknowledged)}, kept {kept}, broken connections {load.broken}")
    print(f"SQLite alone, an answer per transaction: {len(answers) / bare:.0f} answers a second")


def time_bare(path: Path, answers: list) -> float:
    store = Store(path)
    start = time.perf_counter()
    for answer in answers:
        with store.transaction():
            store.add(answer)
    return time.perf_counter() - start


def tell(what: str, seconds: list[float]) -> None:
    median, high = (1000 * float(np.quantile(seconds, q)) for q in (0.5, 0.99))
    print(f"latency of {what}: median {median:.0f} ms, 99th percentile {high:.0f} ms")


if __name__ == "__main__":
    script.main(main)
