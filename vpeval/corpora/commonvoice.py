"""Common Voice (Ardila et al., LREC 2020) as released, any version, and the subsets A and B of the legal paper.

``<lang>/validated.tsv`` names the clips (columns ``client_id``, ``path``, ``sentence``, ``gender`` and others that
changed over the years), ``<lang>/clips/`` has them as MP3; newer versions have ``clip_durations.tsv``.

The paper (Vauquier et al., Interspeech 2025) says that A has speakers with at least 2 min of speech, B speakers with
at least 3 min, that every speaker of B is in A with other utterances, and that all have a gender. Our rule: speakers
with at least 5 min give, of their utterances in random order, those of the first two fifths of their speech to A and
the others to B; speakers with 2 to 5 min give everything to A.

All pairs of A and B are billions. ``commonvoice_enrolls`` and ``commonvoice_trials_{f,m}`` have some of their speakers
and utterances, for measures that compare pairs of utterances one by one; the legal metrics use all of A and B.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from os import cpu_count
from pathlib import Path

from vpeval.audio.io import probe
from vpeval.core.errors import InputError
from vpeval.core.files import read_lines
from vpeval.core.seeds import draw, shuffled
from vpeval.corpora.lists import Lists
from vpeval.corpora.protocol import OFFICIAL, REBUILT, Status
from vpeval.corpora.utterances import (
    PreparedSet,
    Request,
    Utterance,
    by_speaker,
    find_corpus,
    make_set,
    speakers_by_gender,
)
from vpeval.data.directory import Trial
from vpeval.data.layout import GENDERS

SECONDS_A, SECONDS_B = 120.0, 180.0
_GENDERS = {"female": "f", "female_feminine": "f", "male": "m", "male_masculine": "m"}
_NEEDED = ("client_id", "path", "gender")
_ID_LENGTH = 16


@dataclass(frozen=True)
class Subsets:
    """The two subsets of the legal paper."""

    a: list[Utterance]
    b: list[Utterance]


def find_commonvoice(corpus: Path, language: str = "en") -> Path:
    """The directory of a language, which has validated.tsv and clips."""
    names = [str(path.relative_to(corpus)) for path in sorted(corpus.glob(f"cv-corpus-*/{language}"), reverse=True)]
    return find_corpus(corpus, [*names, language], "validated.tsv", f"Common Voice ({language})")


def read_commonvoice(directory: Path) -> list[Utterance]:
    """The validated clips of speakers who say that they are female or male, without their durations."""
    speakers: dict[str, str] = {}
    utterances = []
    for line, row in _rows(directory / "validated.tsv"):
        gender = _GENDERS.get(row["gender"])
        if gender is None:
            continue
        spk = speakers.setdefault(
            row["client_id"], f"cv{hashlib.sha256(row['client_id'].encode()).hexdigest()}"[:_ID_LENGTH]
        )
        name = row["path"] if "." in row["path"] else f"{row['path']}.mp3"
        if "/" in name:
            raise InputError(f"'{name}' is not the name of a clip", directory / "validated.tsv", line)
        path = directory / "clips" / name
        age, accent = _word(row, "age"), _word(row, "accents") or _word(row, "accent")
        text = row.get("sentence", "").strip()
        utterances.append(Utterance(f"{spk}-{path.stem}", path, spk, gender, "", text, age=age, accent=accent))
    if len(set(speakers.values())) < len(speakers):
        raise InputError("two speakers got the same short id; please report this", directory)
    return [each for own in by_speaker(utterances).values() if _has_one_gender(own) for each in _settled(own)]


def with_seconds(directory: Path, utterances: Iterable[Utterance]) -> list[Utterance]:
    """The utterances with their durations, from clip_durations.tsv or else from the files themselves."""
    listed = directory / "clip_durations.tsv"
    if listed.is_file():
        seconds = {name: float(value) / 1000 for name, value in _durations(listed)}
        return [replace(each, seconds=seconds.get(each.path.name, 0.0)) for each in utterances]
    wanted = list(utterances)
    with ThreadPoolExecutor(cpu_count()) as pool:
        found = pool.map(lambda each: probe(str(each.path)).duration, wanted)
        return [replace(each, seconds=value) for each, value in zip(wanted, found, strict=True)]


def choose_subsets(
    utterances: Iterable[Utterance], seed: int, seconds_a: float = SECONDS_A, seconds_b: float = SECONDS_B
) -> Subsets:
    """A and B by the rule above."""
    a: list[Utterance] = []
    b: list[Utterance] = []
    for spk, own in by_speaker(utterances).items():
        total = sum(utterance.seconds for utterance in own)
        if total < seconds_a:
            continue
        first, rest = _split(own, seed, spk, total * seconds_a / (seconds_a + seconds_b))
        if total >= seconds_a + seconds_b and sum(utterance.seconds for utterance in rest) >= seconds_b:
            a += first
            b += rest
        else:
            a += own
    if not b:
        raise InputError(
            f"no speaker has {seconds_a + seconds_b:g} s of speech, as set B needs; is this a small language or a part "
            "of the corpus?"
        )
    return Subsets(a, b)


def listed_subset(utterances: Iterable[Utterance], path: Path) -> list[Utterance]:
    """The utterances of a published list, every line of which names a clip, with or without directory and suffix."""
    clips = {utterance.path.stem: utterance for utterance in utterances}
    chosen = {}
    for line, text in read_lines(path, blanks=True):
        words = [Path(word).stem for word in text.replace(",", " ").split()]
        # An id of ours ends with the clip.
        stems = [word.rpartition("-")[2] if word not in clips else word for word in words]
        found = next((stem for stem in stems if stem in clips), None)
        if found is None:
            raise InputError(f"names no clip of validated.tsv whose speaker has a gender: '{text}'", path, line)
        chosen[found] = clips[found]
    return list(chosen.values())


def _split(own: list[Utterance], seed: int, spk: str, seconds: float) -> tuple[list[Utterance], list[Utterance]]:
    """As many utterances in random order as it takes to reach `seconds`, and the others."""
    by_id = {utterance.utt: utterance for utterance in own}
    order = [by_id[utt] for utt in shuffled(by_id, seed, "Common Voice A", spk)]
    passed, count = 0.0, 0
    while passed < seconds:
        passed += order[count].seconds
        count += 1
    return order[:count], order[count:]


def _has_one_gender(own: list[Utterance]) -> bool:
    """Whether a speaker gave the same gender every year; others are left out."""
    return len({utterance.gender for utterance in own}) == 1


def _settled(own: list[Utterance]) -> list[Utterance]:
    """The utterances of a speaker with the one age and accent that the speaker ever named; else with none."""
    ages, accents = {each.age for each in own} - {""}, {each.accent for each in own} - {""}
    age = ages.pop() if len(ages) == 1 else ""
    accent = accents.pop() if len(accents) == 1 else ""
    return [replace(each, age=age, accent=accent) for each in own]


def _word(row: Mapping[str, str | None], column: str) -> str:
    """What a column that not every version has says, on one line."""
    return " ".join((row.get(column) or "").split())


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if missing := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
            raise InputError(f"has no column '{missing[0]}'; is this Common Voice?", path, 1)
        for row in reader:
            if any(row[name] is None for name in _NEEDED):
                raise InputError("has fewer fields than the first line; is the file cut short?", path, reader.line_num)
            yield reader.line_num, row


def _durations(path: Path) -> Iterator[tuple[str, str]]:
    for line, text in read_lines(path, blanks=True):
        name, _, value = text.partition("\t")
        if line > 1:
            if not value.replace(".", "", 1).isdigit():
                raise InputError(f"expected <clip> <milliseconds>, not '{text}'", path, line)
            yield name, value


_SPEAKERS, _ENROLLED, _TRIAL_UTTS = 100, 30, 10
"""Speakers of each gender in the small sets, and how many utterances of each, of A to enrol and of B to try."""


def commonvoice_sets(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    """A and B, and the small sets of both; in the latter, trials are all pairs of a speaker and an utterance."""
    directory = find_commonvoice(request.corpus)
    utterances = read_commonvoice(directory)
    subsets, status_a, status = _choose(request, directory, utterances)
    _refuse_overlap(subsets)
    a, b = (request.convert(part, "commonvoice") for part in (subsets.a, subsets.b))
    made = []
    enrolled: list[Utterance] = []
    trials: list[Trial] = []
    for gender in GENDERS:
        speakers = draw(speakers_by_gender(b, gender), _SPEAKERS, request.seed, "Common Voice speakers", gender)
        # Where B is small, others of A are enrolled as well, so that there is somebody to be taken for.
        others = set(speakers_by_gender(a, gender)) - set(speakers_by_gender(b, gender))
        more = draw(others, _SPEAKERS - len(speakers), request.seed, "Common Voice others", gender)
        claimed = [*speakers, *more]
        enrolled += _some(a, claimed, _ENROLLED, request.seed, "enrolled")
        candidates = _some(b, speakers, _TRIAL_UTTS, request.seed, "tried")
        pairs = [
            (spk, each.utt, "target" if spk == each.spk else "nontarget") for spk in claimed for each in candidates
        ]
        if candidates:
            made.append(make_set(request, f"commonvoice_trials_{gender}", candidates, status, trials=pairs))
        trials += pairs
    return [
        make_set(request, "commonvoice_a", a, status_a, enrolls=(each.utt for each in a)),
        # Its trials make B a trial set, with other pseudo-speakers than A has.
        make_set(request, "commonvoice_b", b, status, trials=trials),
        make_set(request, "commonvoice_enrolls", enrolled, status, enrolls=(each.utt for each in enrolled)),
        *made,
    ], {}


def _choose(request: Request, directory: Path, utterances: list[Utterance]) -> tuple[Subsets, Status, Status]:
    """A and B, and which protocol A and everything else follow: that of lists, if only of A, or our rule."""
    lists = None if request.lists is None else _find_lists(request.lists)
    if lists is None:
        status = Status(REBUILT, "by the documented rule, without the published lists")
        return choose_subsets(with_seconds(directory, utterances), request.seed), status, status
    a = listed_subset(utterances, lists[0])
    official = Status(OFFICIAL, " and ".join(map(str, lists)))
    if len(lists) > 1:
        return Subsets(a, listed_subset(utterances, lists[1])), official, official
    rest = Status(REBUILT, f"from the clips of the speakers of A that {lists[0]} does not name")
    speakers = {each.spk for each in a}
    known = with_seconds(directory, [each for each in utterances if each.spk in speakers])
    return Subsets(a, remaining(known, a)), official, rest


def remaining(utterances: Iterable[Utterance], a: Iterable[Utterance], seconds_b: float = SECONDS_B) -> list[Utterance]:
    """B for a given A: all other clips of those of its speakers who have at least `seconds_b` of them."""
    named, speakers = {each.utt for each in a}, {each.spk for each in a}
    others = by_speaker(each for each in utterances if each.spk in speakers and each.utt not in named)
    b = [each for own in others.values() if sum(each.seconds for each in own) >= seconds_b for each in own]
    if not b:
        raise InputError(
            f"no speaker of the list of A has {seconds_b:g} s of other speech, as set B needs; is the corpus complete?"
        )
    return b


def _find_lists(lists: Lists) -> tuple[Path, ...] | None:
    """Files whose names end with A and B, as in list-cv11-A; that of A is enough, as only that was published."""
    found = []
    for letter in "AB":
        files = [
            path for path in sorted(lists.root.rglob("*")) if path.is_file() and path.stem.upper().endswith(letter)
        ]
        if len(files) > 1:
            raise InputError(
                f"several lists could be that of set {letter}: {files[0].name}, {files[1].name}", lists.root
            )
        found += files
    if len(found) == 1 and found[0].stem.upper().endswith("B"):
        raise InputError(f"has {found[0].name} only; set A needs a list (…-A), B may have one", lists.root)
    return tuple(found) or None


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
