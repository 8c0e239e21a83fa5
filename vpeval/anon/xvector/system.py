"""B1 as a whole: learn synthesis and a pool once, then give every speaker or utterance another voice."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vpeval.anon.xvector import cpu, full, pool
from vpeval.anon.xvector.features import (
    Backend,
    Content,
    Example,
    Matrix,
    disguised_content,
    load_content,
    mean_log_f0,
    pitch,
)
from vpeval.asv import neural as neural  # of the encoders in the profiles: their code is code of this anonymiser
from vpeval.asv import plda
from vpeval.asv.encoders import Encoder, load_encoder
from vpeval.audio.io import read_audio
from vpeval.core import compute, processes
from vpeval.core.arrays import read_arrays
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path
from vpeval.core.publish import claim
from vpeval.data.directory import DataDir
from vpeval.data.layout import name_some, read_places
from vpeval.jobs.stamps import STAMP, fingerprint, is_current, write_stamp

AffinityName = Literal["cosine", "plda"]
log = logging.getLogger(__name__)
_POOL, _PLDA, _WEIGHTS = "pool.npz", "plda.npz", "synthesis.pt"
_ROOM = ".features-"
_REPORT_SECONDS = 20
_PLDA_PRIOR = plda.Prior(speakers=50, utts=200)  # a pool may have fewer speakers than the vectors have dimensions


@dataclass(frozen=True)
class Profile:
    """What a yaml of local/anon/xvector_pool says: encoders, disguises to learn from, and the kind of synthesis."""

    path: Path
    encoder: Path
    content: dict[str, Any]
    disguises: tuple[float, ...]
    backend: Backend


def read_profile(path: Path) -> Profile:
    """Read and check a profile."""
    keys = {"encoder": str, "content": dict, "disguises": list, "synthesis": str, "size": dict, "training": dict}
    settings = read_config(path, **keys)
    makers: dict[str, Callable[..., Backend]] = {"cpu": _cpu_backend, "full": _full_backend}
    if settings["synthesis"] not in makers:
        raise InputError(f"'synthesis' must be one of {', '.join(makers)}, not '{settings['synthesis']}'", path)
    try:
        backend = makers[settings["synthesis"]](settings["size"], settings["training"])
    except TypeError as error:
        raise InputError(f"size or training: {error}; see the shipped profiles", path) from None
    return Profile(path, Path(settings["encoder"]), settings["content"], tuple(settings["disguises"]), backend)


def _cpu_backend(size: dict[str, Any], training: dict[str, Any]) -> Backend:
    return cpu.CpuBackend(cpu.Size(**size), cpu.Training(**training))


def _full_backend(size: dict[str, Any], training: dict[str, Any]) -> Backend:
    return full.FullBackend(full.Size(**size), full.Training(**training))


class _Extractor:
    """Features of one utterance; each process has one of these."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.encoder: Encoder = load_encoder(profile.encoder)
        self.content: Content = load_content(**profile.content)

    def __call__(self, wav: str, out: Path) -> None:
        """Write the features of a training utterance, unless they are there."""
        if out.exists():
            return
        wave = read_audio(wav)
        f0 = pitch(wave)
        contents = [disguised_content(self.content, wave, factor) for factor in self.profile.disguises]
        target = self.profile.backend.target(wave, f0)
        vector = self.encoder.embed(wave)
        with atomic_path(out) as temporary, open(temporary, "wb") as file:
            np.savez(file, f0=f0, target=target, vector=vector, contents=np.stack(contents).astype(np.float16))


def _extract_part(profile_path: Path, jobs: Sequence[tuple[str, Path]]) -> None:
    extractor = _Extractor(read_profile(profile_path))
    for wav, out in jobs:
        extractor(wav, out)


def prepare(profile: Profile, train: Sequence[Path], pools: Sequence[Path], out: Path, nj: int) -> bool:
    """Learn synthesis from `train` and `pools` and keep the speakers of `pools`; False when that is done already.

    Interrupted, the next call goes on with the utterances whose features are missing.
    """
    sets = [DataDir.load(path) for path in (*train, *pools)]
    inputs = [*(data.path for data in sets), profile.path, profile.encoder]
    wanted = fingerprint(inputs, {"sets": [data.path for data in sets]}, [__name__])
    outputs = [out / _POOL, out / _PLDA, out / _WEIGHTS]
    if is_current(out / STAMP, wanted, outputs):
        return False
    claim(
        out, [file.name for file in outputs], [*inputs, *(place for data in sets for place in read_places(data.path))]
    )
    room = out / f"{_ROOM}{wanted.digest[:12]}"
    for stale in out.glob(f"{_ROOM}*"):
        if stale != room:
            shutil.rmtree(stale)
    room.mkdir(parents=True, exist_ok=True)
    jobs = [(data.wav[utt], room / f"{utt}.npz") for data in sets for utt in data.utts]
    _extract_all(profile, jobs, nj)

    pool_of(sets[len(train) :], room).save(out / _POOL)
    _save_plda(sets, room, out / _PLDA)
    examples = [example for data in sets for example in _examples(data, room)]
    compute.set_up(nj)
    profile.backend.train(examples).save(out / _WEIGHTS)
    write_stamp(out / STAMP, wanted, outputs)
    shutil.rmtree(room)
    return True


def _extract_all(profile: Profile, jobs: list[tuple[str, Path]], nj: int) -> None:
    # Spawned, not forked: threads of torch and CTranslate2 do not survive a fork.
    with processes.pool(nj, "spawn") as workers:
        parts = [workers.submit(_extract_part, profile.path, jobs[start::nj]) for start in range(min(nj, len(jobs)))]
        while wait(parts, _REPORT_SECONDS, FIRST_EXCEPTION).not_done and not any(_failed(part) for part in parts):
            log.info("  features: %d of %d utterances", sum(out.exists() for _, out in jobs), len(jobs))
        for part in parts:
            part.result()


def _failed(part: Future[None]) -> bool:
    return part.done() and part.exception() is not None


def pool_of(sets: Sequence[DataDir], features: Path) -> pool.Pool:
    """The pool of the speakers of some data directories."""
    speakers, vectors, genders, log_f0 = [], [], [], []
    for data in sets:
        for spk, utts in data.spk2utt.items():
            found = [_load(features / f"{utt}.npz") for utt in utts]
            speakers.append(spk)
            vectors.append(mean_vector([item["vector"] for item in found]))
            genders.append(data.spk2gender[spk])
            log_f0.append(mean_log_f0(np.concatenate([item["f0"] for item in found])))
    if twice := sorted({spk for spk in speakers if speakers.count(spk) > 1}):
        raise InputError(f"speaker {name_some(twice)} is in two pool sets; give disjoint sets")
    return pool.Pool(tuple(speakers), np.stack(vectors), tuple(genders), np.array(log_f0))


def _save_plda(sets: Sequence[DataDir], features: Path, path: Path) -> None:
    speakers = [utts for data in sets for utts in data.spk2utt.values()]
    vectors = [mean_vector([_load(features / f"{utt}.npz")["vector"]]) for utts in speakers for utt in utts]
    owners = np.repeat(np.arange(len(speakers)), [len(utts) for utts in speakers])
    found = plda.fit(plda.gather(np.stack(vectors), owners), prior=_PLDA_PRIOR).plda
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, mean=found.mean, between=found.between, within=found.within)


def _examples(data: DataDir, features: Path) -> list[Example]:
    examples = []
    for utts in data.spk2utt.values():
        found = [_load(features / f"{utt}.npz") for utt in utts]
        speaker = mean_vector([item["vector"] for item in found]).astype(np.float32)
        for item in found:
            contents = tuple(item["contents"].astype(np.float32))
            examples.append(Example(contents, item["f0"], speaker, item["target"]))
    return examples


def _load(path: Path) -> dict[str, NDArray[Any]]:
    return read_arrays(path, "features of an utterance", "prepare the anonymiser again (stage 2)")


def mean_vector(vectors: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """Mean of speaker vectors of unit length, itself of unit length."""
    units = np.stack([vector / np.linalg.norm(vector) for vector in vectors]).astype(np.float64)
    mean = units.mean(axis=0)
    return mean / np.linalg.norm(mean)


class System:
    """B1, ready to anonymise the utterances of one set."""

    def __init__(
        self,
        profile: Profile,
        prepared: Path,
        rule: pool.Rule,
        whole: DataDir,
        seeds: dict[str, int],
        affinity: AffinityName = "cosine",
    ) -> None:
        missing = [name for name in (_POOL, _PLDA, _WEIGHTS) if not (prepared / name).is_file()]
        if missing:
            raise InputError(f"{missing[0]} is missing; prepare the anonymiser first: ./run.sh --stage 2", prepared)
        self.rule, self.whole, self.seeds = rule, whole, seeds
        self.pool = pool.Pool.load(prepared / _POOL)
        if shared := sorted(set(whole.speakers) & set(self.pool.speakers)):
            raise InputError(
                f"speaker {name_some(shared)} is also in the pool and could be made into himself; "
                "prepare with a pool of other speakers",
                whole.path,
            )
        self.affinity = (
            pool.cosine if affinity == "cosine" else pool.plda_affinity(plda.Plda(**_load(prepared / _PLDA)))
        )
        self.encoder = load_encoder(profile.encoder)
        self.content = load_content(**profile.content)
        self.synthesizer = profile.backend.load(prepared / _WEIGHTS)
        self._chosen: dict[tuple[str, int], pool.PseudoSpeaker] = {}

    def pseudo_speaker(self, utt: str) -> pool.PseudoSpeaker:
        """The voice for an utterance: one for all utterances of a speaker that share a seed."""
        spk, seed = self.whole.utt2spk[utt], self.seeds[utt]
        if (spk, seed) not in self._chosen:
            together = [other for other in self.whole.spk2utt[spk] if self.seeds[other] == seed]
            source = mean_vector([self.encoder.embed(read_audio(self.whole.wav[other])) for other in together])
            gender = self.whole.spk2gender.get(spk) if "spk2gender" in self.whole.spk_tables else None
            rng = np.random.default_rng(seed)
            self._chosen[spk, seed] = pool.choose(self.pool, source, gender, self.rule, rng, self.affinity)
        return self._chosen[spk, seed]

    def anonymize(self, wave: np.ndarray, rate: int, seed: int, utterance: str) -> NDArray[np.float64]:
        """Say the same with another voice."""
        pseudo = self.pseudo_speaker(utterance)
        content: Matrix = disguised_content(self.content, wave, 1.0)
        f0 = pitch(wave)
        shift = np.exp(pseudo.log_f0 - mean_log_f0(f0))
        rng = np.random.default_rng(seed)
        return self.synthesizer.synthesize(content, f0 * shift, pseudo.vector.astype(np.float32), len(wave), rng)
