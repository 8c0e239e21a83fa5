"""Stage 10: what is left of the speech: words, melody, emotions and, on request, quality."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.plan import DATA, Plan, version
from vpeval.plan.recipe import Joined
from vpeval.protocols.findings import UTILITY_FILE
from vpeval.results.names import ORIGINAL, SetName
from vpeval.stages.anonymisation import anonymise
from vpeval.stages.piece import RECORDS, RESAMPLES, Piece, gender_of, need, run_pieces

log = logging.getLogger(__name__)
TRAINING = Path("conf/asr/train/ctc_mini.yaml")
_LMS = {"small": (3, 2), "large": (4, 1)}
"""Order and least count: the challenge's language models are a pruned and a whole n-gram model."""


@dataclass(frozen=True)
class Recogniser:
    """A recogniser: the name of its decodings, what it is called in the results, and whether it uses both LMs."""

    name: str
    title: str
    lms: bool = False


@dataclass(frozen=True)
class Recognition:
    """One recogniser on one recognition set, original (o) or anonymised (a)."""

    plan: Plan
    recogniser: Recogniser
    joined: Joined
    side: str

    @property
    def system(self) -> str:
        """Whose numbers these are."""
        return ORIGINAL if self.side == "o" else self.plan.system

    @property
    def tuned_on(self) -> Joined:
        """The development set on which weights of language models are chosen."""
        own = SetName.parse(self.joined.name)
        for other in self.plan.recipe.asr_sets:
            parts = SetName.parse(other.name)
            if own and parts and parts.corpus == own.corpus and parts.partition == "dev":
                return other
        raise InputError(
            f"recipe {self.plan.recipe.recipe} has no dev set of {self.joined.name} to choose LM weights on"
        )

    def data(self, joined: Joined) -> list[Path]:
        """Where the references are: an anonymised set may lack some utterances."""
        return [DATA / version(name, self.plan.system, self.side) for name in joined.sets]

    def decoded(self, joined: Joined) -> list[Path]:
        """Where the hypotheses of a recognition set are."""
        place = self.plan.exp / "decode" / self.recogniser.name
        return [place / version(name, self.plan.system, self.side) for name in joined.sets]

    @property
    def step(self) -> Step:
        """Its records, with references and hypotheses beside them."""
        sets = [self.joined, *([self.tuned_on] if self.recogniser.lms else [])]
        tables = [path / file for joined in sets for path in self.data(joined) for file in _TABLES]
        lms = [lm_dir(self.plan)] if self.recogniser.lms else []
        return Step(
            stage=10,
            out=self.plan.run_of(self.system)
            / f"ASR_{self.recogniser.name}-{version(self.joined.name, self.plan.system, self.side)}",
            files=(RECORDS, "hyp", "ref"),
            inputs=(
                *dict.fromkeys(place for joined in sets for place in self.decoded(joined)),
                *dict.fromkeys(path for path in tables if path.is_file()),
                *lms,
            ),
            options={
                "seed": self.plan.settings.seed,
                "resamples": RESAMPLES,
                "rules": self.plan.text_rules,
                "lms": self.recogniser.lms,
                **self.tags,
            },
            code=("vpeval.protocols.recognition", "vpeval.asr.nbest"),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about; a recogniser is called attacker there, as it stands in the same column."""
        return {
            "recipe": self.plan.recipe.recipe,
            "system": self.system,
            "set": self.joined.name,
            "condition": self.side,
            "attacker": self.recogniser.title,
        }

    def make(self, out: Path) -> str:
        """Count the errors."""
        from vpeval.protocols.recognition import read_speech, score_decoded, score_rescored

        speech = read_speech(self.data(self.joined))
        settings = self.plan.text_rules, RESAMPLES, self.plan.settings.seed
        if not self.recogniser.lms:
            return score_decoded(speech, self.decoded(self.joined), out, *settings, self.tags)
        tuning = read_speech(self.data(self.tuned_on))
        lms = {name: lm_dir(self.plan) / f"{name}.arpa" for name in _LMS}
        decoded, tuned = self.decoded(self.joined), self.decoded(self.tuned_on)
        return score_rescored(speech, decoded, tuning, tuned, self.tuned_on.name, lms, out, *settings, self.tags)


_TABLES = ("text", "utt2spk", "spk2gender")


@dataclass(frozen=True)
class Pitch:
    """Pitch correlation of one trial set."""

    plan: Plan
    name: str

    @property
    def tracks(self) -> Step:
        """The F0 of the original speech, which all systems are compared with."""
        out = self.plan.exp / "f0" / self.name
        return Step(10, out, ("tracks.npz",), (self.plan.original(self.name),), {}, ("vpeval.audio.tracks",))

    @property
    def step(self) -> Step:
        """Its records."""
        data = self.plan.original(self.name), self.plan.anonymised(self.name)
        return Step(
            stage=10,
            out=self.plan.run / f"pitch-{self.name}",
            files=(RECORDS,),
            inputs=(*data, self.tracks.out / "tracks.npz"),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **_tags(self.plan, self.name)},
            code=("vpeval.protocols.pitch", "vpeval.audio.tracks"),
        )

    def track(self, out: Path) -> str:
        """Track the original speech."""
        from vpeval.audio.tracks import track_all, write_tracks
        from vpeval.data.directory import DataDir

        data = DataDir.load(self.plan.original(self.name))
        write_tracks(out / "tracks.npz", track_all(data.wav, self.plan.settings.nj))
        return f"F0 of {len(data.utts)} utterances"

    def make(self, out: Path) -> str:
        """Track the anonymised speech and correlate."""
        from vpeval.anon.publish import read_missing
        from vpeval.audio.tracks import read_tracks, track_all
        from vpeval.data.directory import DataDir
        from vpeval.protocols.pitch import refuse_other_utterances, score_pitch
        from vpeval.results.records import write_records

        original, anonymised = (DataDir.load(path) for path in self.step.inputs[:2])
        if read_missing(anonymised.path).utts:
            original = original.subset(anonymised.utts)
        refuse_other_utterances(original, anonymised)
        before = read_tracks(self.tracks.out / "tracks.npz")
        after = track_all(anonymised.wav, self.plan.settings.nj)
        records = score_pitch(original, anonymised, before, after, RESAMPLES, self.plan.settings.seed)
        write_records(out / RECORDS, [record.tagged(_tags(self.plan, self.name)) for record in records])
        return f"Pitch_correlation: mean={records[0].value:.4f} std={records[0].notes['std']:.4f}"


@dataclass(frozen=True)
class Quality:
    """DNSMOS and STOI of one trial set."""

    plan: Plan
    name: str

    @property
    def step(self) -> Step:
        """Its records."""
        return Step(
            stage=10,
            out=self.plan.run / f"quality-{self.name}",
            files=(RECORDS,),
            inputs=(self.plan.original(self.name), self.plan.anonymised(self.name)),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **self.tags},
            code=("vpeval.protocols.quality",),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        return {**_tags(self.plan, self.name), "condition": "a"}

    def make(self, out: Path) -> str:
        """Measure utterance by utterance."""
        from vpeval.data.directory import DataDir
        from vpeval.protocols.quality import score_quality
        from vpeval.results.records import write_records

        original, anonymised = (DataDir.load(path) for path in self.step.inputs)
        records = score_quality(anonymised, original, 0, RESAMPLES, self.plan.settings.seed)
        write_records(out / RECORDS, [record.tagged(self.tags) for record in records])
        shown = " ".join(f"{record.metric} {record.value:.3f}" for record in records)
        return shown or "no measure of quality is available"


@dataclass(frozen=True)
class Emotion:
    """Emotions of one set, original (o) or anonymised (a)."""

    plan: Plan
    joined: Joined
    side: str

    @property
    def predicted(self) -> list[Path]:
        """Where the predictions are."""
        place = emotions_dir(self.plan)
        return [place / version(name, self.plan.system, self.side) / "predictions" for name in self.joined.sets]

    @property
    def data(self) -> list[Path]:
        """Where the labels are: an anonymised set may lack some utterances."""
        return [DATA / version(name, self.plan.system, self.side) for name in self.joined.sets]

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        return {
            "recipe": self.plan.recipe.recipe,
            "system": ORIGINAL if self.side == "o" else self.plan.system,
            "set": self.joined.name,
            "condition": self.side,
            "attacker": Path(self.plan.recipe.ser).name,
        }

    @property
    def step(self) -> Step:
        """Its records."""
        tables = [path / name for path in self.data for name in ("utt2emo", "utt2spk", "spk2fold")]
        return Step(
            stage=10,
            out=self.plan.run_of(self.tags["system"])
            / f"UAR_{self.tags['attacker']}-{version(self.joined.name, self.plan.system, self.side)}",
            files=(RECORDS,),
            inputs=(*self.predicted, *(path for path in tables if path.is_file())),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **self.tags},
            code=("vpeval.protocols.emotion",),
        )

    def make(self, out: Path) -> str:
        """Compare predictions with labels."""
        from vpeval.protocols.emotion import score_predictions
        from vpeval.results.records import write_records

        records = score_predictions(self.data, self.predicted, RESAMPLES, self.plan.settings.seed)
        write_records(out / RECORDS, [record.tagged(self.tags) for record in records])
        return f"UAR {records[0].value:.2f} %, chance {records[0].notes['chance']:.2f} %"


def pieces(plan: Plan) -> list[Piece]:
    """All results of the stage."""
    found: list[Piece] = [
        Recognition(plan, recogniser, joined, side)
        for recogniser, sides in _recognisers(plan)
        for side in sides
        for joined in plan.recipe.asr_sets
    ]
    found += [Pitch(plan, name) for name in plan.recipe.trial_sets]
    if plan.settings.quality:
        found += [Quality(plan, name) for name in plan.recipe.trial_sets]
    if plan.recipe.ser:
        found += [Emotion(plan, joined, side) for side in "oa" for joined in plan.recipe.emotion_sets]
    return found


def run(plan: Plan) -> None:
    """Recognise, then measure."""
    recipe, settings = plan.recipe, plan.settings
    names = sorted({*recipe.speech_sets, *recipe.trial_sets, *(n for one in recipe.emotion_sets for n in one.sets)})
    need(0, *(plan.original(name) for name in names))
    need(3, *(plan.anonymised(name) for name in names))
    if recipe.asr_sets:
        _decode(plan, Path("conf/asr") / f"{plan.asr}.yaml", plan.asr, "oa")
    if settings.train_asr:
        _train(plan)
    if recipe.emotion_sets and recipe.ser:
        _predict_emotions(plan)
    pitch = [Pitch(plan, name) for name in recipe.trial_sets]
    bring_up_to_date(((one.tracks, one.track) for one in pitch), "F0 tracks of original speech")
    run_pieces(pieces(plan))
    bring_up_to_date([(audit_step(plan), lambda out: _audit(plan, out))], "audit")


def audit_step(plan: Plan) -> Step:
    """The audit of the recognisers."""
    scored = tuple(piece.step.out / RECORDS for piece in _audited(plan))
    return Step(
        10, plan.run, (UTILITY_FILE,), scored, {}, ("vpeval.protocols.utility_audit",), ".utility_audit.stamp.json"
    )


def _audited(plan: Plan) -> list[Piece]:
    return [piece for piece in pieces(plan) if isinstance(piece, (Recognition, Emotion))]


def _audit(plan: Plan, out: Path) -> str:
    from vpeval.protocols.findings import write_findings
    from vpeval.protocols.utility_audit import audit_utility
    from vpeval.results.records import read_records

    records = [record for piece in _audited(plan) for record in read_records(piece.step.out / RECORDS)]
    findings = audit_utility(records)
    for finding in findings:
        if finding.flagged:
            log.warning(f"audit ({finding.check}): WARNING: {finding.sentence}")
        else:
            log.info(f"audit ({finding.check}): {finding.sentence}")
    write_findings(out / UTILITY_FILE, findings)
    return f"audit of the recognisers, {sum(finding.flagged for finding in findings)} warnings"


def emotions_dir(plan: Plan) -> Path:
    """Where the predictions of the emotion recogniser are."""
    return plan.exp / "emotions" / Path(plan.recipe.ser).name


def lm_dir(plan: Plan) -> Path:
    """The language models of the training text."""
    return plan.exp / "lm"


def _recognisers(plan: Plan) -> list[tuple[Recogniser, str]]:
    """All recognisers, and the versions of speech that each is tried on."""
    found = [(Recogniser(plan.asr, plan.asr), "oa")]
    if plan.settings.train_asr:
        found.append((Recogniser(TRAINING.stem, "ASR_eval", lms=True), "oa"))
        found.append((Recogniser(f"{TRAINING.stem}_{plan.system}", "ASR_eval^anon", lms=True), "a"))
    return found


def _decode(plan: Plan, conf: Path, name: str, sides: str, lm: Path | None = None) -> None:
    from vpeval.asr.decoding import decode

    sets = [DATA / version(one, plan.system, side) for side in sides for one in plan.recipe.speech_sets]
    for target in decode(conf, plan.exp / "decode" / name, sets, plan.settings.cmd, plan.settings.nj, lm):
        log.info("%s: %d utterances decoded", target.out, len(target.data.utts))


def _train(plan: Plan) -> None:
    """Recognisers trained on original and on anonymised speech, with the language models of the training text."""
    from vpeval.asr.train import train_recogniser

    names = (*plan.recipe.train_sets, *plan.recipe.pool_sets)
    if not names:
        raise InputError(f"recipe {plan.recipe.recipe} has no train_sets or pool_sets to train recognisers on")
    anonymise(plan, plan.recipe.pool_sets, plan.train_level)
    original = [plan.original(name) for name in names]
    anonymised = [plan.anonymised(name) for name in names]
    need(3, *anonymised)
    texts = tuple(path / "text" for path in original)
    step = Step(10, lm_dir(plan), tuple(f"{lm}.arpa" for lm in _LMS), texts, {"lms": _LMS}, ("vpeval.asr.lm",))
    bring_up_to_date([(step, lambda out: _make_lms(out, texts))], "language models")
    for name, data, sides in (
        (TRAINING.stem, original, "oa"),
        (f"{TRAINING.stem}_{plan.system}", anonymised, "a"),
    ):
        out = plan.exp / "asr" / name
        train_recogniser(TRAINING, out, data, plan.settings.cmd, plan.settings.seed)
        _decode(plan, out / "decode.yaml", name, sides, lm_dir(plan) / "small.arpa")


def _make_lms(out: Path, texts: Iterable[Path]) -> str:
    from vpeval.asr.lm import estimate_from, write_arpa

    sizes = []
    for name, (order, min_count) in _LMS.items():
        lm = estimate_from(texts, order, min_count)
        write_arpa(out / f"{name}.arpa", lm)
        sizes.append(f"{name} {len(lm.logprob)} n-grams")
    return ", ".join(sizes)


def _predict_emotions(plan: Plan) -> None:
    from vpeval.asr.decoding import predict_emotions

    models, settings = Path(plan.recipe.ser), plan.settings
    names = dict.fromkeys(name for joined in plan.recipe.emotion_sets for name in joined.sets)
    sets = {side: [DATA / version(name, plan.system, side) for name in names] for side in "oa"}
    if plan.ser_conf.is_file():
        from vpeval.asr.recognise_emotions import recognise_emotions

        recognise_emotions(plan.ser_conf, emotions_dir(plan), sets["o"], sets["a"], settings.cmd, settings.nj)
        return
    for target in predict_emotions(models, emotions_dir(plan), [*sets["o"], *sets["a"]], settings.cmd, settings.nj):
        log.info("%s: emotions of %d utterances", target.out, len(target.data.utts))


def _tags(plan: Plan, name: str) -> dict[str, str]:
    gender = gender_of(plan.original(name))
    return {"recipe": plan.recipe.recipe, "system": plan.system, "set": name, "gender": gender}
