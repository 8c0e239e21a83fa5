#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""Join the digits of AudioMNIST to strings, and make data directories of training, development and test speakers.

Usage: egs/audiomnist/corpus_to_data.py [options] <corpus-dir> <audio-dir> <data-root>
 e.g.: egs/audiomnist/corpus_to_data.py /corpora/AudioMNIST/data data/local/audiomnist work

A string is five digits of one speaker, a session three repetitions of all digits in a random order, i.e. six strings.
Within each gender every second speaker is a test speaker, and every second one of the others a development speaker.
48 kHz recordings are resampled to 16 kHz.
"""

import json
import math
import re
from pathlib import Path

import numpy as np
import soundfile as sf
from scipy.signal import resample_poly

from vpeval.audio.io import RATE, write_wave
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.directory import DataDir
from vpeval.data.layout import UNKNOWN, is_age, is_number

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
DIGITS_PER_STRING, REPETITIONS_PER_SESSION, REPETITIONS = 5, 3, 20
SETS = ("audiomnist_train", "audiomnist_test", "audiomnist_dev", "audiomnist_test")
FEWEST = 7  # of a gender, so that each of its sets has two speakers
META = "audioMNIST_meta.txt"
GENDERS = {"female": "f", "male": "m"}


def main() -> None:
    """Write the audio of all strings, then the directories."""
    parser = script.Parser(__doc__)
    parser.add_argument("--seed", type=script.natural, default=0, help="of the order of the digits (default: 0)")
    parser.add_argument("--train-strings", type=script.natural, default=0, help="of a speaker (default: 0, all)")
    parser.add_argument("corpus", metavar="corpus-dir", type=Path)
    parser.add_argument("audio", metavar="audio-dir", type=Path)
    parser.add_argument("root", metavar="data-root", type=Path)
    args = parser.parse_args()

    genders = read_genders(args.corpus)
    sets: dict[str, dict[str, dict[str, str]]] = {}
    for spk, name in divide(genders).items():
        strings = join(args.corpus / spk, spk, args.seed)
        kept = args.train_strings or len(strings) if name.endswith("train") else len(strings)
        for place, (session, text, wave) in enumerate(strings[:kept]):
            utt = f"am{spk}-{place:03d}"
            path = args.audio / spk / f"{utt}.wav"
            write_wave(path, wave)
            rows = {"utt2spk": f"am{spk}", "wav.scp": str(path), "text": text, "utt2session": str(session)}
            rows["utt2dur"] = f"{len(wave) / RATE:.3f}"
            for table, value in rows.items():
                sets.setdefault(name, {}).setdefault(table, {})[utt] = value
    for name, tables in sets.items():
        utt2spk = tables.pop("utt2spk")
        speakers = {spk: spk.removeprefix("am") for spk in sorted(set(utt2spk.values()))}
        spk_tables = {"spk2gender": {spk: genders[number] for spk, number in speakers.items()}}
        for attribute, values in read_attributes(args.corpus).items():
            spk_tables[f"spk2{attribute}"] = {spk: values.get(number, UNKNOWN) for spk, number in speakers.items()}
        data = DataDir(args.root / name, dict(sorted(utt2spk.items())), tables, spk_tables)
        data.write(args.root / name)


def divide(genders: dict[str, str]) -> dict[str, str]:
    """The set of every speaker, gender by gender."""
    found = {}
    for gender in sorted(set(genders.values())):
        for number, spk in enumerate(sorted(spk for spk in genders if genders[spk] == gender)):
            found[spk] = SETS[number % len(SETS)]
    return found


def read_attributes(corpus: Path) -> dict[str, dict[str, str]]:
    """What else the speakers say about themselves: age, accent, and origin from the continent to the town."""
    found: dict[str, dict[str, str]] = {"age": {}, "accent": {}, "origin": {}}
    for spk, about in json.loads((corpus / META).read_text(encoding="utf-8")).items():
        age, accent = (
            str(about.get("age", "")),
            " ".join(str(about.get("accent", "")).lower().replace("/", " ").split()),
        )
        origin = [" ".join(place.split()) for place in str(about.get("origin", "")).split(",")]
        if is_number(age) and is_age(age):
            found["age"][spk] = age
        if accent:
            found["accent"][spk] = accent
        if all(origin):
            found["origin"][spk] = "/".join(origin)
    return {name: values for name, values in found.items() if values}


def read_genders(corpus: Path) -> dict[str, str]:
    """The speakers whose recordings are there, with their genders."""
    meta = corpus / META
    try:
        speakers = json.loads(meta.read_text(encoding="utf-8"))
        genders = {spk: GENDERS[about["gender"]] for spk, about in speakers.items() if (corpus / spk).is_dir()}
    except FileNotFoundError:
        raise InputError("is missing; <corpus-dir> is the directory that holds it and 01, 02 …", meta) from None
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is not the list of speakers of AudioMNIST ({error!r})", meta) from None
    for gender, letter in GENDERS.items():
        if (count := list(genders.values()).count(letter)) < FEWEST:
            raise InputError(f"has recordings of {count} {gender} speakers; at least {FEWEST} are needed", corpus)
    return genders


def join(directory: Path, spk: str, seed: int) -> list[tuple[int, str, np.ndarray]]:
    """All strings of a speaker: session, words, samples."""
    pattern = re.compile(rf"([0-9])_{re.escape(spk)}_([0-9]+)\.(?:wav|flac)")
    found = {(int(m[2]), int(m[1])): path for path in directory.iterdir() if (m := pattern.fullmatch(path.name))}
    strings = []
    for session in range(REPETITIONS // REPETITIONS_PER_SESSION):
        first = session * REPETITIONS_PER_SESSION
        wanted = [(rep, digit) for rep in range(first, first + REPETITIONS_PER_SESSION) for digit in range(10)]
        if missing := next((key for key in wanted if key not in found), None):
            raise InputError(f"no recording {missing[1]}_{spk}_{missing[0]}; is the corpus complete?", directory)
        order = generator(seed, "audiomnist", spk, session).permutation(len(wanted))
        for start in range(0, len(order), DIGITS_PER_STRING):
            chosen = [wanted[i] for i in order[start : start + DIGITS_PER_STRING]]
            wave = np.concatenate([read(found[key]) for key in chosen])
            strings.append((session, " ".join(WORDS[digit].upper() for _, digit in chosen), wave))
    return strings


def read(path: Path) -> np.ndarray:
    """A recording at 16 kHz."""
    wave, rate = sf.read(path, dtype="float32")
    if wave.ndim != 1:
        raise InputError(f"has {wave.shape[1]} channels; AudioMNIST is mono", path)
    common = math.gcd(rate, RATE)
    return wave if rate == RATE else resample_poly(wave, RATE // common, rate // common)


if __name__ == "__main__":
    script.main(main)
