"""The driver of anonymisation hooks: seeds in, checked and published data directories out."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from vpeval.anon.check import Finding, check_output, is_whole_wave
from vpeval.audio.io import is_pipe
from vpeval.core import seeds
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.data.directory import DataDir, write_files
from vpeval.data.layout import name_some
from vpeval.jobs import batch
from vpeval.jobs.stamps import fingerprint

PARTS = "out/wav"
_ROOT = Path(__file__).resolve().parents[2]
_CODE_SUFFIXES = {".py", ".sh", ".pl", ".yaml", ".yml", ".conf", ".json"}


def find_hook(name: str) -> Path:
    """The executable behind ``--anonymizer``: a file, a folder with anonymize.*, or a name below local/anon/."""
    for place in (Path(name), _ROOT / "local/anon" / name):
        if place.is_dir():
            candidates = sorted(place.glob("anonymize.*"))
            if not candidates:
                raise InputError("has no anonymize.py or anonymize.sh; name the hook itself", place)
            # Beside the hook there may be its settings, anonymize.conf.
            place = next((file for file in candidates if os.access(file, os.X_OK)), candidates[0])
        if place.is_file():
            if not os.access(place, os.X_OK):
                raise InputError(f"is not executable; run chmod +x {place}", place)
            return place
    have = ", ".join(sorted(folder.name for folder in (_ROOT / "local/anon").iterdir() if folder.is_dir()))
    raise InputError(f"no such hook: give a script, or one of {have} (--anonymizer {name})")


def split_options(text: str) -> list[str]:
    """The words of ``--anon-options``, quoted as in a shell."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"{text}: {error}; quote the options of the hook as in a shell") from None


def system_name(hook: Path) -> str:
    """What a hook's system is called: local/anon/mcadams/anonymize.py → mcadams, my/hook.sh → hook."""
    name = hook.resolve().parent.name if hook.stem == "anonymize" else hook.stem
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_").lower() or "anon"


def prepared_dir(hook: Path) -> Path:
    """Where a hook keeps what it learns under --prepare."""
    return _ROOT / "exp/anon" / system_name(hook)


def role_of(data: DataDir) -> str:
    """Enrolment, trial or training: sets of different roles get different pseudo-speakers."""
    return "enroll" if data.enrolls is not None else "trial" if data.trials is not None else "train"


def seeded(source: Path, seed: int, level: seeds.Level) -> DataDir:
    """A data directory as hooks get it: with utt2seed, and with audio that is found from anywhere."""
    data = DataDir.load(source)
    wav = {utt: entry if is_pipe(entry) else str(Path(entry).resolve()) for utt, entry in data.wav.items()}
    utt2seed = seeds.utt2seed(data.utt2spk, seed, role_of(data), level)
    return data.with_table("utt2seed", utt2seed).with_table("wav.scp", wav)


@dataclass(frozen=True)
class Launch:
    """How jobs are run: launcher, jobs at a time, where the logs go, and how long a hook may write nothing."""

    cmd: str
    nj: int
    log_dir: Path
    timeout: int = 0


def anonymize(
    hook: Path, options: str, source: Path, out: Path, level: seeds.Level, seed: int, launch: Launch
) -> list[Finding]:
    """Run `hook` on a data directory and publish `out`; nothing is done (and [] returned) when it is up to date."""
    data = DataDir.load(source)
    made_from = fingerprint(
        [source, *_code_of(hook)], {"options": options, "level": level, "seed": seed, "role": role_of(data), "out": out}
    )
    findings: list[Finding] = []

    def publish(target: batch.Target, parts: Path) -> None:
        _refuse_strangers(data, parts, out)
        findings.extend(check_output(utt, data.wav[utt], parts / f"{utt}.wav") for utt in data.utts)
        published = replace(data, path=target.new)
        published = published.with_table("wav.scp", {utt: str(out / "wav" / f"{utt}.wav") for utt in data.utts})
        published = published.with_table("utt2dur", {found.utt: f"{found.seconds:.3f}" for found in findings})
        write_files(published, target.new)
        write_text(target.new / "checks.json", json.dumps(_summary(findings), indent=1) + "\n")

    settings = (str(hook.resolve()), options, str(source), str(seed), level, str(launch.timeout))
    task = batch.Task(
        name="anonymize",
        worker=(str(_ROOT / "steps/jobs/anonymize.py"), *settings),
        suffix=".wav",
        parts=PARTS,
        finish=publish,
        is_whole=lambda target, utt, part: is_whole_wave(part),
    )
    target = batch.Target(seeded(source, seed, level), out, made_from)
    try:
        batch.run(task, [target], launch.cmd, launch.nj, launch.log_dir)
    except InputError:
        # A misspelt name explains a missing file better than its absence does.
        if (target.work / PARTS).is_dir():
            _refuse_strangers(data, target.work / PARTS, out)
        raise
    return findings


def _refuse_strangers(data: DataDir, parts: Path, out: Path) -> None:
    """Remove what is no utterance's wav; unless it is what a killed write leaves behind, say so."""
    known = {f"{utt}.wav" for utt in data.utts}
    strange = sorted(path for path in parts.iterdir() if path.name not in known)
    for path in strange:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if names := [path.name for path in strange if not path.name.startswith(".")]:
        raise InputError(
            f"the hook wrote {name_some(names)}, which is no utterance of {data.path}; "
            "it must write <utt>.wav and nothing else",
            out,
        )


def _code_of(hook: Path) -> list[Path]:
    """The hook, the small source files beside it and what it prepared: an edited hook is a new anonymiser."""
    beside = (path for path in hook.resolve().parent.iterdir() if path.is_file() and _is_code(path))
    shipped = [_ROOT / "vpeval/anon"] if hook.resolve().is_relative_to(_ROOT / "local") else []
    prepared = [path for path in [prepared_dir(hook)] if path.is_dir()]
    return [*sorted(beside), *shipped, *prepared]


def _is_code(path: Path) -> bool:
    """By suffix; without one, a program is code, and anything else may be a log of the hook's."""
    return path.suffix in _CODE_SUFFIXES or (not path.suffix and os.access(path, os.X_OK))


def _summary(findings: list[Finding]) -> dict[str, object]:
    return {
        "utts": len(findings),
        "identical": [found.utt for found in findings if found.identical],
        "clipped": [found.utt for found in findings if found.clipped],
        "drifted": [found.utt for found in findings if found.drifted],
    }
