"""The sets of a recipe from corpora as they were released: the names of the sets say where they come from.

``libri_dev_enrolls`` is cut from LibriSpeech dev-clean, ``vctk_test_trials_f_common`` from VCTK, ``train-clean-360``
is a part of LibriSpeech and ``libritts_train_other_500`` of LibriTTS, and so on; any other name is a set of a plain
table. Everything is made and counted in memory before the first directory is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.corpora import counts
from vpeval.corpora.challenge import libri_sets, vctk_sets
from vpeval.corpora.commonvoice import commonvoice_sets, find_commonvoice
from vpeval.corpora.protocol import ABSENT, OFFICIAL, REBUILT, WHOLE, Status, write_protocol
from vpeval.corpora.released import (
    find_iemocap,
    find_libri,
    find_ravdess,
    find_vctk,
    find_voxceleb,
    iemocap_partition,
    read_iemocap,
    read_librispeech,
    read_libritts,
    read_ravdess,
    read_vctk,
    read_voxceleb,
)
from vpeval.corpora.speechocean import SET as SPEECHOCEAN
from vpeval.corpora.speechocean import find_speechocean, read_speechocean, speechocean_sets
from vpeval.corpora.table import find_table, read_table_corpus, table_sets
from vpeval.corpora.utterances import MissingCorpus, PreparedSet, Request, Utterance, make_set, to_data
from vpeval.data.directory import DataDir
from vpeval.data.layout import first_few
from vpeval.data.make_trials import TrialOptions, make_trials

_EXTRA = re.compile(r"vctk_(dev|test)_trials_([fm]_)?all")
"""Sets that the challenges have besides those that are evaluated."""


def prepare(
    recipe: str, names: Sequence[str], optional: Iterable[str], request: Request
) -> tuple[list[counts.Row], dict[str, Status]]:
    """Write all sets called `names`; return the comparison with the plan's tables and the protocol of every set.

    `optional` sets may be absent. Official lists that do not give what the plan says are an error.
    """
    made: list[PreparedSet] = []
    statuses: dict[str, Status] = {}
    rows: list[counts.Row] = []
    for family, members in _families(names):
        try:
            found, absent = family(request, members)
        except MissingCorpus as error:
            if not set(members) <= set(optional):
                raise
            found, absent = [], dict.fromkeys(members, Status(ABSENT, str(error)))
        # Sets that only others are made of are counted as well.
        rows += _counted(found)
        made += [each for each in found if each.data.name in members or _EXTRA.fullmatch(each.data.name)]
        statuses |= absent
    statuses |= {each.data.name: each.status for each in made}
    if missing := [name for name in names if name not in statuses]:
        raise InputError(f"no rule makes the set '{missing[0]}'; correct its name in recipe.conf")
    _refuse_shared([each.data for each in made])
    for each in made:
        each.data.write(each.data.path)
    write_protocol(request.data, recipe, statuses)
    return rows, statuses


def lacking(names: Iterable[str], corpus: Path) -> dict[str, str]:
    """The sets whose corpora are not there, with the reason; only names of directories are looked at."""
    found = {}
    for name in names:
        find = next((find for pattern, _, find in _FAMILIES if pattern.fullmatch(name)), _find_table)
        try:
            find(corpus, name)
        except MissingCorpus as error:
            found[name] = str(error)
    return found


def _refuse_shared(made: Sequence[DataDir]) -> None:
    """An utterance that is enrolled is in no trial."""
    for enrolls, trials in product(made, made):
        if enrolls.enrolls is None or trials.trials is None:
            continue
        if shared := sorted(set(enrolls.utts).intersection(trials.utts)):
            raise InputError(
                f"{len(shared)} of its utterances ({first_few(shared)}) are in {trials.name} as well: an attacker "
                "would compare them with themselves; correct the lists",
                enrolls.path,
            )


KINDS: dict[str, Callable[[Path, str], list[Utterance]]] = {
    "librispeech": read_librispeech,
    "libritts": read_libritts,
    "vctk": lambda corpus, _: read_vctk(corpus),
    "voxceleb": lambda corpus, _: read_voxceleb(corpus),
    "ravdess": lambda corpus, _: read_ravdess(corpus),
    "iemocap": lambda corpus, _: read_iemocap(corpus),
    "speechocean": lambda corpus, _: read_speechocean(corpus),
    "table": lambda corpus, _: read_table_corpus(find_table(corpus)),
}
"""Readers of corpora, called with a directory and a subset."""


def read_corpus(kind: str, subset: str, request: Request, path: Path) -> DataDir:
    """All utterances of a corpus as data directory `path`, for experiments of one's own."""
    return to_data(request.convert(KINDS[kind](request.corpus, subset), kind), path)


def _counted(found: Sequence[PreparedSet]) -> list[counts.Row]:
    rows = [row for each in found for row in counts.compare(each.data)]
    official = {each.data.name for each in found if each.status.protocol == OFFICIAL}
    if wrong := [row for row in rows if not row.agrees and row.is_binding and row.name in official]:
        raise InputError(
            f"the official lists do not give the numbers of the evaluation plan:\n{counts.render(wrong)}\n"
            "Use complete lists and the complete corpus, or leave out --lists for a rebuilt protocol"
        )
    return rows


Family = Callable[[Request, Sequence[str]], tuple[list[PreparedSet], dict[str, Status]]]


def _libri(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    return [made for part in _partitions("libri", names) for made in libri_sets(request, part)], {}


def _vctk(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    return [made for part in _partitions("vctk", names) for made in vctk_sets(request, part)], {}


def _librispeech(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    whole = Status(WHOLE, "LibriSpeech")
    return [
        make_set(request, name, request.convert(read_librispeech(request.corpus, name), "librispeech"), whole)
        for name in names
    ], {}


def _libritts(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    made = []
    for name in names:
        utterances = request.convert(read_libritts(request.corpus, _libritts_subset(name)), "libritts")
        made.append(make_set(request, name, utterances, Status(WHOLE, "LibriTTS")))
    return made, {}


def _libritts_subset(name: str) -> str:
    return name.removeprefix("libritts_").replace("_", "-")


def _voxceleb(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    utterances = request.convert(read_voxceleb(request.corpus), "voxceleb")
    return [make_set(request, "voxceleb", utterances, Status(WHOLE, "VoxCeleb 1 and 2"))], {}


def _iemocap(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    utterances = request.convert(read_iemocap(request.corpus), "iemocap")
    made = []
    for name in names:
        listed = request.lists.directory(name) if request.lists else None
        if listed is None:
            chosen = [each for each in utterances if iemocap_partition(each.spk) == name.removeprefix("IEMOCAP_")]
            status = Status(REBUILT, "one speaker of every session, without the list of the challenge")
        else:
            # The list has the names of the files.
            stems = {utt.partition("-")[2] if "-" in utt else utt for utt in listed.utts}
            chosen = [each for each in utterances if each.path.stem in stems]
            status = Status(OFFICIAL, str(listed.path))
            if len(chosen) < len(stems):
                raise InputError(
                    f"{len(stems) - len(chosen)} utterances are not in the corpus; is it complete?", listed.path
                )
        made.append(make_set(request, name, chosen, status))
    return made, {}


def _ravdess(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    data = to_data(request.convert(read_ravdess(request.corpus), "ravdess"), request.data / "ravdess")
    sets = make_trials(data, TrialOptions(request.data, "ravdess", enroll_session="01", seed=request.seed))
    return [PreparedSet(each, Status(WHOLE, "RAVDESS")) for each in (sets.enrolls, *sets.trials.values())], {}


def _find_libri(corpus: Path, name: str) -> Path:
    return find_libri(corpus, "LibriSpeech", f"{name.split('_')[1]}-clean")


def _find_table(corpus: Path, _: str) -> Path:
    return find_table(corpus)


_FAMILIES: tuple[tuple[re.Pattern[str], Family, Callable[[Path, str], Path]], ...] = (
    (re.compile(r"libri_(dev|test)_(enrolls|trials_(f|m|mixed))"), _libri, _find_libri),
    (
        re.compile(r"vctk_(dev|test)_(enrolls|trials_[fm](_common|_all)?|trials_all)"),
        _vctk,
        lambda corpus, _: find_vctk(corpus),
    ),
    (
        re.compile(r"(dev|test|train)-(clean|other)(-[0-9]+)?"),
        _librispeech,
        lambda corpus, name: find_libri(corpus, "LibriSpeech", name),
    ),
    (
        re.compile(r"libritts_(dev|test|train)_(clean|other)(_[0-9]+)?"),
        _libritts,
        lambda corpus, name: find_libri(corpus, "LibriTTS", _libritts_subset(name)),
    ),
    (re.compile(r"voxceleb"), _voxceleb, lambda corpus, _: find_voxceleb(corpus)),
    (re.compile(r"IEMOCAP_(dev|test)"), _iemocap, lambda corpus, _: find_iemocap(corpus)),
    (re.compile(r"ravdess_(enrolls|trials_[fm])"), _ravdess, lambda corpus, _: find_ravdess(corpus)),
    (
        re.compile(r"commonvoice_([ab]|enrolls|trials_[fm])"),
        commonvoice_sets,
        lambda corpus, _: find_commonvoice(corpus),
    ),
    (SPEECHOCEAN, speechocean_sets, lambda corpus, _: find_speechocean(corpus)),
)
"""Names of sets, what makes them, and what finds their corpus."""
_ONE_BY_ONE = (_librispeech, _libritts)
"""Families whose sets have nothing to do with each other: one may be there without the others."""


def _families(names: Sequence[str]) -> Iterator[tuple[Family, list[str]]]:
    families: dict[Family, list[str]] = {}
    for name in dict.fromkeys(names):
        family = next((family for pattern, family, _ in _FAMILIES if pattern.fullmatch(name)), table_sets)
        families.setdefault(family, []).append(name)
    for family, members in families.items():
        yield from ((family, part) for part in ([[name] for name in members] if family in _ONE_BY_ONE else [members]))


def _partitions(corpus: str, names: Sequence[str]) -> list[str]:
    return [part for part in ("dev", "test") if any(name.startswith(f"{corpus}_{part}_") for name in names)]
