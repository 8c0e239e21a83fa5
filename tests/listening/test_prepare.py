"""The directory of a test: levels, names, manifest, no overwriting."""

import hashlib
import html
import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import soundfile as sf
from toy import KEY, SYSTEMS, TEXTS, make_data, toy_material, toy_test

from vpeval.audio.io import RATE, write_wave
from vpeval.core.errors import InputError
from vpeval.listening.design import DesignOptions
from vpeval.listening.disk import check_manifest, load_test
from vpeval.listening.prepare_test import (
    Loudness,
    PrepareOptions,
    Texts,
    check_recording,
    common_level,
    loudness,
    prepare,
    read_instructions,
)


def test_all_recordings_have_one_level_and_none_clips(test):
    spoken = [name for clip, name in test.names.items() if clip.set]
    waves = [sf.read(test.path / f"public/audio/{name}.wav", dtype="float32")[0] for name in spoken]
    assert {round(loudness(wave).level, 1) for wave in waves} == {test.settings.level} == {-26.0}
    assert max(abs(wave).max() for wave in waves) < 1


def test_the_level_is_that_of_the_speech_without_its_pauses():
    speech = 0.1 * np.sin(np.arange(RATE) / 3)
    alone, with_pauses = loudness(speech), loudness(np.concatenate((np.zeros(RATE), speech, 1e-3 * speech)))
    assert alone.level == pytest.approx(-23.01, abs=0.05) == with_pauses.level
    assert loudness(np.zeros(RATE)) is None


def test_a_recording_with_high_peaks_lowers_the_level_of_all_but_not_for_a_click():
    speech = 0.1 * np.sin(np.arange(RATE) / 3)
    peaky = speech + 0.5 * (np.arange(RATE) % 800 == 0)
    one, other = loudness(speech), loudness(peaky.astype(np.float32))
    level = common_level({"a": one, "b": other})
    assert level < -20 and other.peak + level - other.level <= 0
    with pytest.raises(InputError, match="'c' has a peak 59 dB above its speech"):
        common_level({"a": one, "c": Loudness(-60.0, -1.0, 1.0)})


def test_silence_is_refused_with_its_name(tmp_path):
    data = make_data(tmp_path / "data", seconds=0.1)
    for path in (data / "audio/zorro").glob("f0-t*.wav"):
        write_wave(path, np.zeros(1600))
    with pytest.raises(InputError, match=r"f0-t\d.*is silent"):
        toy_test(data, tmp_path / "test")
    assert not (tmp_path / "test").exists()


def test_the_same_seed_and_key_give_the_same_bytes_and_another_key_other_names(data, tmp_path):
    manifests = [(toy_test(data, tmp_path / name).path / "manifest.sha256").read_bytes() for name in "ab"]
    assert manifests[0] == manifests[1]
    other = toy_test(data, tmp_path / "c", key=None)
    assert not set(other.names.values()) & set(load_test(tmp_path / "a").names.values())
    assert not set(other.tokens()) & set(load_test(tmp_path / "a").tokens())


def test_the_manifest_is_that_of_sha256sum_and_every_change_is_noticed(test):
    subprocess.run(["sha256sum", "--quiet", "-c", "manifest.sha256"], cwd=test.path, check=True)
    check_manifest(test.path)
    (test.path / "answers/anything").write_text("x")
    check_manifest(test.path)
    audio = next((test.path / "public/audio").iterdir())
    content = audio.read_bytes()
    audio.write_bytes(content[:-1] + b"x")
    with pytest.raises(InputError, match="has changed"):
        check_manifest(test.path)
    audio.unlink()
    with pytest.raises(InputError, match="in the manifest but missing"):
        check_manifest(test.path)
    audio.write_bytes(content)
    (test.path / "public/new").write_text("x")
    with pytest.raises(InputError, match="not in the manifest"):
        check_manifest(test.path)


def test_neither_names_nor_pages_reveal_the_system(data, tmp_path):
    test = toy_test(data, tmp_path / "test", without_server=True)
    for path in (test.path / "public").rglob("*"):
        secrets = (*SYSTEMS, "toy_test", "nontarget")
        assert not any(word in str(path.relative_to(test.path)) for word in secrets)
        if path.is_file() and path.suffix != ".wav":
            assert not any(word in path.read_text() for word in secrets), path
    assert all(len(name) == 32 for name in (*test.names.values(), *test.pages))


def test_a_test_is_read_as_it_was_drawn(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    again = load_test(tmp_path / "test")
    assert list(again.pages.values()) == sorted(again.pages.values(), key=lambda p: (p.listener, p.position))
    assert again.sessions.keys() == {0, 1, 2}
    kinds = [page.kind for page in again.sessions[0].values()]
    assert kinds[:2] == ["volume", "quietest"] and kinds[-2:] == ["board", "comment"] and kinds.count("rating") == 6
    assert test.settings.systems == ("original", *SYSTEMS)


def test_answers_and_other_directories_are_never_overwritten(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    toy_test(data, tmp_path / "test")
    (test.path / "answers/answers.db").write_text("x")
    with pytest.raises(InputError, match="already has answers"):
        toy_test(data, tmp_path / "test")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.tex").write_text("three years")
    with pytest.raises(InputError, match="was not made by this toolkit"):
        toy_test(data, tmp_path / "other")


def test_texts_of_the_organisers_are_text(data, tmp_path):
    texts = Texts("<b>Title</b>", "a@b.org & <i>c</i>", "First <script>alert(1)</script>\n\nSecond")
    test = prepare(tmp_path / "test", toy_material(data), DesignOptions(1, 2, boards=0), texts, PrepareOptions(key=KEY))
    page = (test.path / "public/index.html").read_text()
    assert "<b>" not in page and "<i>" not in page and "<script>alert" not in page
    assert html.escape("First <script>alert(1)</script>") in page
    assert TEXTS.contact not in page


def test_the_default_instructions_are_the_role_and_the_scales_of_the_supplement():
    found = read_instructions()
    role = " ".join(found.role)
    words = ("TV or radio", "interviews", "recognised", "unnatural", "understand", "audience", "complain", "balance")
    assert not [word for word in words if word not in role]
    assert list(found.questions) == ["naturalness", "similarity", "intelligibility"] and found.own == ""
    ends = {task: (words["low"], words["high"]) for task, words in found.questions.items()}
    assert ends == {
        "naturalness": ("1: severely damaged", "10: not damaged at all"),
        "similarity": ("1: different persons for sure", "10: the same person for sure"),
        "intelligibility": ("1: not understandable at all", "10: perfectly understandable"),
    }


def test_instructions_of_the_organisers_replace_what_they_name(data, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text('role: |\n  You are a <b>judge</b>.\n\n  Listen.\nsimilarity:\n  title: Same "voice"?\n')
    texts = replace(TEXTS, instructions=own)
    test = prepare(tmp_path / "test", toy_material(data), DesignOptions(1, 2, boards=0), texts, PrepareOptions(key=KEY))
    page = (test.path / "public/index.html").read_text()
    assert (
        '<p dir="auto">You are a &lt;b&gt;judge&lt;/b&gt;.</p>\n<p dir="auto">Listen.</p>' in page
        and "radio" not in page
    )
    assert 'data-title="Same &#34;voice&#34;?"' in page and "the same person for sure" in page
    assert test.settings.instructions == hashlib.sha256(own.read_bytes()).hexdigest()[:16]
    assert (
        prepare(
            tmp_path / "usual", toy_material(data), DesignOptions(1, 2, boards=0), TEXTS, PrepareOptions(key=KEY)
        ).settings.instructions
        == ""
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("rolle: x\n", "unknown key 'rolle'"),
        ("similarity: {titel: x}\n", "unknown key 'similarity.titel'"),
        ("similarity: x\n", "'similarity' must be"),
        ("role: ' '\n", "'role' of 'role' is empty"),
        ("naturalness: {low: 1}\n", "'naturalness.low' must be of type str"),
    ],
)
def test_a_mistake_in_instructions_is_named(tmp_path, text, complaint):
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_instructions(tmp_path / "own.yaml")


@pytest.mark.parametrize("name", ["title", "contact", "consent"])
@pytest.mark.parametrize("char", ["\u202e", "\u2067", "\x1b", "\x85"])
def test_a_character_that_turns_other_text_around_is_refused(data, tmp_path, name, char):
    texts = replace(TEXTS, **{name: f"a{char}b"})
    with pytest.raises(InputError, match=f"--{name} holds the control character U\\+{ord(char):04X}"):
        prepare(tmp_path / "test", toy_material(data), DesignOptions(1, 2, boards=0), texts)
    assert not (tmp_path / "test").exists()


def test_every_script_can_be_written_in_its_direction(data, tmp_path):
    texts = Texts("مقارنة الأصوات", "مختبر, a@b.org", "می\u200cخواهم\n\nשלום")
    test = prepare(tmp_path / "test", toy_material(data), DesignOptions(1, 2, boards=0), texts)
    page = (test.path / "public/index.html").read_text()
    for text in ("مقارنة الأصوات", "مختبر, a@b.org", "می\u200cخواهم", "שלום"):
        assert f'dir="auto">{text}</p>' in page


def test_nothing_of_the_material_is_on_the_page_whatever_it_holds(data, tmp_path):
    root = tmp_path / "data"
    shutil.copytree(data, root)
    hostile = "<img src=x onerror=alert(1)>\u202e"
    for path in root.glob("toy_*/text"):
        path.write_text("".join(f"{line.split()[0]} {hostile}\n" for line in path.read_text().splitlines()))
    test = toy_test(root, tmp_path / "test", without_server=True)
    for path in (test.path / "public").rglob("*"):
        assert path.is_dir() or b"src=x" not in path.read_bytes()
    with pytest.raises(InputError, match="is not a valid system name"):
        toy_material(root, ("<img src=x onerror=alert(1)>",))


def test_a_damaged_design_is_named_with_its_line(test):
    path = test.path / "private/design.tsv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], lines[3].replace("\t", " ", 1), *lines[4:]]) + "\n")
    with pytest.raises(InputError, match=r"design\.tsv:4: 13 columns"):
        load_test(test.path)
    with pytest.raises(InputError, match="is not a listening test"):
        load_test(test.path / "public")
    (test.path / "private/test.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(InputError, match="does not describe"):
        load_test(test.path)


@pytest.mark.parametrize("count", range(3, 10))
def test_as_many_tones_are_heard_as_the_check_says(count):
    wave = check_recording(f"tones-{count}", -26)
    loud = np.abs(wave).reshape(-1, 1) > 0.01
    active = np.convolve(loud.ravel(), np.ones(320), "same") > 0
    assert np.count_nonzero(np.diff(active.astype(int)) == 1) == count


@pytest.mark.parametrize("place", [1, 2, 3])
def test_over_headphones_one_tone_is_quietest_and_over_loudspeakers_another(place):
    wave = check_recording(f"quietest-{place}", -26)
    starts = [int((0.4 + 1.2 * k) * RATE) for k in range(3)]
    parts = [wave[start : start + int(0.8 * RATE)] for start in starts]
    assert np.argmin([np.square(part).mean() for part in parts]) == place - 1
    assert np.argmin([np.square(part.sum(axis=1)).mean() for part in parts]) == place % 3
