"""Readers of corpora in their released layouts: LibriSpeech, LibriTTS, VCTK, VoxCeleb, RAVDESS and IEMOCAP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import read_lines, read_table
from vpeval.corpora.utterances import MissingCorpus, Utterance, find_corpus
from vpeval.data.layout import GENDERS, is_age, is_number
from vpeval.data.text import vpc2020

_LIBRI = {"LibriSpeech": "flac", "LibriTTS": "wav"}
_SPEAKER_FILES = ("SPEAKERS.TXT", "SPEAKERS.txt", "speakers.tsv")


def read_librispeech(corpus: Path, subset: str) -> list[Utterance]:
    """All utterances of a subset of LibriSpeech (Panayotov et al., ICASSP 2015), such as dev-clean.

    ``LibriSpeech/<subset>/<reader>/<chapter>/<reader>-<chapter>-<number>.flac`` with ``<reader>-<chapter>.trans.txt``,
    and ``SPEAKERS.TXT`` with ``<reader> | F | <subset> | <minutes> | <name>`` lines. A session is a chapter.
    """
    return list(_read_libri(corpus, "LibriSpeech", subset))


def read_libritts(corpus: Path, subset: str) -> list[Utterance]:
    """All utterances of a subset of LibriTTS (Zen et al., Interspeech 2019), such as train-other-500.

    Its names are joined with ``_``, which becomes ``-`` in ids: that sorts before digits, as Kaldi wants it. Every file
    has a ``.normalized.txt``; genders are in ``speakers.tsv`` (or ``SPEAKERS.txt``).
    """
    return list(_read_libri(corpus, "LibriTTS", subset))


def read_speakers(path: Path) -> dict[str, str]:
    """Reader → f or m, from SPEAKERS.TXT or speakers.tsv."""
    separator = "\t" if path.suffix == ".tsv" else "|"
    genders = {}
    for line, text in read_lines(path, blanks=True):
        fields = [field.strip() for field in text.split(separator)]
        if text.startswith(";") or fields[0].upper() in ("READER", "ID"):
            continue
        if len(fields) < 3 or fields[1].lower() not in GENDERS:
            raise InputError(f"expected <reader> {separator} F or M {separator} <subset> …, not '{text}'", path, line)
        genders[fields[0]] = fields[1].lower()
    return genders


def find_libri(corpus: Path, title: str, subset: str) -> Path:
    """The directory of LibriSpeech or LibriTTS that holds a subset."""
    return find_corpus(corpus, [title], f"{subset}/*/*/*.{_LIBRI[title]}", f"{title} {subset}")


def _read_libri(corpus: Path, title: str, subset: str) -> Iterator[Utterance]:
    root, suffix = find_libri(corpus, title, subset), _LIBRI[title]
    genders = read_speakers(_speaker_file(root, title))
    for reader in sorted(path for path in (root / subset).iterdir() if path.is_dir()):
        if reader.name not in genders:
            raise InputError(
                f"reader {reader.name} is not in {_speaker_file(root, title)}; is it of this corpus?", reader
            )
        for chapter in sorted(path for path in reader.iterdir() if path.is_dir()):
            texts = _texts(chapter, suffix)
            for path in sorted(chapter.glob(f"*.{suffix}")):
                utt = path.stem.replace("_", "-")
                yield Utterance(utt, path, reader.name, genders[reader.name], chapter.name, texts.get(utt, ""))


def _speaker_file(root: Path, title: str) -> Path:
    for directory in (root, root.parent):
        for name in _SPEAKER_FILES:
            if (directory / name).is_file():
                return directory / name
    raise MissingCorpus(f"no {_SPEAKER_FILES[0]}, which has the genders; it comes with {title}", root)


def _texts(chapter: Path, suffix: str) -> dict[str, str]:
    if suffix == "flac":
        name = f"{chapter.parent.name}-{chapter.name}.trans.txt"
        return read_table(chapter / name, "text") if (chapter / name).is_file() else {}
    texts = {}
    for path in chapter.glob("*.normalized.txt"):
        text = path.read_text(encoding="utf-8")
        texts[path.name.removesuffix(".normalized.txt").replace("_", "-")] = " ".join(vpc2020(text))
    return texts


_VCTK_COMMON = 24
"""The last utterance that all speakers read."""
_VCTK_AUDIO = "wav48_silence_trimmed"
_VCTK_NAME = re.compile(r"(?P<spk>[ps][0-9]+)_(?P<number>[0-9]{3})_mic2")


def find_vctk(corpus: Path) -> Path:
    """The directory of VCTK 0.92."""
    return find_corpus(corpus, ["VCTK-Corpus-0.92", "VCTK"], f"{_VCTK_AUDIO}/*/*_mic2.flac", "VCTK 0.92")


def read_vctk(corpus: Path) -> list[Utterance]:
    """All utterances of the second microphone of VCTK 0.92 (Yamagishi, Veaux, MacDonald, 2019) that have a text.

    ``wav48_silence_trimmed/<spk>/<spk>_<nnn>_mic2.flac`` at 48 kHz, ``txt/<spk>/<spk>_<nnn>.txt``, ``speaker-info.txt``
    with ``<spk> <age> <F|M> <accent> …`` lines. p280 and some utterances of p362 have no second microphone.
    """
    root = find_vctk(corpus)
    speakers = _read_vctk_speakers(root / "speaker-info.txt")
    utterances = []
    for directory in sorted(path for path in (root / _VCTK_AUDIO).iterdir() if path.is_dir()):
        for path in sorted(directory.glob("*_mic2.flac")):
            match = _VCTK_NAME.fullmatch(path.stem)
            if not match or match["spk"] != directory.name:
                raise InputError("is not named <speaker>_<number>_mic2.flac; is this VCTK 0.92?", path)
            text = root / "txt" / directory.name / f"{path.stem.removesuffix('_mic2')}.txt"
            if not text.is_file():
                continue  # p315 has lost its texts
            if directory.name not in speakers:
                raise InputError(f"has no speaker {directory.name}; is it of this corpus?", root / "speaker-info.txt")
            words = " ".join(vpc2020(text.read_text(encoding="utf-8")))
            age, gender, accent = speakers[directory.name]
            found = Utterance(path.stem, path, directory.name, gender, "", words, age=age, accent=accent)
            utterances.append(found)
    return utterances


def is_common(utt: str) -> bool:
    """Whether an utterance of VCTK is of the text that all speakers read: the *common* part of the challenges.

    >>> is_common("p234_024_mic2"), is_common("p234_025_mic2")
    (True, False)
    """
    match = _VCTK_NAME.fullmatch(utt)
    if not match:
        raise InputError(f"'{utt}' is not the name of a VCTK utterance, <speaker>_<number>_mic2")
    return int(match["number"]) <= _VCTK_COMMON


def _read_vctk_speakers(path: Path) -> dict[str, tuple[str, str, str]]:
    """Age, gender and accent of every speaker; what is no age, and an accent that is not there, are empty."""
    if not path.is_file():
        raise MissingCorpus("is missing; it comes with VCTK 0.92 and has the genders", path)
    speakers = {}
    for line, text in read_lines(path, blanks=True):
        fields = text.split()
        if fields[0].upper() == "ID":
            continue
        if len(fields) < 3 or fields[2].lower() not in GENDERS:
            raise InputError(f"expected <speaker> <age> F or M …, not '{text.strip()}'", path, line)
        # The list of older releases has the number alone.
        age = fields[1] if is_number(fields[1]) and is_age(fields[1]) else ""
        name = fields[0] if fields[0][0].isalpha() else f"p{fields[0]}"
        speakers[name] = age, fields[2].lower(), fields[3] if len(fields) > 3 else ""
    return speakers


_VOXCELEB = ("VoxCeleb1", "VoxCeleb2")
_VOXCELEB_AUDIO = (".wav", ".flac", ".m4a")


def find_voxceleb(corpus: Path) -> Path:
    """The directory that holds VoxCeleb1 and VoxCeleb2."""
    found = find_corpus(corpus, ["VoxCeleb"], f"{_VOXCELEB[0]}/vox1_meta.csv", "VoxCeleb 1 and 2")
    return find_corpus(found, [], f"{_VOXCELEB[1]}/vox2_meta.csv", "VoxCeleb 1 and 2")


def read_voxceleb(corpus: Path) -> list[Utterance]:
    """All utterances of VoxCeleb 1 and 2 (Nagrani et al., Interspeech 2017; Chung et al., Interspeech 2018).

    ``VoxCeleb<n>/vox<n>_meta.csv`` has the genders; the audio is in directories of speakers anywhere below
    ``VoxCeleb<n>``: ``…/id<nnnnn>/<video>/<number>.wav``. VoxCeleb2 comes as .m4a, which has to be converted to .wav or
    .flac. A session is a video. There are no texts.
    """
    root = find_voxceleb(corpus)
    utterances = []
    for number, name in enumerate(_VOXCELEB, start=1):
        meta = root / name / f"vox{number}_meta.csv"
        genders = _read_voxceleb_genders(meta)
        seen: set[str] = set()
        for path in sorted((root / name).glob("**/id[0-9]*/*/*")):
            if path.suffix not in _VOXCELEB_AUDIO:
                continue
            if path.suffix == ".m4a":
                raise InputError(
                    "is AAC, which is not read here; convert all of VoxCeleb2 once, such as with ffmpeg -i x.m4a -ac 1 "
                    "-ar 16000 x.flac, and remove the .m4a files",
                    path,
                )
            spk, video = path.parent.parent.name, path.parent.name
            if spk not in genders:
                raise InputError(f"has no speaker {spk}; is it of this corpus?", meta)
            utt = f"{spk}-{video}-{path.stem}"
            if utt in seen:
                raise InputError(f"is there twice, also elsewhere below {root / name}; keep one", path)
            seen.add(utt)
            utterances.append(Utterance(utt, path, spk, genders[spk], video))
        if not seen:
            raise MissingCorpus(f"no audio of {name}: expected id<number>/<video>/<number>.wav or .flac", root / name)
    return utterances


def _read_voxceleb_genders(path: Path) -> dict[str, str]:
    """Speaker → gender: the columns of both versions are separated by tabs or commas, and called differently."""
    genders: dict[str, str] = {}
    for line, text in read_lines(path, blanks=True):
        fields = [field.strip() for field in re.split(r"[\t,]", text)]
        if line == 1:
            continue
        if len(fields) < 3 or fields[2].lower() not in GENDERS:
            raise InputError(f"expected <speaker> <other id> <f or m> …, not '{text.strip()}'", path, line)
        genders[fields[0]] = fields[2].lower()
    return genders


_RAVDESS_EMOTIONS = {
    "01": "neu",
    "02": "cal",
    "03": "hap",
    "04": "sad",
    "05": "ang",
    "06": "fea",
    "07": "dis",
    "08": "sur",
}
_RAVDESS_STATEMENTS = {"01": "KIDS ARE TALKING BY THE DOOR", "02": "DOGS ARE SITTING BY THE DOOR"}
_RAVDESS_FOLDS = 6
_RAVDESS_NAME = re.compile(r"03-01-(0[1-8])-(0[12])-(0[12])-(0[12])-([0-9]{2})")


def find_ravdess(corpus: Path) -> Path:
    """The directory of RAVDESS."""
    return find_corpus(corpus, ["RAVDESS", "Audio_Speech_Actors_01-24"], "Actor_*/*", "RAVDESS")


def read_ravdess(corpus: Path) -> list[Utterance]:
    """All spoken utterances of RAVDESS (Livingstone and Russo, PLoS ONE 2018), with emotion and fold.

    ``Actor_<nn>/03-01-<emotion>-<intensity>-<statement>-<repetition>-<actor>.wav``; odd actors are male. A fold has
    pairs of a woman and a man, and no speaker is in two folds.
    """
    root = find_ravdess(corpus)
    utterances = []
    for path in sorted(root.glob("Actor_*/*")):
        if path.suffix not in (".wav", ".flac"):
            continue
        match = _RAVDESS_NAME.fullmatch(path.stem)
        if not match:
            raise InputError(
                "is not named 03-01-<emotion>-<intensity>-<statement>-<repetition>-<actor>; is this the speech part of "
                "RAVDESS?",
                path,
            )
        emotion, _, statement, repetition, actor = match.groups()
        spk = f"actor{actor}"
        fold = str(1 + (int(actor) - 1) // 2 % _RAVDESS_FOLDS)
        gender = "m" if int(actor) % 2 else "f"
        text, emotion = _RAVDESS_STATEMENTS[statement], _RAVDESS_EMOTIONS[emotion]
        utterances.append(Utterance(f"{spk}-{path.stem}", path, spk, gender, repetition, text, emotion, fold))
    return utterances


_IEMOCAP_EMOTIONS = {"neu": "neu", "hap": "hap", "exc": "hap", "ang": "ang", "sad": "sad"}
_IEMOCAP_LABEL = re.compile(r"\[[0-9. -]+\]\s+(?P<utt>\S+)\s+(?P<emotion>[a-z]{3})\s")
_IEMOCAP_TEXT = re.compile(r"(?P<utt>Ses\S+) \[[0-9. -]+\]: (?P<text>.*)")
_IEMOCAP_NAME = re.compile(r"(?P<session>Ses(?P<number>0[1-5]))[FM]_.+_(?P<gender>[FM])[0-9]{3}")


def find_iemocap(corpus: Path) -> Path:
    """The directory of IEMOCAP."""
    return find_corpus(corpus, ["IEMOCAP_full_release", "IEMOCAP"], "Session1/sentences/wav", "IEMOCAP")


def read_iemocap(corpus: Path) -> list[Utterance]:
    """The utterances of IEMOCAP (Busso et al., LREC 2008) with one of the four emotions of VoicePrivacy 2024.

    ``Session<n>/sentences/wav/<dialogue>/<dialogue>_<F|M><nnn>.wav``, categorical labels in
    ``Session<n>/dialog/EmoEvaluation/<dialogue>.txt`` and texts in ``Session<n>/dialog/transcriptions/<dialogue>.txt``.
    Excited counts as happy. Speakers are Ses01F, Ses01M, … Ses05M; a fold is a session, which has two of them.
    """
    root = find_iemocap(corpus)
    utterances = []
    for session in sorted(root.glob("Session[1-5]")):
        for dialogue in sorted(path for path in (session / "sentences/wav").iterdir() if path.is_dir()):
            name = f"{dialogue.name}.txt"
            labels = _read_iemocap_lines(session / "dialog/EmoEvaluation" / name, _IEMOCAP_LABEL, "emotion")
            texts = _read_iemocap_lines(session / "dialog/transcriptions" / name, _IEMOCAP_TEXT, "text")
            for path in sorted(dialogue.glob("*.wav")):
                match = _IEMOCAP_NAME.fullmatch(path.stem)
                emotion = _IEMOCAP_EMOTIONS.get(labels.get(path.stem, ""), "")
                if not match or not emotion:
                    continue
                spk = f"{match['session']}{match['gender']}"
                text = " ".join(vpc2020(re.sub(r"\[[A-Z]+\]", "", texts.get(path.stem, ""))))
                fold = str(int(match["number"]))
                # The name of a dialogue holds the gender of the one in motion capture, not of the speaker.
                utterances.append(
                    Utterance(
                        f"{spk}-{path.stem}", path, spk, match["gender"].lower(), dialogue.name, text, emotion, fold
                    )
                )
    return utterances


def iemocap_partition(spk: str) -> str:
    """dev or test: one speaker of every session each, women and men in turn.

    >>> [iemocap_partition(spk) for spk in ("Ses01F", "Ses01M", "Ses02F", "Ses02M")]
    ['dev', 'test', 'test', 'dev']
    """
    return "dev" if (int(spk[3:5]) % 2 == 1) == (spk[5] == "F") else "test"


def _read_iemocap_lines(path: Path, pattern: re.Pattern[str], value: str) -> dict[str, str]:
    if not path.is_file():
        raise InputError("is missing; is IEMOCAP complete?", path)
    found = {}
    for _, text in read_lines(path, blanks=True):
        if match := pattern.match(text):
            found[match["utt"]] = match[value]
    return found
