"""Stage 5: embeddings of the evaluation sets by the encoders of the attackers."""

from __future__ import annotations

import logging

from vpeval.plan.plan import DATA, Plan
from vpeval.stages.piece import need

log = logging.getLogger(__name__)


def run(plan: Plan) -> None:
    """Embed every set that an attacker compares; attackers with the same encoder share its embeddings."""
    from vpeval.networks.extraction import extract_embeddings

    for name, conf in plan.encoders().items():
        need(4, conf)
        sets = [DATA / version for version in plan.versions(name)]
        need(0, *(plan.original(one) for one in plan.recipe.voice_sets))
        need(3, *sets)
        settings = plan.settings
        for target in extract_embeddings(conf, plan.exp / "embeddings" / name, sets, settings.cmd, settings.nj):
            data = target.data
            log.info("%s: %d embeddings of %d speakers", target.out, len(data.utts), len(data.speakers))
