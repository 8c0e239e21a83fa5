"""Train an attacker: a network by a job, a back end in this process."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.asv.attackers import IN_ONE_GO, MODES
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import locked, write_text
from vpeval.core.publish import publish, refuse_target
from vpeval.data.layout import read_places
from vpeval.embeddings.extract import extract_embeddings
from vpeval.jobs.command import FREE_MEMORY_SELDOM, run_command
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.stamps import STAMP, Fingerprint, fingerprint, is_current, why, write_stamp
from vpeval.networks.kinds import encoder_files

log = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[2]
JOB = "steps/jobs/train_asv.py"


@dataclass(frozen=True)
class Training:
    """What to train on what: encoder, profile and data directories; `mode` is one of `MODES`."""

    mode: str
    encoder: Path
    profile: Path
    data: tuple[Path, ...]
    out: Path
    seed: int

    @property
    def inputs(self) -> list[Path]:
        """The files and directories that a network is trained from."""
        return [*encoder_files(self.encoder), self.profile, *self.data]

    @property
    def places(self) -> list[Path]:
        """Everything that is read, which the output must not touch."""
        return [*self.inputs, *(place for directory in self.data for place in read_places(directory))]

    def made_from(self, processes: int) -> Fingerprint:
        """The fingerprint of a network; that of a back end counts the embeddings instead of the data."""
        options = {"seed": self.seed, "mode": self.mode, "processes": processes}
        return fingerprint(self.inputs, options, [JOB])


@dataclass(frozen=True)
class Machine:
    """How it is run: launcher, jobs of an extraction, threads of a process, processes that train together.

    `processes` and `gpus` are those of each of `nodes` machines.
    """

    cmd: str = "utils/run.py"
    nj: int = 2
    threads: int = 1
    processes: int = 1
    nodes: int = 1
    gpus: int = 0

    @property
    def world(self) -> int:
        """All processes."""
        return self.nodes * self.processes


def train_attacker(training: Training, embeddings: Path, machine: Machine) -> None:
    """Make ``training.out`` unless it is up to date; a back end extracts into `embeddings` what it is estimated on."""
    if training.mode not in MODES:
        raise InputError(f"training mode '{training.mode}': expected {', '.join(MODES)}")
    if dry_run := current_dry_run():
        if training.mode == "backend":
            extract_embeddings(training.encoder, embeddings, training.data, machine.cmd, machine.nj)
            made_from = made_from_vectors(training, [embeddings / directory.name for directory in training.data])
        else:
            made_from = training.made_from(_processes(training, machine))
        reason = why(training.out / STAMP, made_from, [training.out])
        dry_run.consider(training.out, [training.out], reason)
        return
    for path in (training.encoder, training.profile):
        if not path.is_file():
            there = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml")))
            raise InputError(f"no such configuration; there are {there}", path)
    for directory in training.data:
        for name in ("wav.scp", "utt2spk"):
            if not (directory / name).is_file():
                raise InputError("no such file; training needs it", directory / name)
    refuse_target(training.out, training.places)
    if training.mode == "backend":
        extract_embeddings(training.encoder, embeddings, training.data, machine.cmd, machine.nj)
    with locked(training.out.with_name(f".{training.out.name}.lock"), str(training.out)):
        if training.mode == "backend":
            train_backend(training, [embeddings / directory.name for directory in training.data])
        elif is_current(training.out / STAMP, training.made_from(_processes(training, machine)), [training.out]):
            log_skipped(log, 1, "attackers")
        else:
            _train_network(training, machine)


def _processes(training: Training, machine: Machine) -> int:
    """How many train together."""
    return 1 if training.mode in IN_ONE_GO else machine.world


def _train_network(training: Training, machine: Machine) -> None:
    places = (training.encoder, training.profile, training.out, *training.data)
    command = [str(_ROOT / JOB), "--num-threads", str(machine.threads), "--seed", str(training.seed), training.mode]
    if _processes(training, machine) > 1:
        command = [str(_ROOT / "steps/jobs/torchrun.sh"), str(machine.processes), *command]
    request = ["--num-nodes", str(machine.nodes)] if machine.nodes > 1 else []
    request += ["--gpu", str(machine.gpus)] if machine.gpus else []
    job_log = training.out.parent / "log" / f"train_{training.out.name}.log"
    threads = machine.threads * machine.processes
    run_command(machine.cmd, job_log, [*command, *map(str, places)], threads, FREE_MEMORY_SELDOM, request)
    log.info("%s: attacker is there (%s on %s)", training.out, training.mode, " ".join(map(str, training.data)))


def made_from_vectors(training: Training, vectors: Sequence[Path]) -> Fingerprint:
    """What a back end is made from."""
    inputs = [*encoder_files(training.encoder), training.profile, *vectors]
    return fingerprint(inputs, {"seed": training.seed, "mode": training.mode}, ["vpeval.asv.calibrated", __name__])


def train_backend(training: Training, vectors: Sequence[Path]) -> None:
    """Estimate LDA and PLDA on embeddings."""
    made_from = made_from_vectors(training, vectors)
    if is_current(training.out / STAMP, made_from, [training.out]):
        log_skipped(log, 1, "attackers")
        return
    refuse_target(training.out, training.places)
    from vpeval.asv import backend
    from vpeval.asv.calibrated import estimate
    from vpeval.embeddings.directory import pool, read_embeddings
    from vpeval.embeddings.plda import Prior

    profile = read_config(
        training.profile, lda=int, iterations=int, prior_speakers=float, prior_utts=float, calibration=int
    )
    prior = Prior(profile["prior_speakers"], profile["prior_utts"])
    train = pool([read_embeddings(directory) for directory in vectors])
    settings = backend.Settings(profile["lda"], profile["iterations"], prior, profile["calibration"])
    estimated = estimate(train, settings, training.seed)
    if profile["lda"] > estimated.dimension:
        log.warning(
            f"{training.out}: LDA to {estimated.dimension} instead of {profile['lda']} dimensions: there are "
            f"{len(train.speakers)} training speakers and {train.vectors.shape[1]}-dimensional vectors"
        )
    work = training.out.with_name(f".{training.out.name}.work")
    shutil.rmtree(work, ignore_errors=True)
    backend.save(work / "out/backend.npz", estimated.backend)
    write_text(work / "out/objective", "".join(f"{value:.6f}\n" for value in estimated.objective))
    write_stamp(work / "out" / STAMP, made_from, [work / "out"])
    publish(work / "out", training.out, training.places)
    shutil.rmtree(work)
    log.info("%s: back end of %d utterances, %d speakers", training.out, len(train.utts), len(train.speakers))
