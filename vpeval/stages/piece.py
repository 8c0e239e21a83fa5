"""A piece of work of a scoring stage: a step, and the function that makes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from vpeval.core.errors import InputError
from vpeval.core.tables import read_table
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.stamps import stale_source
from vpeval.jobs.steps import Step, bring_up_to_date

RESAMPLES = 1000
RECORDS = "records.jsonl"
_MAKERS = {"asv": 4, "embeddings": 5, "decode": 10, "asr": 10, "ser": 10}
"""The stages that make what lies in folders of these names."""
LIMITS = Path("conf/verdict.yaml")
"""The thresholds of headlines: audit, report and comparison depend on them."""


class Piece(Protocol):
    """What a stage makes for one attack, pair or set."""

    @property
    def step(self) -> Step:
        """What it is made from."""

    def make(self, out: Path) -> str:
        """Make it in directory `out`, and say in a few words what came out."""


def run_pieces(pieces: Iterable[Piece], maker: int | None = None) -> None:
    """Make those that are not up to date; `maker` is the stage that makes what they are made from."""
    steps = [(piece.step, piece.make) for piece in pieces]
    if maker is not None:
        need(maker, *(path for step, _ in steps for path in step.inputs))
    refuse_outdated(path for step, _ in steps for path in step.inputs)
    bring_up_to_date(steps, "results")


def refuse_outdated(paths: Iterable[Path]) -> None:
    """Refuse embeddings, models and decodings that were made from other data than those that are there now."""
    for path in dict.fromkeys(paths) if not current_dry_run() else ():
        if outdated := stale_source(path):
            made, source = outdated
            stage = next((stage for kind, stage in _MAKERS.items() if kind in made.parts), 3)
            raise InputError(
                f"was made from another {source} than the one that is there now; run ./run.sh --stage {stage}", made
            )


def gender_of(data: Path) -> str:
    """The gender of a set, where all of its speakers share one."""
    path = data / "spk2gender"
    genders = set(read_table(path, "gender").values()) if path.is_file() else set()
    return genders.pop() if len(genders) == 1 else ""


def need(stage: int, *paths: Path) -> None:
    """Refuse to go on without what an earlier stage makes."""
    dry_run = current_dry_run()
    for path in paths:
        if not path.exists() and not (dry_run and dry_run.expects(path)):
            raise InputError(f"is missing; stage {stage} makes it: run ./run.sh --stage {stage}", path)
