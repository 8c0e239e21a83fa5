#!/usr/bin/env python3
"""Time every encoder of conf/asv, extraction against a bare forward loop, and two processes against one.

Usage: OMP_NUM_THREADS=1 PYTHONPATH=. python3 benchmarks/asv.py [--encoders] [<data-dir> ...]

Needs the pretrained ECAPA-TDNN (utils/get_model.py ecapa_voxceleb) and stage 0 of run.sh (data/mini_train,
data/mini_pool). Encoders without weights are timed with random ones, Kaldi's with a random network of the size that
the challenge's has; one whose files are not there is named. --encoders: only the list.
"""

import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import yaml

from vpeval.audio.io import RATE, read_audio
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.embeddings.plda import Prior, fit, gather
from vpeval.networks.encoders import Encoder, has_weights, load_encoder
from vpeval.networks.neural import trainable_encoder
from vpeval.networks.units import FrozenFeatures

ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf/asv/encoders/ecapa.yaml"


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--encoders"]
    sets = [DataDir.load(name) for name in names or ("data/mini_train", "data/mini_pool")]
    data = sets[-1]
    waves = [read_audio(wav) for wav in list(data.wav.values())[:70]]
    seconds = sum(map(len, waves)) / RATE

    with tempfile.TemporaryDirectory() as work:
        list_encoders(waves[:10], Path(work))
    if "--encoders" in sys.argv:
        return

    encoder = load_encoder(CONF)
    ours, bare = in_turns(lambda wave: encoder.embed(wave), lambda wave: forward(encoder, wave), waves)
    print(f"one thread, {len(waves)} utterances, {seconds:.0f} s of speech")
    print(f"  bare forward loop      {seconds / bare:6.1f} x real time")
    print(
        f"  encoder.embed          {seconds / ours:6.1f} x real time, {ours / bare:.3f} of the bare time (limit 1.15)"
    )

    alone, together = bare_loops(data, 1), bare_loops(data, 2)
    print(f"two bare loops at once    {alone / together:5.2f} times as fast as one: what this machine has to give now")

    start_up = extract([data.subset(data.utts[:1])], 1)
    one, two = extract(sets, 1), extract(sets, 2)
    print(f"steps/extract_embeddings.py, {sum(len(d.utts) for d in sets)} utterances ({start_up:.1f} s to start)")
    print(f"  one process            {one:6.1f} s")
    print(f"  two processes          {two:6.1f} s, {one / two:.2f} times as fast (wanted 1.7)")

    rng = np.random.default_rng(0)
    stats = gather(rng.standard_normal((20_000, 192)), np.repeat(np.arange(1000), 20))
    start = time.perf_counter()
    plda = fit(stats, iterations=10, prior=Prior(192, 192)).plda
    fitted = time.perf_counter()
    plda.llr(stats.means, stats.counts, rng.standard_normal((10_000, 192)))
    scored = time.perf_counter()
    print(
        f"PLDA, 192 dimensions: EM, 10 iterations, 1000 speakers {fitted - start:.2f} s; "
        f"1e7 LLRs {scored - fitted:.2f} s"
    )


def list_encoders(waves: list[np.ndarray], work: Path) -> None:
    """x real time of every encoder, one thread, processor time."""
    seconds = sum(map(len, waves)) / RATE
    print(f"every encoder, one thread, {len(waves)} utterances, {seconds:.0f} s of speech")
    configs = {path.stem: path for path in sorted((ROOT / "conf/asv/encoders").glob("*.yaml"))}
    configs["kaldi_xvector"] = random_xvector(work)
    for name, path in configs.items():
        if "encoder" not in yaml.safe_load(path.read_text()):
            continue  # a training, not an encoder
        try:
            encoder = load_encoder(path) if has_weights(path) else untrained(path, work, waves[0])
        except InputError as error:
            print(f"  {name:22} not there: {error}")
            continue
        encoder.embed(waves[0])
        start = time.process_time()
        for wave in waves:
            encoder.embed(wave)
        print(f"  {name:22} {seconds / (time.process_time() - start):7.1f} x real time")


def untrained(path: Path, work: Path, wave: np.ndarray) -> Encoder:
    """An encoder with random weights, or random units."""
    settings = yaml.safe_load(path.read_text())
    if "codebook" not in settings:
        return trainable_encoder(path)
    dimension = FrozenFeatures(path)(wave).shape[1]
    np.save(work / "codebook.npy", np.random.default_rng(0).standard_normal((200, dimension)))
    (work / "units.yaml").write_text(yaml.safe_dump({**settings, "codebook": "codebook.npy"}))
    return load_encoder(work / "units.yaml")


def random_xvector(work: Path) -> Path:
    """A Kaldi network of the challenge's size: five layers of 512, 1500 pooled, 512 dimensions."""
    sys.path.insert(0, str(ROOT / "tests/asv"))
    from kaldi_files import XVectorNet

    XVectorNet(features=30, width=512, pooled=1500, dimension=512).write(work / "final.raw")
    (work / "extract.config").write_text("output-node name=output input=tdnn6.affine\n")
    (work / "min_chunk_size").write_text("25\n")
    (work / "max_chunk_size").write_text("10000\n")
    (work / "conf.yaml").write_text("encoder: kaldi_xvector\ndirectory: .\n")
    return work / "conf.yaml"


def in_turns(first, second, waves: list[np.ndarray]) -> list[float]:
    """Processor time of two functions over all waves, one wave after the other, so that both see the same machine."""
    taken = [0.0, 0.0]
    first(waves[0]), second(waves[0])
    for number, wave in enumerate(waves):
        for which in (0, 1) if number % 2 else (1, 0):
            start = time.process_time()
            (first, second)[which](wave)
            taken[which] += time.process_time() - start
    return taken


@torch.inference_mode()
def forward(encoder, wave: np.ndarray) -> torch.Tensor:
    """What SpeechBrain's own classes do, with nothing around them."""
    batch, lengths = torch.from_numpy(wave)[None], torch.ones(1)
    return encoder.network(encoder.normalize(encoder.features(batch), lengths), lengths)


def bare_loops(data: DataDir, processes: int) -> float:
    """Seconds until as many processes, which share the utterances, are through; without the time to start."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(processes + 1)
    wavs = list(data.wav.values())
    workers = [context.Process(target=bare_loop, args=(wavs[n::processes], ready)) for n in range(processes)]
    for worker in workers:
        worker.start()
    ready.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start


def bare_loop(wavs: list[str], ready) -> None:
    encoder = load_encoder(CONF)
    waves = [read_audio(wav) for wav in wavs]
    ready.wait()
    for wave in waves:
        forward(encoder, wave)


def extract(sets: list[DataDir], nj: int) -> float:
    """Seconds of a whole extraction."""
    with tempfile.TemporaryDirectory() as work:
        inputs = [Path(work, str(number)) for number in range(len(sets))]
        for data, path in zip(sets, inputs, strict=True):
            absolute = {utt: str(Path(wav).resolve()) for utt, wav in data.wav.items()}
            data.with_table("wav.scp", absolute).write(path)
        command = [ROOT / "steps/extract_embeddings.py", "--nj", str(nj), CONF, f"{work}/out", *inputs]
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
