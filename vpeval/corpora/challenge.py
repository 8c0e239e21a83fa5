"""The evaluation sets of the VoicePrivacy challenges: by the official lists, or rebuilt by their rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vpeval.core.errors import InputError
from vpeval.corpora.build import Sets, build_libri, build_vctk, choose_vctk_speakers, draw_trials, mix
from vpeval.corpora.librispeech import read_librispeech
from vpeval.corpora.lists import Listed, Lists
from vpeval.corpora.protocol import OFFICIAL, REBUILT, Status
from vpeval.corpora.request import Made, Request, made_of
from vpeval.corpora.utterances import Utterance, speakers_of
from vpeval.corpora.vctk import is_common, read_vctk
from vpeval.data.directory import Trial
from vpeval.data.layout import GENDERS, first_few

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


def libri_sets(request: Request, partition: str) -> list[Made]:
    """All sets of ``libri_dev`` or ``libri_test``: enrolls, trials_f, trials_m and trials_mixed."""
    base = f"libri_{partition}"
    utterances = read_librispeech(request.corpus, f"{partition}-clean")
    official = _official(request.lists, base, ("f", "m"), utterances)
    if official is None:
        brought = request.bring(utterances, "librispeech")
        built = build_libri(brought, base, request.seed)
        plan = _Plan(base, built.enrolls, built.trials, dict.fromkeys(("enrolls", *built.trials), _DRAWN))
    else:
        brought = request.bring(_used(official, utterances), "librispeech")
        plan = _with_pairs(base, official, brought, request.seed)
    genders = {each.spk: each.gender for each in brought}
    mixed = request.lists.trials(base, "mixed") if request.lists else None
    status = Status(OFFICIAL, str(mixed.path)) if mixed else _MIXED_DRAWN
    mixed = mixed or mix(dict(plan.trials), genders, request.seed, f"{base}_trials_mixed")
    plan = _Plan(base, plan.enrolls, {**plan.trials, "mixed": mixed}, {**plan.statuses, "mixed": status})
    return _make(request, plan, brought)


def vctk_sets(request: Request, partition: str) -> list[Made]:
    """All sets of ``vctk_dev`` or ``vctk_test``: enrolls, trials_{f,m}, trials_{f,m}_common and their unions, _all."""
    base = f"vctk_{partition}"
    utterances = read_vctk(request.corpus)
    official = _official(request.lists, base, ("f", "f_common", "m", "m_common"), utterances)
    if official is None:
        brought = request.bring(choose_vctk_speakers(utterances, base, request.seed), "vctk")
        built = build_vctk(brought, base, request.seed)
        plan = _Plan(base, built.enrolls, built.trials, dict.fromkeys(("enrolls", *built.trials), _DRAWN))
    else:
        brought = request.bring(_used(official, utterances), "vctk")
        plan = _with_pairs(base, official, brought, request.seed)
    trials, statuses = dict(plan.trials), dict(plan.statuses)
    for gender in GENDERS:
        trials[f"{gender}_all"] = _union(trials[gender], trials[f"{gender}_common"])
        statuses[f"{gender}_all"] = statuses[gender]
    trials["all"] = _union(trials["f_all"], trials["m_all"])
    statuses["all"] = statuses["f"]
    return _make(request, _Plan(base, plan.enrolls, trials, statuses), brought)


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
        raise InputError(f"has lists of {base}, but none of {missing[0]}; complete them", lists.folder)
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
            own = [spk for spk in speakers_of(utterances, part[0]) if spk in enrolled]
            tried = [each for each in utterances if each.utt in members]
            listed = draw_trials(tried, own, f"{base}_trials_{part}", seed)
        trials[part] = listed
    return _Plan(base, official.enrolls, trials, statuses)


def _union(one: Listed, other: Listed) -> Listed:
    trials: tuple[Trial, ...] = (*(one.trials or ()), *(other.trials or ()))
    return Listed(one.path, tuple(sorted({*one.utts, *other.utts})), tuple(sorted(set(trials))))


def _make(request: Request, plan: _Plan, utterances: Iterable[Utterance]) -> list[Made]:
    by_id = {each.utt: each for each in utterances}
    enrolls = plan.enrolls.utts
    own = [by_id[utt] for utt in enrolls]
    made = [made_of(request, f"{plan.base}_enrolls", own, plan.statuses["enrolls"], enrolls=enrolls)]
    for part, listed in plan.trials.items():
        name = f"{plan.base}_trials_{part}"
        made.append(made_of(request, name, (by_id[u] for u in listed.utts), plan.statuses[part], trials=listed.trials))
    return made
