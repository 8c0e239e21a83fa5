"""``commonvoice_a`` and ``commonvoice_b``: the subsets of the legal paper, by its lists or by our rule.

All pairs of them are billions. ``commonvoice_enrolls`` and ``commonvoice_trials_{f,m}`` have some of their speakers and
utterances, for what looks at pairs of utterances one by one; the legal metrics take all of A and B.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.seeds import draw
from vpeval.corpora.commonvoice import (
    Subsets,
    choose_subsets,
    find_commonvoice,
    listed_subset,
    read_commonvoice,
    with_seconds,
)
from vpeval.corpora.lists import Lists
from vpeval.corpora.protocol import OFFICIAL, REBUILT, Status
from vpeval.corpora.request import Made, Request, made_of
from vpeval.corpora.utterances import Utterance, by_speaker, speakers_of
from vpeval.data.directory import Trial
from vpeval.data.layout import GENDERS

_SPEAKERS, _ENROLLED, _TRIED = 100, 30, 10
"""Speakers of each gender in the small sets, and how many utterances of each, of A to enrol and of B to try."""


def commonvoice_sets(request: Request, names: Sequence[str]) -> tuple[list[Made], dict[str, Status]]:
    """A and B, and the small sets of both; in the latter, trials are all pairs of a speaker and an utterance."""
    folder = find_commonvoice(request.corpus)
    utterances = read_commonvoice(folder)
    lists = None if request.lists is None else _find_lists(request.lists)
    if lists is None:
        subsets = choose_subsets(with_seconds(folder, utterances), request.seed)
        status = Status(REBUILT, "by the documented rule, without the published lists")
    else:
        subsets = Subsets(*(listed_subset(utterances, path) for path in lists))
        status = Status(OFFICIAL, " and ".join(map(str, lists)))
    _refuse_overlap(subsets)
    a, b = (request.bring(part, "commonvoice") for part in (subsets.a, subsets.b))
    made = []
    enrolled: list[Utterance] = []
    trials: list[Trial] = []
    for gender in GENDERS:
        speakers = draw(speakers_of(b, gender), _SPEAKERS, request.seed, "Common Voice speakers", gender)
        # Where B is small, others of A are enrolled as well, so that there is somebody to be taken for.
        others = set(speakers_of(a, gender)) - set(speakers_of(b, gender))
        more = draw(others, _SPEAKERS - len(speakers), request.seed, "Common Voice others", gender)
        claimed = [*speakers, *more]
        enrolled += _some(a, claimed, _ENROLLED, request.seed, "enrolled")
        tried = _some(b, speakers, _TRIED, request.seed, "tried")
        pairs = [(spk, each.utt, "target" if spk == each.spk else "nontarget") for spk in claimed for each in tried]
        if tried:
            made.append(made_of(request, f"commonvoice_trials_{gender}", tried, status, trials=pairs))
        trials += pairs
    return [
        made_of(request, "commonvoice_a", a, status, enrolls=(each.utt for each in a)),
        # Its trials make B a trial set, with other pseudo-speakers than A has.
        made_of(request, "commonvoice_b", b, status, trials=trials),
        made_of(request, "commonvoice_enrolls", enrolled, status, enrolls=(each.utt for each in enrolled)),
        *made,
    ], {}


def _find_lists(lists: Lists) -> tuple[Path, Path] | None:
    """Files whose names end with A and B, as in list-cv11-A."""
    found = []
    for letter in "AB":
        files = [
            path for path in sorted(lists.folder.rglob("*")) if path.is_file() and path.stem.upper().endswith(letter)
        ]
        if len(files) > 1:
            raise InputError(
                f"several lists could be that of set {letter}: {files[0].name}, {files[1].name}", lists.folder
            )
        found += files
    if len(found) == 1:
        raise InputError(f"has {found[0].name} only; sets A and B both need a list (…-A, …-B)", lists.folder)
    return (found[0], found[1]) if found else None


def _refuse_overlap(subsets: Subsets) -> None:
    if shared := {each.utt for each in subsets.a} & {each.utt for each in subsets.b}:
        raise InputError(f"utterance '{min(shared)}' is in both A and B; they must share none")
    if lonely := {each.spk for each in subsets.b} - {each.spk for each in subsets.a}:
        raise InputError(f"speaker '{min(lonely)}' of B is not in A; every one must be")


def _some(
    utterances: Sequence[Utterance], speakers: Iterable[str], count: int, seed: int, what: str
) -> list[Utterance]:
    """Some utterances of each of the speakers."""
    wanted = set(speakers)
    chosen: list[Utterance] = []
    for spk, own in by_speaker(each for each in utterances if each.spk in wanted).items():
        by_id = {each.utt: each for each in own}
        chosen += [by_id[utt] for utt in draw(by_id, count, seed, f"Common Voice {what}", spk)]
    return chosen
