"""Preparation of a listening test: draw the design, bring all recordings to one level, write the directory.

The level of a recording is that of its active speech: frames of 20 ms, without those below -70 dB and then without
those 10 dB below the mean of the rest (two-stage gating as in ITU-R BS.1770, without frequency weighting). All
recordings get -26 dB relative to full scale, as is usual in listening tests (ITU-T P.800), or the highest lower level
at which none of them clips.

Checks use tones, so that they work in every language. Attention: count the tones. Headphones: find the quietest of
three tones. One is 6 dB weaker; another is in opposite phase left and right, which cancels in the air between
loudspeakers but not over headphones (Woods et al., Headphone screening to facilitate web-based auditory experiments,
2017).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy as np
import soundfile as sf

from vpeval.audio.io import RATE, is_pipe, read_audio
from vpeval.core.config import check_section, read_config
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import refuse_target, staged_directory
from vpeval.listening.answers import TASKS
from vpeval.listening.design import DesignOptions, Page, draw_design
from vpeval.listening.disk import (
    ListeningTest,
    Settings,
    clip_name,
    close_to_others,
    load_test,
    session_view,
    write_manifest,
    write_private,
)
from vpeval.listening.material import Clip, Material

LEVEL = -26.0
LOWEST = -46.0
_FRAME = RATE // 50
_PEAK = 0.99
_PAGE = Path(__file__).parent / "page"
_SECONDS_PER_ANSWER = 4.0
_PLAYS = 1.5
_TURNING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}


@dataclass(frozen=True)
class Texts:
    """The texts of the organisers: title, contact, and their own consent text (empty: the default one).

    `instructions` is a file with what listeners read about their role and the questions (None: the default).
    """

    title: str
    contact: str
    consent: str = ""
    instructions: Path | None = None


@dataclass(frozen=True)
class Instructions:
    """What listeners read: paragraphs about their role, and title, text and both ends of the scale of every question.

    `own` identifies texts of the organisers; it is empty for the default.
    """

    role: tuple[str, ...]
    questions: Mapping[str, Mapping[str, str]]
    own: str = ""


_WORDS = ("title", "text", "low", "high")


def read_instructions(path: Path | None = None) -> Instructions:
    """The default instructions, with the texts that a file has instead of them."""
    role, questions = _read_texts(_PAGE / "instructions.yaml")
    own = ""
    if path:
        own_role, own_questions = _read_texts(path)
        role = own_role or role
        questions = {task: words | own_questions.get(task, {}) for task, words in questions.items()}
        own = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return Instructions(role, questions, own)


def _read_texts(path: Path) -> tuple[tuple[str, ...], dict[str, dict[str, str]]]:
    texts = read_config(path, "role", *TASKS["rating"], role=str, **dict.fromkeys(TASKS["rating"], dict))
    questions = {
        task: check_section(words, task, path, *_WORDS, **dict.fromkeys(_WORDS, str))
        for task, words in texts.items()
        if task != "role"
    }
    for name, words in (("role", {"role": texts.get("role", "-")}), *questions.items()):
        if empty := [key for key, text in words.items() if not text.strip()]:
            raise InputError(f"'{empty[0]}' of '{name}' is empty; leave the line out for the default text", path)
    return _paragraphs(texts.get("role", "")), questions


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


@dataclass(frozen=True)
class PrepareOptions:
    """`key`: secret behind all names (None: random); `without_server`: pages that can be opened as files."""

    seed: int = 0
    key: bytes | None = None
    without_server: bool = False
    simulated: bool = False


@dataclass(frozen=True)
class Loudness:
    """Active level and peak of a recording in dB relative to full scale, and its length."""

    level: float
    peak: float
    seconds: float


def prepare(
    out: Path, material: Material, design: DesignOptions, texts: Texts, options: PrepareOptions | None = None
) -> ListeningTest:
    """Write the directory `out`, completely or not at all."""
    options = options or PrepareOptions()
    recordings = (Path(entry) for entry in material.wav.values() if not is_pipe(entry))
    inputs = list({path.parent: path for path in recordings}.values())
    _refuse_loss(out, inputs)
    instructions = read_instructions(texts.instructions)
    _refuse_controls(texts, instructions)
    pages = draw_design(material, design, options.seed)
    key = options.key or secrets.token_bytes(32)
    clips = sorted({clip for page in pages for clip in page.clips})
    measured = _measure({clip: material.wav[clip] for clip in clips if clip.set})
    level = common_level({_describe(clip): found for clip, found in measured.items()})
    consent = texts.consent or (_PAGE / "consent.txt").read_text(encoding="utf-8").replace("{contact}", texts.contact)
    with staged_directory(out, inputs) as directory:
        seconds = {clip: found.seconds for clip, found in measured.items()}
        (directory / "public/audio").mkdir(parents=True)

        def write(clip: Clip) -> None:
            if clip.set:
                wave = read_audio(material.wav[clip]) * 10 ** ((level - measured[clip].level) / 20)
            else:
                wave = check_recording(clip.utt, level)
                seconds[clip] = len(wave) / RATE
            (directory / f"public/audio/{clip_name(key, clip)}.wav").write_bytes(_wav(wave))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(write, clips))
        settings = Settings(
            texts.title,
            texts.contact,
            material.recipe,
            material.systems,
            design.listeners,
            design.shape,
            options.seed,
            round(level, 2),
            hashlib.sha256(consent.encode()).hexdigest()[:16],
            options.simulated,
            instructions=instructions.own,
        )
        write_private(directory, settings, key, pages, seconds)
        words = {"consent": _paragraphs(consent), "role": instructions.role, "questions": instructions.questions}
        minutes = _minutes(pages, seconds)
        _write_page(
            directory / "public", settings=settings, minutes=minutes, without_server=options.without_server, **words
        )
        write_text(directory / "README.txt", _readme(settings))
        if options.without_server:
            _write_sessions(directory)
        close_to_others(directory)
        write_manifest(directory)
    return load_test(out)


def _refuse_loss(out: Path, inputs: Iterable[Path]) -> None:
    """Refuse to overwrite answers or other files."""
    if any((out / "answers").glob("*")):
        raise InputError(
            "already has answers of listeners; choose another directory, or move them first", out / "answers"
        )
    refuse_target(out, inputs)


def _refuse_controls(texts: Texts, instructions: Instructions) -> None:
    """Refuse characters that steer a terminal or turn the order of other text around; every script can be written."""
    asked = "".join(text for words in instructions.questions.values() for text in words.values())
    named = {name: getattr(texts, name) for name in ("title", "contact", "consent")}
    for name, text in (*named.items(), ("instructions", "".join(instructions.role) + asked)):
        for char in text:
            if char in _TURNING or (ord(char) < 0x20 and char not in "\n\r\t") or 0x7F <= ord(char) < 0xA0:
                raise InputError(f"--{name} holds the control character U+{ord(char):04X}; remove it")


def loudness(wave: np.ndarray) -> Loudness | None:
    """How loud a recording is; None if it is silent."""
    power = np.square(wave.astype(np.float64))
    frames = power[: len(power) // _FRAME * _FRAME].reshape(-1, _FRAME).mean(axis=1) if len(power) >= _FRAME else power
    audible = frames[frames > 1e-7]
    if not len(audible):
        return None
    active = audible[audible >= audible.mean() / 10]
    return Loudness(10 * float(np.log10(active.mean())), 20 * float(np.log10(np.abs(wave).max())), len(wave) / RATE)


def _measure(entries: Mapping[Clip, str]) -> dict[Clip, Loudness]:
    def measure(item: tuple[Clip, str]) -> Loudness:
        clip, entry = item
        found = loudness(read_audio(entry))
        if found is None:
            raise InputError(f"'{_describe(clip)}' is silent; make it again or remove it", entry)
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(entries, pool.map(measure, entries.items()), strict=True))


def _describe(clip: Clip) -> str:
    return f"{clip.set}/{clip.utt} ({clip.system})"


def common_level(measured: Mapping[str, Loudness]) -> float:
    """The level for all recordings; one that would make all others very quiet is an InputError."""
    name, worst = min(measured.items(), key=lambda item: (item[1].level - item[1].peak, item[0]))
    level = min(LEVEL, float(20 * np.log10(_PEAK) + worst.level - worst.peak))
    if level < LOWEST:
        raise InputError(
            f"'{name}' has a peak {worst.peak - worst.level:.0f} dB above its speech (a click?), so that all "
            "recordings would have to be very quiet; repair it or remove its utterance"
        )
    return level


def check_recording(name: str, level: float) -> np.ndarray:
    """The recording of a check: ``tones-<count>`` (mono) or ``quietest-<place>`` (stereo)."""
    kind, _, answer = name.partition("-")
    return {"tones": _tones, "quietest": _quietest}[kind](int(answer), level)


def _tones(count: int, level: float) -> np.ndarray:
    beep, pause = _tone(0.18, 520.0, level), np.zeros(int(0.27 * RATE))
    return np.concatenate([pause, *(part for _ in range(count) for part in (beep, pause))])


def _quietest(place: int, level: float) -> np.ndarray:
    """Three tones: the one at `place` (1 to 3) is quieter, the next one (in a circle) has opposite phases."""
    pause = np.zeros((int(0.4 * RATE), 2))
    parts = [pause]
    for i in range(1, 4):
        tone = _tone(0.8, 200.0, level - 6 if i == place else level)
        other = -tone if i == place % 3 + 1 else tone
        parts += [np.stack([tone, other], axis=1), pause]
    return np.concatenate(parts)


def _tone(seconds: float, frequency: float, level: float) -> np.ndarray:
    time = np.arange(int(seconds * RATE)) / RATE
    wave = np.sqrt(2) * 10 ** (level / 20) * np.sin(2 * np.pi * frequency * time)
    ramp = np.sin(np.linspace(0, np.pi / 2, _FRAME)) ** 2
    wave[:_FRAME] *= ramp
    wave[-_FRAME:] *= ramp[::-1]
    return wave


def _wav(wave: np.ndarray) -> bytes:
    """16-bit PCM with a plain header: no metadata, and every browser plays it."""
    pcm = np.clip(np.rint(wave.astype(np.float64) * 32768), -32768, 32767).astype(np.int16)
    content = io.BytesIO()
    sf.write(content, pcm, RATE, subtype="PCM_16", format="WAV")
    return content.getvalue()


def _minutes(pages: Sequence[Page], seconds: Mapping[Clip, float]) -> int:
    """The estimated duration for the first listener."""
    first = [page for page in pages if page.listener == pages[0].listener]
    playing = sum(_PLAYS * seconds[clip] for page in first for clip in page.clips)
    answers = sum({"rating": 3, "board": 2 * len(page.clips)}.get(page.kind, 1) for page in first)
    return max(1, round((playing + _SECONDS_PER_ANSWER * answers) / 60))


def _write_page(public: Path, **values: object) -> None:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("index.html").render(**values)
    write_text(public / "index.html", page)
    for name in ("listen.css", "listen.js", "board.js", "player.js"):
        shutil.copyfile(_PAGE / name, public / name)


def _write_sessions(directory: Path) -> None:
    """A script per listener with the recordings of its pages: a page opened as a file can load nothing else."""
    test = load_test(directory)
    for token, listener in test.tokens().items():
        view = json.dumps(session_view(test, listener), ensure_ascii=True)
        write_text(directory / f"public/sessions/{token}.js", f"window.listeningSession = {view};\n")


def _readme(settings: Settings) -> str:
    simulated = "Its listeners are SIMULATED.\n\n" if settings.simulated else ""
    return f"""Listening test: {settings.title}

{simulated}public/   for listeners: the page and the recordings
private/  for organisers only: the design, the tokens of the listeners, and the key of all names
answers/  the answers

local/listening_test.py serve <this directory>                starts the server
local/listening_test.py analyse <this directory> <out-dir>    analyses the answers
See docs/listening.md.
"""
