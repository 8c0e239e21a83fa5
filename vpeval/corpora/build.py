"""Evaluation sets by the construction rules of the challenges, seeded: for those who do not have the official lists.

LibriSpeech: speakers are enrolled with utterances of one chapter, of which none is tried; trials are all pairs of an
enrolled speaker and a trial utterance of the same gender. VCTK: 15 speakers of each gender and partition, enrolled
with 20 of the utterances from number 25 on; the others are tried, numbers 1 to 24 in the *common* part. How many
speakers are enrolled and how many pairs are drawn is taken from the plan's tables. 2026: trials across genders
(`mixed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.seeds import draw, shuffled
from vpeval.corpora.counts import EXPECTED
from vpeval.corpora.lists import Listed
from vpeval.corpora.utterances import Utterance, by_speaker, speakers_of
from vpeval.corpora.vctk import is_common
from vpeval.data.directory import Trial
from vpeval.data.layout import GENDERS

_ENOUGH_SECONDS = 49.0
_GOAL_SECONDS = 60.0
_VCTK_ENROLMENT = 20
_NOWHERE = Path("rebuilt")


@dataclass(frozen=True)
class Sets:
    """The utterances to enrol with, and the trials by part: f, m, f_common, m_common."""

    enrolls: Listed
    trials: dict[str, Listed]


def build_libri(utterances: Sequence[Utterance], base: str, seed: int) -> Sets:
    """Sets of ``libri_dev`` or ``libri_test`` from all utterances of dev-clean or test-clean."""
    speakers = by_speaker(utterances)
    enrolments: dict[str, list[Utterance]] = {}
    for gender in GENDERS:
        able = [spk for spk in speakers_of(utterances, gender) if len({each.session for each in speakers[spk]}) > 1]
        size = EXPECTED[f"{base}_enrolls", gender].speakers
        for spk in draw(able, size, seed, f"{base} enrolled", gender):
            enrolments[spk] = _enrolment(speakers[spk], seed, base)
    if not enrolments:
        raise InputError(
            f"no speaker of {base} has two chapters, one to enrol with and one to try; is the corpus whole?"
        )
    taken = {(spk, own[0].session) for spk, own in enrolments.items()}
    tried = [each for each in utterances if (each.spk, each.session) not in taken]
    trials = {}
    for gender in GENDERS:
        enrolled = [spk for spk in enrolments if speakers[spk][0].gender == gender]
        trials[gender] = _listed([each for each in tried if each.gender == gender], enrolled)
    return Sets(Listed(_NOWHERE, tuple(sorted(each.utt for own in enrolments.values() for each in own))), trials)


def choose_vctk_speakers(utterances: Sequence[Utterance], base: str, seed: int) -> list[Utterance]:
    """The utterances of the speakers of ``vctk_dev`` or ``vctk_test``: 15 of each gender, where there are as many."""
    chosen: set[str] = set()
    for gender in GENDERS:
        order = shuffled(speakers_of(utterances, gender), seed, "VCTK speakers", gender)
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
        enrolled = sorted(spk for spk in speakers_of(utterances, gender) if spk in speakers)
        tried = [each for each in utterances if each.gender == gender and each.utt not in enrolls]
        trials[gender] = draw_trials(
            [e for e in tried if not is_common(e.utt)], enrolled, f"{base}_trials_{gender}", seed
        )
        common = [each for each in tried if is_common(each.utt)]
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

    Every trial utterance is also held against enrolled speakers of the other gender, as many as its own gender has
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


def _enrolment(own: Sequence[Utterance], seed: int, base: str) -> list[Utterance]:
    """Utterances of one chapter, in random order until they last a minute; of a short chapter if there is no other."""
    chapters: dict[str, list[Utterance]] = {}
    for each in own:
        chapters.setdefault(each.session, []).append(each)
    seconds = {chapter: sum(each.seconds for each in members) for chapter, members in chapters.items()}
    able = [chapter for chapter in chapters if seconds[chapter] >= _ENOUGH_SECONDS]
    spk = own[0].spk
    chosen = draw(able, 1, seed, f"{base} chapter", spk)[0] if able else max(seconds, key=lambda c: (seconds[c], c))
    by_id = {each.utt: each for each in chapters[chosen]}
    enrolment: list[Utterance] = []
    passed = 0.0
    for utt in shuffled(by_id, seed, f"{base} enrolment", spk):
        if passed >= _GOAL_SECONDS:
            break
        enrolment.append(by_id[utt])
        passed += by_id[utt].seconds
    return enrolment


def _listed(utterances: Iterable[Utterance], enrolled: Sequence[str]) -> Listed:
    """All pairs of enrolled speakers and utterances."""
    tried = sorted(utterances, key=lambda each: each.utt)
    trials = [(spk, each.utt, "target" if spk == each.spk else "nontarget") for spk in enrolled for each in tried]
    return Listed(_NOWHERE, tuple(each.utt for each in tried), tuple(sorted(trials)))
