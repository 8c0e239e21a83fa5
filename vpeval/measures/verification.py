"""Speaker verification: every attack on every pair of sets, from embeddings to scores to records.

Scores are cosines or log-likelihood ratios of a back end, calibrated on development trials on request. A fusion
combines the scores of other attackers with weights from development trials; a development set is fused with weights
from other speakers than those of a trial. DET and ECE curves are side files.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vpeval.core.arrays import Bools, Floats
from vpeval.core.errors import InputError
from vpeval.core.files import read_table, write_text
from vpeval.data.trials import Trials, read_scores, read_trials, trial_speakers, write_scores
from vpeval.measures.base import RECORDS, Input, Measure, Resampling, Result, Scorer, Scores, gender_of
from vpeval.metrics.intervals import RESAMPLES
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.score_metrics import det_curve, ece_curves
from vpeval.metrics.scores import PooledScores
from vpeval.metrics.verification import paired_difference, verification
from vpeval.records.metrics import BY_SET, EER, KEY, OVERVIEW, PERCENT, SHARE, SUMMARY, VERIFICATION, Metric
from vpeval.records.names import marked
from vpeval.records.record import Record, write_records

if TYPE_CHECKING:
    from vpeval.asv.backend import Calibration
    from vpeval.asv.fusion import Fusion
    from vpeval.plan.plan import Attack, Plan
    from vpeval.plan.recipe import Pair

_EER: dict[str, Any] = {
    **PERCENT,
    "digits": 2,
    "better": +1,
    "chance": 0.5,
    "group": VERIFICATION,
    "range": (0.0, 1.0),
    "estimator_of": EER,
    "shown": (KEY, OVERVIEW, SUMMARY, BY_SET),
}
_UNIT: dict[str, Any] = {"group": VERIFICATION, "range": (0.0, 1.0)}
_TPR: dict[str, Any] = {**SHARE, "group": VERIFICATION, "range": (0.0, 1.0), "shown": (), "place": 5}
_DSYS = r"$D_\leftrightarrow^\mathrm{sys}$"
METRICS = (
    Metric(
        "eer_kaldi",
        "EER (Kaldi)",
        "The smallest k/Nt at which the k-th target score exceeds its opposite nontarget score, as in Kaldi's "
        "compute-eer; the EER of VoicePrivacy 2020 and 2022, a multiple of 1/Nt that can exceed 50 %.",
        r"EER (Kaldi), \%",
        **_EER,
    ),
    Metric(
        "eer_threshold",
        "EER (threshold)",
        "The mean of false alarms and misses at the threshold where they are closest; the EER of VoicePrivacy 2024 "
        "and 2026.",
        r"EER (threshold), \%",
        **_EER,
    ),
    Metric(
        "eer_rocch",
        "EER (ROCCH)",
        "Where the convex hull of the ROC crosses equal error rates, at most 50 %; the ROCCH-EER of the challenges "
        "and the EER of the legal framework.",
        r"EER (ROCCH), \%",
        **_EER,
    ),
    Metric(
        "min_cllr",
        "min Cllr",
        "The cost of the scores after perfect calibration (PAV, ties pooled), from 0 to 1.",
        r"$C_\mathrm{llr}^\mathrm{min}$",
        unit="bit",
        better=+1,
        chance=1.0,
        shown=(KEY, OVERVIEW, SUMMARY, BY_SET),
        key_place=1,
        place=2,
        **_UNIT,
    ),
    Metric(
        "cllr",
        "Cllr",
        "The cost of the scores taken as natural log-likelihood ratios, from 0 without limit, and 1 for ratios that "
        "say nothing; cosines are no ratios, so that it says little about them unless they are calibrated.",
        r"$C_\mathrm{llr}$",
        unit="bit",
        group=VERIFICATION,
        range=(0.0, float("inf")),
        shown=(SUMMARY, BY_SET),
        place=3,
    ),
    Metric(
        "min_dcf",
        "min DCF",
        "The minimum normalised detection cost at the prior p of a target, from 0 to 1.",
        better=+1,
        chance=1.0,
        group=VERIFICATION,
        shown=(),
        place=4,
    ),
    Metric(
        "tpr_at_1_percent",
        "TPR at FPR 1 %",
        "The share of target trials that are accepted where one nontarget trial in a hundred is: what an attacker who "
        "can afford few false alarms finds; not given with fewer than 1000 nontarget trials.",
        r"TPR at FPR 1\,\%, \%",
        chance=0.01,
        **_TPR,
    ),
    Metric(
        "tpr_at_0.1_percent",
        "TPR at FPR 0.1 %",
        "The same where one nontarget trial in a thousand is accepted; not given with fewer than 10000.",
        r"TPR at FPR 0.1\,\%, \%",
        chance=0.001,
        **_TPR,
    ),
    Metric(
        "dsys",
        "D_sys",
        "The linkability of the score distributions (Gomez-Barrero et al.), from 0 to 1; the estimator is biased "
        "upwards, so read it against its value at shuffled labels.",
        _DSYS,
        better=-1,
        chance=0.0,
        place=6,
        **_UNIT,
    ),
    Metric(
        "dsys_calibrated",
        "D_sys, calibrated",
        "The same linkability from the likelihood ratios of PAV calibration, less what they give to strangers: 1 for "
        "separated scores and 0 for indistinguishable ones, whatever their number.",
        f"{_DSYS}, calibrated",
        better=-1,
        chance=0.0,
        shown=(KEY, OVERVIEW, SUMMARY),
        key_place=2,
        replaces="dsys",
        place=7,
        **_UNIT,
    ),
    Metric(
        "dsys_null",
        "D_sys, shuffled labels",
        "What D_sys gives for these numbers of trials where there is nothing to be learnt: its labels are shuffled.",
        f"{_DSYS}, shuffled",
        shown=(),
        place=8,
        **_UNIT,
    ),
    Metric(
        "zebra_population",
        "ZEBRA population",
        "The disclosure in bits that is expected over all priors, from 0 to 0.721 (1/ln 4).",
        "ZEBRA expected, bit",
        unit="bit",
        better=-1,
        chance=0.0,
        group=VERIFICATION,
        range=(0.0, float("inf")),
        place=9,
    ),
    Metric(
        "zebra_individual",
        "ZEBRA individual",
        "The worst-case strength of evidence as log10 of a likelihood ratio, with its category from 0 and A (best) to "
        "F; bounded by the number of trials.",
        "ZEBRA worst case",
        unit="log10 LR",
        better=-1,
        chance=0.0,
        group=VERIFICATION,
        range=(0.0, float("inf")),
        requires=("tag",),
        place=10,
    ),
)
_WITH_CURVES = ("eer_threshold", "zebra_population")


def scored_trials(
    trials: Trials, scores: Floats, utt2spk: Mapping[str, str] | None, source: str | Path = "utt2spk"
) -> ScoredTrials:
    """The trials with their scores; the speakers of trial utterances come from `utt2spk`, else from the ids."""
    speakers = trial_speakers(trials, utt2spk, source)
    return ScoredTrials(scores, trials.is_target, speakers.enroll, speakers.trial)


def score_verification(scored: ScoredTrials, curves: Path, options: Resampling) -> list[Record]:
    """The records of all metrics; the curves are written to the file `curves`, which two of them name."""
    write_text(curves, _curves_json(scored.pooled()))
    found = map(Record.from_estimate, verification(scored, options.resamples, options.seed))
    return [record.with_files({"curves": curves.name}) if record.metric in _WITH_CURVES else record for record in found]


def verification_records(
    scores: ArrayLike,
    is_target: ArrayLike,
    enrolled: Sequence[Hashable],
    spoken_by: Sequence[Hashable],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Record]:
    """All metrics of arrays: row by row a score, its label, the enrolled speaker and the one who speaks."""
    score, labels = np.asarray(scores, np.float64), np.asarray(is_target, bool)
    if not len(score) == len(labels) == len(enrolled) == len(spoken_by):
        raise ValueError("scores, labels, enrolled speakers and speakers of the trials must be of one length")
    places = {name: place for place, name in enumerate(dict.fromkeys([*enrolled, *spoken_by]))}
    sides = (np.array([places[name] for name in side], np.intp) for side in (enrolled, spoken_by))
    trials = ScoredTrials(score, labels, *sides)
    if any(labels != (trials.enroll == trials.speaker)):
        raise ValueError("a trial is a target trial if, and only if, the enrolled speaker is the one who speaks")
    return [Record.from_estimate(estimate) for estimate in verification(trials, resamples, seed)]


def _curves_json(pooled: PooledScores) -> str:
    """DET points and ECE curves, as lists of numbers."""
    curves = {"det": asdict(det_curve(pooled)), "ece": asdict(ece_curves(pooled))}
    lists = {name: {axis: values.tolist() for axis, values in curve.items()} for name, curve in curves.items()}
    return json.dumps(lists, allow_nan=False) + "\n"


def _score_files(inputs: Mapping[str, Any], options: Resampling, out: Path) -> Scores:
    trials = read_trials(inputs["trials"])
    utt2spk = read_table(inputs["utt2spk"], "speaker") if inputs["utt2spk"] else None
    scored = scored_trials(trials, read_scores(inputs["scores"], trials), utt2spk, inputs["utt2spk"])
    versus = inputs["versus"]
    other = read_scores(versus, trials) if versus else None
    records = score_verification(scored, out.with_suffix(".curves.json"), options)
    if other is not None:
        differences = paired_difference(scored, other, options.resamples, options.seed)
        records += [Record.from_estimate(found).with_params({"versus": versus}) for found in differences]
    return Scores(records)


SCORER = Scorer(
    (
        Input("--utt2spk", "speakers of the trial utterances; default: from targets and ids"),
        Input("--versus", "other scores of the same trials to compare with", "SCORES"),
        Input("trials"),
        Input("scores"),
    ),
    Resampling,
    _score_files,
    takes_params=True,
)


@dataclass(frozen=True)
class TrialSet:
    """The embeddings of both sides, and the data directory that has ``trials`` and ``utt2spk``."""

    enroll: Path
    trial: Path
    data: Path


def attack(subject: TrialSet, backend: Path | None) -> tuple[Trials, Floats]:
    """The trials of a pair of sets, and their scores: cosines, or LLRs of a back end."""
    from vpeval.asv.backend import load, score_trials
    from vpeval.embeddings.speaker_vectors import read_cached

    trials = read_trials(subject.data / "trials")
    model = load(backend) if backend else None
    return trials, score_trials(read_cached(subject.enroll), read_cached(subject.trial), trials.rows, model)


def calibrate(development: Sequence[tuple[Trials, Floats]]) -> Calibration:
    """The line that turns scores into log-likelihood ratios, from trials with known labels."""
    from vpeval.asv.backend import fit_calibration

    targets = np.concatenate([scores[trials.is_target] for trials, scores in development])
    nontargets = np.concatenate([scores[~trials.is_target] for trials, scores in development])
    return fit_calibration(targets, nontargets)


@dataclass(frozen=True)
class ScoredSet:
    """A data directory with ``trials`` and ``utt2spk``, and the score files of every attacker for its trials."""

    data: Path
    scores: tuple[Path, ...]

    @property
    def words(self) -> tuple[str, str]:
        """The words of a command line for it."""
        return str(self.data), ",".join(map(str, self.scores))

    def read(self) -> tuple[Trials, Floats]:
        """The trials, and their scores (trials × attackers)."""
        trials = read_trials(self.data / "trials")
        return trials, np.stack([read_scores(path, trials) for path in self.scores], axis=1)


def learn_weights(attackers: Sequence[str], development: Sequence[ScoredSet]) -> Fusion:
    """The weights of attackers from all development trials."""
    from vpeval.asv.fusion import fit

    parts = [one.read() for one in development]
    return fit(attackers, _stacked(parts), _labels(parts))


def fuse_held_out(
    attackers: Sequence[str], development: Sequence[ScoredSet], which: int, seed: int
) -> tuple[Trials, Floats]:
    """The trials of development set `which`, fused with weights from trials of other development speakers."""
    from vpeval.asv import fusion

    parts = [one.read() for one in development]
    enrolled, speaking = [], []
    for one, (trials, _) in zip(development, parts, strict=True):
        source = one.data / "utt2spk"
        speakers = trial_speakers(trials, read_table(source, "speaker"), source)
        enrolled += [speakers.names[place] for place in speakers.enroll]
        speaking += [speakers.names[place] for place in speakers.trial]
    place = {name: number for number, name in enumerate(sorted({*enrolled, *speaking}))}
    enroll, speaker = (np.array([place[name] for name in names], np.intp) for names in (enrolled, speaking))
    fused = fusion.fuse_held_out(attackers, _stacked(parts), _labels(parts), enroll, speaker, seed)
    sizes = [len(trials) for trials, _ in parts]
    start = sum(sizes[:which])
    return parts[which][0], fused[start : start + sizes[which]]


def _stacked(parts: Sequence[tuple[Trials, Floats]]) -> Floats:
    return np.concatenate([scores for _, scores in parts])


def _labels(parts: Sequence[tuple[Trials, Floats]]) -> Bools:
    return np.concatenate([trials.is_target for trials, _ in parts])


@dataclass(frozen=True)
class Verification(Result):
    """One attack on one pair of sets."""

    attack: Attack
    pair: Pair
    stage = 6
    files = (RECORDS, "scores")

    def data(self, pair: Pair) -> Path:
        """Where the trials are: an anonymised set may lack some of them."""
        return self.plan.trials_of(self.attack, pair)

    @property
    def out(self) -> Path:
        """The names of attacker and sets are part of it."""
        return self.plan.verification_of(self.attack, self.pair)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Embeddings of both sides, trials, and the back end."""
        parts = [self.pair, *self.development]
        sides = [
            side for one in parts for side in (self.attack.enrolled(one.enrolls), self.attack.attacked(one.trials))
        ]
        data = [self.data(one) / name for one in parts for name in ("trials", "utt2spk")]
        return tuple(dict.fromkeys((*sides, *data, *self.attack.made_of)))

    @property
    def scored(self) -> tuple[Path, ...]:
        """What a fusion reads of it: the scores, and the trials."""
        data = self.data(self.pair)
        return self.out / "scores", data / "trials", data / "utt2spk"

    @property
    def development(self) -> list[Pair]:
        """The pairs whose trials calibrate the scores; none where they stay as they are."""
        if not self.plan.settings.calibrate:
            return []
        if not self.plan.development:
            raise InputError(f"recipe {self.plan.recipe.recipe} has no dev sets among its pairs to calibrate scores on")
        return list(self.plan.development)

    @property
    def tags(self) -> dict[str, str]:
        """The trial set and the attack."""
        gender = gender_of(self.plan.original(self.pair.trials))
        return {"recipe": self.plan.recipe.recipe, "set": self.pair.trials, "gender": gender, **self.attack.tags}

    @property
    def notes(self) -> dict[str, str]:
        """The names of the attack, and what its scores are."""
        return {**self.attack.notes, "calibration": "dev" if self.development else "none"}

    def _trial_set(self, pair: Pair) -> TrialSet:
        return TrialSet(self.attack.enrolled(pair.enrolls), self.attack.attacked(pair.trials), self.data(pair))

    def make(self, out: Path) -> str:
        """Score the trials."""
        trials, scores = attack(self._trial_set(self.pair), self.attack.backend)
        if self.development:
            development = [attack(self._trial_set(pair), self.attack.backend) for pair in self.development]
            scores = calibrate(development)(scores)
        return self.write(out, trials, scores)

    def write(self, out: Path, trials: Trials, scores: Floats) -> str:
        """Write scores, records and curves into directory `out`."""
        write_scores(out / "scores", trials, scores)
        utt2spk = self.data(self.pair) / "utt2spk"
        scored = scored_trials(trials, scores, read_table(utt2spk, "speaker"), utt2spk)
        found = score_verification(scored, out / "records.curves.json", self.resampling)
        records = marked(r.with_notes(self.notes).with_files({"scores": "scores"}).tagged(self.tags) for r in found)
        write_records(out / RECORDS, records)
        return _show_eer(records)

    def commands(self) -> list[list[str]]:
        """Score, calibrate where that is asked for, and measure."""
        data, raw = self.data(self.pair), self.out / ("scores.raw" if self.development else "scores")
        found = [self._score_command(self.pair, raw)]
        if self.development:
            train = []
            for pair in self.development:
                place = self.out / f"scores.{pair.trials}"
                found.append(self._score_command(pair, place))
                train += ["--train", str(self.data(pair) / "trials"), str(place)]
            found.append(["local/calibrate_scores.py", *train, str(raw), str(self.out / "scores")])
        options = ["--utt2spk", str(data / "utt2spk"), *self.tag_words(), *self.param_words()]
        files = [str(data / "trials"), str(self.out / "scores"), str(self.out / RECORDS)]
        return [*found, ["local/score_verification.py", *options, *files]]

    def _score_command(self, pair: Pair, scores: Path) -> list[str]:
        one = self._trial_set(pair)
        backend = ["--backend", str(self.attack.backend)] if self.attack.backend else []
        return ["steps/score_trials.py", *backend, *map(str, (one.enroll, one.trial, one.data / "trials", scores))]


def _show_eer(records: Iterable[Record]) -> str:
    """What came out, in a few words."""
    eer = next(record for record in records if record.metric == "eer_kaldi")
    return f"EER {100 * eer.value:.2f} % of {eer.counts['targets'] + eer.counts['nontargets']} trials"


@dataclass(frozen=True)
class FusionWeights(Result):
    """How a fusion weighs its members in a condition, by the trials of the development sets."""

    attack: Attack
    stage = 6
    files = ("weights.json",)

    @property
    def out(self) -> Path:
        """One directory for all pairs."""
        return self.attack.weights.parent

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The scores of the members."""
        members = (one for pair in self.plan.development for one in _members(self, pair))
        return tuple(dict.fromkeys(path for one in members for path in one.scored))

    @property
    def tags(self) -> dict[str, str]:
        """The attack."""
        return self.attack.tags

    def make(self, out: Path) -> str:
        """Learn the weights."""
        from vpeval.asv.fusion import write_weights

        names = [member.attacker.name for member in self.attack.members]
        fusion = learn_weights(names, [_scored_set(self, pair) for pair in self.plan.development])
        write_weights(out / self.attack.weights.name, fusion)
        return ", ".join(f"{name} {weight:.3g}" for name, weight in zip(names, fusion.weights, strict=True))

    def commands(self) -> list[list[str]]:
        """Weights are learnt where the scores are fused."""
        return []


@dataclass(frozen=True)
class Fused(Verification):
    """One fusion on one pair of sets, by the scores of its members."""

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The scores of the members, and the weights."""
        scored = [one for pair in self._pairs for one in _members(self, pair)]
        weights = [] if self._is_dev else [self.attack.weights]
        return tuple(dict.fromkeys((*weights, *(path for one in scored for path in one.scored))))

    @property
    def notes(self) -> dict[str, str]:
        """Fused scores are calibrated; `members` names whose they are."""
        names = " ".join(member.attacker.name for member in self.attack.members)
        return {**self.attack.notes, "calibration": "dev", "members": names}

    @property
    def _is_dev(self) -> bool:
        """Whether its weights come from its own set, by parts."""
        return self.pair in self.plan.development

    @property
    def _pairs(self) -> tuple[Pair, ...]:
        """The pairs whose scores it reads."""
        return self.plan.development if self._is_dev else (self.pair,)

    def make(self, out: Path) -> str:
        """Fuse the scores."""
        names = [member.attacker.name for member in self.attack.members]
        scored = [_scored_set(self, pair) for pair in self._pairs]
        if self._is_dev:
            trials, scores = fuse_held_out(names, scored, self._pairs.index(self.pair), self.plan.settings.seed)
        else:
            from vpeval.asv.fusion import read_weights

            trials, each = scored[0].read()
            scores = read_weights(self.attack.weights)(each)
        return self.write(out, trials, scores)

    def commands(self) -> list[list[str]]:
        """Fuse the scores of the members, then measure."""
        names = " ".join(member.attacker.name for member in self.attack.members)
        words = ["local/fuse_scores.py", "--attackers", names, "--seed", str(self.plan.settings.seed)]
        for pair in self.plan.development:
            words += ["--train", *_scored_set(self, pair).words]
        return [[*words, *_scored_set(self, self.pair).words, str(self.out / "scores")], *super().commands()[-1:]]


def _members(result: Fused | FusionWeights, pair: Pair) -> list[Verification]:
    """The results of the members of a fusion on a pair of sets."""
    return [Verification(result.plan, member, pair) for member in result.attack.members]


def _scored_set(result: Fused | FusionWeights, pair: Pair) -> ScoredSet:
    members = _members(result, pair)
    return ScoredSet(members[0].data(pair), tuple(one.out / "scores" for one in members))


def verifications(plan: Plan) -> list[Verification]:
    """The results of all attacks: of single attackers, then of fusions of their scores."""
    return [
        (Fused if attack.members else Verification)(plan, attack, pair)
        for attack in plan.attacks
        for pair in plan.recipe.asv_pairs
    ]


def _results(plan: Plan) -> list[Result]:
    found = verifications(plan)
    return [
        *(one for one in found if not one.attack.members),
        *(FusionWeights(plan, attack) for attack in plan.attacks if attack.members),
        *(one for one in found if one.attack.members),
    ]


MEASURE = Measure("verification", 6, _results)
