#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Run stages of an evaluation; run.sh calls this script.

Usage: local/run_stages.py [options] <number> <stage> <title> [<number> <stage> <title> ...]
 e.g.: local/run_stages.py --recipe mini --anonymizer mcadams 6 verification "verification: EER, Cllr, D_sys, ZEBRA"

Options are those of run.sh. The plan is made once, before any work. Each stage (a function in
vpeval/stages/__init__.py) runs in a process that is forked from this one, which frees its memory when it ends.
"""

import gc
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import NoReturn

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.locks import locked
from vpeval.core.models import unreachable
from vpeval.core.processes import inspect_machine, parent_death_hook
from vpeval.data.layout import first_few
from vpeval.editions.base import editions
from vpeval.jobs.code import code_of, driving_code, software_of
from vpeval.jobs.dry_run import dry_run
from vpeval.jobs.progress import Usage, write_usage
from vpeval.metrics.intervals import RESAMPLES
from vpeval.plan.doctor import examine
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.plan.readiness import ready
from vpeval.plan.recipe import LEVELS, SRD_UNITS
from vpeval.stages import STAGES
from vpeval.stages.anonymisation import refuse_surprises
from vpeval.submission.roles import ROLES

PROGRAM = "run.sh"
MARK = {"ok": "  ok  ", "warn": " warn ", "fail": " FAIL "}


def main() -> int:
    """Make the plan, then run one stage after the other."""
    args = vars(parser().parse_args())
    words = args.pop("stages")
    stages = [tuple(words[i : i + 3]) for i in range(0, len(words), 3)]
    doctor, dry_run = args.pop("doctor"), args.pop("dry_run")
    if doctor or dry_run:
        plan = make_plan(Settings(**args))
        return see_doctor(plan) if doctor else rehearse(plan, stages)
    plan = make(Settings(**args))
    lock = plan.run.with_name(f".{plan.system}.lock")
    with locked(lock, f"system {plan.system} of recipe {plan.recipe.recipe}", plan.settings.command, wait=False):
        refuse_surprises(plan.prepared(), {int(number) for number, *_ in stages})
        return run(plan, stages)


def see_doctor(plan: Plan) -> int:
    """Print what the run needs and what there is; exit code 1 when it cannot succeed."""
    failed = False
    for check in examine(plan, inspect_machine(Path.cwd()), unreachable):
        print(f"[{MARK[check.state]}] {check.what}: {check.text}", flush=True)
        failed |= check.state == "fail"
    print("This run cannot succeed here." if failed else "All checks passed.")
    return 1 if failed else 0


def rehearse(plan: Plan, stages: Sequence[tuple[str, ...]]) -> int:
    """Print what stages would make, and why."""
    with dry_run() as seen:
        for number, name, title in stages:
            print(f"== stage {number}: {title}", flush=True)
            try:
                STAGES[name].load()(plan if name == "data" else ready(plan, int(number)))
            except (InputError, OSError) as error:
                if not seen.coming:
                    raise
                seen.is_blind = True
                print(f"  more is known when that is made: {error}")
            reasons, current = seen.report()
            for reason, places in reasons.items():
                print(f"  {len(places)} would be made, {reason}: {first_few([str(place) for place in places])}")
            if current:
                print(f"  {current} up to date")
    return 0


def run(plan: Plan, stages: Sequence[tuple[str, ...]]) -> int:
    """Run stages, each given by number, name and title."""
    read_code_once()
    used: list[Usage] = []
    for number, name, title in stages:
        print(f"== stage {number}: {title}", flush=True)
        code, usage = in_child(int(number), name, plan if name == "data" else ready(plan, int(number)))
        if code:
            return code
        used.append(usage)
        write_usage(plan.run, [usage])
    print("time and memory:", *used, sep="\n  ")
    return 0


def read_code_once() -> None:
    """Read the code of all measures before the first stage is forked, so that no stage has to read it again."""
    from vpeval.stages.base import measure_modules

    makers = measure_modules()
    code_of(makers), software_of(makers), driving_code((), makers)
    gc.freeze()  # or the collector would copy it into every stage


def parser() -> script.Parser:
    """The options of run.sh."""
    found = script.Parser(__doc__)
    found.prog = f"./{PROGRAM}"
    kinds = {
        "nj": script.positive,
        "anon_nj": natural_or_default,
        "srd_inputs": natural_or_default,
        "bootstrap": resamples_or_default,
    }
    kinds |= dict.fromkeys(("seed", "population", "utterances"), script.natural)
    levels = ("", *LEVELS)
    choices = {"anon_level": levels, "train_level": levels, "edition": ("", *editions())}
    choices |= {"role": ROLES, "srd_sets": ("", "dev", "test", "all"), "srd_unit": ("", *SRD_UNITS)}
    for field in fields(Settings):
        kind = script.boolean if isinstance(field.default, bool) else kinds.get(field.name, str)
        option = f"--{field.name.replace('_', '-')}"
        found.add_argument(option, type=kind, default=field.default, choices=choices.get(field.name))
    for flag in ("--doctor", "--dry-run"):
        found.add_argument(flag, type=script.boolean, default=False)
    found.add_argument("stages", nargs="+", metavar="number stage title")
    return found


def natural_or_default(text: str) -> int:
    """A whole number of at least 1, or 0 for nothing, which is as many as there would be without the option."""
    return script.positive(text) if text else 0


def resamples_or_default(text: str) -> int:
    """A whole number of at least 0, or nothing for the default of all scorers."""
    return script.natural(text) if text else RESAMPLES


def make(settings: Settings) -> Plan:
    """The plan; where the encoder of its attackers cannot be had and that is allowed, with others."""
    plan = make_plan(settings)
    if not plan.corpus.exists():
        raise InputError(f"no corpus in {plan.corpus}; give its folder with --corpus DIR")
    if settings.description and not Path(settings.description).is_file():
        raise InputError("no such system description; check --description", settings.description)
    if settings.allow_scratch:
        from vpeval.stages.setup import SCRATCH, is_available

        if not is_available(plan):
            warning = "attackers are trained from scratch instead; they are weaker, and privacy looks better than it is"
            print(f"{PROGRAM}: {warning}", file=sys.stderr)
            plan = make_plan(replace(settings, attackers=" ".join(SCRATCH)))
    return plan


def in_child(number: int, name: str, plan: Plan) -> tuple[int, Usage]:
    """Run a stage in a process of its own; its exit code, and what it and its children took."""
    sys.stdout.flush()
    start, die_with_me = time.monotonic(), parent_death_hook()
    child = os.fork()
    if not child:
        die_with_me()  # whatever happens to the run, no stage outlives it
        run_and_leave(name, plan)
    try:
        _, status, taken = os.wait4(child, 0)
    except KeyboardInterrupt:
        _, status, taken = os.wait4(child, 0)
    cpu, megabytes = taken.ru_utime + taken.ru_stime, taken.ru_maxrss / 1024
    usage = Usage(number, name, *(round(value, 2) for value in (time.monotonic() - start, cpu, megabytes)))
    code = os.waitstatus_to_exitcode(status)
    if code < 0 and -code not in (signal.SIGINT, signal.SIGTERM):
        print(f"{PROGRAM}: stage {name} was ended by signal {-code}; was there too little memory?", file=sys.stderr)
    return code if code >= 0 else 128 - code, usage


def run_and_leave(name: str, plan: Plan) -> NoReturn:
    """The child's side."""
    sys.argv[0] = PROGRAM
    script.main(lambda: STAGES[name].load()(plan), log_to_stdout=True)


if __name__ == "__main__":
    sys.argv[0] = str(Path(sys.argv[0]).with_name(PROGRAM))
    try:
        script.main(main, log_to_stdout=True)
    except SystemExit as left:
        # A stage that is up to date takes less time than to take apart all that was read.
        if isinstance(left.code, str):
            print(left.code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1 if isinstance(left.code, str) else left.code or 0)
