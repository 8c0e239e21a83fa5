"""Corpora in their released layouts, made of a few seconds of embedded speech."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile as sf
from scipy.signal import resample_poly

ROOT = Path(__file__).resolve().parents[2]
MINI = ROOT / "egs/mini/corpus"


class Speech:
    """Sentences of the embedded corpus, always new ones: `take("f", 3)` gives three of one female speaker."""

    def __init__(self, split: str = "test") -> None:
        with open(MINI / "speakers.tsv", newline="") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t") if row["split"] == split]
        self._speakers = {g: iter([row["spk"] for row in rows if row["gender"] == g]) for g in ("f", "m")}
        with open(MINI / "utterances.tsv", newline="") as file:
            self._utts = list(csv.DictReader(file, delimiter="\t"))

    def take(self, gender: str, count: int) -> list[tuple[np.ndarray, str]]:
        spk = next(self._speakers[gender])
        rows = [row for row in self._utts if row["spk"] == spk]
        # One utterance of each session in turn: the first ones are of different sessions.
        rows.sort(key=lambda row: (int(row["utt"][-3:]) % 5, row["session"]))
        assert count <= len(rows)
        return [(sf.read(MINI / "audio" / spk / f"{row['utt']}.opus")[0][:40000], row["text"]) for row in rows[:count]]


def write(path: Path, wave: np.ndarray, rate: int = 16000, channels: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if rate != 16000:
        wave = np.clip(resample_poly(wave, rate // 1000, 16), -1, 1)
    sf.write(path, np.stack([wave] * channels, axis=1) if channels > 1 else wave, rate)


def librispeech(
    root: Path, subset: str, readers: dict[str, str], speech: Speech, chapters: int = 2, utts: int = 2
) -> None:
    """`readers` by gender; every chapter has `utts` utterances."""
    folder = root / "LibriSpeech"
    lines = []
    for reader, gender in readers.items():
        sentences = iter(speech.take(gender, chapters * utts))
        lines.append(f"{reader:<4} | {gender.upper()} | {subset:<16} | 8.02  | A Reader | of two names\n")
        for chapter in range(100, 100 + chapters):
            home = folder / subset / reader / str(chapter)
            texts = []
            for number in range(utts):
                wave, text = next(sentences)
                name = f"{reader}-{chapter}-{number:04d}"
                # The test sets of the challenge have no utterances below 3 s.
                write(home / f"{name}.flac", np.resize(wave, 50_000) if subset == "test-clean" else wave)
                texts.append(f"{name} {text.upper().strip('.?!')}\n")
            (home / f"{reader}-{chapter}.trans.txt").write_text("".join(texts))
    path = folder / "SPEAKERS.TXT"
    before = path.read_text() if path.exists() else ";\n; ID  |SEX| SUBSET           |MINUTES| NAME\n"
    path.write_text(before + "".join(lines))


def libritts(root: Path, subset: str, readers: dict[str, str], speech: Speech, utts: int = 2) -> None:
    lines = ["READER\tGENDER\tSUBSET\tNAME\n"]
    for reader, gender in readers.items():
        lines.append(f"{reader}\t{gender.upper()}\t{subset}\tA Reader\n")
        for number, (wave, text) in enumerate(speech.take(gender, utts)):
            home = root / "LibriTTS" / subset / reader / "200"
            name = f"{reader}_200_{number:06d}_000000"
            write(home / f"{name}.wav", wave, 24000)
            (home / f"{name}.normalized.txt").write_text(text)
            (home / f"{name}.original.txt").write_text(text)
    (root / "LibriTTS/speakers.tsv").write_text("".join(lines))


def vctk(root: Path, speakers: dict[str, str], speech: Speech, numbers: Sequence[int] = (1, 2, 25, 26, 27, 28)) -> None:
    folder = root / "VCTK-Corpus-0.92"
    lines = ["ID  AGE  GENDER  ACCENTS  REGION COMMENTS \n"]
    for spk, gender in speakers.items():
        lines.append(f"{spk}  23  {gender.upper()}    English    Southern England\n")
        for number, (wave, text) in zip(numbers, speech.take(gender, len(numbers)), strict=True):
            for mic in ("mic1", "mic2"):
                write(folder / f"wav48_silence_trimmed/{spk}/{spk}_{number:03d}_{mic}.flac", wave, 48000)
            (folder / f"txt/{spk}").mkdir(parents=True, exist_ok=True)
            (folder / f"txt/{spk}/{spk}_{number:03d}.txt").write_text(f"{text}\n")
    (folder / "speaker-info.txt").write_text("".join(lines))


def commonvoice(root: Path, minutes: dict[str, tuple[str, float]], speech: Speech) -> None:
    """Speakers by gender ("" for none) and minutes of speech; the clips of a speaker last ten seconds each."""
    folder = root / "cv-corpus-11.0-2022-09-21/en"
    columns = [
        "client_id",
        "path",
        "sentence",
        "up_votes",
        "down_votes",
        "age",
        "gender",
        "accents",
        "locale",
        "segment",
    ]
    rows = []
    number = 17_000_000
    for client, (gender, length) in minutes.items():
        wave, text = speech.take("m" if gender == "male" else "f", 1)[0]
        first = folder / "clips" / f"common_voice_en_{number}.mp3"
        write(first, np.resize(wave, 160_000), 32000)
        for _ in range(round(6 * length)):
            clip = folder / "clips" / f"common_voice_en_{number}.mp3"
            if clip != first:
                clip.symlink_to(first)
            rows.append([client, clip.name, text, "2", "0", "", gender, "", "en", ""])
            number += 1
    with open(folder / "validated.tsv", "w", newline="") as file:
        file.writelines("\t".join(row) + "\n" for row in [columns, *rows])


def ravdess(root: Path, actors: Iterable[int], speech: Speech, emotions: Sequence[int] = (1, 3, 5)) -> None:
    for actor in actors:
        waves = iter(speech.take("m" if actor % 2 else "f", 4 * len(emotions)))
        for emotion in emotions:
            for statement in (1, 2):
                for repetition in (1, 2):
                    name = f"03-01-{emotion:02d}-01-{statement:02d}-{repetition:02d}-{actor:02d}.wav"
                    # Some files of the release are in stereo.
                    channels = 2 if (actor, emotion) == (1, 1) else 1
                    write(root / "RAVDESS" / f"Actor_{actor:02d}" / name, next(waves)[0], 48000, channels)


def iemocap(root: Path, speech: Speech, sessions: Iterable[int] = range(1, 6)) -> None:
    labels = ("neu", "hap", "exc", "ang", "sad", "fru")
    for session in sessions:
        home = root / f"IEMOCAP_full_release/Session{session}"
        dialogue = f"Ses{session:02d}F_impro01"
        evaluation, transcript = ["% [START_TIME - END_TIME] TURN_NAME EMOTION [V, A, D]\n\n"], []
        for gender in "FM":
            for number, (wave, text) in enumerate(speech.take(gender.lower(), len(labels))):
                name = f"{dialogue}_{gender}{number:03d}"
                write(home / "sentences/wav" / dialogue / f"{name}.wav", wave)
                evaluation.append(
                    f"[6.2901 - 8.2357]\t{name}\t{labels[number]}\t[2.5000, 2.5000, 2.5000]\nC-E2:\tNeutral;\t()\n\n"
                )
                transcript.append(f"{name} [006.2901-008.2357]: [LAUGHTER] {text}\n")
        for folder, lines in (("EmoEvaluation", evaluation), ("transcriptions", transcript)):
            (home / "dialog" / folder).mkdir(parents=True)
            (home / "dialog" / folder / f"{dialogue}.txt").write_text("".join(lines))


@dataclass(frozen=True)
class Reader:
    """A speaker of speechocean762: number, gender, age, and utterance → samples and words."""

    spk: str
    gender: str
    age: int
    said: dict[str, tuple[np.ndarray, str]]


def speechocean(root: Path, train: Sequence[Reader], test: Sequence[Reader] = ()) -> None:
    folder = root / "speechocean762"
    for half, readers in (("train", train), ("test", test)):
        tables: dict[str, list[str]] = {name: [] for name in ("wav.scp", "utt2spk", "text", "spk2gender", "spk2age")}
        for reader in readers:
            tables["spk2gender"].append(f"{reader.spk}\t{reader.gender}\n")
            tables["spk2age"].append(f"{reader.spk}\t{reader.age}\n")
            for utt, (wave, text) in reader.said.items():
                path = f"WAVE/SPEAKER{reader.spk}/{utt}.WAV"
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                sf.write(folder / path, wave, 16000, format="WAV", subtype="PCM_16")
                tables["wav.scp"].append(f"{utt}\t{path}\n")
                tables["utt2spk"].append(f"{utt}\t{reader.spk}\n")
                tables["text"].append(f"{utt}\t{text.upper()}\n")
        (folder / half).mkdir(parents=True, exist_ok=True)
        for name, lines in tables.items():
            (folder / half / name).write_text("".join(lines))


def speechocean_at_hand(root: Path, flac: Path) -> None:
    """The speakers of a directory of FLAC files with utterances.tsv, as they were released."""
    with open(flac / "utterances.tsv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    said: dict[str, dict[str, tuple[np.ndarray, str]]] = {}
    for row in rows:
        said.setdefault(row["spk"], {})[row["utt"]] = sf.read(flac / row["path"])[0], row["text"]
    about = {row["spk"]: row for row in rows}
    speechocean(root, [Reader(spk, about[spk]["gender"], int(about[spk]["age"]), own) for spk, own in said.items()])


def wave_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.suffix in (".wav", ".flac", ".mp3"))


def for_recipe(recipe: str, root: Path) -> Path:
    """Everything that a recipe asks for, as small as it can be."""
    evaluation, training = Speech("test"), Speech("train")
    if recipe.startswith("vpc"):
        for subset, readers in (
            ("dev-clean", ("84", "1272", "777", "251")),
            ("test-clean", ("61", "1089", "672", "237")),
        ):
            librispeech(root, subset, dict(zip(readers, "fmfm", strict=True)), evaluation)
        # With one chapter nobody can be enrolled: an impostor, as the challenge has some.
        librispeech(root, "dev-clean", {"999": "f"}, evaluation, chapters=1)
        if recipe in ("vpc2020", "vpc2022"):
            vctk(root, {f"p{225 + i}": "fm"[i % 2] for i in range(8)}, evaluation)
            libritts(root, "train-other-500", {"100": "f", "1001": "m"}, training)
        else:
            iemocap(root, Speech("dev"))
    if recipe == "commonvoice":
        clients = {
            "a" * 128: ("female", 5.2),
            "b" * 128: ("male", 5.2),
            "c" * 128: ("female", 2.2),
            "d" * 128: ("male", 2.2),
        }
        commonvoice(root, clients, evaluation)
    if recipe == "speechocean":
        said = {n: evaluation.take("fm"[n % 2], 7) for n in range(1, 17)}
        names = {n: {f"{n:05d}{i:04d}": one for i, one in enumerate(own)} for n, own in said.items()}
        readers = [Reader(f"{n:04d}", "fm"[n % 2], 17 + n, own) for n, own in names.items()]
        speechocean(root, readers[:10], readers[10:])
    elif recipe == "ravdess":
        ravdess(root, (1, 2, 3, 4), evaluation)
    else:
        librispeech(root, "train-clean-360", {"14": "f", "16": "m", "17": "f", "19": "m"}, training)
    return root
