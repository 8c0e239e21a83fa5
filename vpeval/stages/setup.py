"""Stages 0 to 2: data directories of the recipe, pretrained models, and the preparation of the anonymiser."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from vpeval.anon import hook_input, hook_program
from vpeval.audio.io import Inspected
from vpeval.core import models
from vpeval.core.errors import InputError
from vpeval.core.files import is_verifying, write_text
from vpeval.core.locks import locked
from vpeval.corpora.prepare import prepare
from vpeval.corpora.protocol import protocol_file
from vpeval.data.directory import read_utt2spk
from vpeval.data.layout import first_few
from vpeval.data.validate import Problem, validate
from vpeval.jobs import guard
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.stamps import NOT_MADE
from vpeval.jobs.steps import Step, bring_up_to_date, log_commands
from vpeval.plan.absent import absent_sets, without_absent
from vpeval.plan.made_sets import STAGING, made_by, put_in_place, stamp_name
from vpeval.plan.plan import Plan
from vpeval.plan.readiness import SHARED, refuse_absent, refuse_lacking, refuse_pool_speakers, shared_utterances
from vpeval.stages.base import require_outputs

log = logging.getLogger(__name__)
_TOOLS = ("make_trials", "subset_data", "copy_data_dir", "combine_data")
_SHOWN = 20
_AUDIO = "local"
"""Where scripts that prepare sets put audio, in a data root."""
_MOST_DECODED = 20_000
"""Utterances up to which all audio of a set is decoded to check it; later stages would find damaged files as well."""


def prepare_data(plan: Plan) -> None:
    """Stage 0: make the data directories of the recipe, and check them."""
    bring_up_to_date([data_step(plan)], "set of data directories")
    if not current_dry_run():
        refuse_absent(plan)
        refuse_pool_speakers(plan.prepared())


@dataclass(frozen=True)
class DataStep(Step):
    """A step whose outputs are the sets that there are: some may be absent."""

    plan: Plan = field(kw_only=True)

    @property
    def outputs(self) -> list[Path]:
        """The data directories, and what is noted about them."""
        recipe = self.plan.recipe.recipe
        absent = absent_sets(recipe, self.out)
        note = [file] if (file := protocol_file(self.out, recipe)).is_file() else []
        return [*(self.out / name for name in self.files if name not in absent), *note]

    def why(self) -> str:
        """Why the sets have to be made again; only that can show whether a corpus elsewhere is what it was."""
        read_again = "a corpus elsewhere is read again (--verify)"
        return super().why() or (read_again if is_verifying() and not self.plan.is_ours else "")

    def is_current(self) -> bool:
        """Whether there is nothing to do."""
        return not self.why()

    @property
    def lock(self) -> Path:
        """Of the directory that holds the sets of all recipes."""
        return self.out / ".sets.lock"

    @contextmanager
    def making(self) -> Iterator[Path]:
        """The sets are made apart, and put in their place when all are good and none belongs to others."""
        made_from, staging = self.fingerprint, self.out / STAGING
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        audio = self.out / _AUDIO
        audio.mkdir(exist_ok=True)
        (staging / _AUDIO).symlink_to(f"../{_AUDIO}")  # converted once, whatever becomes of the sets
        try:
            yield self.out
            try:
                put_in_place(self.plan, made_from)
            finally:
                shutil.rmtree(staging)
        finally:
            with suppress(OSError):  # it is in use
                audio.rmdir()


def data_step(plan: Plan) -> DataStep:
    """All data directories that the recipe names."""
    recipe, settings, made = plan.recipe, plan.settings, made_by(plan)
    folder = Path("egs") / recipe.recipe
    scripts = [*sorted(folder.glob("*.py")), *(Path("utils") / f"{name}.py" for name in _TOOLS)]
    # Pages about the recipe make no sets.
    own = [path for path in sorted(folder.iterdir()) if path.suffix != ".md"]
    inputs = [*own, *([plan.corpus] if plan.is_ours else []), *([Path(settings.lists)] if settings.lists else [])]
    options = {"recipe": recipe.recipe, "full": settings.full, "lists": made.lists}
    return DataStep(
        stage=0,
        out=plan.data,
        files=recipe.sets,
        inputs=tuple(inputs),
        options=options if plan.is_ours else {**options, "corpus": _outline(plan.corpus)},
        makers=(*scripts, validate, prepare),
        make=partial(_prepare, plan),
        commands=lambda: [_preparation(plan, plan.data)],
        stamp=stamp_name(recipe.recipe),
        plan=plan,
    )


def _outline(corpus: Path) -> list[str]:
    """What a corpus elsewhere looks like from outside: to look at all of its files takes as long as to prepare it."""
    places = [corpus, *corpus.glob("*"), *corpus.glob("*/*")] if corpus.is_dir() else [corpus]
    return sorted(f"{path} {path.stat().st_mtime_ns}" for path in places)


def _preparation(plan: Plan, root: Path) -> list[str]:
    """The command that prepares the data directories of a recipe."""
    settings, script = plan.settings, Path("egs") / plan.recipe.recipe / "prepare.sh"
    program, *conf = [script] if script.is_file() else [SHARED, script.with_name("recipe.conf")]
    # Sets and trials are the same for every seed, so that runs with different seeds can be compared.
    options = ["--full", str(settings.full).lower()]
    options += ["--lists", settings.lists] if settings.lists else []
    return [str(program), *options, *map(str, (*conf, plan.corpus, root))]


def _prepare(plan: Plan, out: Path) -> str:
    recipe, staging = plan.recipe, out / STAGING
    refuse_lacking(plan)
    command = _preparation(plan, staging)
    if guard.run(command):
        raise InputError("failed (see above)", command[0])
    absent = absent_sets(recipe.recipe, staging)
    refuse_absent(plan, staging)
    found = {name: staging / name for name in recipe.sets if name not in absent}
    require_outputs(0, *found.values())
    utts, inspected = 0, dict[str, Inspected]()
    for name, directory in found.items():
        count = len(read_utt2spk(directory / "utt2spk"))
        audio = name in recipe.eval_sets and count <= _MOST_DECODED
        _refuse_faults(validate(directory, text=False, audio=audio, inspected=inspected), directory)
        utts += count
    left = without_absent(recipe, staging)
    _refuse_faults(shared_utterances(left, staging), staging)
    silent = [name for name in recipe.speech_sets if name in found and not (found[name] / "text").is_file()]
    if silent:
        log.warning(f"{first_few(silent)}: no text, so that word error rates are left out")
    return f"{len(left.eval_sets)} evaluation sets of {recipe.recipe} and their training data, {utts} utterances"


def _refuse_faults(problems: Sequence[Problem], directory: Path) -> None:
    for problem in problems[:_SHOWN]:
        log.warning("warning: " * (problem.severity == "warning") + str(problem))
    if errors := [problem for problem in problems if problem.severity == "error"]:
        raise InputError(f"has {len(errors)} faults (see above)", directory)


SCRATCH = ("small_original", "small_scratch")
"""The attackers that replace others whose encoder is not available."""


def fetch_models(plan: Plan) -> None:
    """Stage 1: fetch and verify the pretrained models of attackers and recogniser."""
    missing = [name for name in plan.models() if models.missing_files(models.find_model(name))]
    if missing and not current_dry_run():
        log_commands(lambda: [["utils/get_model.py", *missing]])
    for name in plan.models():
        if dry_run := current_dry_run():
            dry_run.consider(models.store() / name, [], NOT_MADE if name in missing else "")
            continue
        log.info("%s", models.fetch(models.find_model(name)))


def is_available(plan: Plan) -> bool:
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


def prepare_anonymiser(plan: Plan) -> None:
    """Stage 2: run the program ``prepare`` next to the hook, if there is one: see docs/hooks.md."""
    program = hook_program.find_preparation(plan.hook) if plan.hook else None
    if plan.hook is None or program is None:
        log.info("%s needs no preparation", plan.system)
        return
    sides = [[plan.original(name) for name in names] for names in (plan.recipe.train_sets, plan.recipe.pool_sets)]
    require_outputs(0, *sides[0], *sides[1])
    prepared = hook_program.prepared_dir(plan.hook, plan.settings.seed)
    if dry_run := current_dry_run():
        dry_run.consider(program, [prepared], "it decides itself what it has to do")
        return
    settings = plan.settings
    prepared.mkdir(parents=True, exist_ok=True)
    command = [
        *(str(program), *hook_program.split_options(settings.anon_options)),
        *("--nj", str(settings.nj), "--seed", str(settings.seed)),
        *(",".join(map(str, side)) for side in sides),
    ]
    record = _preparation_record(prepared)
    needed = [f"{hook_input.TOOLKIT}={hook_input.ROOT}", f"{hook_input.PREPARED}={prepared}"]
    log_commands(lambda: [["env", *needed, *command]])
    with locked(prepared.with_name(f".{prepared.name}.lock"), str(prepared)):
        record.unlink(missing_ok=True)
        code = guard.run(command, hook_input.environment(prepared))
        if code:
            raise InputError(f"ended with exit code {code} (see above)", program)
        write_text(record, _prepared_from(plan))


def refuse_other_preparation(plan: Plan) -> None:
    """Refuse an anonymiser that learnt from the sets of another recipe."""
    if plan.hook is None or hook_program.find_preparation(plan.hook) is None:
        return
    prepared = hook_program.prepared_dir(plan.hook, plan.settings.seed)
    record = _preparation_record(prepared)
    if record.is_file() and (before := record.read_text(encoding="utf-8")) != _prepared_from(plan):
        raise InputError(
            f"was prepared from {' '.join(before.split())}, not from the sets of recipe {plan.recipe.recipe}; prepare "
            f"it again: {plan.settings.command} --stage 2",
            prepared,
        )


def _preparation_record(prepared: Path) -> Path:
    """Next to what a hook learnt, the sets it learnt from."""
    return prepared.with_name(f".{prepared.name}.sets")


def _prepared_from(plan: Plan) -> str:
    return "".join(f"{plan.original(name)}\n" for name in (*plan.recipe.train_sets, *plan.recipe.pool_sets))
