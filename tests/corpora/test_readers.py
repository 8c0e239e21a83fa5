"""Readers of corpora on replicas of their released layouts."""

import os
from pathlib import Path

import numpy as np
import pytest
import replicas

from vpeval.audio.io import probe
from vpeval.core.errors import InputError
from vpeval.corpora.commonvoice import (
    choose_subsets,
    commonvoice_sets,
    find_commonvoice,
    listed_subset,
    read_commonvoice,
    remaining,
    with_seconds,
)
from vpeval.corpora.lists import Lists
from vpeval.corpora.released import read_iemocap, read_librispeech, read_libritts, read_ravdess, read_vctk
from vpeval.corpora.table import read_table_corpus
from vpeval.corpora.utterances import MissingCorpus, Request, Utterance, convert_to_16khz, to_16khz, to_data


@pytest.fixture
def speech() -> replicas.Speech:
    return replicas.Speech()


def test_librispeech_gives_readers_chapters_texts_and_genders(tmp_path: Path, speech: replicas.Speech) -> None:
    replicas.librispeech(tmp_path, "dev-clean", {"84": "f", "174": "m"}, speech)
    utterances = read_librispeech(tmp_path, "dev-clean")
    assert [each.utt for each in utterances[:2]] == ["174-100-0000", "174-100-0001"]
    assert {each.spk: each.gender for each in utterances} == {"84": "f", "174": "m"}
    assert {each.session for each in utterances} == {"100", "101"}
    assert all(each.text == each.text.upper() and each.text for each in utterances)
    # Given the folder itself, or with the list of speakers one folder above, it is found as well.
    assert read_librispeech(tmp_path / "LibriSpeech", "dev-clean")[0].spk == "174"
    (tmp_path / "LibriSpeech/SPEAKERS.TXT").rename(tmp_path / "SPEAKERS.TXT")
    assert read_librispeech(tmp_path, "dev-clean") == utterances


def test_a_reader_without_a_line_in_the_list_of_speakers_is_named(tmp_path: Path, speech: replicas.Speech) -> None:
    replicas.librispeech(tmp_path, "dev-clean", {"84": "f", "174": "m"}, speech)
    listed = tmp_path / "LibriSpeech/SPEAKERS.TXT"
    listed.write_text(listed.read_text().replace("174 ", "175 "))
    with pytest.raises(InputError, match="reader 174 is not in"):
        read_librispeech(tmp_path, "dev-clean")
    listed.write_text("84 | X | dev-clean | 8 | A Reader\n")
    with pytest.raises(InputError, match=r"SPEAKERS\.TXT:1: expected <reader> \| F or M"):
        read_librispeech(tmp_path, "dev-clean")
    listed.unlink()
    with pytest.raises(MissingCorpus, match=r"no SPEAKERS\.TXT"):
        read_librispeech(tmp_path, "dev-clean")
    with pytest.raises(MissingCorpus, match="no LibriSpeech test-clean here"):
        read_librispeech(tmp_path, "test-clean")


def test_libritts_is_brought_to_16_khz_once(tmp_path: Path, speech: replicas.Speech) -> None:
    replicas.libritts(tmp_path, "train-other-500", {"100": "f", "1001": "m"}, speech)
    utterances = convert_to_16khz(read_libritts(tmp_path, "train-other-500"), tmp_path / "local")
    assert [each.utt for each in utterances] == sorted(each.utt for each in utterances)
    assert utterances[0].utt == "100-200-000000-000000"
    info = probe(str(utterances[0].path))
    assert (info.rate, info.channels, round(info.duration, 3)) == (16000, 1, round(utterances[0].seconds, 3))
    before = utterances[0].path.stat().st_ino
    convert_to_16khz(read_libritts(tmp_path, "train-other-500"), tmp_path / "local")
    assert utterances[0].path.stat().st_ino == before
    assert "?" not in utterances[0].text and utterances[0].text.isupper()


def test_audio_of_another_corpus_is_not_taken_for_that_of_this_one(tmp_path: Path, speech: replicas.Speech) -> None:
    for name in ("one", "copy", "other"):
        replicas.libritts(tmp_path / name, "train-other-500", {"100": "f"}, speech, utts=1)
    same = next((tmp_path / "one").rglob("*.wav"))
    next((tmp_path / "copy").rglob("*.wav")).write_bytes(same.read_bytes())
    first, again = (
        convert_to_16khz(read_libritts(tmp_path / name, "train-other-500"), tmp_path / "local")[0]
        for name in ("one", "copy")
    )
    assert first.path == again.path
    content = first.path.read_bytes()
    # Newer or older: what sets that are there name stays as it is.
    for time in (1, 2**40):
        os.utime(next((tmp_path / "other").rglob("*.wav")), ns=(time, time))
        with pytest.raises(InputError, match=r"100-200-000000-000000\.flac: was converted from other audio than"):
            convert_to_16khz(read_libritts(tmp_path / "other", "train-other-500"), tmp_path / "local")
    assert first.path.read_bytes() == content


def test_vctk_takes_the_second_microphone(tmp_path: Path, speech: replicas.Speech) -> None:
    replicas.vctk(tmp_path, {"p225": "f", "p226": "m"}, speech, (1, 25))
    (tmp_path / "VCTK-Corpus-0.92/txt/p226/p226_025.txt").unlink()
    utterances = read_vctk(tmp_path)
    assert [each.utt for each in utterances] == ["p225_001_mic2", "p225_025_mic2", "p226_001_mic2"]
    assert [each.gender for each in utterances] == ["f", "f", "m"]


def test_ravdess_reads_emotions_from_names_and_keeps_speakers_in_one_fold(
    tmp_path: Path, speech: replicas.Speech
) -> None:
    replicas.ravdess(tmp_path, (1, 2, 3, 4), speech)
    utterances = convert_to_16khz(read_ravdess(tmp_path), tmp_path / "local")
    assert {each.emotion for each in utterances} == {"neu", "hap", "ang"}
    assert {each.spk: (each.gender, each.fold) for each in utterances} == {
        "actor01": ("m", "1"),
        "actor02": ("f", "1"),
        "actor03": ("m", "2"),
        "actor04": ("f", "2"),
    }
    assert utterances[0].text == "KIDS ARE TALKING BY THE DOOR"
    assert all(probe(str(each.path)).channels == 1 for each in utterances)


def test_iemocap_has_four_emotions_and_the_one_who_speaks(tmp_path: Path, speech: replicas.Speech) -> None:
    replicas.iemocap(tmp_path, speech, (1, 2))
    utterances = read_iemocap(tmp_path)
    assert len(utterances) == 2 * 2 * 5
    by_stem = {each.path.stem: each for each in utterances}
    excited = by_stem["Ses01F_impro01_M002"]
    assert (excited.spk, excited.gender, excited.emotion, excited.fold) == ("Ses01M", "m", "hap", "1")
    assert "Ses01F_impro01_M005" not in by_stem
    assert "LAUGHTER" not in excited.text


def test_common_voice_is_cut_by_amount_of_speech(tmp_path: Path, speech: replicas.Speech) -> None:
    replicas.commonvoice(
        tmp_path, {"long": ("female", 6), "middle": ("male", 3), "short": ("male", 1), "silent": ("", 6)}, speech
    )
    folder = find_commonvoice(tmp_path)
    utterances = with_seconds(folder, read_commonvoice(folder))
    assert abs(utterances[0].seconds - 10) < 0.2
    subsets = choose_subsets(utterances, seed=0)
    lengths = {name: {} for name in "ab"}
    for name, part in (("a", subsets.a), ("b", subsets.b)):
        for each in part:
            lengths[name][each.gender] = lengths[name].get(each.gender, 0) + each.seconds
    assert lengths["a"]["m"] > 170 and "m" not in lengths["b"]
    assert lengths["a"]["f"] >= 120 and lengths["b"]["f"] >= 180
    assert not {each.utt for each in subsets.a} & {each.utt for each in subsets.b}
    assert choose_subsets(reversed(utterances), seed=0) == subsets != choose_subsets(utterances, seed=1)
    # Newer versions tell the durations.
    listing = "".join(f"{each.path.name}\t{1000 * each.seconds:.0f}\n" for each in utterances)
    (folder / "clip_durations.tsv").write_text("clip\tduration[ms]\n" + listing)
    listed = with_seconds(folder, read_commonvoice(folder))
    assert [round(each.seconds, 2) for each in listed] == [round(each.seconds, 2) for each in utterances]
    # MP3 is read directly.
    one = convert_to_16khz(utterances[:1], tmp_path / "local")[0]
    assert probe(str(one.path)).rate == 16000 and abs(one.seconds - 10) < 0.2


def test_a_published_list_of_a_is_enough_and_b_is_what_is_left_of_its_speakers(tmp_path: Path, monkeypatch) -> None:
    """Clips of 60 s: ann has 2 in A and 3 others, bob 2 and 2 others, cat all in A, and dan is not in A."""
    clips = {"ann": 5, "bob": 4, "cat": 2, "dan": 9}
    utterances = [
        Utterance(f"{spk}-clip_{spk}_{n}", Path(f"clip_{spk}_{n}.mp3"), spk, "f", seconds=60.0)
        for spk, count in clips.items()
        for n in range(count)
    ]
    path = tmp_path / "list-cv11-A"
    path.write_text("".join(f"clip_{spk}_{n}.mp3\n" for spk in ("ann", "bob", "cat") for n in range(2)))
    a = listed_subset(utterances, path)
    assert [each.utt for each in remaining(utterances, a)] == [f"ann-clip_ann_{n}" for n in (2, 3, 4)]
    with pytest.raises(InputError, match="no speaker of the list of A has 181 s"):
        remaining(utterances, a, 181)
    for name, value in (("find_commonvoice", tmp_path), ("read_commonvoice", utterances)):
        monkeypatch.setattr(f"vpeval.corpora.commonvoice.{name}", lambda *_, value=value: value)
    monkeypatch.setattr("vpeval.corpora.commonvoice.with_seconds", lambda _, utts: utts)
    monkeypatch.setattr(Request, "convert", lambda _, utts, __: list(utts))
    made, _ = commonvoice_sets(Request(tmp_path, tmp_path / "data", 0, Lists(tmp_path)), [])
    found = {each.data.name: each for each in made}
    assert found["commonvoice_a"].status.protocol == "official"
    assert found["commonvoice_b"].status.protocol == found["commonvoice_enrolls"].status.protocol == "rebuilt"
    assert sorted(found["commonvoice_b"].data.utts) == [f"ann-clip_ann_{n}" for n in (2, 3, 4)]
    path.rename(tmp_path / "list-cv11-B")
    with pytest.raises(InputError, match="set A needs a list"):
        commonvoice_sets(Request(tmp_path, tmp_path / "data", 0, Lists(tmp_path)), [])


def test_published_lists_of_common_voice_name_clips_in_any_form(tmp_path: Path) -> None:
    utterances = [Utterance(f"cvab-common_voice_en_{n}", Path(f"c/common_voice_en_{n}.mp3"), "cvab") for n in range(4)]
    path = tmp_path / "list-cv11-A"
    path.write_text("common_voice_en_0.mp3 cvab\nclips/common_voice_en_1.wav\tcvab\ncvab-common_voice_en_2,cvab\n")
    assert [each.path.stem[-1] for each in listed_subset(utterances, path)] == ["0", "1", "2"]
    path.write_text("common_voice_en_0\ncommon_voice_en_9\n")
    with pytest.raises(InputError, match="list-cv11-A:2: names no clip"):
        listed_subset(utterances, path)


def test_a_table_may_lack_what_it_does_not_know(tmp_path: Path) -> None:
    replicas.write(tmp_path / "wav/a.wav", 0.1 * np.sin(np.arange(1600)))
    path = tmp_path / "utterances.tsv"
    path.write_text("utt\tpath\tspk\tgender\n1\twav/a.wav\tann\tF\nbob-1\twav/a.wav\tbob\t\n")
    utterances = read_table_corpus(path)
    assert [(each.utt, each.gender) for each in utterances] == [("ann-1", "f"), ("bob-1", "")]
    assert to_data(utterances, tmp_path / "x").spk_tables == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("utt\tpath\n", "1: has no column 'spk'; its first line names the columns: utt, path, spk, \\[gender\\]"),
        ("utt\tpath\tspk\tage\n", "1: column 'age' is unknown"),
        ("utt\tpath\tspk\n", "has no utterances"),
        ("utt\tpath\tspk\n1\ta.wav\n", "2: does not have the 3 columns of the first line"),
        ("utt\tpath\tspk\n1\tb.wav\tann\n", "2: there is no audio file .*b.wav"),
        ("utt\tpath\tspk\n1\ta.wav\t\n", "2: has nothing in column 'spk'"),
        ("utt\tpath\tspk\n1 2\ta.wav\tann\n", "2: '1 2' cannot be an id"),
        ("utt\tpath\tspk\tgender\n1\ta.wav\tann\tw\n", "2: gender is 'w'; write f, m or nothing"),
        ("utt\tpath\tspk\n1\ta.wav\tann\n1\ta.wav\tann\n", "3: utterance 'ann-1' is on line 2 already"),
    ],
)
def test_a_malformed_table_is_told_where_it_is_wrong(tmp_path: Path, content: str, message: str) -> None:
    replicas.write(tmp_path / "a.wav", 0.1 * np.sin(np.arange(1600)))
    (tmp_path / "utterances.tsv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_table_corpus(tmp_path / "utterances.tsv")


def test_a_tone_keeps_its_frequency_and_level_at_another_rate() -> None:
    for rate in (8000, 22050, 24000, 44100, 48000):
        tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)
        wave = to_16khz(np.stack([tone, tone], axis=1), rate)
        assert len(wave) == 16000
        middle = slice(1000, 15000)
        assert np.abs(wave - 0.5 * np.sin(2 * np.pi * 440 * np.arange(16000) / 16000))[middle].max() < 0.01


def test_ages_and_accents_of_vctk_become_tables_and_what_is_missing_is_unknown(tmp_path: Path) -> None:
    audio = tmp_path / "wav48_silence_trimmed"
    for spk in ("p225", "p226", "s5"):
        for place in (audio / spk, tmp_path / "txt" / spk):
            place.mkdir(parents=True)
        (audio / spk / f"{spk}_001_mic2.flac").touch()
        (tmp_path / "txt" / spk / f"{spk}_001.txt").write_text("Please call Stella.\n")
    lines = [
        "ID  AGE  GENDER  ACCENTS  REGION",
        "p225  23  F    English    Southern England",
        "p226  --  M    Scottish",
        "s5  24  F",
    ]
    (tmp_path / "speaker-info.txt").write_text("\n".join(lines) + "\n")
    tables = to_data(read_vctk(tmp_path), tmp_path / "out").spk_tables
    assert tables["spk2age"] == {"p225": "23", "p226": "unknown", "s5": "24"}
    assert tables["spk2accent"] == {"p225": "English", "p226": "Scottish", "s5": "unknown"}


def test_common_voice_tells_the_one_age_that_somebody_ever_named(tmp_path: Path) -> None:
    rows = [
        ("client_id", "path", "sentence", "age", "gender", "accents"),
        ("a", "1.mp3", "x", "", "female", "Irish English"),
        ("a", "2.mp3", "x", "twenties", "female", ""),
        ("b", "3.mp3", "x", "twenties", "male", ""),
        ("b", "4.mp3", "x", "thirties", "male", ""),
    ]
    (tmp_path / "validated.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    found = {each.path.name: (each.age, each.accent) for each in read_commonvoice(tmp_path)}
    assert found["1.mp3"] == found["2.mp3"] == ("twenties", "Irish English")
    assert found["3.mp3"] == found["4.mp3"] == ("", "")
