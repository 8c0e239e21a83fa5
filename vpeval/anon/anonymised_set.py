"""An anonymised set: where its audio is, what it lacks, and the checks of what a hook wrote.

Output that breaks the contract (format, length, silence) is an error that names the file. What is allowed but worth
knowing (an output identical to its input, clipping, a much changed duration) is counted and reported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vpeval.audio.io import RATE, is_flat, probe, read_audio, read_wave_header
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.data.directory import DataDir, write_files

_CLIPPED_SHARE = 0.001
_DRIFT = 0.5
CHECKS = "checks.json"


@dataclass(frozen=True)
class Missing:
    """What a set lacks: utterances without a file, and how many trials were left out for them."""

    utts: tuple[str, ...] = ()
    trials: int = 0


def wave_of(directory: Path, spk: str, utt: str) -> Path:
    """Where the audio of an utterance is in an anonymised set: speakers have directories of their own."""
    return directory / "wav" / spk / f"{utt}.wav"


def write_anonymised(
    data: DataDir, out: Path, new: Path, findings: Sequence[Finding], missing: Missing | None = None
) -> None:
    """Write the tables of `data` with the audio of `wave_of` into directory `new`, which becomes `out`."""
    published = replace(data, path=new)
    wav = {utt: str(wave_of(out, spk, utt)) for utt, spk in data.utt2spk.items()}
    published = published.with_table("wav.scp", wav)
    published = published.with_table("utt2dur", {finding.utt: f"{finding.seconds:.3f}" for finding in findings})
    write_files(published, new)
    summary: dict[str, object] = {
        "utts": len(findings),
        "identical": [finding.utt for finding in findings if finding.identical],
        "clipped": [finding.utt for finding in findings if finding.clipped],
        "drifted": [finding.utt for finding in findings if finding.drifted],
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


@dataclass(frozen=True)
class Finding:
    """What is worth knowing about one anonymised utterance."""

    utt: str
    seconds: float
    identical: bool
    clipped: bool
    drifted: bool
    sha256: str = ""
    """Of the file."""


def check_output(utt: str, source: str, output: Path) -> Finding:
    """Compare an anonymised file with its source; a broken contract is an InputError."""
    info = probe(str(output))
    if (info.rate, info.channels, info.subtype) != (RATE, 1, "PCM_16"):
        kind = f"{info.rate} Hz, {info.channels} channels, {info.subtype}"
        raise InputError(f"the hook must write 16 kHz, mono, 16-bit PCM; this is {kind}", output)
    before, after = read_audio(source), read_audio(str(output))
    if is_flat(after) and not is_flat(before):
        raise InputError("is silent, or a constant, although its source is not; fix the anonymiser", output)
    length = len(after) / len(before)
    if length < 0.1 or length > 10:
        raise InputError(
            f"lasts {len(after) / RATE:.2f} s, the source {len(before) / RATE:.2f} s; fix the anonymiser", output
        )
    return Finding(
        utt,
        len(after) / RATE,
        identical=len(after) == len(before) and bool(np.abs(after - before).max() < 2 / 32768),
        clipped=bool(np.mean(np.abs(after) >= 32767 / 32768) > _CLIPPED_SHARE),
        drifted=abs(length - 1) > _DRIFT,
        sha256=hashlib.sha256(output.read_bytes()).hexdigest(),
    )


def is_whole_wave(path: Path) -> bool:
    """Whether a WAV file was written to its end: its header agrees with its size.

    Programs write the sizes either first or last; a file whose writer was killed fails in both cases.
    """
    with open(path, "rb") as file:
        wave = read_wave_header(file)
    if wave is None or wave.is_cut or wave.declared != path.stat().st_size:
        return False
    try:
        probe(str(path))
    except InputError:
        return False
    return True
