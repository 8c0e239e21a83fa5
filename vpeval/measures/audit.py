"""Is the attacker to be believed? Six checks on what stages 3, 5 and 6 made, each answered in a sentence.

(a) control: on speech where it must succeed, the attacker is far from chance.
(b) ladder: who knows more does not do worse, beyond the interval, than anybody who knows less.
(c) enrolment: enrolment speech was anonymised; where it was not, an informed attack is not one (the T10-2 case of
    the similarity rank disclosure paper: merely re-synthesised enrolment gave an EER of 40.8 % while 69 % of the
    speakers were identified).
(d) level: whether the utterances of a speaker share a pseudo-speaker within a set, or in all sets.
(e) pass-through: utterances that left the anonymiser as they came.
(f) strongest: which attack is to be reported, among how many; and whether a fusion is as good as what it is made of.

Similarities are cosines of embeddings, by the encoder of the attacker who recognises original speech best. What counts
is the gap between pairs of utterances of one speaker and of two, as a share of the same gap in original speech:
*retention* between original and anonymised speech (1: the voice is still there, 0: gone), *coherence* within anonymised
speech (1: speakers are as distinct as before). For the level, a set is held against the sets of the other role, in
which the same speakers have got other pseudo-speakers: *sharing* is how much more alike a speaker's utterances are
within the set than across, beyond that difference in original speech.

The limits are those of conf/verdict.yaml; EERs are of the estimator that the caller chooses.

Recognisers are audited as well (`audit_utility`): a word error rate on original speech of 50 % or more means that more
goes wrong than right before anything was anonymised: the wrong recogniser, the wrong language or the wrong text rules.
Text rules that would do are named.
An emotion recogniser whose UAR on original speech is not above chance, beyond its interval, has nothing to lose.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from vpeval.anon.anonymised_set import read_missing
from vpeval.core.errors import InputError, TooFew
from vpeval.core.files import read_table, write_text
from vpeval.data.layout import first_few
from vpeval.data.text import NORMALIZERS
from vpeval.editions.headline import headline_eer
from vpeval.embeddings.speaker_vectors import Embeddings, read_embeddings
from vpeval.measures.strongest import attack_in_words, choice_in_words, sets_in_words, strongest_of
from vpeval.metrics.vectors import directions
from vpeval.metrics.wer import ErrorCounts, score_texts
from vpeval.records.limits import AuditLimits, read_limits
from vpeval.records.metrics import describe
from vpeval.records.names import ATTACK_MODELS, CONDITIONS, LAZY, ORIGINAL, SIMILAR, WARNING, attack_model
from vpeval.records.record import Record

FILE, UTILITY_FILE = "audit.json", "utility_audit.json"
"""What was found about attackers, and about recognisers."""
CHECKS = {
    "a": "control",
    "b": "ladder",
    "c": "enrolment",
    "d": "level",
    "e": "pass-through",
    "f": "strongest",
}
"""What the checks look at, by their letters."""
_AGAIN = "run local/audit_attacker.py again"


@dataclass(frozen=True)
class Finding:
    """The answer of one check; `flagged` means that the results are not to be believed without a look at it."""

    check: str
    flagged: bool
    sentence: str
    numbers: Mapping[str, float | str] = field(default_factory=dict)


def write_findings(path: Path, findings: Sequence[Finding]) -> None:
    """Write the findings as a list of objects, atomically."""
    rows = [
        {"check": f.check, "flagged": f.flagged, "sentence": f.sentence, "numbers": dict(f.numbers)} for f in findings
    ]
    write_text(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def read_findings(path: Path) -> list[Finding]:
    """The findings in a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InputError(f"is not JSON, or cut short; {_AGAIN}", path) from None
    if not isinstance(content, list) or not all(isinstance(item, dict) for item in content):
        raise InputError(f"is not a list of findings; {_AGAIN}", path)
    for number, item in enumerate(content, start=1):
        for name, kind in (("check", str), ("flagged", bool), ("sentence", str)):
            if not isinstance(item.get(name), kind):
                raise InputError(f"finding {number} has no '{name}'; {_AGAIN}", path)
        if not isinstance(item.get("numbers", {}), dict):
            raise InputError(f"the 'numbers' of finding {number} are not an object; {_AGAIN}", path)
    return [Finding(item["check"], item["flagged"], item["sentence"], item.get("numbers", {})) for item in content]


_LEVELS = {
    "none": "The voices are those of the original, so that no level can be told,",
    "one voice": "All speakers have got about the same voice",
    "all sets": "The utterances of a speaker share a voice, the same one for enrolment and trials,",
    "speaker": "The utterances of a speaker share a voice (speaker-level anonymisation)",
    "utterance": "The utterances of a speaker do not share a voice (utterance-level anonymisation)",
    "unknown": "No other set has the same speakers, so that no level can be told,",
}
_Attack = tuple[str, str, str]
"""Condition, attacker and attack model."""


@dataclass(frozen=True)
class Gap:
    """Mean similarity of utterances of the same speaker and of different speakers."""

    same: float
    other: float

    @property
    def width(self) -> float:
        """How much more alike a speaker's utterances are."""
        return self.same - self.other


@dataclass(frozen=True)
class Versions:
    """A set, original and anonymised."""

    original: Embeddings
    anonymised: Embeddings


@dataclass(frozen=True)
class Similarity:
    """Similarities within and between the original (o) and the anonymised (a) version of a set.

    `own` are the cosines of every utterance with its own anonymised version; `across` the similarity of a speaker's
    utterances with those in sets of the other role, original and anonymised, where there are any.
    """

    oo: Gap
    oa: Gap
    aa: Gap
    own: np.ndarray
    utts: tuple[str, ...]
    across: tuple[float, float] | None

    @property
    def retention(self) -> float:
        """How much of the original voices is left in the anonymised ones."""
        return self.oa.width / self.oo.width

    @property
    def coherence(self) -> float:
        """How distinct the anonymised speakers are, compared with the original ones."""
        return self.aa.width / self.oo.width

    @property
    def sharing(self) -> float | None:
        """How much more alike anonymisation made a speaker's utterances within the set than across sets."""
        if self.across is None:
            return None
        original, anonymised = self.across
        return ((self.aa.same - anonymised) - (self.oo.same - original)) / self.oo.same


def examine(
    system: str,
    encoders: Mapping[str, Path],
    pairs: Sequence[tuple[str, str]],
    records: Sequence[Record],
    checks: Mapping[str, Path],
    edition: str,
) -> list[Finding]:
    """All checks. `pairs` are (enrolment set, trial set); `encoders` are attackers with the directories of their
    embeddings of both versions of the sets, `checks` the checks.json of every anonymised set."""
    limits, eer = read_limits().audit, headline_eer((record.metric for record in records), edition)
    findings = [*control(records, eer, limits), *ladder(records, eer)]
    similar: dict[str, Similarity] = {}
    if encoders:
        encoder = best_encoder(records, encoders, eer)
        embeddings = encoders[encoder]
        names = sorted({name for pair in pairs for name in pair})
        partial = {name for name in names if name in checks and read_missing(checks[name].parent).utts}
        sets = {name: _read_versions(embeddings, name, system, name in partial) for name in names}
        partners = {name: [pair[1 - side] for pair in pairs for side in (0, 1) if pair[side] == name] for name in sets}
        # A set of single utterances says nothing about voices; its verification was looked at above.
        similar = {
            name: compare(each, [sets[other] for other in partners[name]])
            for name, each in sets.items()
            if len(each.original.speakers) > 1 and each.original.counts.max() > 1
        }
        if any(finding.flagged and finding.numbers.get("attacker") == encoder for finding in findings):
            findings += too_weak(encoder)
        else:
            enrolled = {pair[0] for pair in pairs}
            findings += [enrolment(name, found, limits) for name, found in similar.items() if name in enrolled]
            findings += levels(similar, limits)
    passed = {name: read_identical(path) for name, path in checks.items()}
    total = sum(count for _, count in passed.values())
    findings.append(pass_through({name: listed for name, (listed, _) in passed.items()}, similar, total, limits))
    return [*findings, *fusions(records, eer), *strongest(records, system, eer)]


def best_encoder(records: Sequence[Record], encoders: Iterable[str], metric: str) -> str:
    """The attacker with the least mean EER on original speech: F0 or other weak cues cannot tell whose voice it is."""
    found: dict[str, list[float]] = {name: [] for name in encoders}
    for record in _eers(records, metric):
        if record.condition == "oo" and record.attacker in found:
            found[record.attacker].append(record.value)
    return min(found, key=lambda name: np.mean(found[name]) if found[name] else np.inf)


def _read_versions(embeddings: Path, name: str, system: str, partial: bool) -> Versions:
    original, anonymised = read_embeddings(embeddings / name), read_embeddings(embeddings / f"{name}_{system}")
    return Versions(original.with_utterances(anonymised.utts) if partial else original, anonymised)


def compare(versions: Versions, others: Sequence[Versions] = ()) -> Similarity:
    """Compare the versions of a set, also with the sets of the other role; pairs are of two different utterances."""
    original, anonymised = versions.original, versions.anonymised
    if original.utts != anonymised.utts or original.speakers != anonymised.speakers:
        raise InputError(
            f"does not hold the utterances of {original.directory}; extract both again", anonymised.directory
        )
    if len(original.speakers) < 2 or original.counts.max() < 2:
        raise TooFew("needs two speakers, and two utterances of one of them, to be audited", original.directory)
    o, a, owners = directions(original.vectors), directions(anonymised.vectors), original.owners
    return Similarity(
        _gap(o, o, owners),
        _gap(o, a, owners),
        _gap(a, a, owners),
        (o * a).sum(axis=1),
        tuple(original.utts),
        _across(versions, others),
    )


def control(records: Sequence[Record], metric: str, limits: AuditLimits) -> list[Finding]:
    """(a) for every attacker: original speech where it has been tried on it, else speech like its training speech."""
    findings = []
    title, eers = describe(metric).title, _eers(records, metric)
    for attacker in sorted({record.attacker for record in eers}):
        own = [record for record in eers if record.attacker == attacker]
        chosen = [record for record in own if record.condition == "oo"]
        limit, what = limits.weak_on_original, "original speech"
        if not chosen:
            chosen = [record for record in own if record.condition == "aa"]
            limit, what = limits.near_chance, "anonymised speech of speakers it was not trained on"
        if not chosen:
            continue
        eer = float(np.mean([record.value for record in chosen]))
        trials = f"mean of {len(chosen)} sets"
        if attack_model(chosen[0]) == SIMILAR:
            sentence = (
                f"Attacker {attacker} was trained on speech of another system, so that its {title} of {_percent(eer)} "
                f"here ({trials}) is no control of it."
            )
            findings.append(Finding("a", False, sentence, {"attacker": attacker, "metric": metric, "eer": eer}))
            continue
        verdict = (
            f"beyond the limit of {_percent(limit)}: nothing shows that it can recognise anybody, so do not read its "
            "numbers as privacy"
            if eer >= limit
            else "far from the 50 % of guessing"
        )
        sentence = f"Attacker {attacker} has an {title} of {_percent(eer)} on {what} ({trials}), {verdict}."
        numbers: dict[str, float | str] = {"attacker": attacker, "metric": metric, "eer": eer, "limit": limit}
        findings.append(Finding("a", eer >= limit, sentence, numbers))
    return findings


def ladder(records: Sequence[Record], metric: str) -> list[Finding]:
    """(b) for every attack, against all that know less, with the sets that both were tried on.

    The finding is about the one that is exceeded on most sets, else about the strongest one.
    """
    attacks: dict[_Attack, dict[str, Record]] = {}
    for record in _eers(records, metric):
        attacks.setdefault((record.condition, record.attacker, attack_model(record)), {})[record.set] = record
    steps = [
        [_Step(weak, strong, tuple((own[name], sets[name]) for name in own if name in sets)) for weak, own in weaker]
        for strong, sets in attacks.items()
        if (weaker := [(weak, own) for weak, own in attacks.items() if _knows_less(weak, strong)])
    ]
    compared = [[step for step in found if step.pairs] for found in steps]
    return [
        _climb(max(found, key=lambda step: (len(step.worse), -step.mean(0))), metric) for found in compared if found
    ]


@dataclass(frozen=True)
class _Step:
    """An attack and one that knows more, with their EERs on the same sets."""

    weak: _Attack
    strong: _Attack
    pairs: tuple[tuple[Record, Record], ...]

    @property
    def worse(self) -> list[tuple[Record, Record]]:
        """Sets on which the stronger attack does worse, beyond the interval of the weaker one."""
        return [(low, high) for low, high in self.pairs if low.upper is not None and high.value > low.upper]

    def mean(self, side: int) -> float:
        """The mean EER of one of them."""
        return float(np.mean([pair[side].value for pair in self.pairs]))


def _knows_less(weak: _Attack, strong: _Attack) -> bool:
    """Whether an attack on anonymised speech knows less; a lazy-informed one is held against its own attacker alone."""
    known = [ATTACK_MODELS.index(attack) if attack in ATTACK_MODELS else 0 for *_, attack in (weak, strong)]
    if not 0 < known[0] < known[1]:
        return False
    return strong[2] != LAZY or weak[1] == strong[1]


def _climb(step: _Step, metric: str) -> Finding:
    names = [f"{attack} attacker {attacker}" for _, attacker, attack in (step.strong, step.weak)]
    numbers: dict[str, float | str] = {
        "stronger": " ".join(step.strong),
        "weaker": " ".join(step.weak),
        "metric": metric,
        "eer": step.mean(1),
        "weaker_eer": step.mean(0),
    }
    summary = (
        f"mean {describe(metric).title} {_percent(step.mean(1))} against {_percent(step.mean(0))} on "
        f"{len(step.pairs)} sets"
    )
    if step.worse:
        low, high = max(step.worse, key=lambda pair: pair[1].value - pair[0].value)
        sentence = (
            f"The {names[0]} does worse than the {names[1]}, who knows less, beyond the interval on "
            f"{first_few(sorted(pair[1].set for pair in step.worse))} ({high.set}: {_percent(high.value)} against "
            f"{_interval(low)}; {summary}): it overestimates privacy; train it better or report the weaker one."
        )
    elif all(low.upper is None for low, _ in step.pairs):
        sentence = (
            f"Whether the {names[0]} does worse than the {names[1]} cannot be told: the sets have too few speakers for "
            f"an interval ({summary})."
        )
    else:
        sentence = f"The {names[0]} does not do worse than the {names[1]} beyond the interval ({summary})."
    return Finding("b", bool(step.worse), sentence, numbers)


def fusions(records: Sequence[Record], metric: str) -> list[Finding]:
    """(f) for every fusion in every condition, against the best of its members on the sets that it was tried on."""
    own: dict[tuple[str, str], dict[str, Record]] = {}
    for record in _eers(records, metric):
        own.setdefault((record.condition, record.attacker), {})[record.set] = record
    findings = []
    for (condition, attacker), sets in own.items():
        names = str(next(iter(sets.values())).notes.get("members", "")).split()
        members = {name: own[condition, name] for name in names if sets.keys() <= own.get((condition, name), {}).keys()}
        if not members:
            continue
        means = {name: float(np.mean([found[one].value for one in sets])) for name, found in members.items()}
        best = min(means, key=lambda name: means[name])
        limits = {one: members[best][one].upper for one in sets}
        worse = [one for one, limit in limits.items() if limit is not None and sets[one].value > limit]
        mean = float(np.mean([record.value for record in sets.values()]))
        compared = f"mean {describe(metric).title} {_percent(mean)} against {_percent(means[best])}"
        where = "-".join(condition)
        if worse:
            sentence = (
                f"The fusion {attacker} of {', '.join(names)} does worse than {best} alone ({where}, {compared}), "
                f"beyond the interval on {first_few(worse)}: it is no worst case; look at {best}."
            )
        elif all(limit is None for limit in limits.values()):
            sentence = (
                f"Whether the fusion {attacker} of {', '.join(names)} does worse than its best member {best} cannot be "
                f"told: the sets have too few speakers for an interval ({where}, {compared})."
            )
        else:
            sentence = (
                f"The fusion {attacker} of {', '.join(names)} does not do worse than its best member {best} beyond the "
                f"interval ({where}, {compared})."
            )
        numbers: dict[str, float | str] = {"attacker": attacker, "best": best, "metric": metric, "eer": mean}
        findings.append(Finding("f", bool(worse), sentence, {**numbers, "best_eer": means[best]}))
    return findings


def strongest(records: Sequence[Record], system: str, metric: str) -> list[Finding]:
    """(f) for the system: what is to be reported about it; a statement, not a complaint."""
    found = strongest_of(records, system, metric)
    if found is None:
        return []
    sentence = (
        f"The {attack_in_words(found.notes)} attacker is {choice_in_words(found.notes)}: {describe(metric).title} "
        f"{_interval(found)}, mean of {sets_in_words(found)}; the interval accounts for the choice."
    )
    return [
        Finding("f", False, sentence, {"attacker": str(found.notes["chosen"]), "metric": metric, "eer": found.value})
    ]


def enrolment(name: str, found: Similarity, limits: AuditLimits) -> Finding:
    """(c) for one enrolment set."""
    flagged = found.retention >= limits.voice_kept
    sentence = (
        f"Enrolment set {name}: utterances of a speaker have a similarity of {found.oo.same:.2f} in original speech "
        f"and of {found.oa.same:.2f} between original and anonymised speech (different speakers {found.oo.other:.2f} "
        f"and {found.oa.other:.2f}): {_percent(found.retention)} of the voices "
        + (
            f"are kept, so the enrolment was not really anonymised (limit {_percent(limits.voice_kept)}) and a-a "
            "results say nothing about an informed attacker."
            if flagged
            else "are kept, so the enrolment was anonymised."
        )
    )
    return Finding("c", flagged, sentence, {"set": name, **_numbers(found)})


def levels(similar: Mapping[str, Similarity], limits: AuditLimits) -> list[Finding]:
    """(d) for all sets, a sentence for every level that is found; a statement, not a complaint."""
    kinds: dict[str, list[str]] = {}
    for name, found in similar.items():
        kinds.setdefault(level(found, limits), []).append(name)
    findings = []
    for kind, names in kinds.items():
        chosen = [similar[name] for name in names]
        same, other, coherence = (
            float(np.mean(values))
            for values in zip(*((found.aa.same, found.aa.other, found.coherence) for found in chosen), strict=True)
        )
        sentence = (
            f"{_LEVELS[kind]} in {first_few(names, len(names))}: anonymised utterances have a mean similarity of "
            f"{same:.2f} within speakers and of {other:.2f} between them ({_percent(coherence)} of the original gap)."
        )
        numbers: dict[str, float | str] = {
            "level": kind,
            "sets": " ".join(names),
            "aa_same": same,
            "aa_other": other,
            "coherence": coherence,
        }
        findings.append(Finding("d", False, sentence, numbers))
    return findings


def level(found: Similarity, limits: AuditLimits) -> str:
    """What the utterances of a speaker share: see `_LEVELS`."""
    if found.retention >= limits.voice_kept:
        return "none"
    if found.aa.other >= limits.one_voice * found.aa.same and found.aa.same >= limits.one_voice * found.oo.same:
        return "one voice"
    if found.sharing is None:
        return "unknown"
    if found.sharing >= limits.shared_pseudo_speaker:
        return "speaker"
    as_alike = found.aa.same >= limits.as_alike * found.oo.same and found.coherence >= limits.same_in_all_sets
    return "all sets" if as_alike else "utterance"


def too_weak(encoder: str) -> list[Finding]:
    """(c) and (d) where the encoder failed its own control: what it does not hear, it cannot testify to."""
    questions = {"c": "enrolment speech was anonymised", "d": "the utterances of a speaker share a voice"}
    return [
        Finding(check, True, f"Whether {question} cannot be told by {encoder}, which is too weak: see (a).")
        for check, question in questions.items()
    ]


def pass_through(
    identical: Mapping[str, Sequence[str]], similar: Mapping[str, Similarity], utts: int, limits: AuditLimits
) -> Finding:
    """(e) for all sets: files that are identical (stage 3 has noted them), and voices that are."""
    same_file = {(name, utt) for name, listed in identical.items() for utt in listed}
    same_voice = {
        (name, utt)
        for name, found in similar.items()
        for utt, cosine in zip(found.utts, found.own, strict=True)
        if cosine >= limits.passed
    }
    passed = sorted(f"{name}/{utt}" for name, utt in same_file | same_voice)
    if passed:
        sentence = (
            f"{len(passed)} of {utts} utterances passed through unchanged ({len(same_file)} identical files, "
            f"{len(same_voice)} with a similarity of at least {limits.passed} to their source): {first_few(passed)}."
        )
    else:
        closest = max((float(found.own.max()) for found in similar.values()), default=0.0)
        sentence = (
            f"None of {utts} utterances passed through unchanged (no identical file; the greatest similarity to a "
            f"source is {closest:.2f})."
        )
    numbers = {"utts": utts, "identical": len(same_file), "similar": len(same_voice)}
    return Finding("e", bool(passed), sentence, numbers)


def read_identical(checks: Path) -> tuple[list[str], int]:
    """Utterances that stage 3 found identical to their source, and the number of all, from a checks.json."""
    try:
        content = json.loads(checks.read_text(encoding="utf-8"))
        return [str(utt) for utt in content["identical"]], int(content["utts"])
    except FileNotFoundError:
        raise InputError("is missing; run stage 3 (steps/anonymize.sh) again", checks) from None
    except (json.JSONDecodeError, KeyError, TypeError, ValueError):
        raise InputError("is not a checks.json of steps/anonymize.sh; run stage 3 again", checks) from None


def _gap(left: np.ndarray, right: np.ndarray, owners: np.ndarray) -> Gap:
    """Mean cosines of utterances of one speaker, and of two; sums of vectors tell those of all pairs."""
    sums = [_sums(side, owners) for side in (left, right)]
    own = float((left * right).sum())  # an utterance is not paired with itself
    same = float((sums[0] * sums[1]).sum()) - own
    every = float((sums[0].sum(axis=0) * sums[1].sum(axis=0)).sum()) - own
    n, alike = len(owners), int(np.square(np.bincount(owners)).sum())
    return Gap(same / (alike - n), (every - same) / (n * n - alike))


def _sums(vectors: np.ndarray, owners: np.ndarray, speakers: int = 0) -> np.ndarray:
    """The sum of the vectors of every speaker."""
    total = np.zeros((max(speakers, int(owners.max(initial=-1)) + 1), vectors.shape[1]))
    np.add.at(total, owners, vectors)
    return total


def _across(versions: Versions, others: Sequence[Versions]) -> tuple[float, float] | None:
    """Mean similarity of utterances of one speaker in two sets, original and anonymised."""
    totals, pairs = np.zeros(2), 0
    for other in others:
        place = {name: number for number, name in enumerate(versions.original.speakers)}
        speakers = len(place)
        theirs = np.array([place.get(name, speakers) for name in other.original.speakers])[other.original.owners]
        shared = theirs < speakers
        ours = versions.original.owners
        pairs += int((np.bincount(ours, minlength=speakers) * np.bincount(theirs[shared], minlength=speakers)).sum())
        for number, kind in enumerate(("original", "anonymised")):
            left, right = (directions(getattr(side, kind).vectors) for side in (versions, other))
            totals[number] += (_sums(left, ours, speakers) * _sums(right[shared], theirs[shared], speakers)).sum()
    return (float(totals[0] / pairs), float(totals[1] / pairs)) if pairs else None


def _eers(records: Sequence[Record], metric: str) -> list[Record]:
    return [record for record in records if record.metric == metric and record.condition in CONDITIONS]


def _numbers(found: Similarity) -> dict[str, float]:
    gaps = {
        f"{name}_{side}": getattr(getattr(found, name), side)
        for name in ("oo", "oa", "aa")
        for side in ("same", "other")
    }
    return {**gaps, "retention": found.retention, "coherence": found.coherence}


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _interval(record: Record) -> str:
    if record.lower is None or record.upper is None:
        return _percent(record.value)
    return f"{_percent(record.value)} [{100 * record.lower:.1f}, {100 * record.upper:.1f}]"


_RECOGNISED = ("wer", "uar")


def audit_utility(records: Iterable[Record], recipe: str = "") -> list[Finding]:
    """One finding for every recogniser and set of original speech.

    Where a recogniser fails, the transcripts that its record names (relative to the working directory) are scored by
    the other text rules, too. If these do, they are the remedy, to be put into the file `recipe`.
    """
    found = []
    for record in _on_original(records):
        finding = _check_recogniser(record)
        remedy = _remedy(record, recipe) if finding.flagged and {"hyp", "ref"} <= record.files.keys() else ""
        found.append(replace(finding, sentence=f"{finding.sentence} {remedy}".rstrip()))
    return found


def _remedy(record: Record, recipe: str) -> str:
    """Which text rules make the words of a recogniser those of the references, if any do."""
    ref, hyp = (read_table(record.files[name], "text", empty=True) for name in ("ref", "hyp"))
    scores = {rules: score_texts(ref, hyp, normalise, allow_extra=True) for rules, normalise in NORMALIZERS.items()}
    rates = {rules: ErrorCounts.from_counts(score.words).rate for rules, score in scores.items()}
    best = min(rates, key=lambda rules: rates[rules])
    if rates[best] >= 100 * read_limits().verdict.not_understood:
        return "No other text rules help: the words themselves differ."
    return (
        f"The text rules {record.params.get('normalizer')} do not fit the spelling of recogniser and references (case, "
        f"punctuation, figures): by the rules {best} the word error rate is {rates[best]:.1f} %. Put text_rules={best} "
        f"into {recipe or 'the recipe.conf'} and run stage 10 again."
    )


def with_warnings(records: Sequence[Record]) -> list[Record]:
    """The records, those of recognisers that fail on original speech with a warning: of any system, on the same set."""
    failed = {
        _key(record): _check_recogniser(record).sentence
        for record in _on_original(records)
        if _check_recogniser(record).flagged
    }
    return [
        record.with_notes({WARNING: failed[_key(record)]})
        if record.metric in (*_RECOGNISED, "cer", "emotion_accuracy") and _key(record) in failed
        else record
        for record in records
    ]


def _on_original(records: Iterable[Record]) -> list[Record]:
    return [
        record
        for record in records
        if record.metric in _RECOGNISED
        and record.system == ORIGINAL
        and not record.gender
        and record.params.get("lm", "large") == "large"
    ]


def _key(record: Record) -> tuple[str, str, str]:
    kind = "uar" if record.metric in ("uar", "emotion_accuracy") else "wer"
    return kind, record.set, record.recogniser


def _check_recogniser(record: Record) -> Finding:
    name = f"{record.recogniser or 'the recogniser'} on original speech of {record.set}"
    numbers: dict[str, float | str] = {"set": record.set, "recogniser": record.recogniser, "value": record.value}
    if record.metric == "wer":
        flagged = record.value >= 100 * read_limits().verdict.not_understood
        sentence = f"{name}: word error rate {record.value:.1f} %"
        if flagged:
            sentence += (
                ", so that nothing can be said about anonymised speech; choose a recogniser (asr) and text rules "
                "(text_rules) that fit the corpus"
            )
        return Finding("recogniser", flagged, sentence + ".", numbers)
    chance = float(record.notes.get("chance", 0))
    floor = record.value if record.lower is None else record.lower
    flagged = floor <= chance
    sentence = f"{name}: unweighted average recall {record.value:.1f} %, chance {chance:.1f} %"
    if flagged:
        sentence += (
            ", so that nothing can be said about anonymised speech; train with more data or another recogniser (ser)"
        )
    return Finding("emotion recogniser", flagged, sentence + ".", {**numbers, "chance": chance})
