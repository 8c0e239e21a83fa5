"""B1 as a whole: what it learns from features of utterances, and anonymisation with a pseudo-speaker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    disguised_content,
    load_content,
    mean_log_f0,
    pitch,
)
from vpeval.audio.io import read_audio
from vpeval.core.arrays import AnyFloats, Floats, Floats32
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, read_arrays
from vpeval.data.directory import DataDir
from vpeval.data.layout import first_few
from vpeval.embeddings import plda
from vpeval.networks import neural as neural  # of the encoders in the profiles: their code is code of this anonymiser
from vpeval.networks.encoders import Encoder, load_encoder

AffinityName = Literal["cosine", "plda"]
POOL, PLDA, WEIGHTS = "pool.npz", "plda.npz", "synthesis.pt"
"""What an anonymiser learns."""
_PLDA_PRIOR = plda.Prior(speakers=50, utts=200)  # a pool may have fewer speakers than the vectors have dimensions


@dataclass(frozen=True)
class Profile:
    """A yaml of local/anon/xvector_pool: encoders, disguises to learn from, and the kind of synthesis."""

    path: Path
    encoder: Path
    content: dict[str, Any]
    disguises: tuple[float, ...]
    backend: Backend

    def load_content(self) -> Content:
        """The content encoder, which must fit the synthesis."""
        encoder = load_content(**self.content)
        if encoder.dimension != self.backend.size.content:
            raise InputError(
                f"size: content is {self.backend.size.content}, but the content features have {encoder.dimension} "
                "dimensions",
                self.path,
            )
        return encoder


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
        self.content = profile.load_content()

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


def extract_features(profile_path: Path, jobs: Sequence[tuple[str, Path]]) -> None:
    """Write the features of utterances, given as audio and output file."""
    extractor = _Extractor(read_profile(profile_path))
    for wav, out in jobs:
        extractor(wav, out)


def make_pool(sets: Sequence[DataDir], features: Path) -> pool.Pool:
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
        raise InputError(f"speaker {first_few(twice)} is in two pool sets; give disjoint sets")
    return pool.Pool(tuple(speakers), np.stack(vectors), tuple(genders), np.array(log_f0))


def save_plda(sets: Sequence[DataDir], features: Path, path: Path) -> None:
    """Train a PLDA model on the vectors of all utterances and write it."""
    speakers = [utts for data in sets for utts in data.spk2utt.values()]
    vectors = [mean_vector([_load(features / f"{utt}.npz")["vector"]]) for utts in speakers for utt in utts]
    owners = np.repeat(np.arange(len(speakers)), [len(utts) for utts in speakers])
    found = plda.fit(plda.gather(np.stack(vectors), owners), prior=_PLDA_PRIOR).plda
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, mean=found.mean, between=found.between, within=found.within)


def read_examples(data: DataDir, features: Path) -> list[Example]:
    """What the synthesis learns from the utterances of a data directory."""
    examples = []
    for utts in data.spk2utt.values():
        found = [_load(features / f"{utt}.npz") for utt in utts]
        speaker = mean_vector([item["vector"] for item in found]).astype(np.float32)
        for item in found:
            contents = tuple(item["contents"].astype(np.float32))
            vector = mean_vector([item["vector"]]).astype(np.float32)
            examples.append(Example(contents, item["f0"], speaker, vector, item["target"]))
    return examples


def _load(path: Path) -> dict[str, NDArray[Any]]:
    return read_arrays(path, "features of an utterance", "prepare the anonymiser again (stage 2)")


def mean_vector(vectors: Sequence[AnyFloats]) -> Floats:
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
        missing = [name for name in (POOL, PLDA, WEIGHTS) if not (prepared / name).is_file()]
        if missing:
            raise InputError(f"{missing[0]} is missing; prepare the anonymiser first: ./run.sh --stage 2", prepared)
        self.rule, self.whole, self.seeds = rule, whole, seeds
        self.pool = pool.Pool.load(prepared / POOL)
        if shared := sorted(set(whole.speakers) & set(self.pool.speakers)):
            raise InputError(
                f"speaker {first_few(shared)} is also in the pool and could get its own voice; "
                "prepare with a pool of other speakers",
                whole.path,
            )
        self.affinity = pool.cosine if affinity == "cosine" else pool.plda_affinity(plda.Plda(**_load(prepared / PLDA)))
        self.encoder = load_encoder(profile.encoder)
        self.content = profile.load_content()
        self.synthesizer = profile.backend.load(prepared / WEIGHTS)
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

    def anonymize(self, wave: np.ndarray, rate: int, seed: int, utterance: str) -> Floats:
        """Say the same with another voice."""
        pseudo = self.pseudo_speaker(utterance)
        content: Floats32 = disguised_content(self.content, wave, 1.0)
        f0 = pitch(wave)
        shift = np.exp(pseudo.log_f0 - mean_log_f0(f0))
        rng = np.random.default_rng(seed)
        return self.synthesizer.synthesize(content, f0 * shift, pseudo.vector.astype(np.float32), len(wave), rng)
