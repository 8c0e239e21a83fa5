"""Stage 3: anonymise evaluation and training sets."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from pathlib import Path

from vpeval.anon.hook_program import Provenance, find_hook, hook_name, refuse_other
from vpeval.core.errors import InputError
from vpeval.core.run_names import base_and_seed
from vpeval.data.layout import first_few
from vpeval.jobs.steps import log_commands
from vpeval.plan.plan import Plan
from vpeval.stages.base import require_outputs
from vpeval.stages.setup import refuse_other_preparation

log = logging.getLogger(__name__)


def run(plan: Plan) -> None:
    """Run the hook on the evaluation sets, and on training sets if anybody learns from them."""
    evaluated, taught = plan.recipe.eval_sets, plan.taught_sets
    require_outputs(0, *(plan.original(name) for name in (*evaluated, *taught)))
    if left := [name for name in plan.recipe.train_sets if name not in taught]:
        log.info("%s: not anonymised, as nobody is trained on speech of %s", first_few(left), plan.system)
    if plan.settings.anonymized:
        _import(plan, evaluated, taught)
        return
    refuse_other_preparation(plan)
    anonymise(plan, evaluated, plan.anon_level)
    anonymise(plan, taught, plan.train_level)


def anonymise(plan: Plan, names: Iterable[str], level: str, system: str = "") -> None:
    """Anonymise sets at a level, with the hook of the plan or with another `system` of local/anon and the same seed."""
    from vpeval.anon import driver

    settings = plan.settings
    if not system and plan.hook is None:
        _import(plan, (), names)
        return
    if system or plan.hook is None:
        hook, options = find_hook(base_and_seed(system)[0]), ""
    else:
        hook, options = plan.hook, settings.anon_options
    sets = {plan.original(name): plan.anonymised(name, system) for name in names}
    anonymiser = driver.Anonymiser(hook, options, "spk" if level == "spk" else "utt", settings.seed)
    launch = driver.Launch(
        settings.cmd, settings.anon_nj or settings.nj, plan.run_of(system or plan.system) / "log", driver.TIMEOUT
    )
    driver.anonymize(anonymiser, sets, launch, settings.overwrite)


def refuse_surprises(plan: Plan, stages: Collection[int]) -> None:
    """Raise an InputError if `stages` would replace data of the system that were made in another way.

    Or if they would measure such data although options are given that did not make them.
    """
    settings = plan.settings
    if settings.overwrite or plan.hook is None or not (settings.anon_options or {2, 3}.intersection(stages)):
        return
    for names, level in ((plan.recipe.eval_sets, plan.anon_level), (plan.taught_sets, plan.train_level)):
        wanted = Provenance(hook_name(plan.hook), settings.anon_options, "", level, settings.seed)
        refuse_other(wanted, map(plan.anonymised, names))


def _import(plan: Plan, evaluated: Iterable[str], trained: Iterable[str]) -> None:
    """Import files that were made elsewhere; all missing files are listed before anything is done."""
    from vpeval.anon.import_files import find_files, import_set, report_import

    directory, learnt = Path(plan.settings.anonymized), tuple(trained)
    sets = [plan.original(name) for name in (*evaluated, *learnt)]
    try:
        deliveries = find_files(directory, sets, plan.system, plan.settings.allow_missing)
    except InputError as error:
        if not any(f"{name}: " in str(error) for name in learnt):
            raise
        others = " ".join(attacker.name for attacker in plan.singles if not plan.is_taught(attacker)) or "ecapa"
        raise InputError(
            f"{error}\nAttackers are trained on {', '.join(learnt)}; without these files only --attackers "
            f"'{others}' can attack, and privacy looks better than it is"
        ) from None
    imported = False
    for delivery in deliveries:
        out = plan.anonymised(delivery.data.name)
        findings = import_set(delivery, out, plan.settings.overwrite)
        report_import(delivery, out, findings)
        imported |= bool(findings)
    if imported:
        missing = ["--allow-missing", "true"] if plan.settings.allow_missing else []
        words = ["steps/import_anonymized.py", *missing, str(directory), plan.system]
        log_commands(lambda: [[*words, *map(str, sets)]])
