"""Drive the training of attackers: a network by a job, a back end in this process, each unless it is up to date."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from vpeval.asv.attackers import BACKEND, FINETUNE, IN_ONE_GO, MODES, NUISANCE, ON_VECTORS, UNITS
from vpeval.asv.choice import FILE as CHOICE
from vpeval.asv.choice import read_choice
from vpeval.asv.epochs import EPOCHS
from vpeval.core.config import read_yaml
from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred
from vpeval.core.locks import locked
from vpeval.core.places import ROOT
from vpeval.core.publish import begin_work, end_work, publish, refuse_target, work_of
from vpeval.data.layout import read_places
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.launch import FREE_MEMORY_SELDOM, run_command
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.stamps import STAMP, Fingerprint, fingerprint, is_current, why, write_stamp
from vpeval.jobs.steps import Commands, log_commands
from vpeval.networks.configs import config_files, config_names, encoder_makers
from vpeval.networks.encoders import has_weights
from vpeval.networks.extraction import extract_embeddings

log = logging.getLogger(__name__)
_JOB = ROOT / "steps/jobs/train_asv.py"
_BACKEND = Deferred("vpeval.asv.backend_training", "train_backend")
_NETWORK = Deferred("vpeval.asv.train_network", "train_network")
_TRAINERS = {
    FINETUNE: Deferred("vpeval.asv.fine_tuning", "fine_tune"),
    UNITS: Deferred("vpeval.asv.representations", "learn_units"),
    NUISANCE: Deferred("vpeval.asv.representations", "learn_nuisance"),
}
"""What trains otherwise than a network from scratch. All write ``<work>/out`` and return a summary."""


@dataclass(frozen=True)
class Training:
    """What to train on what: encoder, profile and data directories; `mode` is one of `MODES`.

    `vectors` are the embeddings of the data by the encoder, for those modes that need them.
    """

    mode: str
    encoder: Path
    profile: Path
    data: tuple[Path, ...]
    out: Path
    seed: int
    vectors: tuple[Path, ...] = ()

    @property
    def inputs(self) -> list[Path]:
        """The files and directories that a network is trained from."""
        compared = [self.backend] if self.mode == FINETUNE else []
        return [*config_files(self.encoder), self.profile, *compared, *self.data, *self.vectors]

    @property
    def backend(self) -> Path:
        """The profile of the back end that fine-tuning is compared with."""
        name = read_yaml(self.profile).get("backend")
        path = self.profile.with_name(f"{name}.yaml")
        if not name or not path.is_file():
            raise InputError(
                "must name the profile of a back end that fine-tuning is compared with, such as 'backend: plda_few'",
                self.profile,
            )
        return path

    @property
    def places(self) -> list[Path]:
        """Everything that is read, which the output must not touch."""
        return [*self.inputs, *(place for directory in self.data for place in read_places(directory))]

    @property
    def work(self) -> Path:
        """Where an unfinished training is."""
        return work_of(self.out)

    @property
    def trainer(self) -> Deferred:
        """The function that trains it, called with this and `work`."""
        return _TRAINERS.get(self.mode, _NETWORK)

    def made_from(self, processes: int) -> Fingerprint:
        """The fingerprint of a network; that of a back end counts the embeddings instead of the data."""
        options = {"seed": self.seed, "mode": self.mode, "processes": processes}
        return fingerprint(self.inputs, options, [self.trainer, *encoder_makers(self.encoder)])

    def made_from_vectors(self) -> Fingerprint:
        """The fingerprint of a back end, which is estimated on embedding directories."""
        inputs = [*config_files(self.encoder), self.profile, *self.vectors]
        return fingerprint(inputs, {"seed": self.seed, "mode": self.mode}, [_BACKEND])


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
    """Make ``training.out`` unless it is up to date; vectors of the data that it needs go to `embeddings`."""
    if training.mode not in MODES:
        raise InputError(f"training mode '{training.mode}': expected {', '.join(MODES)}")
    if training.mode in ON_VECTORS:
        training = replace(training, vectors=tuple(embeddings / directory.name for directory in training.data))
    if dry_run := current_dry_run():
        if training.mode in ON_VECTORS:
            extract_embeddings(training.encoder, embeddings, training.data, machine.cmd, machine.nj)
        if training.mode == BACKEND:
            made_from = training.made_from_vectors()
        else:
            made_from = training.made_from(_processes(training, machine))
        reason = why(training.out / STAMP, made_from, [training.out])
        dry_run.consider(training.out, [training.out], reason)
        return
    for path in (training.encoder, training.profile):
        if not path.is_file():
            raise InputError(f"no such configuration; there are {', '.join(config_names(path.parent))}", path)
    for directory in training.data:
        for name in ("wav.scp", "utt2spk"):
            if not (directory / name).is_file():
                raise InputError("no such file; training needs it", directory / name)
    if training.mode == FINETUNE and not has_weights(training.encoder):
        message = "has no weights to start from; train from scratch, or start from another encoder"
        raise InputError(message, training.encoder)
    refuse_target(training.out, training.places)
    by_hand = partial(_commands, training, embeddings, machine)
    if training.mode in ON_VECTORS:
        extract_embeddings(training.encoder, embeddings, training.data, machine.cmd, machine.nj)
    with locked(training.out.with_name(f".{training.out.name}.lock"), str(training.out)):
        if training.mode == BACKEND:
            train_backend(training, by_hand)
        elif is_current(training.out / STAMP, training.made_from(_processes(training, machine)), [training.out]):
            log_skipped(log, 1, "attackers")
        else:
            log_commands(by_hand)
            _launch(training, machine)


def _commands(training: Training, embeddings: Path, machine: Machine) -> list[list[str]]:
    """The command that trains an attacker by hand."""
    words = ["--mode", training.mode, "--profile", training.profile.stem, "--start", training.encoder.stem]
    words += ["--embeddings", str(embeddings)] if training.mode in ON_VECTORS else []
    words += ["--cmd", machine.cmd, "--nj", str(machine.nj), "--seed", str(training.seed)]
    counts = {"threads": machine.threads, "nodes": machine.nodes, "processes": machine.processes}
    words += [word for name, count in counts.items() if count > 1 for word in (f"--num-{name}", str(count))]
    words += ["--num-gpus", str(machine.gpus)] if machine.gpus else []
    words += ["--data", " ".join(map(str, training.data)), str(training.encoder), str(training.out)]
    return [["steps/train_asv.sh", *words]]


def _processes(training: Training, machine: Machine) -> int:
    """How many train together."""
    return 1 if training.mode in IN_ONE_GO else machine.world


def _launch(training: Training, machine: Machine) -> None:
    """Train a network by steps/jobs/train_asv.py, which calls `run_job`."""
    paths = (training.encoder, training.profile, training.out, *training.data)
    command = [str(_JOB), "--num-threads", str(machine.threads), "--seed", str(training.seed)]
    command += [*(word for path in training.vectors for word in ("--vectors", str(path))), training.mode]
    if _processes(training, machine) > 1:
        command = [str(ROOT / "steps/jobs/torchrun.sh"), str(machine.processes), *command]
    request = ["--num-nodes", str(machine.nodes)] if machine.nodes > 1 else []
    request += ["--gpu", str(machine.gpus)] if machine.gpus else []
    job_log = training.out.parent / "log" / f"train_{training.out.name}.log"
    threads = machine.threads * machine.processes
    run_command(machine.cmd, job_log, [*command, *map(str, paths)], threads, FREE_MEMORY_SELDOM, request)
    log.info("%s: attacker is there (%s on %s)", training.out, training.mode, " ".join(map(str, training.data)))
    if training.mode == FINETUNE:
        log.info("%s: uses the %s", training.out, read_choice(training.out / CHOICE))


def run_job(training: Training, threads: int, draw: Callable[[str, Path], object]) -> None:
    """Train in this process, which may be one of several that torchrun started, unless the attacker is up to date.

    `draw` is called with the name of the attacker and the log of its epochs before the result is published.
    """
    is_first = os.environ.get("RANK", "0") == "0"
    made_from = training.made_from(int(os.environ.get("WORLD_SIZE", "1")))
    if is_current(training.out / STAMP, made_from, [training.out]):
        if is_first:
            print(f"{training.out} is up to date, skipped")
        return
    refuse_target(training.out, training.places)
    _prepare(training, threads, made_from.digest, is_first)
    summary = training.trainer.load()(training, training.work)
    if is_first:
        out = training.work / "out"
        if (out / EPOCHS).is_file():
            draw(training.out.name, out / EPOCHS)
        print(f"{training.out}: {summary}")
        _publish(training, made_from)


def _prepare(training: Training, threads: int, digest: str, is_first: bool) -> None:
    """Clear the work directory, unless a network goes on from checkpoints there, and set up torch."""
    from vpeval.networks import compute  # on demand, as torch takes long to import and a skipped training should not

    if training.mode in IN_ONE_GO:
        begin_work(training.out, digest, go_on=False)
    else:
        from vpeval.asv.train_network import start_processes, wait_for_all

        start_processes()
        if is_first:
            begin_work(training.out, digest)
        wait_for_all()
    compute.set_up(threads)


def _publish(training: Training, made_from: Fingerprint) -> None:
    out = training.work / "out"
    write_stamp(out / STAMP, made_from, [out])
    publish(out, training.out, training.places)
    end_work(training.out)


def train_backend(training: Training, by_hand: Commands = tuple) -> None:
    """Estimate LDA and PLDA on embedding directories unless the back end is up to date."""
    made_from = training.made_from_vectors()
    if is_current(training.out / STAMP, made_from, [training.out]):
        log_skipped(log, 1, "attackers")
        return
    log_commands(by_hand)
    refuse_target(training.out, training.places)
    begin_work(training.out, made_from.digest, go_on=False)
    summary = _BACKEND.load()(training.profile, training.vectors, training.seed, training.work / "out")
    _publish(training, made_from)
    log.info("%s: %s", training.out, summary)
