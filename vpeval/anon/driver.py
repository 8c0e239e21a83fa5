"""The driver of anonymisation hooks: seeds in, checked and published data directories out."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from pathlib import Path

from vpeval import batch, seeds
from vpeval.anon.check import Finding, check_output, is_whole_wave
from vpeval.audio import is_pipe
from vpeval.data.directory import DataDir, write_files
from vpeval.errors import InputError
from vpeval.files import write_text
from vpeval.stamps import fingerprint

log = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[2]
_CODE_SUFFIXES = {".py", ".sh", ".pl", ".yaml", ".yml", ".conf", ".json", ""}


def find_hook(name: str) -> Path:
    """The executable behind ``--anonymizer``: a file, a folder with anonymize.*, or a name below local/anon/."""
    for place in (Path(name), _ROOT / "local/anon" / name):
        if place.is_dir():
            candidates = sorted(place.glob("anonymize.*"))
            if not candidates:
                raise InputError("has no anonymize.py or anonymize.sh; name the hook itself", place)
            place = candidates[0]
        if place.is_file():
            if not os.access(place, os.X_OK):
                raise InputError(f"is not executable; run chmod +x {place}", place)
            return place
    have = ", ".join(sorted(folder.name for folder in (_ROOT / "local/anon").iterdir() if folder.is_dir()))
    raise InputError(f"no such hook: give a script, or one of {have} (--anonymizer {name})")


def system_name(hook: Path) -> str:
    """What a hook's system is called: local/anon/mcadams/anonymize.py → mcadams, my/hook.sh → hook."""
    name = hook.resolve().parent.name if hook.stem == "anonymize" else hook.stem
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_").lower() or "anon"


def role_of(data: DataDir) -> str:
    """Enrolment, trial or training: sets of different roles get different pseudo-speakers."""
    return "enroll" if data.enrolls is not None else "trial" if data.trials is not None else "train"


def anonymize(
    hook: Path, options: str, source: Path, out: Path, level: seeds.Level, seed: int, cmd: str, nj: int, log_dir: Path
) -> list[Finding]:
    """Run `hook` on a data directory and publish `out`; nothing is done (and [] returned) when it is up to date."""
    data = DataDir.load(source)
    role = role_of(data)
    made_from = fingerprint(
        [source, *_code_of(hook)], {"options": options, "level": level, "seed": seed, "role": role, "out": out}
    )
    wav = {utt: entry if is_pipe(entry) else str(Path(entry).resolve()) for utt, entry in data.wav.items()}
    seeded = data.with_table("utt2seed", seeds.utt2seed(data.utt2spk, seed, role, level)).with_table("wav.scp", wav)
    findings: list[Finding] = []

    def publish(target: batch.Target, parts: Path) -> None:
        known = {f"{utt}.wav" for utt in data.utts}
        if strange := sorted(path.name for path in parts.iterdir() if path.name not in known):
            raise InputError(
                f"the hook wrote {', '.join(strange[:5])}, which is no utterance of {source}; "
                "it must write <utt>.wav and nothing else",
                out,
            )
        findings.extend(check_output(utt, data.wav[utt], parts / f"{utt}.wav") for utt in data.utts)
        published = replace(data, path=target.new)
        published = published.with_table("wav.scp", {utt: str(out / "wav" / f"{utt}.wav") for utt in data.utts})
        published = published.with_table("utt2dur", {found.utt: f"{found.seconds:.3f}" for found in findings})
        write_files(published, target.new)
        write_text(target.new / "checks.json", json.dumps(_summary(findings), indent=1) + "\n")

    task = batch.Task(
        name="anonymize",
        worker=("steps/jobs/anonymize.py", str(hook.resolve()), options),
        suffix=".wav",
        parts="out/wav",
        finish=publish,
        is_whole=lambda target, utt, part: is_whole_wave(part),
    )
    batch.run(task, [batch.Target(seeded, out, made_from)], cmd, nj, log_dir)
    return findings


def _code_of(hook: Path) -> list[Path]:
    """The hook and the small source files beside it: an edited hook is a new anonymiser."""
    beside = (path for path in hook.resolve().parent.iterdir() if path.is_file() and path.suffix in _CODE_SUFFIXES)
    shipped = [_ROOT / "vpeval/anon"] if hook.resolve().is_relative_to(_ROOT / "local") else []
    return [*sorted(beside), *shipped]


def _summary(findings: list[Finding]) -> dict[str, object]:
    return {
        "utts": len(findings),
        "identical": [found.utt for found in findings if found.identical],
        "clipped": [found.utt for found in findings if found.clipped],
        "drifted": [found.utt for found in findings if found.drifted],
    }
