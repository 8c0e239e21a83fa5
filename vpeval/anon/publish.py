"""How anonymised sets appear: the tables of the original set, new audio, and what the checks found, in one rename."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vpeval.anon.check import Finding
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.data.directory import DataDir, write_files

CHECKS = "checks.json"


@dataclass(frozen=True)
class Missing:
    """What a set lacks: utterances without a file, and how many trials were left out for them."""

    utts: tuple[str, ...] = ()
    trials: int = 0


def wave_of(directory: Path, spk: str, utt: str) -> Path:
    """Where the audio of an utterance is in an anonymised set: a folder for every speaker, so that none grows large."""
    return directory / "wav" / spk / f"{utt}.wav"


def write_anonymised(
    data: DataDir, out: Path, new: Path, findings: Sequence[Finding], missing: Missing | None = None
) -> None:
    """Write the tables of `data` with the audio of `wave_of` into directory `new`, which becomes `out`."""
    published = replace(data, path=new)
    wav = {utt: str(wave_of(out, spk, utt)) for utt, spk in data.utt2spk.items()}
    published = published.with_table("wav.scp", wav)
    published = published.with_table("utt2dur", {found.utt: f"{found.seconds:.3f}" for found in findings})
    write_files(published, new)
    summary: dict[str, object] = {
        "utts": len(findings),
        "identical": [found.utt for found in findings if found.identical],
        "clipped": [found.utt for found in findings if found.clipped],
        "drifted": [found.utt for found in findings if found.drifted],
    }
    if missing and missing.utts:
        summary |= {"missing": list(missing.utts), "trials_left_out": missing.trials}
    write_text(new / CHECKS, json.dumps(summary, indent=1) + "\n")


def read_missing(directory: Path) -> Missing:
    """What an anonymised set lacks; nothing for sets made by a hook."""
    path = directory / CHECKS
    if not path.is_file():
        return Missing()
    try:
        checks = json.loads(path.read_text(encoding="utf-8"))
        return Missing(tuple(checks.get("missing", ())), int(checks.get("trials_left_out", 0)))
    except (ValueError, AttributeError, TypeError):
        raise InputError("is not what the checks wrote; anonymise the set again", path) from None
