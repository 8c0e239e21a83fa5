import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from vpeval.asr.lm import write_arpa
from vpeval.asr.lm_estimation import estimate
from vpeval.asr.nbest import Hypothesis
from vpeval.asr.recognizers import Decoder, load_recognizer, recogniser_class, write_texts
from vpeval.asr.whisper import Whisper, Window
from vpeval.audio.io import read_audio, write_wave
from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred
from vpeval.jobs.code import code_of
from vpeval.jobs.worker import Part

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf/asr"


def changed(tmp_path, name, old, new):
    text = (CONF / name).read_text()
    assert old in text
    (tmp_path / "conf.yaml").write_text(text.replace(old, new))
    return tmp_path / "conf.yaml"


def test_an_unknown_recogniser_names_the_known_ones(tmp_path):
    with pytest.raises(InputError, match="must be one of whisper, speechbrain, vosk, kaldi_chain, not 'siri'"):
        load_recognizer(changed(tmp_path, "vosk_small.yaml", "recognizer: vosk", "recognizer: siri"))


@pytest.mark.parametrize("name", ["vosk_small.yaml", "kaldi_chain.yaml"])
def test_a_missing_package_is_named_with_the_remedy(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "vosk", None)
    with pytest.raises(InputError, match="needs the package 'vosk'; install it with 'pip install -r"):
        load_recognizer(CONF / name)


def test_an_unknown_key_is_refused(tmp_path):
    with pytest.raises(InputError, match="unknown key 'colour'"):
        load_recognizer(changed(tmp_path, "vosk_small.yaml", "recognizer:", "colour: red\nrecognizer:"))


def test_a_recogniser_without_n_gram_model_refuses_one():
    with pytest.raises(InputError, match="takes no n-gram language model; speechbrain does"):
        load_recognizer(CONF / "vosk_small.yaml", estimate([["a"]], 1))


class Parrot:
    """A recogniser that answers with the number of samples."""

    def __init__(self, config, lm=None):
        self.lm = lm

    def transcribe(self, wave):
        return f" {len(wave)}  samples "

    def nbest(self, wave):
        return [Hypothesis(f"{len(wave)}", -1.5), Hypothesis("none", -2.0)]


class Twins(Parrot):
    def transcribe_all(self, wave):
        return {"small": " a  b", "large": "a c"}


@pytest.fixture
def decoded(tmp_path, monkeypatch):
    """What a decoder makes of one utterance, and the files that are written of it."""
    write_wave(tmp_path / "x.wav", np.zeros(160))
    write_arpa(tmp_path / "lm.arpa", estimate([["a"]], 1))
    (tmp_path / "conf.yaml").write_text("recognizer: speechbrain\n")

    def decode(kind, lm, lms=()):
        monkeypatch.setattr(Deferred, "load", lambda self: kind)
        decoder = Decoder(str(tmp_path / "conf.yaml"), str(tmp_path / "lm.arpa") if lm else "")
        result = decoder(Part("a-1", "a", str(tmp_path / "x.wav"), tmp_path))
        (tmp_path / "out").mkdir()
        write_texts(tmp_path / "out", [("a-1", memoryview(result))], lm, lms)
        return {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}

    return decode


def test_decoding_writes_the_words_of_every_utterance(decoded):
    assert decoded(Parrot, lm=False) == {"text": "a-1 160 samples\n"}


def test_decoding_with_a_language_model_writes_the_best_hypotheses_and_their_scores(decoded):
    assert decoded(Parrot, lm=True) == {"text": "a-1 160\n", "nbest": "a-1 -1.5000 160\na-1 -2.0000 none\n"}


def test_a_recogniser_with_language_models_of_its_own_writes_a_text_for_each_and_the_last_as_text(decoded):
    files = {"text_small": "a-1 a b\n", "text_large": "a-1 a c\n", "text": "a-1 a c\n"}
    assert decoded(Twins, lm=False, lms=("small", "large")) == files


def test_decoded_text_depends_on_its_own_recogniser_and_not_on_code_that_drives():
    for name, own in {"whisper_base": "whisper", "vosk_small": "vosk", "speechbrain": "ctc"}.items():
        files = set(code_of([Decoder, write_texts, recogniser_class(CONF / f"{name}.yaml")]))
        assert f"vpeval/asr/{own}.py" in files
        assert not files & {
            f"vpeval/asr/{other}.py" for other in ("whisper", "vosk", "ctc", "decoding") if other != own
        }
        assert not [file for file in files if file.startswith(("vpeval/jobs/", "vpeval/cli/", "vpeval/metrics/"))]


@pytest.mark.e2e
def test_whisper_gives_the_same_words_in_groups_and_alone():
    audio = sorted((ROOT / "egs/mini/corpus/audio").rglob("*-001.opus"))[:5]
    waves = [read_audio(str(path)) for path in audio]
    waves = [*(wave[:24000] for wave in waves[:3]), *waves[3:]]
    recogniser = load_recognizer(CONF / "whisper_base.yaml")
    alone = [recogniser.transcribe(wave) for wave in waves]
    groups = defaultdict(list)
    for index, wave in enumerate(waves):
        prepared = recogniser.prepare(wave)
        groups[recogniser.alike(prepared)].append((index, prepared))
    assert max(map(len, groups.values())) >= 3
    words = {}
    for group in groups.values():
        words |= zip((index for index, _ in group), recogniser.decode([one for _, one in group]), strict=True)
    assert [words[index] for index in range(len(waves))] == alone and len(set(alone)) > 1
    assert recogniser.most == 1, "on the CPU they stay alone, as groups are not faster there"


def test_whisper_takes_long_utterances_and_those_of_other_windows_alone():
    short, other = Window(np.zeros((80, 1000)), 40), Window(np.zeros((80, 1000)), 41)
    long = Window(np.zeros(31 * 16000), 400, is_long=True)
    assert Whisper.alike(None, short) == Whisper.alike(None, Window(np.ones((80, 1000)), 40))
    assert Whisper.alike(None, short) != Whisper.alike(None, other) and Whisper.alike(None, long) is None
