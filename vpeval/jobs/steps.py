"""A step: one result of a stage, with everything that it is made from, so that it is made only when it has to be."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.locks import locked
from vpeval.core.publish import WRITTEN
from vpeval.jobs.code import Maker, definition_of, driving_code
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.stamps import NOT_MADE, STAMP, Fingerprint, fingerprint, is_current, why, write_stamp

log = logging.getLogger(__name__)
VERBOSE = "VPEVAL_VERBOSE"
Commands = Callable[[], Sequence[Sequence[str]]]
"""The commands that make something by hand; they are not found out before they are shown."""


@dataclass(frozen=True)
class Step:
    """What `out`, a directory, is made from, and how; `files` are those of its files that must be there.

    `makers` are the objects whose code it depends on (`vpeval.jobs.code`), `stage` is the number of its stage, `make`
    makes it and returns a few words about what came out (its own lines count as code, too), and `commands` make it by
    hand.
    """

    stage: int
    out: Path
    files: tuple[str, ...]
    inputs: tuple[Path, ...]
    options: Mapping[str, object]
    makers: tuple[Maker, ...]
    make: Callable[[Path], str]
    stamp: str = STAMP
    commands: Commands = tuple

    @property
    def fingerprint(self) -> Fingerprint:
        """What it would be made from now."""
        found = fingerprint(self.inputs, self.options, self.makers)
        driving = driving_code((self.make, type(self).making), self.makers)
        return replace(found, code=found.code | driving | definition_of(self.make))

    @property
    def outputs(self) -> list[Path]:
        """The files by which changes to it are noticed."""
        return [self.out / name for name in self.files]

    def why(self) -> str:
        """Why it has to be made (again); empty where it has not."""
        return why(self.out / self.stamp, self.fingerprint, self.outputs)

    def is_current(self) -> bool:
        """Whether there is nothing to do."""
        return is_current(self.out / self.stamp, self.fingerprint, self.outputs)

    def exists(self) -> bool:
        """Whether it was made at some time, whatever from."""
        return all(path.exists() for path in self.outputs)

    def require(self) -> None:
        """Refuse a result that is missing or that was made from something else than it would be made from now."""
        if not self.exists():
            raise InputError(f"is missing; run stage {self.stage}", self.out)
        if reason := self.why():
            raise InputError(f"belongs to another run ({reason}); run stage {self.stage} again", self.out)

    @property
    def lock(self) -> Path:
        """The lock file: one process at a time makes it, as several runs share results of original speech."""
        return self.out.with_name(f".{self.out.name}{self.stamp}.lock")

    @contextmanager
    def making(self) -> Iterator[Path]:
        """Make it: the directory is there inside, and stamped when all went well."""
        made_from = self.fingerprint
        (self.out / self.stamp).unlink(missing_ok=True)
        self.out.mkdir(parents=True, exist_ok=True)
        yield self.out
        write_stamp(self.out / self.stamp, made_from, self.outputs, {WRITTEN: list(self.files)})


def bring_up_to_date(steps: Iterable[Step], what: str) -> None:
    """Make those steps that are not current, each with a line of what came out; the others share one line."""
    if dry_run := current_dry_run():
        for step in steps:
            dry_run.consider(step.out, step.outputs, step.why())
        return
    current = 0
    for step in steps:
        reason = step.why()
        if not reason:
            current += 1
            continue
        with locked(step.lock, str(step.out)):
            if step.is_current():  # made by another run in the meantime
                current += 1
                continue
            if reason != NOT_MADE:
                log.info("%s: again, %s", step.out, reason)
            log_commands(step.commands)
            with step.making() as out:
                words = step.make(out)
        log.info("%s: %s", out, words)
    log_skipped(log, current, what)


def log_commands(commands: Commands) -> None:
    """With VPEVAL_VERBOSE=true, log the commands that do by hand what is done next."""
    if os.environ.get(VERBOSE) == "true":
        for command in commands():
            log.info("  $ %s", shlex.join(command))
