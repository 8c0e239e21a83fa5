"""Enrolment and trial sets from any data directory, by the rule of the VoicePrivacy challenges.

Every enrolled speaker is enrolled with one session (a LibriSpeech chapter, say); the trial utterances come from the
other sessions; the trials are the full cross product of the enrolled speakers and the trial utterances of one gender.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.seeds import draw, shuffled
from vpeval.data.directory import DataDir
from vpeval.data.layout import GENDERS
from vpeval.data.trials import CrossTrials

MOST = 200_000_000
"""Trials of a set: a list of so many takes 6 GB of text."""

Sessions = dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class TrialOptions:
    """How to cut a corpus into enrolment and trial sets."""

    out: Path
    """Where the sets will be."""
    name: str
    """Beginning of their names."""
    mixed: bool = False
    """Whether to make a trial set of both genders, too."""
    enroll_session: str | None = None
    """The session to enrol every speaker with; None draws one per speaker."""
    enroll_utts: int = 5
    """How many utterances to enrol a speaker with where sessions are unknown."""
    min_enroll_dur: float = 0
    """Seconds that an enrolment must have (needs utt2dur); a speaker with none that long is an impostor only."""
    enroll_speakers: int | None = None
    """How many speakers to enrol, half of each gender; None enrols all."""
    trials_per_session: int = 0
    """How many utterances of each trial session of each speaker to keep; 0 keeps all."""
    seed: int = 0


@dataclass(frozen=True)
class TrialSets:
    """The enrolment set, and the trial sets by ``f``, ``m`` and ``mixed``; not yet written to their paths."""

    enrolls: DataDir
    trials: dict[str, DataDir]


def make_trials(data: DataDir, options: TrialOptions) -> TrialSets:
    """Cut `data`; a gender that no speaker has gets no trial set, and without spk2gender there is only the mixed one.

    Speakers who are not enrolled (too many, or no session long enough) speak nontarget trials only.
    """
    sessions = _sessions(data, options)
    enrolled = _choose_speakers(data, _enrolments(data, sessions, options), options)
    enroll_utts = {utt for utts in enrolled.values() for utt in utts}
    enrolls = replace(
        data.subset(enroll_utts),
        path=options.out / f"{options.name}_enrolls",
        enrolls=tuple(sorted(enroll_utts)),
        trials=None,
    )
    owner = {utt: spk for spk, by_session in sessions.items() for utts in by_session.values() for utt in utts}
    trial_utts = _trial_utts(sessions, enroll_utts, options)
    gender_of = _genders(data, options)
    genders = {gender: {gender} for gender in GENDERS if gender in gender_of.values()}
    if options.mixed:
        genders["mixed"] = set(gender_of.values())
    trials = {}
    for name, wanted in genders.items():
        speakers = [spk for spk in sorted(enrolled) if gender_of[spk] in wanted]
        utts = [utt for utt in trial_utts if gender_of[owner[utt]] in wanted]
        path = options.out / f"{options.name}_trials_{name}"
        trials[name] = replace(
            data.subset(utts),
            path=path,
            enrolls=None,
            trials=_cross(data.path, speakers, {utt: owner[utt] for utt in utts}, name),
        )
    return TrialSets(enrolls, trials)


def _genders(data: DataDir, options: TrialOptions) -> Mapping[str, str]:
    """Gender of every speaker; for a mixed set alone it need not be known."""
    if options.mixed and "spk2gender" not in data.spk_tables:
        return dict.fromkeys(data.speakers, "")
    return data.spk2gender


def _sessions(data: DataDir, options: TrialOptions) -> Sessions:
    """Speaker → session → utterances; without utt2session a speaker has one session without a name."""
    known = options.enroll_session is not None or "utt2session" in data.utt_tables
    session_of = dict(data.table("utt2session").items()) if known else {}
    sessions: Sessions = {}
    for utt, spk in data.utt2spk.items():
        sessions.setdefault(spk, {}).setdefault(session_of[utt] if known else "", []).append(utt)
    return sessions


def _enrolments(data: DataDir, sessions: Sessions, options: TrialOptions) -> dict[str, list[str]]:
    """The utterances to enrol each speaker with, for all speakers that can be enrolled."""
    enrolments = {}
    for spk, by_session in sessions.items():
        if options.enroll_session is not None:
            choices = {name: utts for name, utts in by_session.items() if name == options.enroll_session}
        elif "utt2session" in data.utt_tables:
            choices = by_session
        else:
            choices = {"": draw(by_session[""], options.enroll_utts, options.seed, "enrolment utterances", spk)}
        if options.min_enroll_dur > 0:
            choices = {
                name: utts
                for name, utts in choices.items()
                if sum(data.utt2dur[utt] for utt in utts) >= options.min_enroll_dur
            }
        for chosen in draw(choices, 1, options.seed, "enrolment session", spk):
            enrolments[spk] = choices[chosen]
    if not enrolments:
        wanted = "" if options.enroll_session is None else f" in session '{options.enroll_session}'"
        raise InputError(
            f"no speaker has {options.min_enroll_dur:g} s of speech{wanted}; "
            "choose another --enroll-session or a smaller --min-enroll-dur",
            data.path,
        )
    return enrolments


def _choose_speakers(data: DataDir, enrolments: dict[str, list[str]], options: TrialOptions) -> dict[str, list[str]]:
    """As many speakers as asked for, drawn from the genders in turn."""
    if options.enroll_speakers is None:
        return enrolments
    if options.enroll_speakers > len(enrolments):
        raise InputError(
            f"{len(enrolments)} speakers can be enrolled, not {options.enroll_speakers}; lower --enroll-speakers",
            data.path,
        )
    queues = []
    gender_of = _genders(data, options)
    for gender in sorted(set(gender_of.values())):
        speakers = (spk for spk in enrolments if gender_of[spk] == gender)
        queues.append(shuffled(speakers, options.seed, "enrolment speakers", gender))
    in_turn = [spk for pair in zip_longest(*queues) for spk in pair if spk is not None]
    return {spk: enrolments[spk] for spk in sorted(in_turn[: options.enroll_speakers])}


def _trial_utts(sessions: Sessions, enroll_utts: set[str], options: TrialOptions) -> list[str]:
    """The utterances left for trials, or a sample of them; a fixed enrolment session gives no trials."""
    utts = []
    for spk, by_session in sessions.items():
        for session, members in by_session.items():
            if session == options.enroll_session:
                continue
            left = [utt for utt in members if utt not in enroll_utts]
            keep = options.trials_per_session or len(left)
            utts += draw(left, keep, options.seed, "trial utterances", f"{spk} {session}")
    return sorted(utts)


def _cross(path: Path, speakers: Sequence[str], owner: Mapping[str, str], name: str) -> CrossTrials:
    trials = CrossTrials(tuple(speakers), owner)
    if len(trials) > MOST:
        raise InputError(
            f"the '{name}' set would have {len(trials):,} trials, of which {MOST:,} at most can be listed and scored: "
            "enrol fewer speakers (--enroll-speakers), or keep fewer utterances of them (--trials-per-session); "
            "linkability compares all speakers without a list of trials",
            path,
        )
    counts = {"target": trials.targets, "nontarget": len(trials) - trials.targets}
    for label, count in counts.items():
        if not count:
            raise InputError(
                f"the '{name}' set has no {label} trial: enrol more speakers, or leave utterances of other sessions",
                path,
            )
    return trials
