"""The numbers of a submission, computed again from its scores, transcripts and predictions.

Labels and references are the organiser's own where the original data are at hand. A number of the results that its
evidence does not give is a violation, and so is one without evidence; what cannot be computed again is listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from vpeval.core.arrays import Floats
from vpeval.core.errors import InputError
from vpeval.core.files import read_table, to_number
from vpeval.data.layout import first_few
from vpeval.data.text import NORMALIZERS
from vpeval.data.trials import Trials, read_scores, read_trials
from vpeval.measures.base import Resampling
from vpeval.measures.emotion import score_predictions
from vpeval.metrics.scores import pool
from vpeval.metrics.verification import POINT_ESTIMATES
from vpeval.metrics.wer import ErrorCounts, score_texts
from vpeval.records.metrics import describe
from vpeval.records.names import ASV_EVAL, ASV_EVAL_ANON, CONDITIONS
from vpeval.records.record import Record
from vpeval.submission.archive import MOST_LINES, Archive
from vpeval.submission.demands import Demands, check_pair, check_recogniser
from vpeval.submission.sets import Sets

_ROUNDED = {"eer_kaldi": 5e-5, "eer_threshold": 5e-6, "eer_rocch": 5e-6, "dsys": 5e-7, "wer": 5e-3}
_ROUNDED_OTHERS = 5e-4
"""How far a number of a results file may lie from the exact one, in the unit of records."""


Rate = tuple[float | None, list[Path]]
"""A rate, None where there is nothing to compare with, and the original sets that it is of."""


@dataclass(frozen=True)
class Scored:
    """A directory of scores: who attacked which pair of sets in which condition."""

    directory: str
    attacker: str
    enrolls: str
    trials: str
    condition: str

    @property
    def file(self) -> str:
        """Its scores in the archive."""
        return f"scores/{self.directory}/scores"


@dataclass(frozen=True)
class Recognised:
    """Transcripts (ASR) or emotions (UAR) in an archive: whose, of which set and side, by which language model.

    `data` are the original sets that they are of.
    """

    kind: str
    recogniser: str
    set: str
    side: str
    lm: str
    file: str = ""
    data: tuple[Path, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What a number of a results file is about."""
        return self.set, self.side, self.lm


@dataclass(frozen=True)
class Evidence:
    """What scores and transcripts give: values by metric, for every attack, and word error rates by set and side."""

    attacks: Mapping[Scored, Mapping[str, float]]
    words: Mapping[tuple[str, str, str], Mapping[str, float]]
    emotions: Mapping[tuple[str, str, str], Mapping[str, float]]
    recognised: frozenset[Path]
    """The original sets of which anonymised speech was recognised or judged."""
    transcripts: tuple[Recognised, ...] = ()
    usual: Mapping[str, str] = field(default_factory=lambda: {"wer": "", "uar": ""})
    """The recognisers that count, where that is known."""

    def attack(self, attacker: str, trials: str, condition: str) -> Scored | None:
        """The scores of an attacker; those of another where he has none of original speech."""
        found = [one for one in self.attacks if (one.trials, one.condition) == (trials, condition)]
        own = [one for one in found if one.attacker == attacker]
        has_original = any(one.attacker == attacker and one.condition == "oo" for one in self.attacks)
        return next(iter(own or ([] if condition != "oo" or has_original else found)), None)


def gather(archive: Archive, sets: Sets, system: str, demands: Demands, rules: str) -> Evidence:
    """Compute everything again that the archive has evidence for."""
    attacks = {}
    known: dict[str, Trials | None] = {}
    for scored in read_directories(archive, sets, system):
        check_pair(archive, demands, scored.file, scored.enrolls, scored.trials)
        if scored.trials not in known or not sets.originals:
            known[scored.trials] = read_labels(archive, scored, sets)
        if values := _verify(archive, scored, known[scored.trials]):
            attacks[scored] = values
    words: dict[tuple[str, str, str], dict[str, float]] = {}
    emotions: dict[tuple[str, str, str], dict[str, float]] = {}
    recognised: set[Path] = set()
    transcripts = []
    for place, kind, file, found, usual, score in (
        ("text", "ASR", "text", words, demands.recogniser, partial(_words, rules)),
        ("emotions", "UAR", "predictions", emotions, demands.emotions, _emotions),
    ):
        rates: dict[tuple[str, str, str], dict[str, float | None]] = {}
        for directory, files in sorted(archive.under(place).items()):
            one = _recognised_set(directory, kind, system)
            if one is None or file not in files:
                message = f"is no directory {kind}_<recogniser>-<set> with '{file}'"
                archive.complain(f"{place}/{directory}", message, "pack it as the run has it", "layout")
                continue
            check_recogniser(archive, demands, f"{place}/{directory}", kind, one.recogniser)
            rate, data = score(archive, f"{place}/{directory}/{file}", sets)
            rates.setdefault(one.key, {})[one.recogniser] = rate
            transcripts.append(replace(one, file=f"{place}/{directory}/{file}", data=tuple(data)))
            if one.side == "a":
                recognised |= set(data)
        for key, own in rates.items():
            found[key] = _that_count(archive, demands, f"{place}: {' '.join(filter(None, key))}", own, usual)
    return Evidence(
        attacks,
        words,
        emotions,
        frozenset(recognised),
        tuple(transcripts),
        {"wer": demands.recogniser, "uar": demands.emotions},
    )


def _that_count(
    archive: Archive, demands: Demands, place: str, rates: Mapping[str, float | None], usual: str
) -> dict[str, float]:
    """Of the rates of a set by recogniser those that count: of the recipe's recogniser and of trained ones."""
    counting = {name: rate for name, rate in rates.items() if name == usual or demands.is_trained(name)}
    if usual and usual not in rates and not place.endswith(("small", "large")):
        message = f"recognised by {', '.join(rates)}, and {usual} counts"
        demands.differs(archive, place, message, "recognise it with the recogniser of the recipe (stage 10)")
    elif not usual and len({*rates.values()} - {None}) > 1:
        archive.unverified.append(f"{place}: {len(rates)} recognisers, and the results do not say whose rate they show")
    counting = counting if usual in rates else dict(rates)
    return {name: rate for name, rate in counting.items() if rate is not None}


def read_directories(archive: Archive, sets: Sets, system: str) -> list[Scored]:
    """The directories of scores; one whose name does not say whose they are is a violation."""
    directories = archive.under("scores")
    if not directories:
        archive.complain("scores", "holds no scores", "pack the ASV_*/scores of the run", "missing file")
    found = []
    for directory, files in sorted(directories.items()):
        scored = _parse(directory, sets.names, system)
        if scored is None:
            message = "names no pair of sets of this submission, so that it proves nothing"
            archive.complain(f"scores/{directory}", message, "call it ASV_<attacker>-<enrolls>-<trials>", "scores")
        elif "scores" not in files:
            archive.complain(scored.file, "is missing", "pack the ASV_*/scores of the run", "missing file")
        else:
            found.append(scored)
    return found


def _parse(directory: str, names: Sequence[str], system: str) -> Scored | None:
    for (left, trials), trial_side in _ends(directory, names, system):
        for (attacker, enrolls), enroll_side in _ends(left, names, system):
            condition = enroll_side + trial_side
            if condition in CONDITIONS and (attacker == "ASV" or attacker.startswith("ASV_")):
                return Scored(directory, attacker.removeprefix("ASV").removeprefix("_"), enrolls, trials, condition)
    return None


def _ends(text: str, names: Sequence[str], system: str) -> Iterator[tuple[tuple[str, str], str]]:
    """The set at the end of a name and what precedes it; the longest first."""
    for name in sorted(names, key=len, reverse=True):
        for side, suffix in (("a", f"_{system}"), ("o", "")):
            if text.endswith(f"-{name}{suffix}"):
                yield (text.removesuffix(f"-{name}{suffix}"), name), side


def _verify(archive: Archive, scored: Scored, trials: Trials | None) -> dict[str, float] | None:
    """All metrics of the scores of a pair of sets; None where they are not to be had."""
    if trials is None:
        return None
    values = _scores_of(archive, scored, trials)
    if values is None or not np.isfinite(values).all():
        return None
    if values.min() == values.max():
        message = f"all {len(values)} scores are {values[0]:g}, which no attacker gives"
        archive.complain(scored.file, message, "score the trials again", "scores")
    pooled = pool(values[trials.is_target], values[~trials.is_target])
    return {metric: function(pooled) for metric, function in POINT_ESTIMATES.items()}


def _scores_of(archive: Archive, scored: Scored, trials: Trials) -> Floats | None:
    """The scores of the trials; None where they are not those of all trials and of no others, which is noted."""
    most = 2 * len(trials.rows) + 1000
    path = archive.table(scored.file, most)
    if path is None:
        return None
    try:
        return read_scores(path, trials)
    except InputError:
        # Something is wrong: line by line, all of it is noted.
        scores = read_submitted(archive, scored, most)
    pairs = list(trials.rows)
    labels = set(pairs)
    if missing := sorted(labels - scores.keys()):
        some = first_few(" ".join(pair) for pair in missing)
        archive.complain(scored.file, f"lacks {len(missing)} of {len(labels)} trials ({some})", "score them", "scores")
    if unknown := sorted(scores.keys() - labels):
        some = first_few(" ".join(pair) for pair in unknown)
        archive.complain(scored.file, f"scores {len(unknown)} pairs that are no trials ({some})", "remove them", "ids")
    return None if missing or unknown else np.array([scores[pair] for pair in pairs])


def read_labels(archive: Archive, scored: Scored, sets: Sets) -> Trials | None:
    """The trials of a set: of the original data if they are at hand, else those in the archive."""
    try:
        if sets.originals:
            return read_trials(sets.originals[scored.trials] / "trials")
        names = [f"data/{directory}/trials" for directory, name in sets.directories.items() if name == scored.trials]
        path = archive.table(names[0]) if names else None
        return read_trials(path) if path else None
    except InputError as error:
        archive.complain(scored.file, f"its trials cannot be read: {error}", "pack the trials", "scores")
        return None


def read_submitted(archive: Archive, scored: Scored, most: int = MOST_LINES) -> dict[tuple[str, str], float]:
    """The scores of trials; what is no finite number, and a second score, are violations."""
    scores: dict[tuple[str, str], float] = {}
    for number, (spk, utt, text) in archive.rows(scored.file, 3, most):
        try:
            value = to_number(text)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            message = f"score '{text[:40]}' is no finite number"
            archive.complain(scored.file, message, "score the trial again", "scores", number)
        elif (spk, utt) in scores:
            archive.complain(scored.file, f"trial '{spk} {utt}' is scored twice", "keep one line", "scores", number)
        scores[spk, utt] = value
    return scores


def _words(rules: str, archive: Archive, name: str, sets: Sets) -> Rate:
    """The word error rate of transcripts."""
    hyps = _table(archive, name)
    data = _sets_of(hyps, sets, "text")
    refs = {utt: text for path in data for utt, text in read_table(path / "text", "text", empty=True).items()}
    if unknown := sorted(hyps.keys() - refs.keys()):
        if not data:
            archive.unverified.append(f"{name}: no original texts to compare with")
            return None, data
        message = f"has {len(unknown)} utterances that the original data lack ({first_few(unknown)})"
        archive.complain(name, message, "pack the transcripts of the sets", "ids")
        return None, data
    counts = ErrorCounts.from_counts(score_texts(refs, hyps, NORMALIZERS[rules]).words)
    return (counts.rate if counts.words else None), data


def _emotions(archive: Archive, name: str, sets: Sets) -> Rate:
    """The unweighted average recall of predictions."""
    data = _sets_of(_table(archive, name), sets, "utt2emo")
    if not data:
        archive.unverified.append(f"{name}: no original labels to compare with")
        return None, data
    try:
        return score_predictions(data, [archive.texts[name]], Resampling(resamples=0))[0].value, data
    except InputError as error:
        archive.complain(name, str(error).removeprefix(f"{archive.texts[name]}: "), "predict again", "scores")
        return None, data


def _recognised_set(directory: str, kind: str, system: str) -> Recognised | None:
    """What a name such as ``ASR_whisper-libri_dev_asr_mine.decode_tgsmall`` says."""
    place, _, lm = directory.partition(".decode_tg")
    head, _, name = place.partition("-")
    if not name or head.partition("_")[0] != kind:
        return None
    suffix = f"_{system}"
    side = "a" if name.endswith(suffix) else "o"
    return Recognised(kind, head.partition("_")[2], name.removesuffix(suffix), side, lm)


def _table(archive: Archive, name: str) -> dict[str, str]:
    path = archive.table(name)
    if path is None:
        return {}
    try:
        return read_table(path, "value", empty=True)
    except InputError as error:
        archive.complain(name, str(error).removeprefix(str(path)).lstrip(":"), "write it again", "number of fields")
        return {}


def _sets_of(found: Mapping[str, str], sets: Sets, file: str) -> list[Path]:
    """The original sets, among those with `file`, whose utterances were found: whole ones, then those of the rest."""
    utts = {path: read_table(path / file, "value", empty=True).keys() for path in _having(sets, file)}
    whole = [path for path, own in utts.items() if own <= found.keys()]
    rest = set(found).difference(*(utts[path] for path in whole))
    return whole + [path for path, own in utts.items() if path not in whole and not rest.isdisjoint(own)]


def _having(sets: Sets, file: str) -> list[Path]:
    return [path for path in sets.originals.values() if (path / file).is_file()]


def compare(
    archive: Archive, results: Mapping[str, Sequence[Record]], evidence: Evidence, shown: Mapping[str, str]
) -> dict[str, list[str]]:
    """Hold every number of the results files against its evidence; return what was recomputed, by set and condition."""
    recomputed: defaultdict[str, dict[str, None]] = defaultdict(dict)
    unverified: defaultdict[str, int] = defaultdict(int)
    for file, records in results.items():
        for record in records:
            if record.metric in POINT_ESTIMATES and record.condition in CONDITIONS:
                found = _compare_attack(archive, file, record, evidence, shown)
            elif record.metric == "wer":
                rates = evidence.words.get((record.set, record.condition, record.params.get("lm", "")))
                found = _compare_rate(archive, file, record, rates, evidence.usual["wer"], "transcripts")
            elif record.metric == "uar":
                rates = evidence.emotions.get((record.set, record.condition, ""))
                found = _compare_rate(archive, file, record, rates, evidence.usual["uar"], "predictions")
            else:
                unverified[record.metric] += 1
                continue
            if found:
                recomputed[f"{record.set} {record.condition}"][found] = None
    for file, records in results.items():
        _require_usual(archive, file, records, evidence)
    for metric, count in unverified.items():
        title = describe(metric).title
        archive.unverified.append(f"{title}: {count} numbers, which scores and transcripts do not give")
    return {place: list(numbers) for place, numbers in recomputed.items()}


def _require_usual(archive: Archive, file: str, records: Sequence[Record], evidence: Evidence) -> None:
    """Note error rates of the recogniser that counts which a file replaces by those of another."""
    for (name, side, lm), rates in evidence.words.items():
        value = rates.get(evidence.usual["wer"])
        own = [r for r in records if (r.metric, r.set, r.condition, r.params.get("lm", "")) == ("wer", name, side, lm)]
        if value is not None and own and not any(_same(record, value) for record in own):
            message = f"does not show the WER of {name} {side} by {evidence.usual['wer']}, which counts"
            archive.complain(file, message, "write the results again", "results")


def _compare_attack(archive: Archive, file: str, record: Record, evidence: Evidence, shown: Mapping[str, str]) -> str:
    main = shown.get("attacker", "")
    attacker = {ASV_EVAL: shown.get("asv_eval", main), ASV_EVAL_ANON: main}.get(record.attacker, main)
    scored = evidence.attack(attacker, record.set, record.condition)
    kind = describe(record.metric)
    place = f"{record.set} {record.condition}"
    if scored is None:
        message = f"{kind.title} of {place}: no scores of attacker '{attacker}' give this number"
        archive.complain(file, message, "pack the scores that it is of", "results")
        return ""
    value = evidence.attacks[scored][record.metric]
    theirs, ours = (f"{kind.scale * number:.4g} {kind.unit}".rstrip() for number in (record.value, value))
    if not _same(record, value):
        name = "an EER" if record.metric == "eer_kaldi" else f"a {kind.title}"
        message = f"the results say {name} of {theirs}, the scores give {ours}"
        archive.complain(scored.file, message, "pack scores and results of the same run", "results")
        return ""
    return f"{kind.title} {ours}"


def _compare_rate(
    archive: Archive, file: str, record: Record, found: Mapping[str, float] | None, usual: str, what: str
) -> str:
    kind = describe(record.metric)
    place = f"{record.set} {record.condition}"
    if found is None:
        message = f"{kind.title} of {place}: no {what} give this number"
        archive.complain(file, message, f"pack the {what} that it is of", "results")
        return ""
    # A line may name another recogniser, which was trained; without a name, the number is of the one that counts.
    source = str(record.notes.get("source", ""))
    named = [name for name in found if name and f"_{name}-" in source] or [name for name in found if name == usual]
    found = {name: found[name] for name in named} or found
    if found and not any(_same(record, value) for value in found.values()):
        given = ", ".join(sorted(kind.show(value) for value in found.values()))
        message = f"the results say {kind.title} {kind.show(record.value)} % of {place}, the {what} give {given} %"
        archive.complain(file, message, f"pack {what} and results of the same run", "results")
        return ""
    return f"{kind.title} {kind.show(record.value)} %" if found else ""


def _same(record: Record, value: float) -> bool:
    """Whether a number of a results file is `value`, rounded as the file does it."""
    most = _ROUNDED.get(record.metric, _ROUNDED_OTHERS)
    return record.value == value or abs(record.value - value) <= most * (1 + 1e-6)
