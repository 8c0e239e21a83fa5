"""Stage 4: train the attackers that have to be trained."""

from __future__ import annotations

import logging
from pathlib import Path

from vpeval.asv.attackers import ORIGINAL, PRETRAINED
from vpeval.core.errors import InputError
from vpeval.plan.plan import Plan, attacker_conf
from vpeval.stages.anonymisation import anonymise
from vpeval.stages.piece import need

log = logging.getLogger(__name__)


def run(plan: Plan) -> None:
    """Train every attacker on the training sets that its configuration asks for."""
    from vpeval.asv.train_attackers import Machine, Training, train_attacker

    settings, names = plan.settings, plan.recipe.train_sets
    for attacker in plan.singles:
        if attacker.mode == PRETRAINED:
            log.info("%s is pretrained, nothing to train", attacker.name)
            continue
        if not names:
            raise InputError(f"recipe {plan.recipe.recipe} has no train_sets to train attacker {attacker.name} on")
        system = attacker.training_system(plan.system)
        if system not in (ORIGINAL, plan.system):
            # The speech of another system than the one under test is nobody else's business.
            anonymise(plan, names, plan.train_level, system)
        data = [plan.original(name) if system == ORIGINAL else plan.anonymised(name, system) for name in names]
        need(3, *data)
        training = Training(
            attacker.mode,
            attacker_conf(attacker.start),
            Path("conf/asv/train") / f"{attacker.profile}.yaml",
            tuple(data),
            plan.exp / "asv" / attacker.instance(plan.system),
            settings.seed,
        )
        train_attacker(training, plan.exp / "embeddings" / attacker.start, Machine(settings.cmd, settings.nj))
