"""Stage 1: the pretrained models of attackers and recogniser, fetched and verified."""

from __future__ import annotations

import logging

from vpeval.core import models
from vpeval.core.errors import InputError
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.stamps import NOT_MADE
from vpeval.plan.plan import Plan

log = logging.getLogger(__name__)
SCRATCH = ("small_original", "small_scratch")
"""The attackers that take the place of others whose encoder cannot be had."""


def run(plan: Plan) -> None:
    """Fetch what is missing."""
    for name in plan.models():
        if dry_run := current_dry_run():
            missing = models.missing_files(models.find_model(name))
            dry_run.consider(models.store() / name, [], NOT_MADE if missing else "")
            continue
        log.info("%s", models.fetch(models.find_model(name)))


def can_be_had(plan: Plan) -> bool:
    """Whether the encoder of the main attacker is there or can be fetched."""
    name = next(iter(plan.models()), "")
    if not name:
        return True
    try:
        models.fetch(models.find_model(name))
    except InputError as error:
        log.warning(str(error))
        return False
    return True
