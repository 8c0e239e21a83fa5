"""Stages 4 and 5: train the attackers, and embed the evaluation sets with their encoders."""

from __future__ import annotations

import logging
from pathlib import Path

from vpeval.asv.attackers import ORIGINAL, PRETRAINED
from vpeval.core.errors import InputError
from vpeval.plan.plan import Plan, attacker_conf
from vpeval.stages.anonymisation import anonymise
from vpeval.stages.base import require_outputs

log = logging.getLogger(__name__)


def train(plan: Plan) -> None:
    """Stage 4: train every attacker on the training sets that its configuration asks for."""
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
            # No other stage needs the speech of another system than the one under test.
            anonymise(plan, names, plan.train_level, system)
        data = [plan.original(name) if system == ORIGINAL else plan.anonymised(name, system) for name in names]
        require_outputs(3, *data)
        training = Training(
            attacker.mode,
            attacker_conf(attacker.start),
            Path("conf/asv/train") / f"{attacker.profile}.yaml",
            tuple(data),
            plan.exp / "asv" / attacker.instance(plan.system),
            settings.seed,
        )
        train_attacker(training, plan.exp / "embeddings" / attacker.start, Machine(settings.cmd, settings.nj))


def embed(plan: Plan) -> None:
    """Stage 5: embed every set that an attacker compares; attackers with the same encoder share its embeddings."""
    from vpeval.networks.extraction import extract_embeddings

    for name, conf in plan.encoders().items():
        require_outputs(4, conf)
        sets = [plan.data / version for version in plan.versions(name)]
        require_outputs(0, *(plan.original(one) for one in plan.recipe.voice_sets))
        require_outputs(3, *sets)
        settings = plan.settings
        for target in extract_embeddings(conf, plan.exp / "embeddings" / name, sets, settings.cmd, settings.nj):
            data = target.data
            log.info("%s: %d embeddings of %d speakers", target.out, len(data.utts), len(data.speakers))
