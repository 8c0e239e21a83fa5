"""Check a submission archive, one's own or somebody else's: every violation is listed, nothing is unpacked.

With the original data directories at hand their utterances, labels and texts must be in the archive, its audio must
resemble theirs in length and level, and every number that scores and transcripts give is computed again. What was not
verified is listed: there are no violations only where that list is empty, too.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from vpeval.core.errors import InputError
from vpeval.data.text import NORMALIZERS
from vpeval.data.validate import Problem
from vpeval.records.names import TEXT_RULES
from vpeval.records.record import Record
from vpeval.results.editions import EDITIONS
from vpeval.results.load import Source, read
from vpeval.submission.archive import Archive, scan
from vpeval.submission.data import Sets, check_data
from vpeval.submission.layout import MANIFEST
from vpeval.submission.numbers import Evidence, compare, gather
from vpeval.submission.requirements import check_completeness, check_description

_RESULTS = 1 << 20
_MANIFEST = 32 << 20


@dataclass(frozen=True)
class Verdict:
    """What was found: violations (and their number by kind), what was verified, and what was not.

    `recomputed` are numbers of the results by set and condition, `rescored` scores that were made again.
    """

    problems: list[Problem]
    counts: Counter[str]
    recomputed: dict[str, list[str]]
    rescored: list[str]
    compared: list[str]
    noted: list[str]
    unverified: list[str]

    @property
    def numbers(self) -> int:
        """How many numbers of the results were recomputed."""
        return sum(map(len, self.recomputed.values()))


@dataclass(frozen=True)
class Rescoring:
    """How to score trials again from the audio: so many of every attack, drawn by `seed`.

    `attackers` holds the configurations of attackers, `models` what was trained for them.
    """

    trials: int
    seed: int
    attackers: Path
    models: Path | None = None


def check(
    path: str | PathLike[str],
    originals: Sequence[Path] = (),
    edition: str = "",
    attackers: Path | None = None,
    rescoring: Rescoring | None = None,
) -> Verdict:
    """Everything that is wrong with the archive `path`, and what was verified.

    `originals` are the original data directories of all sets that must be there; `edition` is that of the manifest
    unless given; `attackers` is the folder with the configurations of all attackers that count.
    """
    with tempfile.TemporaryDirectory(prefix="submission-") as room:
        archive = Archive(Path(path), Path(room))
        if not archive.path.is_file():
            archive.complain("", "no such file", "check the path", "archive")
            return _verdict(archive)
        scan(archive)
        manifest = _manifest(archive)
        edition = edition or str(manifest.get("edition", ""))
        system = _system(archive, manifest)
        results = _results(archive, edition)
        sets, compared = check_data(archive, edition, system, originals)
        evidence = gather(archive, sets, system, _rules(archive, manifest, edition))
        shown = _shown(archive, manifest, evidence, attackers)
        recomputed = compare(archive, results, evidence, shown)
        check_completeness(archive, edition, results, evidence, sets, shown)
        check_description(archive, edition)
        rescored = _rescore(archive, sets, evidence, system, manifest, rescoring)
        _admit(archive, originals)
        return _verdict(archive, recomputed, rescored, compared)


def _verdict(
    archive: Archive,
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
        unverified=archive.unverified,
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
        message = f"names the system {named!a}, the folder of the submission is '{top}'"
        archive.complain(MANIFEST, message, "pack again under one name", "manifest")
    return top


def _rules(archive: Archive, manifest: Mapping[str, Any], edition: str) -> str:
    """The text rules by which words are counted: those of the edition unless the recipe has others, which is noted."""
    usual = TEXT_RULES.get(edition, "vpc2020")
    shown = manifest.get("shown")
    named = shown.get("text_rules", usual) if isinstance(shown, dict) else usual
    if named not in NORMALIZERS:
        archive.complain(MANIFEST, f"knows no text rules {named!a}", "pack again", "manifest")
        return usual
    if named != usual:
        archive.noted.append(f"words are counted by the rules {named}, not by {usual} as edition {edition} does")
    return str(named)


def _shown(archive: Archive, manifest: Mapping[str, Any], evidence: Evidence, attackers: Path | None) -> dict[str, str]:
    """Whose numbers the results show; they must be attackers that the organiser knows."""
    known = sorted({one.attacker for one in evidence.attacks})
    for name in known:
        if attackers and name and not (attackers / f"{name}.yaml").is_file():
            message = f"there is no attacker '{name}' in {attackers}"
            archive.complain("scores", message, "attack with the attackers of the challenge", "attackers")
    named = manifest.get("shown")
    shown = {str(role): str(name) for role, name in named.items()} if isinstance(named, dict) else {}
    if len(known) == 1:
        return {"asv_eval": known[0], "attacker": known[0], **shown} if not known[0] or not shown else shown
    if known and "attacker" not in shown:
        message = f"does not say whose numbers the results show ({', '.join(known)})"
        archive.complain(MANIFEST, message, "pack with local/make_submission.py", "manifest")
    return shown


def _results(archive: Archive, edition: str) -> dict[str, list[Record]]:
    """The records of the results files by their names; they must be those of the edition, and readable."""
    if edition not in EDITIONS:
        named = f"edition {edition!a}" if edition else "no edition is named; this"
        archive.complain(MANIFEST, f"{named} is none of {', '.join(EDITIONS)}", "say --edition", "manifest")
    found = [name for name in archive.texts if name.startswith("results/")]
    for file in EDITIONS.get(edition, ()):
        if f"results/{file}" not in found:
            archive.complain(f"results/{file}", "is missing", "write it with local/write_results.py", "missing file")
    records: dict[str, list[Record]] = {}
    for name in found:
        if PurePosixPath(name).name not in EDITIONS.get(edition, ()):
            archive.complain(name, f"is no results file of edition {edition}", "remove it", "layout")
        elif archive.text(name, _RESULTS) is not None:
            copy = archive.texts[name]
            try:
                records[name] = read(Source(copy, "submission"))
            except InputError as error:
                message = str(error).removeprefix(str(copy)).lstrip(":")
                archive.complain(name, f"cannot be read: {message}", "write it again", "results")
    return records


def _rescore(
    archive: Archive,
    sets: Sets,
    evidence: Evidence,
    system: str,
    manifest: Mapping[str, Any],
    rescoring: Rescoring | None,
) -> list[str]:
    if rescoring is None:
        archive.unverified.append("scores: not made again from the audio (--recompute N)")
        return []
    from vpeval.submission.rescore import rescore  # which brings torch along

    return rescore(archive, sets, list(evidence.attacks), system, manifest, rescoring)


def _admit(archive: Archive, originals: Sequence[Path]) -> None:
    """Say what nobody has looked at."""
    if not originals:
        archive.unverified.append("ids, labels, texts and audio: no original data were given to compare with")
    if archive.under("text"):
        archive.unverified.append("transcripts: not recognised again from the audio")
    if archive.under("emotions"):
        archive.unverified.append("emotions: not recognised again from the audio")
