"""Check a submission archive: every violation is listed, nothing is unpacked.

With the original data directories at hand their utterances, labels and texts must be in the archive, its audio must
be speech of theirs in another voice, and every number that scores and transcripts give is computed again. Attackers
and recognisers must be those by which the organiser ranks. What was not verified is listed: a package is verified only
where that list is empty.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from vpeval.core.errors import InputError
from vpeval.data.text import NORMALIZERS
from vpeval.data.validate import Problem
from vpeval.editions.base import FORM, Edition, ResultFile, Topic, editions
from vpeval.editions.headline import is_eer
from vpeval.records.names import SetName
from vpeval.records.record import Record
from vpeval.results.load import Source, read
from vpeval.submission.archive import DESCRIPTION, MANIFEST, REQUIREMENT, Archive, scan
from vpeval.submission.demands import Demands, Organiser, check_digests, check_sets, check_shown, demands_of
from vpeval.submission.recompute import Evidence, compare, gather
from vpeval.submission.roles import check_role
from vpeval.submission.sets import AudioPairs, Sets, check_data

_SMALL = 1 << 20
_MANIFEST = 32 << 20
_LEAST_WORDS = 20
VERIFIED, ACCEPTED, REFUSED, UNDECIDED = "verified", "accepted", "refused", "undecided"


@dataclass(frozen=True)
class Verdict:
    """What was found: violations (and their number by kind), what was verified, and what was not.

    `recomputed` are numbers of the results by set and condition, `rescored` what was made
    again from the audio.
    """

    problems: list[Problem]
    counts: Counter[str]
    recomputed: dict[str, list[str]]
    rescored: list[str]
    compared: list[str]
    noted: list[str]
    unverified: list[str]
    has_originals: bool = True

    @property
    def numbers(self) -> int:
        """How many numbers of the results were recomputed."""
        return sum(map(len, self.recomputed.values()))

    @property
    def outcome(self) -> str:
        """What becomes of the package: without originals to compare with, nothing is decided unless it is refused."""
        if self.problems:
            return REFUSED
        if not self.has_originals:
            return UNDECIDED
        return ACCEPTED if self.unverified else VERIFIED


def check(path: str | PathLike[str], originals: Sequence[Path] = (), organiser: Organiser | None = None) -> Verdict:
    """Everything that is wrong with the archive `path`, and what was verified.

    `originals` are the original data directories of all sets that must be there; `organiser` says what else counts.
    """
    organiser = organiser or Organiser()
    with tempfile.TemporaryDirectory(prefix="submission-") as work_dir:
        archive = Archive(Path(path), Path(work_dir))
        if not archive.path.is_file():
            archive.complain("", "no such file", "check the path", "archive")
            return _verdict(archive, originals)
        audio = AudioPairs(originals, archive.work_dir)
        scan(archive, audio.add)
        manifest = _manifest(archive)
        system = _system(archive, manifest)
        check_role(archive, manifest)
        challenge = _edition(archive, organiser.edition or str(manifest.get("edition", "")))
        demands = demands_of(archive, manifest, challenge, organiser, originals)
        check_digests(archive, demands, manifest)
        results = _results(archive, challenge)
        sets, compared = check_data(archive, challenge, system, originals, audio)
        check_sets(archive, demands, list(sets.originals))
        evidence = gather(archive, sets, system, demands, demands.text_rules(archive, _rules(archive, manifest)))
        shown = _shown(archive, manifest, evidence, demands)
        recomputed = compare(archive, results, evidence, shown)
        _check_completeness(_Submission(archive, challenge, results, evidence, sets, shown))
        _check_description(archive, challenge)
        rescored = _rescore(archive, sets, evidence, system, demands)
        _list_unverified(archive, originals)
        return _verdict(archive, originals, recomputed, rescored, compared)


def _verdict(
    archive: Archive,
    originals: Sequence[Path],
    recomputed: Mapping[str, list[str]] | None = None,
    rescored: Sequence[str] = (),
    compared: Sequence[str] = (),
) -> Verdict:
    return Verdict(
        problems=list(archive.found),
        counts=archive.counts,
        recomputed=dict(recomputed or {}),
        rescored=list(rescored),
        compared=list(compared),
        noted=archive.noted,
        unverified=list(dict.fromkeys(archive.unverified)),
        has_originals=bool(originals),
    )


def _manifest(archive: Archive) -> dict[str, Any]:
    """The manifest, which must name every file with its size and digest."""
    text = archive.text(MANIFEST, _MANIFEST)
    if text is None:
        archive.complain(MANIFEST, "is missing", "pack with local/make_submission.py", "manifest")
        return {}
    try:
        # A value costs a comma or a bracket: this bounds the memory that they need.
        if sum(map(text.count, ",[{")) > 8 * len(archive.digests) + 10_000:
            raise ValueError("more entries than files")
        manifest = json.loads(text)
        files = {str(name): (entry["bytes"], entry["sha256"]) for name, entry in manifest["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        archive.complain(MANIFEST, "is no manifest", "pack with local/make_submission.py", "manifest")
        return {}
    for name in sorted(files.keys() - archive.digests.keys()):
        shown = name if name.isprintable() else ascii(name)
        archive.complain(shown[:256], "is in the manifest but not in the archive", "pack again", "missing file")
    for name in sorted(archive.digests.keys() - files.keys() - {MANIFEST}):
        archive.complain(name, "is not in the manifest", "pack again", "manifest")
    for name in sorted(files.keys() & archive.digests.keys()):
        size, digest = archive.digests[name]
        if files[name] != (size, digest.hex()):
            what = f"{size} bytes, {files[name][0]} in the manifest" if size != files[name][0] else "other content"
            archive.complain(name, f"was changed after packing ({what})", "pack again", "manifest")
    return {key: value for key, value in manifest.items() if key != "files"}


def _system(archive: Archive, manifest: Mapping[str, Any]) -> str:
    """The system, which manifest and archive must call alike: all other names are compared with it."""
    top = next(iter(archive.tops), "")
    named = manifest.get("system")
    if manifest and named != top:
        message = f"names the system {named!a}, the directory of the submission is '{top}'"
        archive.complain(MANIFEST, message, "pack again under one name", "manifest")
    return top


def _edition(archive: Archive, name: str) -> Edition:
    """The edition; an unknown one is a violation and requires nothing in particular."""
    if name in editions():
        return editions()[name]
    named = f"edition {name!a}" if name else "no edition is named; this"
    archive.complain(MANIFEST, f"{named} is none of {', '.join(editions())}", "say --edition", "manifest")
    return Edition(name, eer="eer_kaldi", text_rules="vpc2020", files=(), topics=())


def _rules(archive: Archive, manifest: Mapping[str, Any]) -> str:
    """The text rules that the package names; empty where it names none."""
    shown = manifest.get("shown")
    named = shown.get("text_rules", "") if isinstance(shown, dict) else ""
    if named and (not isinstance(named, str) or named not in NORMALIZERS):
        archive.complain(MANIFEST, f"knows no text rules {named!a}", "pack again", "manifest")
        return ""
    return str(named)


def _shown(archive: Archive, manifest: Mapping[str, Any], evidence: Evidence, demands: Demands) -> dict[str, str]:
    """The attackers that the results show; they must be those by which the organiser ranks."""
    home = demands.organiser.attackers
    known = sorted({one.attacker for one in evidence.attacks})
    for name in known:
        if home and name and not demands.attacker(name):
            message = f"there is no attacker '{name}' in {home}"
            archive.complain("scores", message, "attack with the attackers of the challenge", "attackers")
    named = manifest.get("shown")
    shown = {str(role): str(name) for role, name in named.items()} if isinstance(named, dict) else {}
    if len(known) == 1 and (not known[0] or not shown):
        shown = {"asv_eval": known[0], "attacker": known[0], **shown}
    elif len(known) > 1 and "attacker" not in shown:
        message = f"does not name the attacker of the results ({', '.join(known)})"
        archive.complain(MANIFEST, message, "pack with local/make_submission.py", "manifest")
    check_shown(archive, demands, shown, {(one.attacker, one.condition) for one in evidence.attacks})
    return shown


def _results(archive: Archive, edition: Edition) -> dict[str, list[Record]]:
    """The records of the result files by their names; they must be those of the edition, and readable."""
    found = [name for name in archive.texts if name.startswith("results/")]
    for file in edition.file_names:
        if f"results/{file}" not in found:
            archive.complain(f"results/{file}", "is missing", "write it with local/write_results.py", "missing file")
    records: dict[str, list[Record]] = {}
    for name in found:
        if PurePosixPath(name).name not in edition.file_names:
            archive.complain(name, f"is no results file of edition {edition.name}", "remove it", "layout")
        elif archive.text(name, _SMALL) is not None:
            copy = archive.texts[name]
            try:
                records[name] = read(Source(copy, "submission"))
            except InputError as error:
                message = str(error).removeprefix(str(copy)).lstrip(":")
                archive.complain(name, f"cannot be read: {message}", "write it again", "results")
    return records


@dataclass(frozen=True)
class _Submission:
    """What was found in an archive."""

    archive: Archive
    edition: Edition
    results: Mapping[str, Sequence[Record]]
    evidence: Evidence
    sets: Sets
    shown: Mapping[str, str]

    def has(self, name: str, file: str) -> bool:
        """Whether a set has a file of a data directory."""
        if self.sets.originals:
            return Path(self.sets.originals[name], file).is_file()
        directories = [directory for directory, base in self.sets.directories.items() if base == name]
        return any(f"data/{directory}/{file}" in self.archive.texts for directory in directories)

    def lacks(self, place: str, message: str, remedy: str) -> None:
        """Note that something is missing that the edition requires."""
        self.archive.complain(place, message, remedy, REQUIREMENT)


def _check_completeness(submission: _Submission) -> None:
    """Note what the results lack: numbers of trials, words and emotions of the sets that were given."""
    for file in submission.edition.files:
        if f"results/{file.name}" in submission.results:
            _check_file(submission, file)
    requires = f"edition {submission.edition.name} requires"
    for name, path in submission.sets.originals.items():
        parts = SetName.parse(name)
        if path in submission.evidence.recognised:
            continue
        if (path / "text").is_file() and parts and parts.role in ("trials", "asr"):
            message = f"{requires} word error rates, and there are no transcripts of {name}"
            submission.lacks("text", message, "recognise it (stage 10) and pack again")
        if submission.edition.requires_uar and (path / "utt2emo").is_file():
            message = f"{requires} the UAR of emotions, and there are no predictions of {name}"
            submission.lacks("emotions", message, "recognise emotions (stage 10) and pack again")


def _check_file(submission: _Submission, file: ResultFile) -> None:
    """Note which numbers one result file lacks."""
    place, records = f"results/{file.name}", submission.results[f"results/{file.name}"]
    have = {(r.attacker, r.set, r.condition) for r in records if is_eer(r.metric)}
    for trials in (name for name in submission.sets.names if submission.has(name, "trials")):
        for attacker, condition in file.attacks or _attacks_shown(submission, trials):
            if not any((name, trials, condition) in have for name in {attacker, ""}):
                message = f"lacks the EER{f' of {attacker}' if attacker else ''} of {trials} in condition {condition}"
                submission.lacks(place, message, "measure it (stages 4 to 6) and pack again")
    emotions = submission.evidence.emotions if submission.edition.requires_uar else {}
    for metric, found in (("wer", submission.evidence.words), ("uar", emotions)):
        rates = {(record.set, record.condition) for record in records if record.metric == metric}
        for name, side in sorted({(name, side) for name, side, _ in found} - rates):
            message = f"lacks the {metric.upper()} of {name} {side}, though what it is made of was packed"
            submission.lacks(place, message, "write the results again")


def _attacks_shown(submission: _Submission, trials: str) -> Iterator[tuple[str, str]]:
    """The conditions that a file of one attacker must have of a set of trials; it does not name the attacker."""
    own = (submission.shown.get("attacker"), trials)
    scored = {one.condition for one in submission.evidence.attacks if (one.attacker, one.trials) == own}
    return (("", condition) for condition in sorted({"oo", "aa", *scored}))


def _check_description(archive: Archive, edition: Edition) -> None:
    """Note what the description lacks: an empty one, and the form as it is packed, describe nothing."""
    remedy = "fill it in and pack it (run.sh --stage 12 --description FILE)"
    if DESCRIPTION not in archive.digests:
        archive.complain(DESCRIPTION, "is missing", "describe the system", "missing file")
        return
    text = archive.text(DESCRIPTION, _SMALL)
    if text is None:
        return
    written, answers = _without_form(text)
    if len(re.findall(r"\w+", written)) < _LEAST_WORDS:
        archive.complain(DESCRIPTION, "describes nothing", remedy, REQUIREMENT)
        return
    for topic in edition.topics:
        if not answers.get(topic) and not re.search(topic.words, written, re.IGNORECASE):
            title = topic.title[0].lower() + topic.title[1:]
            message = f"does not mention what edition {edition.name} requires: {title}"
            archive.complain(DESCRIPTION, message, remedy, REQUIREMENT)


def _without_form(text: str) -> tuple[str, dict[Topic | None, str]]:
    """What a person wrote, and the answers to points of the form."""
    answers: dict[Topic | None, str] = {}
    own: list[str] = []
    topic: Topic | None = None
    for line in text.splitlines():
        found = next((one for one in FORM if line.lstrip("-*# ").startswith(one.title)), None)
        if found:
            topic, line = found, line.lstrip("-*# ").removeprefix(found.title).lstrip(":")
        elif re.match(r"# System description:|To be filled in|Results: see", line):
            topic, line = None, ""
        if line.strip():
            own.append(line)
            answers[topic] = f"{answers.get(topic, '')} {line}".strip()
    return "\n".join(own), answers


def _rescore(archive: Archive, sets: Sets, evidence: Evidence, system: str, demands: Demands) -> list[str]:
    rescoring = demands.organiser.rescoring
    if rescoring is None or not sets.originals:
        archive.unverified.append("scores: not made again from the audio (--recompute N)")
        for name in ("text", "emotions"):
            if archive.under(name):
                archive.unverified.append(f"{name}: not recognised again from the audio (--recompute N)")
        return []
    from vpeval.submission.rescore import rescore  # which brings torch along

    if rescoring.models is None and demands.recipe:
        rescoring = replace(rescoring, models=_models(next(iter(sets.originals.values())), demands.recipe.recipe))
    return rescore(archive, sets, evidence, system, rescoring)


def _models(original: Path, recipe: str) -> Path | None:
    """What the organiser has trained where the original data are: of data_x in exp_x."""
    data = original.parent
    models = data.parent / f"exp{data.name.removeprefix('data')}" / recipe / "asv"
    return models if models.is_dir() else None


def _list_unverified(archive: Archive, originals: Sequence[Path]) -> None:
    """List what was not checked."""
    if not originals:
        archive.unverified.append("ids, labels, texts and audio: no original data were given to compare with")
