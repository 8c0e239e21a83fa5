"""The evaluation sets of the VoicePrivacy challenges: by the official lists, or rebuilt by their rules with a seed.

LibriSpeech: speakers are enrolled with utterances of one chapter, of which none is in a trial; trials are all pairs of
an enrolled speaker and a trial utterance of the same gender. Enrolments last as long as the official ones; who is
enrolled with which chapter is drawn so that the numbers of utterances are near those of the plan's tables. VCTK: 15
speakers of each gender and partition, enrolled with 20 of the utterances from number 25 on; the others are for trials,
numbers 1 to 24 in the *common* part. How many speakers are enrolled and how many pairs are drawn is as in the plan's
tables. 2026: trials across genders (`mixed`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.seeds import draw, generator, shuffled
from vpeval.corpora.counts import EXPECTED
from vpeval.corpora.lists import Listed, Lists
from vpeval.corpora.protocol import OFFICIAL, REBUILT, Status
from vpeval.corpora.released import is_common, read_librispeech, read_vctk
from vpeval.corpora.utterances import PreparedSet, Request, Utterance, by_speaker, make_set, speakers_by_gender
from vpeval.data.directory import Trial
from vpeval.data.layout import GENDERS, first_few

_DRAWS = 2000
_VCTK_ENROLMENT = 20
_NOWHERE = Path("rebuilt")


@dataclass(frozen=True)
class Sets:
    """The utterances to enrol with, and the trials by part: f, m, f_common, m_common."""

    enrolls: Listed
    trials: dict[str, Listed]


@dataclass(frozen=True)
class _LibriRule:
    """How the organisers' enrolments of a partition look, in seconds.

    Utterances below `shortest` are nowhere, neither in enrolments nor in trials. An enrolment takes utterances of a
    chapter that lasts `least`, in random order or `shortest_first`, until it has reached `goal`.
    """

    goal: float
    least: float
    shortest: float = 0.0
    shortest_first: bool = False


_LIBRI = {
    "libri_dev": _LibriRule(goal=73.0, least=49.0),
    "libri_test": _LibriRule(goal=86.0, least=66.0, shortest=3.0, shortest_first=True),
}
"""Read off the official lists: what the plan's tables do not say."""


def build_libri(utterances: Sequence[Utterance], base: str, seed: int) -> Sets:
    """Sets of ``libri_dev`` or ``libri_test`` from all utterances of dev-clean or test-clean."""
    rule = _LIBRI[base]
    used = [each for each in utterances if each.seconds >= rule.shortest]
    enrolments: dict[str, list[Utterance]] = {}
    trials = {}
    for gender in GENDERS:
        own = [each for each in used if each.gender == gender]
        chosen = _draw_enrolments(own, base, gender, seed)
        taken = {(spk, enrolment[0].session) for spk, enrolment in chosen.items()}
        trials[gender] = _listed([each for each in own if (each.spk, each.session) not in taken], list(chosen))
        enrolments |= chosen
    if not enrolments:
        raise InputError(
            f"no speaker of {base} has two chapters, one to enrol with and one to try; is the corpus whole?"
        )
    return Sets(Listed(_NOWHERE, tuple(sorted(each.utt for own in enrolments.values() for each in own))), trials)


def _draw_enrolments(utterances: Sequence[Utterance], base: str, gender: str, seed: int) -> dict[str, list[Utterance]]:
    """Whom to enrol, and with what: of many draws, the one whose numbers of utterances are nearest to the plan's."""
    rule, chapters = _LIBRI[base], _by_chapter(utterances)
    able = [spk for spk, own in chapters.items() if len(own) > 1]
    choices = {spk: [_enrolment(each, rule, seed, base) for each in _long_enough(chapters[spk], rule)] for spk in able}
    spoken = {spk: sum(map(len, own.values())) for spk, own in chapters.items()}
    enrolls, trials = EXPECTED[f"{base}_enrolls", gender], EXPECTED[f"{base}_trials_{gender}", gender]
    random = generator(seed, f"{base} enrolment", gender)
    nearest: dict[str, list[Utterance]] = {}
    least = math.inf
    for _ in range(_DRAWS if able else 0):
        drawn = [able[place] for place in random.permutation(len(able))[: enrolls.speakers]]
        found = {spk: choices[spk][random.integers(len(choices[spk]))] for spk in sorted(drawn)}
        left = sum(spoken.values()) - sum(len(chapters[spk][own[0].session]) for spk, own in found.items())
        targets = sum(spoken[spk] - len(chapters[spk][own[0].session]) for spk, own in found.items())
        numbers = (sum(map(len, found.values())), left, targets)
        wanted = (enrolls.utts, trials.utts, trials.targets)
        distance = sum(
            abs(math.log((one + 1) / ((other or 0) + 1))) for one, other in zip(numbers, wanted, strict=True)
        )
        if distance < least:
            nearest, least = found, distance
    return nearest


def _by_chapter(utterances: Iterable[Utterance]) -> dict[str, dict[str, list[Utterance]]]:
    """Speaker → chapter → utterances, all in order."""
    found: dict[str, dict[str, list[Utterance]]] = {}
    for spk, own in by_speaker(utterances).items():
        for each in own:
            found.setdefault(spk, {}).setdefault(each.session, []).append(each)
    return found


def _long_enough(chapters: Mapping[str, list[Utterance]], rule: _LibriRule) -> list[list[Utterance]]:
    """The chapters of a speaker that last long enough to enrol with; the longest one if there is no other."""
    seconds = {name: sum(each.seconds for each in own) for name, own in chapters.items()}
    able = [own for name, own in chapters.items() if seconds[name] >= rule.least]
    return able or [chapters[max(seconds, key=lambda name: (seconds[name], name))]]


def _enrolment(chapter: Sequence[Utterance], rule: _LibriRule, seed: int, base: str) -> list[Utterance]:
    """Utterances of a chapter, one after the other until they last as long as the rule says."""
    by_id = {each.utt: each for each in chapter}
    name = f"{chapter[0].spk} {chapter[0].session}"
    order = shuffled(by_id, seed, f"{base} enrolment", name)
    if rule.shortest_first:
        order.sort(key=lambda utt: by_id[utt].seconds)
    seconds = accumulate((by_id[utt].seconds for utt in order), initial=0.0)
    return [by_id[utt] for utt, before in zip(order, seconds, strict=False) if before < rule.goal]


def choose_vctk_speakers(utterances: Sequence[Utterance], base: str, seed: int) -> list[Utterance]:
    """The utterances of the speakers of ``vctk_dev`` or ``vctk_test``: 15 of each gender, where there are as many."""
    chosen: set[str] = set()
    for gender in GENDERS:
        order = shuffled(speakers_by_gender(utterances, gender), seed, "VCTK speakers", gender)
        share = min(EXPECTED[f"{base}_enrolls", gender].speakers, len(order) // 2)
        first = 0 if base.endswith("dev") else share
        chosen.update(order[first : first + share])
    return [each for each in utterances if each.spk in chosen]


def build_vctk(utterances: Sequence[Utterance], base: str, seed: int) -> Sets:
    """Sets of ``vctk_dev`` or ``vctk_test`` from all utterances of its speakers."""
    enrolls: set[str] = set()
    for spk, own in by_speaker(utterances).items():
        different = [each.utt for each in own if not is_common(each.utt)]
        enrolls.update(draw(different, min(_VCTK_ENROLMENT, len(different) // 2), seed, f"{base} enrolment", spk))
    speakers = {each.spk for each in utterances if each.utt in enrolls}
    trials = {}
    for gender in GENDERS:
        enrolled = sorted(spk for spk in speakers_by_gender(utterances, gender) if spk in speakers)
        candidates = [each for each in utterances if each.gender == gender and each.utt not in enrolls]
        trials[gender] = draw_trials(
            [e for e in candidates if not is_common(e.utt)], enrolled, f"{base}_trials_{gender}", seed
        )
        common = [each for each in candidates if is_common(each.utt)]
        trials[f"{gender}_common"] = draw_trials(common, enrolled, f"{base}_trials_{gender}_common", seed)
    return Sets(Listed(_NOWHERE, tuple(sorted(enrolls))), trials)


def draw_trials(utterances: Iterable[Utterance], enrolled: Sequence[str], name: str, seed: int) -> Listed:
    """As many target and nontarget trials as the plan has in set `name`, drawn from all pairs."""
    every = _listed(utterances, enrolled)
    gender = "f" if "_trials_f" in name else "m"
    sizes = EXPECTED.get((name, gender))
    if sizes is None:
        return every
    pairs = {f"{spk} {utt}": (spk, utt, label) for spk, utt, label in every.trials or ()}
    chosen: list[Trial] = []
    for label, size in (("target", sizes.targets), ("nontarget", sizes.nontargets)):
        of_label = [key for key, trial in pairs.items() if trial[2] == label]
        chosen += [pairs[key] for key in draw(of_label, size or 0, seed, f"{name} trials", label)]
    return Listed(_NOWHERE, every.utts, tuple(sorted(chosen)))


def mix(parts: dict[str, Listed], genders: dict[str, str], seed: int, name: str) -> Listed:
    """The trials of both genders and others across genders, as VoicePrivacy 2026 has them, but seeded.

    Every trial utterance is also compared with enrolled speakers of the other gender, as many as its own gender has
    nontarget trials per utterance (rounded mean), or all if there are fewer.
    """
    trials: list[Trial] = []
    enrolled = {spk for part in parts.values() for spk, _, _ in part.trials or ()}
    for gender, part in parts.items():
        own = part.trials or ()
        trials += own
        size = round(sum(label == "nontarget" for *_, label in own) / len(part.utts)) if part.utts else 0
        others = [spk for spk in enrolled if genders[spk] != gender]
        for utt in part.utts:
            trials += [(spk, utt, "nontarget") for spk in draw(others, size, seed, f"{name} across genders", utt)]
    utts = tuple(sorted(utt for part in parts.values() for utt in part.utts))
    return Listed(_NOWHERE, utts, tuple(sorted(trials)))


def _listed(utterances: Iterable[Utterance], enrolled: Sequence[str]) -> Listed:
    """All pairs of enrolled speakers and utterances."""
    candidates = sorted(utterances, key=lambda each: each.utt)
    trials = [(spk, each.utt, "target" if spk == each.spk else "nontarget") for spk in enrolled for each in candidates]
    return Listed(_NOWHERE, tuple(each.utt for each in candidates), tuple(sorted(trials)))


_DRAWN = Status(REBUILT, "drawn by the rule of the challenge, without its lists")
_PAIRS_DRAWN = Status(REBUILT, "utterances of the official lists, but pairs drawn, as the lists have none")
_MIXED_DRAWN = Status(REBUILT, "trials across genders drawn by the rule of VoicePrivacy 2026")


@dataclass(frozen=True)
class _Plan:
    """Enrolment and trials of a partition before its audio is touched."""

    base: str
    enrolls: Listed
    trials: Mapping[str, Listed]
    statuses: Mapping[str, Status]


def libri_sets(request: Request, partition: str) -> list[PreparedSet]:
    """All sets of ``libri_dev`` or ``libri_test``: enrolls, trials_f, trials_m and trials_mixed."""
    base = f"libri_{partition}"
    utterances = read_librispeech(request.corpus, f"{partition}-clean")
    official = _official(request.lists, base, ("f", "m"), utterances)
    if official is None:
        converted = request.convert(utterances, "librispeech")
        built = build_libri(converted, base, request.seed)
        plan = _Plan(base, built.enrolls, built.trials, dict.fromkeys(("enrolls", *built.trials), _DRAWN))
    else:
        converted = request.convert(_used(official, utterances), "librispeech")
        plan = _with_pairs(base, official, converted, request.seed)
    genders = {each.spk: each.gender for each in converted}
    mixed = request.lists.trials(base, "mixed") if request.lists else None
    status = Status(OFFICIAL, str(mixed.path)) if mixed else _MIXED_DRAWN
    mixed = mixed or mix(dict(plan.trials), genders, request.seed, f"{base}_trials_mixed")
    plan = _Plan(base, plan.enrolls, {**plan.trials, "mixed": mixed}, {**plan.statuses, "mixed": status})
    return _make(request, plan, converted)


def vctk_sets(request: Request, partition: str) -> list[PreparedSet]:
    """All sets of ``vctk_dev`` or ``vctk_test``: enrolls, trials_{f,m}, trials_{f,m}_common and their unions, _all."""
    base = f"vctk_{partition}"
    utterances = read_vctk(request.corpus)
    official = _official(request.lists, base, ("f", "f_common", "m", "m_common"), utterances)
    if official is None:
        converted = request.convert(choose_vctk_speakers(utterances, base, request.seed), "vctk")
        built = build_vctk(converted, base, request.seed)
        plan = _Plan(base, built.enrolls, built.trials, dict.fromkeys(("enrolls", *built.trials), _DRAWN))
    else:
        converted = request.convert(_used(official, utterances), "vctk")
        plan = _with_pairs(base, official, converted, request.seed)
    trials, statuses = dict(plan.trials), dict(plan.statuses)
    for gender in GENDERS:
        trials[f"{gender}_all"] = _union(trials[gender], trials[f"{gender}_common"])
        statuses[f"{gender}_all"] = statuses[gender]
    trials["all"] = _union(trials["f_all"], trials["m_all"])
    statuses["all"] = statuses["f"]
    return _make(request, _Plan(base, plan.enrolls, trials, statuses), converted)


def _official(lists: Lists | None, base: str, parts: Sequence[str], utterances: Iterable[Utterance]) -> Sets | None:
    """What the lists say about a partition; None where they say nothing, an error where they say half."""
    if lists is None:
        return None
    enrolls = lists.enrolls(base)
    found = {part: _part(lists, base, part) for part in parts}
    listed = {part: each for part, each in found.items() if each is not None}
    if enrolls is None and not listed:
        return None
    missing = (
        [f"{base}_enrolls"] if enrolls is None else [f"{base}_trials_{part}" for part in parts if part not in listed]
    )
    if enrolls is None or missing:
        raise InputError(f"has lists of {base}, but none of {missing[0]}; complete them", lists.root)
    known = {each.utt: each.spk for each in utterances}
    for each in (enrolls, *listed.values()):
        if unknown := [utt for utt in each.utts if utt not in known]:
            raise InputError(
                f"{len(unknown)} of {len(each.utts)} utterances are not in the corpus ({first_few(unknown)}); is it "
                "complete?",
                each.path,
            )
    enrolled = {known[utt] for utt in enrolls.utts}
    for each in listed.values():
        _refuse_contradiction(each, known, enrolled)
    return Sets(enrolls, listed)


def _part(lists: Lists, base: str, part: str) -> Listed | None:
    """The list of a part; for VCTK, the list of both parts together serves as well."""
    own = lists.trials(base, part)
    if own is not None or not base.startswith("vctk"):
        return own
    gender, _, common = part.partition("_")
    whole = lists.trials(base, f"{gender}_all")
    if whole is None:
        return None
    utts = tuple(utt for utt in whole.utts if is_common(utt) == bool(common))
    trials = (
        None if whole.trials is None else tuple(trial for trial in whole.trials if is_common(trial[1]) == bool(common))
    )
    return Listed(whole.path, utts, trials)


def _refuse_contradiction(listed: Listed, known: Mapping[str, str], enrolled: set[str]) -> None:
    for spk, utt, label in listed.trials or ():
        if spk not in enrolled:
            raise InputError(
                f"trial '{spk} {utt}': speaker '{spk}' is not enrolled; do the lists belong together?", listed.path
            )
        if (known[utt] == spk) != (label == "target"):
            raise InputError(f"trial '{spk} {utt}' is {label}, but '{utt}' is spoken by '{known[utt]}'", listed.path)


def _used(sets: Sets, utterances: Iterable[Utterance]) -> list[Utterance]:
    wanted = {utt for listed in (sets.enrolls, *sets.trials.values()) for utt in listed.utts}
    return [each for each in utterances if each.utt in wanted]


def _with_pairs(base: str, official: Sets, utterances: Sequence[Utterance], seed: int) -> _Plan:
    """The official sets; where the lists name utterances only, pairs are drawn, and the set is no longer official."""
    enrolled = {each.spk for each in utterances if each.utt in set(official.enrolls.utts)}
    trials, statuses = {}, {"enrolls": Status(OFFICIAL, str(official.enrolls.path))}
    for part, listed in official.trials.items():
        statuses[part] = Status(OFFICIAL, str(listed.path)) if listed.trials is not None else _PAIRS_DRAWN
        if listed.trials is None:
            members = set(listed.utts)
            own = [spk for spk in speakers_by_gender(utterances, part[0]) if spk in enrolled]
            candidates = [each for each in utterances if each.utt in members]
            listed = draw_trials(candidates, own, f"{base}_trials_{part}", seed)
        trials[part] = listed
    return _Plan(base, official.enrolls, trials, statuses)


def _union(one: Listed, other: Listed) -> Listed:
    trials: tuple[Trial, ...] = (*(one.trials or ()), *(other.trials or ()))
    return Listed(one.path, tuple(sorted({*one.utts, *other.utts})), tuple(sorted(set(trials))))


def _make(request: Request, plan: _Plan, utterances: Iterable[Utterance]) -> list[PreparedSet]:
    by_id = {each.utt: each for each in utterances}
    enrolls = plan.enrolls.utts
    own = [by_id[utt] for utt in enrolls]
    made = [make_set(request, f"{plan.base}_enrolls", own, plan.statuses["enrolls"], enrolls=enrolls)]
    for part, listed in plan.trials.items():
        name = f"{plan.base}_trials_{part}"
        made.append(make_set(request, name, (by_id[u] for u in listed.utts), plan.statuses[part], trials=listed.trials))
    return made
