"""Stage 2: what an anonymiser has to learn beforehand."""

from __future__ import annotations

import logging

from vpeval.anon import hooks
from vpeval.core.errors import InputError
from vpeval.core.files import locked
from vpeval.jobs import guarded
from vpeval.jobs.rehearsal import rehearsing
from vpeval.plan.plan import Plan
from vpeval.stages.piece import need

log = logging.getLogger(__name__)


def run(plan: Plan) -> None:
    """Run the program ``prepare`` beside the hook, if there is one: see docs/hooks.md."""
    program = hooks.find_preparation(plan.hook) if plan.hook else None
    if plan.hook is None or program is None:
        log.info("%s needs no preparation", plan.system)
        return
    sides = [[plan.original(name) for name in names] for names in (plan.recipe.train_sets, plan.recipe.pool_sets)]
    need(0, *sides[0], *sides[1])
    prepared = hooks.prepared_dir(plan.hook)
    if rehearsal := rehearsing():
        rehearsal.consider(program, [prepared], "it decides itself what it has to do")
        return
    settings = plan.settings
    prepared.mkdir(parents=True, exist_ok=True)
    command = [
        *(str(program), *hooks.split_options(settings.anon_options)),
        *("--nj", str(settings.nj), "--seed", str(settings.seed)),
        *(",".join(map(str, side)) for side in sides),
    ]
    with locked(prepared.with_name(f".{prepared.name}.lock"), str(prepared)):
        code = guarded.run(command, hooks.environment(prepared))
    if code:
        raise InputError(f"ended with exit code {code} (see above)", program)
