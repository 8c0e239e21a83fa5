#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""How long a GPU waits for utterances in an extraction, with a simulated one, and what reading ahead costs on the CPU.

Usage: benchmarks/device_idle.py [<utterances>]

What takes time is simulated by sleeping, three times as long as in truth, so that other programs disturb it less: a
device that computes 0.2 ms for every second of speech (an ECAPA-TDNN has 2e9 operations for it, and a GPU of a few
years ago does 1e13 per second), a host that launches the some hundred kernels of a group for 4 ms (assumed), and
threads that read for as long as FLAC takes here, which is measured first. Utterances last 1 to 16 s in steps of 80 ms:
600 of them have as many of one length as 9,600 in steps of 5 ms, a part of what a task is on a GPU. They are read,
computed and copied back one by one (before), or read ahead and computed in groups of one length, by the code that does
so (`vpeval.jobs.worker`). Then the same loop and the same worker embed with ECAPA on the CPU: CPU seconds, and whether
the bytes are the same.
"""

import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import soundfile

from vpeval.audio.io import RATE, read_audio
from vpeval.jobs.worker import Part, results
from vpeval.networks.encoders import Embedder

ROOT = Path(__file__).resolve().parents[1]
AUDIO = ROOT / "egs/mini/corpus/audio"
ENCODER = ROOT / "conf/asv/encoders/ecapa.yaml"
LAUNCH_SECONDS, PER_SECOND, SLOWER = 4e-3, 2e-4, 3
ROUNDS = 3
ON_CPU = 24
Way = Callable[["Simulated", Sequence[Part]], Iterator[tuple[Part, bytes]]]


class Device:
    """Computes one group after another, while the host goes on."""

    def __init__(self) -> None:
        self.busy = 0.0
        self._queue: queue.Queue[tuple[float, threading.Event]] = queue.Queue()
        threading.Thread(target=self._run, daemon=True).start()

    def launch(self, seconds: float) -> threading.Event:
        """Compute a group with so much speech; the event is set when that is done."""
        done = threading.Event()
        self._queue.put((SLOWER * PER_SECOND * seconds, done))
        time.sleep(SLOWER * LAUNCH_SECONDS)
        return done

    def _run(self) -> None:
        while True:
            seconds, done = self._queue.get()
            start = time.perf_counter()
            time.sleep(seconds)
            self.busy += time.perf_counter() - start
            done.set()


class Simulated:
    """A worker on the device, which computes up to `most` utterances together."""

    def __init__(self, reading: float, most: int) -> None:
        self.reading, self.most, self.device, self.groups = reading, most, Device(), 0

    def read(self, part: Part) -> float:
        """The length stands for the wave."""
        time.sleep(SLOWER * self.reading * part.seconds)
        return part.seconds

    def alike(self, seconds: float) -> float | None:
        """Those of one length."""
        return seconds

    def start(self, parts: Sequence[Part], lengths: Sequence[float]) -> Callable[[], list[bytes]]:
        """Have the device compute them."""
        done = self.device.launch(sum(lengths))
        self.groups += 1

        def wait() -> list[bytes]:
            done.wait()
            return [b"vector"] * len(parts)

        return wait


class Alone(Simulated):
    """Reads ahead, and has nothing to group."""

    def alike(self, seconds: float) -> None:
        """Nothing."""


def one_by_one(worker: Simulated, parts: Sequence[Part]) -> Iterator[tuple[Part, bytes]]:
    for part in parts:
        yield part, worker.start([part], [worker.read(part)])()[0]


def reading_cost(folder: Path) -> float:
    """CPU seconds for reading a second of speech as FLAC."""
    wave = np.concatenate([read_audio(str(path)) for path in sorted(AUDIO.rglob("*.opus"))[:8]])
    soundfile.write(folder / "x.flac", wave, RATE, subtype="PCM_16")
    costs = []
    for _ in range(20):
        start = time.thread_time()
        read_audio(str(folder / "x.flac"))
        costs.append(time.thread_time() - start)
    return min(costs) / (len(wave) / RATE)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    rng = np.random.default_rng(0)
    parts = [Part(f"{n:05d}", "s", "", Path(), seconds=0.08 * rng.integers(13, 201)) for n in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        reading = reading_cost(Path(folder))
    print(
        f"{count} utterances, {sum(part.seconds for part in parts):.0f} s of speech; a simulated device, FLAC read at "
        f"{1 / reading:.0f} x real time"
    )
    ways: dict[str, tuple[Simulated, Way]] = {
        "one by one (before)": (Simulated(reading, 1), one_by_one),
        "read ahead, no two of one length": (Alone(reading, 32), results),
        "read ahead, in groups of one length": (Simulated(reading, 32), results),
    }
    for name, (worker, way) in ways.items():
        start = time.perf_counter()
        assert len(list(way(worker, parts))) == count
        wall, busy = time.perf_counter() - start, worker.device.busy
        print(f"  {name:36} {wall:5.2f} s, {worker.groups:4} groups, the device waits {100 * (1 - busy / wall):3.0f} %")
    compare_on_cpu([Part(path.stem, "s", str(path), Path()) for path in sorted(AUDIO.rglob("*.opus"))[:ON_CPU]])


def compare_on_cpu(parts: Sequence[Part]) -> None:
    """CPU seconds of the loop of before and of the worker, and whether vectors are the same to the byte."""
    worker = Embedder(str(ENCODER))
    worker(parts[0])
    before, now = [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        old = {part.utt: worker.encoder.embed(read_audio(part.wav)).tobytes() for part in parts}
        before.append(time.process_time() - start)
        start = time.process_time()
        new = {part.utt: result[3:] for part, result in results(worker, parts)}
        now.append(time.process_time() - start)
    verdict = "the same bytes" if old == new else "OTHER BYTES"
    print(
        f"ECAPA on the CPU, {len(parts)} utterances: {min(before):.2f} s one by one, {min(now):.2f} s read ahead, "
        f"{min(now) / min(before):.2f} times as long, {verdict}"
    )


if __name__ == "__main__":
    main()
