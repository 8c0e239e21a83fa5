import sys
from pathlib import Path

import numpy as np
import pytest

from vpeval.asr.lm import estimate
from vpeval.asr.recognizers import NBestRecognizer, load_recognizer
from vpeval.core.errors import InputError

ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf/asr"


def changed(tmp_path, name, old, new):
    text = (CONF / name).read_text()
    assert old in text
    (tmp_path / "conf.yaml").write_text(text.replace(old, new))
    return tmp_path / "conf.yaml"


def test_an_unknown_recogniser_names_the_known_ones(tmp_path):
    with pytest.raises(
        InputError, match="must be one of whisper, speechbrain, vosk, pocketsphinx, kaldi_chain, not 'siri'"
    ):
        load_recognizer(changed(tmp_path, "pocketsphinx.yaml", "recognizer: pocketsphinx", "recognizer: siri"))


@pytest.mark.parametrize(
    ("name", "package"),
    [("vosk_small.yaml", "vosk"), ("pocketsphinx.yaml", "pocketsphinx"), ("kaldi_chain.yaml", "vosk")],
)
def test_a_missing_package_is_named_with_the_remedy(monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"needs the package '{package}'; install it with 'pip install -r"):
        load_recognizer(CONF / name)


@pytest.mark.parametrize("name", ["vosk_small.yaml", "pocketsphinx.yaml"])
def test_an_unknown_key_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="unknown key 'colour'"):
        load_recognizer(changed(tmp_path, name, "recognizer:", "colour: red\nrecognizer:"))


def test_a_recogniser_without_n_gram_model_refuses_one():
    with pytest.raises(InputError, match="takes no n-gram language model; speechbrain and pocketsphinx do"):
        load_recognizer(CONF / "vosk_small.yaml", estimate([["a"]], 1))


@pytest.fixture
def sphinx():
    return pytest.importorskip("pocketsphinx")


def test_a_grammar_that_is_none_is_refused(sphinx, tmp_path):
    conf = changed(tmp_path, "pocketsphinx_digits.yaml", "public <digits> =", "public digits")
    with pytest.raises(InputError, match=r"conf\.yaml: PocketSphinx cannot use the grammar"):
        load_recognizer(conf)


def test_a_grammar_and_a_language_model_exclude_each_other(sphinx):
    with pytest.raises(InputError, match="has a grammar and cannot decode with a language model as well"):
        load_recognizer(CONF / "pocketsphinx_digits.yaml", estimate([["ONE"]], 1))


def test_pocketsphinx_gives_hypotheses_of_the_language_model_whatever_came_before(sphinx):
    recognizer = load_recognizer(CONF / "pocketsphinx.yaml", estimate([["ONE", "TWO"], ["TWO"], ["THREE"]], 2))
    assert isinstance(recognizer, NBestRecognizer)
    noise = np.random.default_rng(0).normal(0, 0.05, 16000).astype(np.float32)
    first = recognizer.nbest(noise)
    recognizer.transcribe(10 * noise[::-1])
    assert recognizer.nbest(noise) == first
    assert {word for one in first for word in one.words.split()} <= {"one", "two", "three"}
    assert len({one.words for one in first}) == len(first)
