import os
import struct
import tracemalloc
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from vpeval.audio import io
from vpeval.audio.io import AudioInfo, EndlessPipe, is_pipe, probe, read_audio, write_wave
from vpeval.core.errors import InputError

WAVE = (np.random.default_rng(0).standard_normal(48000) * 0.05).astype(np.float32)
LOSSLESS = {"wav": ("WAV", "PCM_16"), "wav24": ("WAV", "PCM_24"), "wavf": ("WAV", "FLOAT"), "flac": ("FLAC", "PCM_16")}
LOSSY = {"opus": ("OGG", "OPUS"), "ogg": ("OGG", "VORBIS"), "mp3": ("MP3", "MPEG_LAYER_III")}
FORMATS = LOSSLESS | LOSSY


def encoded(kind: str, wave: np.ndarray = WAVE, rate: int = 16000) -> bytes:
    container, subtype = FORMATS[kind]
    file = BytesIO()
    sf.write(file, wave, rate, format=container, subtype=subtype)
    return file.getvalue()


@pytest.fixture
def put(tmp_path: Path):
    """Write bytes to a file and give its wav.scp entry, as a file or as a pipe."""

    def write(content: bytes, name: str = "x.wav", pipe: bool = False) -> str:
        (tmp_path / name).write_bytes(content)
        return f"cat '{tmp_path / name}' |" if pipe else str(tmp_path / name)

    return write


def complaint(entry: str) -> str:
    with pytest.raises(InputError) as caught:
        read_audio(entry)
    return str(caught.value)


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("kind", LOSSLESS)
def test_lossless_audio_is_read_as_float32_to_the_last_bit(put, kind: str, pipe: bool) -> None:
    wave = read_audio(put(encoded(kind), pipe=pipe))
    assert wave.dtype == np.float32
    step = {"wav24": 2**-23, "wavf": 0}.get(kind, 2**-15)
    np.testing.assert_allclose(wave, WAVE, rtol=0, atol=step)


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("kind", LOSSY)
def test_lossy_audio_is_read_at_its_full_length(put, kind: str, pipe: bool) -> None:
    tone = np.sin(np.arange(48000) / 20).astype(np.float32) / 4
    wave = read_audio(put(encoded(kind, tone), pipe=pipe))
    assert (wave.dtype, wave.shape) == (np.float32, (48000,))
    assert np.corrcoef(wave, tone)[0, 1] > 0.99


@pytest.mark.parametrize("kind", FORMATS)
def test_a_probe_gives_rate_channels_and_length_without_insisting_on_16_khz_mono(put, kind: str) -> None:
    stereo = np.stack([WAVE[:8000], WAVE[8000:16000]], axis=1)
    found = probe(put(encoded(kind, stereo, 8000)))
    assert found == AudioInfo(8000, 2, 8000, FORMATS[kind][1])
    assert found.duration == 1.0


def test_only_an_entry_that_ends_in_a_bar_is_a_pipe() -> None:
    assert is_pipe("flac -dcs a.flac | ")
    assert not is_pipe("a|b.wav")


def test_other_than_16_khz_mono_is_refused_with_the_remedy(put) -> None:
    assert "x.wav: sampling rate is 8000 Hz; convert it to 16000 Hz" in complaint(put(encoded("wav", WAVE, 8000)))
    assert "x.wav: has 2 channels; convert it to mono" in complaint(put(encoded("wav", np.stack([WAVE, WAVE], axis=1))))


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_cut_off_audio_is_never_taken_for_whole(put, kind: str, share: float, pipe: bool) -> None:
    content = encoded(kind)
    assert "x.wav" in complaint(put(content[: int(len(content) * share)], pipe=pipe))


@pytest.mark.parametrize("missing", [1, 2, 31999, 32000])
def test_a_cut_off_wave_file_says_how_much_is_there(put, missing: int) -> None:
    content = encoded("wav", WAVE[:16000])
    assert f"is cut off: {32000 - missing} of 32000 bytes of samples are there" in complaint(put(content[:-missing]))
    with pytest.raises(InputError, match="is cut off"):
        probe(put(content[:-missing]))


def test_a_wave_file_whose_samples_come_after_other_chunks_is_whole(put) -> None:
    content = encoded("wav")
    extra = b"LIST" + struct.pack("<I", 5) + b"hello\0"
    assert len(read_audio(put(content[:12] + extra + content[12:] + extra))) == len(WAVE)


def test_a_wave_file_with_a_header_only_has_no_samples(put) -> None:
    assert "holds no samples" in complaint(put(encoded("wav", WAVE[:0])))
    assert "x.wav: " in complaint(put(encoded("wav")[:20]))
    assert "x.wav: " in complaint(put(encoded("wav")[:36]))


@pytest.mark.parametrize("size", [0x7FFFF000, 0x7FFFFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize("pipe", [False, True])
def test_a_wave_header_written_before_the_length_was_known_is_understood(put, size: int, pipe: bool) -> None:
    content = bytearray(encoded("wav"))
    place = content.index(b"data") + 4
    content[place : place + 4] = content[4:8] = struct.pack("<I", size)
    assert len(read_audio(put(bytes(content), pipe=pipe))) == len(WAVE)


@pytest.mark.parametrize("pipe", [False, True])
def test_a_flac_header_written_before_the_length_was_known_is_understood(put, pipe: bool) -> None:
    content = bytearray(encoded("flac"))
    content[21] &= 0xF0  # the number of samples: 36 bits of the STREAMINFO block
    content[22:26] = bytes(4)
    entry = put(bytes(content), pipe=pipe)
    np.testing.assert_allclose(read_audio(entry), WAVE, rtol=0, atol=2**-15)
    assert probe(entry).frames == len(WAVE)


def test_a_big_endian_wave_file_is_read(tmp_path: Path) -> None:
    sf.write(tmp_path / "x.wav", WAVE, 16000, format="WAV", subtype="PCM_16", endian="BIG")
    assert len(read_audio(str(tmp_path / "x.wav"))) == len(WAVE)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.wav", b"", "x.wav: audio file is empty (0 bytes); make it again"),
        ("x.wav", b"this is a text file\n", "x.wav: is not readable audio"),
        ("x.mp3", b"this is a text file\n" * 100, "x.mp3: is not readable audio"),
        ("x.flac", b"fLaC" + bytes(100), "x.flac: is not readable audio"),
        ("x.raw", bytes(3200), "x.raw: is raw audio without a sampling rate; convert it to WAV"),
    ],
)
def test_what_is_no_audio_is_said_to_be_none(put, name: str, content: bytes, words: str) -> None:
    assert words in complaint(put(content, name))


def test_a_missing_file_and_a_directory_are_no_audio(tmp_path: Path) -> None:
    assert "no such audio file; fix wav.scp or put the file there" in complaint(str(tmp_path / "x.wav"))
    assert "is a directory where a file is needed" in complaint(str(tmp_path))


def test_what_could_be_read_for_ever_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.wav")
    (tmp_path / "zero.wav").symlink_to("/dev/zero")
    assert complaint(str(tmp_path / "x.wav")).endswith(
        "x.wav: is a FIFO where a file is needed; put a regular file there"
    )
    assert "is a device where a file is needed" in complaint(str(tmp_path / "zero.wav"))


def test_a_pipe_without_end_is_ended_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(io, "_PIPE_BYTES", 1 << 20)
    with pytest.raises(EndlessPipe, match="gives more than 1 MB; does it end"):
        read_audio("cat /dev/zero |")


def test_messages_without_end_of_a_pipe_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_PIPE_SECONDS", "0.5")
    tracemalloc.start()
    with pytest.raises(EndlessPipe, match="had not ended after"):
        read_audio("yes >&2 |")
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_a_pipe_may_close_its_output_long_before_it_ends(put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_PIPE_SECONDS", "0.5")
    with pytest.raises(EndlessPipe, match="had not ended after"):
        read_audio(put(encoded("wav"), pipe=True).replace("|", "; exec >&- 2>&-; sleep 100 |"))


def test_samples_of_another_scale_are_refused(put) -> None:
    for scale, said in ((32768, "where 1 is full scale"), (1e30, "has samples up to ")):
        assert said in complaint(put(encoded("wavf", scale * WAVE)))
    assert len(read_audio(put(encoded("wavf", 3 * WAVE / np.abs(WAVE).max())))) == len(WAVE)


def test_nan_and_infinite_samples_are_refused(put) -> None:
    for bad in (np.nan, np.inf):
        wave = WAVE.copy()
        wave[7] = bad
        assert "holds NaN or infinite samples; make the file again" in complaint(put(encoded("wavf", wave)))


def test_damage_within_a_flac_file_is_found(put) -> None:
    content = bytearray(encoded("flac"))
    middle = len(content) // 2
    content[middle : middle + 100] = bytes(100)
    assert "cannot be decoded to its end" in complaint(put(bytes(content)))


def test_a_pipe_that_fails_is_an_error_even_after_it_gave_audio(put) -> None:
    entry = put(encoded("wav"), pipe=True).replace("|", "; echo no licence >&2; exit 3 |")
    assert complaint(entry).endswith(f"'{entry}': failed with exit code 3 (no licence)")
    assert "failed with exit code 1 (no message)" in complaint(put(encoded("wav"), pipe=True) + " false |")
    assert "failed with exit code 1" in complaint("false | " + put(encoded("wav"), pipe=True))


def test_a_pipe_without_output_is_an_error() -> None:
    assert complaint("true |") == "pipe 'true |': gave no audio"


def test_a_pipe_gets_nothing_to_read_from_the_terminal(put) -> None:
    assert len(read_audio(f"cat; {put(encoded('wav'), pipe=True)}")) == len(WAVE)


def test_a_file_name_may_have_blanks(put) -> None:
    assert len(read_audio(put(encoded("wav"), "my file.wav"))) == len(WAVE)


def test_a_wave_is_written_as_16_bit_mono_and_saturates(tmp_path: Path) -> None:
    write_wave(tmp_path / "a/x.wav", np.array([0, 0.5, 1, 1.7, -1, -1.7, 1 / 32768, 0.4 / 32768]))
    info = sf.info(tmp_path / "a/x.wav")
    assert (info.samplerate, info.channels, info.subtype, info.format) == (16000, 1, "PCM_16", "WAV")
    pcm, _ = sf.read(tmp_path / "a/x.wav", dtype="int16")
    assert pcm.tolist() == [0, 16384, 32767, 32767, -32768, -32768, 1, 0]


def test_a_wave_with_nan_is_not_written(tmp_path: Path) -> None:
    write_wave(tmp_path / "x.wav", WAVE)
    with pytest.raises(ValueError, match="NaN or infinite"):
        write_wave(tmp_path / "x.wav", np.array([0.0, np.nan]))
    assert len(read_audio(str(tmp_path / "x.wav"))) == len(WAVE)
    assert [path.name for path in tmp_path.iterdir()] == ["x.wav"]


def test_a_full_disk_is_an_os_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: object) -> int:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_wave(tmp_path / "x.wav", WAVE)
    assert not list(tmp_path.iterdir())


@settings(max_examples=40)
@given(arrays.arrays(np.int16, st.integers(1, 100)))
def test_16_bit_samples_survive_writing_and_reading(tmp_path_factory: pytest.TempPathFactory, pcm: np.ndarray) -> None:
    path = tmp_path_factory.mktemp("wav") / "x.wav"
    write_wave(path, pcm / 32768)
    assert (read_audio(str(path)) * 32768).astype(np.int16).tolist() == pcm.tolist()
