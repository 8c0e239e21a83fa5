"""speechocean762 (Zhang et al., Interspeech 2021; OpenSLR SLR101): read English sentences of 250 speakers.

``WAVE/SPEAKER<spk>/<utt>.WAV`` at 16 kHz, and the data directories ``train`` and ``test`` with ``wav.scp`` (paths
relative to the corpus), ``utt2spk``, ``text``, ``spk2gender`` and ``spk2age``. Both are read, or the one that is there:
they were made for pronunciation scoring and have no part in the division into sets here.

Adults and children are never mixed: ``speechocean_*`` are sets of adults, ``speechocean_children_*`` of children.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import is_pipe, read_table
from vpeval.corpora.protocol import WHOLE, Status
from vpeval.corpora.utterances import (
    PreparedSet,
    Request,
    Utterance,
    find_corpus,
    make_set,
    speakers_by_gender,
    to_data,
)
from vpeval.data.layout import GENDERS
from vpeval.data.make_trials import TrialOptions, make_trials
from vpeval.data.text import vpc2020

ADULT = 18
"""Years."""
SET = re.compile(r"(?P<group>speechocean(_children)?)_(?P<part>train|pool|dev|test)(_(enrolls|trials_[fm]))?")
"""Names of sets."""
_HALVES = ("train", "test")
_PARTS = ("test", "train", "dev", "pool", "test", "train", "dev", "pool", "test", "train")
"""The parts of speakers of a gender in the order of their numbers, over and over."""
_FEWEST = 8
"""Speakers of a gender, so that each part has two."""
_DECADE = 10


def find_speechocean(corpus: Path) -> Path:
    """The directory of speechocean762."""
    return find_corpus(corpus, ["speechocean762"], "WAVE/SPEAKER*", "speechocean762")


def read_speechocean(corpus: Path) -> list[Utterance]:
    """All utterances of speechocean762; ids get the speaker as prefix, and ages are in years."""
    root = find_speechocean(corpus)
    halves = [root / name for name in _HALVES if (root / name).is_dir()]
    if not halves:
        raise InputError("has neither train nor test, which tell the speakers and texts; is the corpus complete?", root)
    return [utterance for half in halves for utterance in _read_half(root, half)]


def _read_half(root: Path, half: Path) -> Iterable[Utterance]:
    names = ("wav.scp", "utt2spk", "text", "spk2gender", "spk2age")
    tables = {name: read_table(half / name, empty=name == "text") for name in names}
    genders = {spk: gender.lower() for spk, gender in tables["spk2gender"].items()}
    for utt, entry in tables["wav.scp"].items():
        spk = _of(tables["utt2spk"], utt, half / "utt2spk")
        gender, age = _of(genders, spk, half / "spk2gender"), _of(tables["spk2age"], spk, half / "spk2age")
        if gender not in GENDERS:
            raise InputError(f"'{gender}' of speaker {spk} is neither f nor m", half / "spk2gender")
        if not age.isascii() or not age.isdigit():
            raise InputError(f"'{age}' of speaker {spk} is not an age in years", half / "spk2age")
        path = root / entry
        if is_pipe(entry) or not path.is_file():
            raise InputError(f"there is no audio file '{entry}' in {root}; is the corpus complete?", half / "wav.scp")
        words = " ".join(vpc2020(_of(tables["text"], utt, half / "text")))
        yield Utterance(f"so{spk}-{utt}", path, f"so{spk}", gender, "", words, age=age)


def _of(table: dict[str, str], key: str, path: Path) -> str:
    if key not in table:
        raise InputError(f"has no line for '{key}'; is the corpus complete?", path)
    return table[key]


def age_band(age: str) -> str:
    """The ten years that an age is in: what an attacker may infer.

    >>> age_band("19"), age_band("20"), age_band("6")
    ('10-19', '20-29', '0-9')
    """
    first = int(age) // _DECADE * _DECADE
    return f"{first}-{first + _DECADE - 1}"


def choose_parts(utterances: Sequence[Utterance]) -> dict[str, str]:
    """Speaker → test, dev, train or pool: of ten speakers of a gender three, two, three and two."""
    parts: dict[str, str] = {}
    for gender in GENDERS:
        parts |= zip(speakers_by_gender(utterances, gender), cycle(_PARTS), strict=False)
    return parts


def speechocean_sets(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    """The sets of adults or of children called `names`; the trial sets of a part are made together."""
    everybody = read_speechocean(request.corpus)
    found: list[PreparedSet] = []
    for group in dict.fromkeys(_matched(name)["group"] for name in names):
        found += _sets_of(request, group, everybody)
    return found, {}


def _sets_of(request: Request, group: str, everybody: Sequence[Utterance]) -> list[PreparedSet]:
    kind = "children" if group.endswith("children") else "adults"
    own = [each for each in everybody if (int(each.age) >= ADULT) == (kind == "adults")]
    for gender, title in (("f", "female"), ("m", "male")):
        if (count := len(speakers_by_gender(own, gender))) < _FEWEST:
            raise InputError(
                f"has {count} {title} {kind}; {_FEWEST} are needed, two each for test, dev, training and pool",
                request.corpus,
            )
    utterances = request.convert((_with_band(each) for each in own), "speechocean")
    parts = choose_parts(utterances)
    status = Status(WHOLE, f"speechocean762, {kind}")
    made = []
    for part in dict.fromkeys(_PARTS):
        name, chosen = f"{group}_{part}", [each for each in utterances if parts[each.spk] == part]
        if part in ("train", "pool"):
            made.append(make_set(request, name, chosen, status))
            continue
        sets = make_trials(to_data(chosen, request.data / name), TrialOptions(request.data, name, seed=request.seed))
        made += [PreparedSet(data, status) for data in (sets.enrolls, *sets.trials.values())]
    return made


def _with_band(utterance: Utterance) -> Utterance:
    return replace(utterance, age=age_band(utterance.age))


def _matched(name: str) -> re.Match[str]:
    match = SET.fullmatch(name)
    if not match:
        raise ValueError(name)
    return match
