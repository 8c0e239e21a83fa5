"""``commonvoice_a`` and ``commonvoice_b``: the subsets of the legal paper, by its lists or by our rule."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
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
from vpeval.corpora.utterances import Utterance, by_speaker
from vpeval.data.directory import Trial
from vpeval.data.draw import draw

_TRIED = 10
"""Utterances of a speaker of B that are tried, and other speakers of the same gender that each is held against."""


def commonvoice_sets(request: Request, names: Sequence[str]) -> tuple[list[Made], dict[str, Status]]:
    """A enrols, B is tried: of every speaker some utterances, each against itself and some others of its gender.

    All pairs would be billions; the legal metrics do not use this list but all utterances.
    """
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
    trials = _draw_trials(a, b, request.seed)
    return [
        made_of(request, "commonvoice_a", a, status, enrolls=(each.utt for each in a)),
        made_of(request, "commonvoice_b", b, status, trials=trials),
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


def _draw_trials(a: Sequence[Utterance], b: Sequence[Utterance], seed: int) -> list[Trial]:
    enrolled = {gender: sorted({each.spk for each in a if each.gender == gender}) for gender in ("f", "m")}
    trials: list[Trial] = []
    for spk, own in by_speaker(b).items():
        others = [other for other in enrolled[own[0].gender] if other != spk]
        size = min(_TRIED, len(others))
        for utt in draw((each.utt for each in own), _TRIED, seed, "Common Voice tried", spk):
            trials.append((spk, utt, "target"))
            chosen = generator(seed, "Common Voice others", utt).choice(len(others), size, replace=False)
            trials += [(others[i], utt, "nontarget") for i in chosen]
    return trials
