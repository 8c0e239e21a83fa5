"""Making a listening test: draw it, bring the recordings to one level, write the folder."""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy as np
import soundfile as sf

from vpeval.audio.io import RATE, is_pipe, read_audio
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import refuse_target, staged_directory
from vpeval.listening import levels, tones
from vpeval.listening.design import Page, Plan, draw_design
from vpeval.listening.folder import (
    ListeningTest,
    Settings,
    clip_name,
    load_test,
    session_view,
    write_manifest,
    write_private,
)
from vpeval.listening.material import Clip, Material

_HERE = Path(__file__).parent / "page"
_SECONDS_PER_ANSWER = 4.0
_TIMES_HEARD = 1.5


@dataclass(frozen=True)
class Wording:
    """What organisers write themselves: title, whom to ask, and their own text of the consent (or the usual one)."""

    title: str
    contact: str
    consent: str = ""


def prepare(
    out: Path,
    material: Material,
    plan: Plan,
    wording: Wording,
    seed: int = 0,
    key: bytes | None = None,
    without_server: bool = False,
    simulated: bool = False,
) -> ListeningTest:
    """Make the folder `out`, whole or not at all."""
    recordings = (Path(entry) for entry in material.wav.values() if not is_pipe(entry))
    inputs = list({path.parent: path for path in recordings}.values())
    refuse_loss(out, inputs)
    pages = draw_design(material, plan, seed)
    key = key or secrets.token_bytes(32)
    clips = sorted({clip for page in pages for clip in page.clips})
    spoken = [clip for clip in clips if clip.set]
    entries = {f"{clip.set}/{clip.utt} ({clip.system})": material.wav[clip] for clip in spoken}
    loud = dict(zip(spoken, levels.measure(entries).values(), strict=True))
    level = levels.common_level({f"{clip.set}/{clip.utt} ({clip.system})": found for clip, found in loud.items()})
    consent = wording.consent or _usual_consent(wording)
    with staged_directory(out, inputs) as folder:
        audio = folder / "public/audio"
        audio.mkdir(parents=True)
        seconds = {clip: found.seconds for clip, found in loud.items()}
        for clip in clips:
            if not clip.set:
                wave = _check_recording(clip.utt, level)
                seconds[clip] = len(wave) / RATE
                (audio / f"{clip_name(key, clip)}.wav").write_bytes(_wav(wave))

        def convert(clip: Clip) -> None:
            wave = levels.adjusted(read_audio(material.wav[clip]), loud[clip], level)
            (audio / f"{clip_name(key, clip)}.wav").write_bytes(_wav(wave))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(convert, spoken))
        settings = Settings(
            wording.title,
            wording.contact,
            material.recipe,
            material.systems,
            plan.listeners,
            plan.shape,
            seed,
            round(level, 2),
            hashlib.sha256(consent.encode()).hexdigest()[:16],
            simulated,
        )
        write_private(folder, settings, key, pages, seconds)
        write_page(folder / "public", settings, consent, minutes(pages, seconds), without_server)
        write_text(folder / "README.txt", _readme(settings))
        if without_server:
            _write_sessions(folder)
        (folder / "answers").mkdir()
        write_manifest(folder)
    return load_test(out)


def refuse_loss(out: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse to put a test where something else is, or where answers would be lost."""
    if any((out / "answers").glob("*")):
        raise InputError(
            "already has answers of listeners; choose another place, or move them away first", out / "answers"
        )
    refuse_target(out, inputs)


def minutes(pages: Sequence[Page], seconds: dict[Clip, float]) -> int:
    """How long the first listener will take: recordings heard one and a half times, and some seconds for an answer."""
    first = [page for page in pages if page.listener == pages[0].listener]
    heard = sum(_TIMES_HEARD * seconds[clip] for page in first for clip in page.clips)
    answers = sum({"rating": 3, "board": 2 * len(page.clips)}.get(page.kind, 1) for page in first)
    return max(1, round((heard + _SECONDS_PER_ANSWER * answers) / 60))


def write_page(public: Path, settings: Settings, consent: str, length: int, without_server: bool) -> None:
    """Render what listeners see."""
    page = _template("index.html").render(
        settings=settings, consent=_paragraphs(consent), minutes=length, without_server=without_server
    )
    write_text(public / "index.html", page)
    for name in ("listen.css", "listen.js", "board.js", "player.js"):
        shutil.copyfile(_HERE / name, public / name)


def _template(name: str) -> jinja2.Template:
    loader = jinja2.FileSystemLoader(_HERE)
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined).get_template(name)


def _usual_consent(wording: Wording) -> str:
    return (_HERE / "consent.txt").read_text(encoding="utf-8").replace("{contact}", wording.contact)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _check_recording(name: str, level: float) -> np.ndarray:
    kind, _, answer = name.partition("-")
    return {"tones": tones.tones, "quietest": tones.quietest}[kind](int(answer), level)


def _wav(wave: np.ndarray) -> bytes:
    """16-bit PCM in a plain header: nothing but samples, and every browser plays it."""
    pcm = np.clip(np.rint(wave.astype(np.float64) * 32768), -32768, 32767).astype(np.int16)
    content = io.BytesIO()
    sf.write(content, pcm, RATE, subtype="PCM_16", format="WAV")
    return content.getvalue()


def _write_sessions(folder: Path) -> None:
    """A script per listener with the recordings of its pages: pages opened as files cannot load anything else."""
    test = load_test(folder)
    for token, listener in test.tokens().items():
        view = json.dumps(session_view(test, listener), ensure_ascii=True)
        write_text(folder / f"public/sessions/{token}.js", f"window.listeningSession = {view};\n")


def _readme(settings: Settings) -> str:
    simulated = ["Its listeners are SIMULATED: nobody has heard anything.", ""] if settings.simulated else []
    lines: Iterable[str] = (
        f"Listening test: {settings.title}",
        "",
        *simulated,
        "public/   what listeners may see",
        "private/  what they may not: the design, the tokens of the listeners, and the key of the names",
        "answers/  what they answer",
        "",
        "local/listening_test.py serve <this folder>      starts the server",
        "local/listening_test.py analyse <this folder> <out>   analyses the answers",
        "docs/listening.md says more.",
    )
    return "\n".join(lines) + "\n"
