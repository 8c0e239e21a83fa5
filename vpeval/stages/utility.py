"""Stage 10: utility: words, pitch, emotions and, on request, quality."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from vpeval.audio import f0
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.measures import audit
from vpeval.measures.base import RECORDS
from vpeval.measures.recognition import LMS
from vpeval.plan.plan import ASR_PROFILE, Plan
from vpeval.records.record import read_records
from vpeval.stages.anonymisation import anonymise
from vpeval.stages.base import log_findings, make_results, measures, require_outputs, results

log = logging.getLogger(__name__)


def run(plan: Plan) -> None:
    """Recognise, then measure, then audit the recognisers."""
    recipe = plan.recipe
    names = sorted({*recipe.speech_sets, *recipe.trial_sets, *(n for one in recipe.emotion_sets for n in one.sets)})
    require_outputs(0, *(plan.original(name) for name in names))
    require_outputs(3, *(plan.anonymised(name) for name in names))
    if recipe.asr_sets:
        _decode(plan, plan.asr_conf, plan.asr, "oa")
    if plan.settings.train_asr:
        _train_recognisers(plan)
    if recipe.emotion_sets and recipe.ser:
        _predict_emotions(plan)
    bring_up_to_date((_tracks_step(plan, name) for name in recipe.trial_sets), "F0 tracks of original speech")
    make_results(results(plan, 10))
    bring_up_to_date([audit_step(plan)], "audit")


def _decode(plan: Plan, conf: Path, name: str, sides: str, lm: Path | None = None) -> None:
    from vpeval.asr.decoding import decode

    sets = [plan.data_of(one, side) for side in sides for one in plan.recipe.speech_sets]
    for target in decode(conf, plan.exp / "decode" / name, sets, plan.settings.cmd, plan.settings.nj, lm):
        log.info("%s: %d utterances decoded", target.out, len(target.data.utts))


def _train_recognisers(plan: Plan) -> None:
    """Recognisers trained on original and on anonymised speech, with the language models of the training text."""
    from vpeval.asr.train_recogniser import train_recogniser

    names = (*plan.recipe.train_sets, *plan.recipe.pool_sets)
    if not names:
        raise InputError(f"recipe {plan.recipe.recipe} has no train_sets or pool_sets to train recognisers on")
    anonymise(plan, plan.recipe.pool_sets, plan.train_level)
    original = [plan.original(name) for name in names]
    anonymised = [plan.anonymised(name) for name in names]
    require_outputs(3, *anonymised)
    bring_up_to_date([_lm_step(plan, [path / "text" for path in original])], "language models")
    for name, data, sides in zip(plan.trained_recognisers, (original, anonymised), ("oa", "a"), strict=True):
        out = plan.exp / "asr" / name
        train_recogniser(ASR_PROFILE, out, data, plan.settings.cmd, plan.settings.seed)
        _decode(plan, out / "decode.yaml", name, sides, plan.lm_dir / "small.arpa")


def _lm_step(plan: Plan, texts: Sequence[Path]) -> Step:
    """The language models of the training text."""
    from vpeval.asr.lm_estimation import write_models

    def command(name: str, order: int, min_count: int) -> list[str]:
        sizes = ["--order", str(order), "--min-count", str(min_count)]
        return ["steps/make_lm.py", *sizes, *map(str, (plan.lm_dir / f"{name}.arpa", *texts))]

    return Step(
        stage=10,
        out=plan.lm_dir,
        files=tuple(f"{name}.arpa" for name in LMS),
        inputs=tuple(texts),
        options={"lms": LMS},
        makers=(write_models,),
        make=partial(write_models, sizes=LMS, texts=texts),
        commands=lambda: [command(name, *size) for name, size in LMS.items()],
    )


def _predict_emotions(plan: Plan) -> None:
    """Have the recogniser predict the emotions of all emotion sets."""
    from vpeval.asr.decoding import predict_emotions

    models, settings = Path(plan.recipe.ser), plan.settings
    names = dict.fromkeys(name for joined in plan.recipe.emotion_sets for name in joined.sets)
    sets = {side: [plan.data_of(name, side) for name in names] for side in "oa"}
    if plan.ser_conf.is_file():
        from vpeval.asr.decoding import recognise_emotions

        recognise_emotions(plan.ser_conf, plan.emotions_dir, sets["o"], sets["a"], settings.cmd, settings.nj)
        return
    for target in predict_emotions(models, plan.emotions_dir, [*sets["o"], *sets["a"]], settings.cmd, settings.nj):
        log.info("%s: emotions of %d utterances", target.out, len(target.data.utts))


def _tracks_step(plan: Plan, name: str) -> Step:
    """The F0 of the original speech of a set."""
    path, source = plan.f0_tracks(name), plan.original(name)

    def make(out: Path) -> str:
        return f0.track_to_file(DataDir.load(source).wav, out / path.name, plan.settings.nj)

    return Step(10, path.parent, (path.name,), (source,), {}, (f0.track_to_file, DataDir), make)


def audit_step(plan: Plan) -> Step:
    """The audit of the recognisers."""
    scored = tuple(result.out / RECORDS for name in ("recognition", "emotion") for result in _results(plan, name))

    def make(out: Path) -> str:
        records = [
            record.with_files({what: str(path.parent / name) for what, name in record.files.items()})
            for path in scored
            for record in read_records(path)
        ]
        findings = audit.audit_utility(records, f"egs/{plan.recipe.recipe}/recipe.conf")
        log_findings(findings)
        audit.write_findings(out / audit.UTILITY_FILE, findings)
        return f"audit of the recognisers, {sum(finding.flagged for finding in findings)} warnings"

    return Step(10, plan.run, (audit.UTILITY_FILE,), scored, {}, (audit,), make, ".utility_audit.stamp.json")


def _results(plan: Plan, name: str) -> list:
    return [result for measure in measures(10) if measure.name == name for result in measure.results(plan)]
